//! Prints a description as source.

use std::collections::HashMap;

use toml_writer::{TomlKeyBuilder, TomlStringBuilder};

use super::label::labels;
use super::{Description, Property, Value};
use crate::text::is_plain;

/// The maximum number of columns. A longer array is broken into several lines.
const WIDTH: usize = 100;

/// Returns a description's source. If a node has several properties with one name, they become one
/// array.
///
/// # Panics
/// Panics if an arc leads to a node that does not exist.
pub fn print(description: &Description) -> String {
    let labels = labels(&description.nodes);
    let mut text = String::new();
    for (node, label) in description.nodes.iter().zip(&labels) {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &format!("[{}]\n", key(label));
        for (name, values) in groups(&node.properties) {
            let name = key(name);
            text += &format!("{name} = {}\n", property(&values, &labels, name.len()));
        }
    }
    // TOML escapes control characters, but not characters that change the writing direction.
    let escape = |c: char| match c == '\n' || is_plain(c) {
        true => c.to_string(),
        false => format!("\\u{:04X}", u32::from(c)),
    };
    text.chars().map(escape).collect()
}

/// Groups property values by name, in the order in which the names first occur.
fn groups(properties: &[Property]) -> Vec<(&str, Vec<&Value>)> {
    let mut groups: Vec<(&str, Vec<&Value>)> = Vec::new();
    let mut places = HashMap::new();
    for Property { name, value } in properties {
        let place = *places.entry(&**name).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, values)) => values.push(value),
            None => groups.push((name, vec![value])),
        }
    }
    groups
}

fn property(values: &[&Value], labels: &[String], indent: usize) -> String {
    match values {
        [Value::String(text)] => string(text),
        [value @ (Value::Number(_) | Value::Data(_))] => one(value, labels),
        values => {
            let values: Vec<_> = values.iter().map(|value| one(value, labels)).collect();
            array(&values, indent)
        }
    }
}

/// Formats a value as a member of an array.
fn one(value: &Value, labels: &[String]) -> String {
    match value {
        Value::Arc(node) => string(&labels[*node]),
        Value::Number(number) if *number >> 32 == 0 => number.to_string(),
        Value::Number(number) => format!("{number:#x}"),
        Value::String(text) => format!("{{ string = {} }}", string(text)),
        Value::Data(data) => match strings(data) {
            Some(strings) => {
                let strings: Vec<String> = strings.into_iter().map(string).collect();
                format!("{{ strings = [{}] }}", strings.join(", "))
            }
            None => format!("{{ data = \"{}\" }}", hex(data)),
        },
    }
}

fn array(values: &[String], indent: usize) -> String {
    let line = format!("[{}]", values.join(", "));
    if indent + " = ".len() + line.len() <= WIDTH {
        return line;
    }
    let mut lines: Vec<String> = Vec::new();
    for value in values {
        match lines.last_mut() {
            Some(last) if last.len() + value.len() + 2 <= WIDTH => *last += &format!(" {value},"),
            _ => lines.push(format!("    {value},")),
        }
    }
    format!("[\n{}\n]", lines.join("\n"))
}

/// Decodes the strings in data; `None` unless the data are printable strings that each end in a
/// NUL.
fn strings(data: &[u8]) -> Option<Vec<&str>> {
    let (0, texts) = data.split_last()? else {
        return None;
    };
    let text =
        |text: &'_ [u8]| !text.is_empty() && text.iter().all(|byte| matches!(byte, b' '..=b'~'));
    texts
        .split(|byte| *byte == 0)
        .map(|bytes| str::from_utf8(bytes).ok().filter(|_| text(bytes)))
        .collect()
}

fn hex(data: &[u8]) -> String {
    let bytes: Vec<String> = data.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(" ")
}

fn string(text: &str) -> String {
    let mut output = String::new();
    // Writing to a string never fails.
    let _ = toml_writer::TomlWrite::value(&mut output, TomlStringBuilder::new(text).as_basic());
    output
}

fn key(text: &str) -> String {
    let builder = TomlKeyBuilder::new(text);
    let key = builder.as_unquoted().unwrap_or_else(|| builder.as_basic());
    let mut output = String::new();
    // Writing to a string never fails.
    let _ = toml_writer::TomlWrite::key(&mut output, key);
    output
}
