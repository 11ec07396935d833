//! `diff`: shows the differences between two runs.

use crate::plain;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::output::{self, Force};
use crate::table::{self, cut};
use simulator::run::Run;

/// Show what differs between two runs, the largest differences first
///
/// Compares two runs that stat, top, report, c2c or boot have written with --json. Replays and executions are deterministic: what
/// differs between two runs comes from what was changed. Files of another version of vfalls are refused.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  vfalls stat --place spread --json spread.json\n  \
                        vfalls stat --place pack --json pack.json\n  vfalls diff spread.json pack.json")]
pub(crate) struct DiffArgs {
    /// The first run
    #[arg(value_name = "A.json")]
    a: PathBuf,

    /// The second run
    #[arg(value_name = "B.json")]
    b: PathBuf,

    /// Show at most N differences of each kind
    #[arg(long, value_name = "N", default_value_t = 20)]
    most: usize,

    /// Write all differences to a file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    #[command(flatten)]
    force: Force,
}

/// A number that differs between the runs.
#[derive(Debug, Serialize)]
struct Difference {
    /// The name of the run's field that contains the number.
    group: String,
    name: String,
    /// The number in the first run; `None` if this run lacks the number. `b` is the number in the
    /// second run.
    a: Option<f64>,
    b: Option<f64>,
    /// The number in the second run minus the number in the first run. A missing number counts as
    /// 0.
    change: f64,
}

/// A string, or a list of strings, that differs between the runs.
#[derive(Debug, Serialize)]
struct Setting {
    name: String,
    a: Option<String>,
    b: Option<String>,
}

#[derive(Debug, Default, Serialize)]
struct Differences {
    settings: Vec<Setting>,
    numbers: Vec<Difference>,
}

/// The name of the group for numbers that are direct fields of the run.
const RUN: &str = "run";

/// The fields that can identify an item of a list, in order of preference.
const NAMES: [&str; 5] = ["thread", "name", "event", "counter", "strand"];

/// Fields that identify an item together. They count only if the item has none of the fields in
/// [`NAMES`].
const PLACES: [&str; 6] = ["kind", "from", "to", "hub", "node", "mcu"];

pub(crate) fn run(args: DiffArgs) -> anyhow::Result<()> {
    let json = args.force.create_if_wanted(args.json.as_ref())?;
    let differences = Differences::new(&Values::read(&args.a)?, &Values::read(&args.b)?);
    let text = differences.text(&name(&args.a), &name(&args.b), args.most);
    let mut output = plain::stdout();
    write!(output, "{text}")?;
    output.flush()?;
    output::complete_json(json, &differences)
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

/// The numbers and strings of a run. The key of a number consists of its group and its name.
#[derive(Default)]
struct Values {
    numbers: BTreeMap<(String, String), f64>,
    texts: BTreeMap<String, String>,
}

impl Values {
    fn read(path: &Path) -> anyhow::Result<Self> {
        let mut values = Self::default();
        if let Value::Object(fields) = serde_json::to_value(Run::read(path)?)? {
            for (key, value) in &fields {
                match value {
                    Value::Object(_) | Value::Array(_) => values.add(key, "", value),
                    value => values.add(RUN, key, value),
                }
            }
        }
        Ok(values)
    }

    fn add(&mut self, group: &str, name: &str, value: &Value) {
        match value {
            Value::Number(number) => {
                let key = (group.to_owned(), name.to_owned());
                self.numbers.insert(key, number.as_f64().unwrap_or(0.0));
            }
            Value::Object(fields) => {
                for (key, value) in fields {
                    let names = NAMES.iter().chain(&PLACES).any(|name| name == key);
                    if !names && key != "perfreg" {
                        self.add(group, &joined(name, key), value);
                    }
                }
            }
            Value::Array(items) if items.iter().all(Value::is_object) => {
                let mut seen = BTreeMap::new();
                for (number, item) in items.iter().enumerate() {
                    let mut name = joined(name, &label(number, item));
                    let times = seen.entry(name.clone()).or_insert(0_usize);
                    *times += 1;
                    if *times > 1 {
                        name = format!("{name} ({times})");
                    }
                    self.add(group, &name, item);
                }
            }
            Value::Array(items) if items.iter().all(Value::is_number) => {
                for (number, item) in items.iter().enumerate() {
                    self.add(group, &joined(name, &number.to_string()), item);
                }
            }
            Value::Null => {}
            value => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let of = if group == RUN { "" } else { group };
                self.texts.insert(joined(of, name), text);
            }
        }
    }
}

/// Returns the name of a list item. The name consists of the item's fields that [`NAMES`] lists, up
/// to the first numeric field. If the item has none of these fields, the name consists of its
/// fields in [`PLACES`]. If the item has none of the fields in [`PLACES`] either, the name is the
/// item's index in the list.
fn label(number: usize, item: &Value) -> String {
    let word = |key: &&str| match &item[*key] {
        Value::String(text) => Some((false, text.clone())),
        Value::Number(number) => Some((true, format!("{key} {number}"))),
        _ => None,
    };
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

impl Differences {
    /// Returns all differences by group. In each group, the largest difference is first.
    fn new(a: &Values, b: &Values) -> Self {
        fn keys<'r, K: Ord, V>(a: &'r BTreeMap<K, V>, b: &'r BTreeMap<K, V>) -> Vec<&'r K> {
            let more = b.keys().filter(|key| !a.contains_key(key));
            a.keys().chain(more).collect()
        }
        let settings = keys(&a.texts, &b.texts).into_iter();
        let settings = settings.map(|name| Setting {
            name: name.clone(),
            a: a.texts.get(name).cloned(),
            b: b.texts.get(name).cloned(),
        });
        let numbers = keys(&a.numbers, &b.numbers).into_iter().map(|key| {
            let (a, b) = (a.numbers.get(key).copied(), b.numbers.get(key).copied());
            let (group, name) = key.clone();
            Difference { group, name, a, b, change: b.unwrap_or(0.0) - a.unwrap_or(0.0) }
        });
        let mut numbers: Vec<_> = numbers.filter(|number| number.a != number.b).collect();
        numbers.sort_by(|one, other| {
            let place = |number: &Difference| (number.group != RUN, number.group.clone());
            (place(one).cmp(&place(other))).then(other.change.abs().total_cmp(&one.change.abs()))
        });
        Self { settings: settings.filter(|setting| setting.a != setting.b).collect(), numbers }
    }

    fn text(&self, a: &str, b: &str, most: usize) -> String {
        let mut text = String::new();
        if self.settings.is_empty() && self.numbers.is_empty() {
            return "nothing differs\n".to_owned();
        }
        if !self.settings.is_empty() {
            let mut table = table::with_header(&format!("set|{a}|{b}"));
            for Setting { name, a, b } in &self.settings {
                let cell = |text: &Option<String>| {
                    text.as_deref().map_or("-".to_owned(), |text| cut(text, 40))
                };
                table.add_row([name.clone(), cell(a), cell(b)]);
            }
            let _ = writeln!(text, "{}", table::text(&table));
        }
        for group in self.numbers.chunk_by(|one, other| one.group == other.group) {
            let mut table = table::with_header(&format!("{}|>{a}|>{b}|>change|>%", group[0].group));
            for difference in group.iter().take(most) {
                table.add_row(difference.cells());
            }
            let _ = write!(text, "{}", table::text(&table));
            let _ = match group.len().saturating_sub(most) {
                0 => writeln!(text),
                more => writeln!(text, "... and {more} more\n"),
            };
        }
        text.truncate(text.trim_end().len());
        text + "\n"
    }
}

impl Difference {
    fn cells(&self) -> [String; 5] {
        let cell = |number: Option<f64>| number.map_or("-".to_owned(), rounded);
        let percent = match self.a {
            Some(a) if a != 0.0 => format!("{:+.1}", self.change / a.abs() * 100.0),
            _ => "-".to_owned(),
        };
        let sign = if self.change > 0.0 { "+" } else { "" };
        let change = format!("{sign}{}", rounded(self.change));
        [cut(&self.name, 60), cell(self.a), cell(self.b), change, percent]
    }
}

/// Returns a number with at most four digits after the point.
fn rounded(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
