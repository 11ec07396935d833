//! Parses a description's source.

use std::collections::HashMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::{Description, Node, Property, Value, label};

/// A mistake in a description's source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {message}")]
pub struct SourceError {
    /// The line number, counted from 1.
    pub line: usize,
    /// The problem in this line.
    pub message: String,
}

/// A result. The error is a range of bytes in the source, and a message about this range.
type Located<T> = Result<T, (Range<usize>, String)>;

type Item<'t> = Spanned<DeValue<'t>>;

/// Parses a description's source.
///
/// # Errors
/// Returns the first problem in the source.
pub fn parse(text: &str) -> Result<Description, SourceError> {
    let parsed = match DeTable::parse(text) {
        Ok(table) => description(table.get_ref()),
        Err(error) => {
            let message = error.message().lines().collect::<Vec<_>>().join(" ");
            Err((error.span().unwrap_or(0..0), message))
        }
    };
    parsed.map_err(|(span, message)| SourceError {
        line: 1 + text.bytes().take(span.start).filter(|byte| *byte == b'\n').count(),
        message,
    })
}

fn description(tables: &DeTable<'_>) -> Located<Description> {
    let labels = tables.keys().map(|label| &**label.get_ref());
    let labels: HashMap<&str, usize> = labels.zip(0..).collect();
    let mut nodes = Vec::new();
    for (label, table) in tables {
        let name = label::name(label.get_ref());
        check_name(name).map_err(|message| (label.span(), message))?;
        let DeValue::Table(properties) = table.get_ref() else {
            let message = format!("{} is outside of all nodes", quoted(label.get_ref()));
            return Err((label.span(), message));
        };
        nodes.push(Node {
            name: name.to_owned(),
            properties: self::properties(properties, &labels)?,
        });
    }
    Ok(Description { nodes })
}

fn properties(table: &DeTable<'_>, labels: &HashMap<&str, usize>) -> Located<Vec<Property>> {
    let mut properties = Vec::new();
    for (key, item) in table {
        let name = key.get_ref();
        check_name(name).map_err(|message| (key.span(), message))?;
        for value in values(item, labels)? {
            properties.push(Property { name: (**name).to_owned(), value });
        }
    }
    Ok(properties)
}

/// Parses a property's values: one value, or all members of an array.
fn values(item: &Item<'_>, labels: &HashMap<&str, usize>) -> Located<Vec<Value>> {
    match item.get_ref() {
        DeValue::String(text) => Ok(vec![Value::String(string(item, text)?)]),
        DeValue::Array(items) if items.is_empty() => {
            Err((item.span(), "an empty array".to_owned()))
        }
        DeValue::Array(items) => items.iter().map(|item| member(item, labels)).collect(),
        _ => Ok(vec![plain(item)?]),
    }
}

/// Parses a member of an array. A plain string is the label of the node to which an arc leads.
fn member(item: &Item<'_>, labels: &HashMap<&str, usize>) -> Located<Value> {
    let DeValue::String(label) = item.get_ref() else {
        return plain(item);
    };
    match labels.get(&**label) {
        Some(node) => Ok(Value::Arc(*node)),
        None => {
            let names = labels.keys().copied();
            Err((item.span(), crate::nearest::unknown("node", label, names)))
        }
    }
}

/// Parses a number, data, or a string in the form `{ string = "first" }`.
fn plain(item: &Item<'_>) -> Located<Value> {
    match item.get_ref() {
        DeValue::Integer(integer) => u64::from_str_radix(integer.as_str(), integer.radix())
            .map(Value::Number)
            .map_err(|_| {
                let message = format!("found '{integer}', expected a 64-bit number");
                (item.span(), message)
            }),
        DeValue::Table(table) => match table.iter().next() {
            Some((kind, value)) if table.len() == 1 => tagged(kind.get_ref(), value),
            _ => Err(expected(item)),
        },
        _ => Err(expected(item)),
    }
}

fn tagged(kind: &str, item: &Item<'_>) -> Located<Value> {
    match (kind, item.get_ref()) {
        ("string", DeValue::String(text)) => Ok(Value::String(string(item, text)?)),
        ("strings", DeValue::Array(items)) => strings(items).map(Value::Data),
        ("data", DeValue::String(text)) => bytes(text).map(Value::Data).ok_or_else(|| {
            let message = "expected pairs of hexadecimal digits, such as \"00 ff\"";
            (item.span(), message.to_owned())
        }),
        _ => Err(expected(item)),
    }
}

/// Encodes strings as data. A NUL ends each string.
fn strings(items: &DeArray<'_>) -> Located<Vec<u8>> {
    let mut data = Vec::new();
    for item in items {
        let DeValue::String(text) = item.get_ref() else {
            return Err((item.span(), "expected a string".to_owned()));
        };
        data.extend(string(item, text)?.bytes().chain([0]));
    }
    Ok(data)
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let byte = |pair: &str| {
        let digits = pair.len() == 2 && pair.bytes().all(|byte| byte.is_ascii_hexdigit());
        digits.then(|| u8::from_str_radix(pair, 16).ok()).flatten()
    };
    text.split_whitespace().map(byte).collect()
}

fn string(item: &Item<'_>, text: &str) -> Located<String> {
    if text.contains('\0') {
        return Err((item.span(), "a string with a NUL in it".to_owned()));
    }
    Ok(text.to_owned())
}

fn check_name(name: &str) -> Result<(), String> {
    match name.len() {
        _ if name.contains('\0') => Err("a name with a NUL in it".to_owned()),
        0..=255 => Ok(()),
        length => Err(format!("a name of {length} bytes, expected at most 255")),
    }
}

fn expected(item: &Item<'_>) -> (Range<usize>, String) {
    let message = "expected a number, a string, an array of labels, { string = \"...\" }, { strings = [...] } or \
                   { data = \"00 ff\" }";
    (item.span(), message.to_owned())
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.escape_default())
}
