//! The numbers and strings of a run, each with a name.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};
use simulator::run::{Run, Spread};

/// The name of the group for numbers that are direct fields of the run.
pub(super) const RUN: &str = "run";

/// The fields that can identify an item of a list, in order of preference.
const NAMES: [&str; 5] = ["thread", "name", "event", "counter", "strand"];

/// Lists of fields that together identify an item. A list applies to items that have all of its fields. The first list identifies a wait of
/// one thread for another thread. The second list identifies the item at an address of a program.
const TOGETHER: [&[&str]; 2] = [&["thread", "state", "ended_by"], &["program", "address"]];

/// Fields that together identify an item that has none of the fields in [`NAMES`].
const PLACES: [&str; 6] = ["kind", "from", "to", "hub", "node", "mcu"];

/// Numbers by name.
pub(super) type Numbers = BTreeMap<String, Number>;

/// The numbers and strings of a run.
#[derive(Default)]
pub(super) struct Values {
    /// The numbers of each group, by the group's name.
    pub(super) numbers: BTreeMap<String, Numbers>,
    pub(super) texts: BTreeMap<String, String>,
    /// The difference between the longest and the shortest replay, as a fraction of the shortest replay. If a run has several spreads, the
    /// largest of them.
    pub(super) spread: f64,
}

pub(super) struct Number {
    pub(super) value: f64,
    /// The names of the fields on the way to the number, without the fields that identify list items. In a list of counters, the event is
    /// part of the kind.
    pub(super) kind: String,
}

impl Values {
    /// The run's cycles; 0 if it does not contain them.
    pub(super) fn cycles(&self) -> f64 {
        self.numbers.get(RUN).and_then(|run| run.get("cycles")).map_or(0.0, |cycles| cycles.value)
    }

    /// Reads the file of a run.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let mut values = Self::default();
        let run = Run::read(path)?;
        if let Run::Replay(run) = &run {
            let spreads = run.orders.iter().chain(&run.repeats).map(Spread::difference);
            values.spread = spreads.fold(0.0, f64::max);
        }
        let Value::Object(fields) = serde_json::to_value(run)? else { return Ok(values) };
        let mut direct =
            GroupReader { prefix: "", numbers: Numbers::new(), texts: &mut values.texts };
        for (key, value) in fields.iter().filter(|(_, value)| !has_fields(value)) {
            direct.add(key, key, value);
        }
        values.numbers.insert(RUN.to_owned(), direct.numbers);
        for (key, value) in fields.iter().filter(|(_, value)| has_fields(value)) {
            let mut group =
                GroupReader { prefix: key, numbers: Numbers::new(), texts: &mut values.texts };
            group.add("", "", value);
            values.numbers.insert(key.clone(), group.numbers);
        }
        Ok(values)
    }
}

const fn has_fields(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Array(_))
}

/// A group of numbers, while it is read.
struct GroupReader<'v> {
    /// What the names of strings begin with.
    prefix: &'v str,
    numbers: Numbers,
    texts: &'v mut BTreeMap<String, String>,
}

impl GroupReader<'_> {
    fn add(&mut self, name: &str, kind: &str, value: &Value) {
        match value {
            Value::Number(number) => {
                let value = number.as_f64().unwrap_or(0.0);
                self.numbers.insert(name.to_owned(), Number { value, kind: kind.to_owned() });
            }
            Value::Object(fields) => self.add_fields(name, kind, fields, &[]),
            Value::Array(items) if items.iter().all(Value::is_number) => {
                for (number, item) in items.iter().enumerate() {
                    self.add(&joined(name, &number.to_string()), kind, item);
                }
            }
            Value::Array(items) if items.iter().all(Value::is_object) => {
                let mut seen = BTreeMap::new();
                for (number, item) in items.iter().enumerate() {
                    let together = together(item);
                    let mut name = joined(name, &label(number, item, together));
                    let times = seen.entry(name.clone()).or_insert(0_usize);
                    *times += 1;
                    if *times > 1 {
                        name = format!("{name} ({times})");
                    }
                    let kind =
                        item["event"].as_str().map_or(kind.to_owned(), |event| joined(kind, event));
                    if let Value::Object(fields) = item {
                        self.add_fields(&name, &kind, fields, together);
                    }
                }
            }
            Value::Null => {}
            value => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                self.texts.insert(joined(self.prefix, name), text);
            }
        }
    }

    /// Adds all fields except `identifying` and those that may identify any item.
    fn add_fields(
        &mut self,
        name: &str,
        kind: &str,
        fields: &Map<String, Value>,
        identifying: &[&str],
    ) {
        let omitted = NAMES.iter().chain(&PLACES).chain(&["perfreg"]).chain(identifying);
        for (key, value) in fields {
            if !omitted.clone().any(|name| name == key) {
                self.add(&joined(name, key), &joined(kind, key), value);
            }
        }
    }
}

/// Returns the fields that together identify an item; an empty list if the item lacks some of them.
fn together(item: &Value) -> &'static [&'static str] {
    let has_all = |fields: &&&[&str]| fields.iter().all(|field| !item[*field].is_null());
    TOGETHER.iter().find(has_all).copied().unwrap_or_default()
}

/// Returns the name of a list item. If `together` contains fields, the name consists of these fields. Otherwise, it consists of the item's
/// fields that are in [`NAMES`], up to the first numeric field. If there are none, it consists of the fields that are in [`PLACES`]. If
/// there are none of these either, it is the item's index in the list.
fn label(number: usize, item: &Value, together: &[&str]) -> String {
    let word = |key: &&str| match &item[*key] {
        Value::String(text) => Some((false, text.clone())),
        Value::Number(number) => Some((true, format!("{} {number}", key.replace('_', " ")))),
        _ => None,
    };
    if !together.is_empty() {
        let words: Vec<_> = together.iter().filter_map(word).map(|(_, word)| word).collect();
        return words.join(" ");
    }
    let mut label = String::new();
    for (is_number, word) in NAMES.iter().filter_map(word) {
        label = joined(&label, &word);
        if is_number {
            break;
        }
    }
    if label.is_empty() {
        let places = PLACES.iter().filter_map(word);
        label = places.fold(label, |label, (_, word)| joined(&label, &word));
    }
    if label.is_empty() { number.to_string() } else { label }
}

fn joined(before: &str, word: &str) -> String {
    match before {
        "" => word.to_owned(),
        before => format!("{before} {word}"),
    }
}
