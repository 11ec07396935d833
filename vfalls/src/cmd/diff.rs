//! `diff`: shows the differences between two runs.

use crate::plain;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::numbers::counted_plainly;
use crate::output::{self, Force};
use crate::table::{self, cut};
use simulator::run::{Run, Spread};

/// Show what differs between two runs, what matters first
///
/// Compares two runs that stat, top, report, c2c or boot have written with --json. Replays and executions are deterministic: what
/// differs between two runs comes from what was changed. Files of another version of vfalls are refused.
///
/// First comes what has changed most in proportion, beyond the spread of the cycles (of stat --orders or --repeat), and what has a large
/// part in the sum of its kind. Left out are changes within the spread, and rows of few counts: the count is below 0.1% of the sum of its
/// kind, or the change is below 0.1% of the run, at 100 cycles for each event.
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

    /// Show at most N differences of each group [default: 10, or all with --all]
    #[arg(long, value_name = "N")]
    most: Option<usize>,

    /// Show rows of few counts and changes within the spread, too
    #[arg(long)]
    all: bool,

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
    /// The number in the second run minus the number in the first run. A missing number is taken as 0.
    change: f64,
    #[serde(skip)]
    weight: Weight,
}

/// How much a difference matters.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Weight {
    /// The measure by which differences are sorted, from 0 to 1.
    Matters(f64),
    WithinSpread,
    FewCounts,
    /// Another row shows the same change.
    Repeated,
}

impl Weight {
    const fn measure(self) -> f64 {
        match self {
            Self::Matters(measure) => measure,
            Self::WithinSpread | Self::FewCounts | Self::Repeated => -1.0,
        }
    }
}

/// A string, or a list of strings, that differs between the runs.
#[derive(Debug, Serialize)]
struct Setting {
    name: String,
    a: Option<String>,
    b: Option<String>,
}

#[derive(Debug, Serialize)]
struct Differences {
    settings: Vec<Setting>,
    numbers: Vec<Difference>,
    /// The spread of each run's cycles.
    #[serde(skip)]
    spreads: [f64; 2],
}

/// The name of the group for numbers that are direct fields of the run.
const RUN: &str = "run";

/// The groups whose rows are never left out.
const ALWAYS: [&str; 3] = [RUN, "time", "configuration"];

/// The groups that hold the spread of a run's cycles.
const SPREADS: [&str; 2] = ["orders", "repeats"];

/// Fields that hold cycles, or that consist of fields that hold cycles. Other fields are counts.
const CYCLES: [&str; 5] = ["cycles", "busy", "waited", "stack", "states"];

/// The number of cycles that one event is assumed to take. With this number, changes of counts are compared with the cycles of a run.
const CYCLES_OF_EVENT: f64 = 100.0;

/// The part of a sum below which a number is of no importance.
const FEW: f64 = 0.001;

/// The fields that can identify an item of a list, in order of preference.
const NAMES: [&str; 5] = ["thread", "name", "event", "counter", "strand"];

/// Lists of fields that identify an item together. A list is used for an item that has all fields of the list. The first list identifies a
/// wait of one thread for another thread. The second list identifies the item at an address of a program.
const TOGETHER: [&[&str]; 2] = [&["thread", "state", "ended_by"], &["program", "address"]];

/// Fields that identify an item together. They are used only if the item has none of the fields in [`NAMES`].
const PLACES: [&str; 6] = ["kind", "from", "to", "hub", "node", "mcu"];

pub(crate) fn run(args: DiffArgs) -> anyhow::Result<()> {
    let json = args.force.create_if_wanted(args.json.as_ref())?;
    let differences = Differences::new(&Values::read(&args.a)?, &Values::read(&args.b)?);
    let most = args.most.unwrap_or(if args.all { usize::MAX } else { 10 });
    let text = differences.text(&name(&args.a), &name(&args.b), most, args.all);
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
    numbers: BTreeMap<(String, String), Number>,
    texts: BTreeMap<String, String>,
    /// The largest difference between the longest and the shortest of several replays, as a fraction of the shortest.
    spread: f64,
}

struct Number {
    value: f64,
    /// The names of the fields that lead to the number, without those that identify an item of a list. In a list of counters, the event is
    /// part of the kind.
    kind: String,
}

impl Values {
    fn number(&self, group: &str, name: &str) -> Option<f64> {
        self.numbers.get(&(group.to_owned(), name.to_owned())).map(|number| number.value)
    }

    fn read(path: &Path) -> anyhow::Result<Self> {
        let mut values = Self::default();
        let run = Run::read(path)?;
        if let Run::Replay(run) = &run {
            let spreads = run.orders.iter().chain(&run.repeats).map(Spread::difference);
            values.spread = spreads.fold(0.0, f64::max);
        }
        if let Value::Object(fields) = serde_json::to_value(run)? {
            for (key, value) in &fields {
                match value {
                    Value::Object(_) | Value::Array(_) => values.add(key, "", "", value),
                    value => values.add(RUN, key, key, value),
                }
            }
        }
        Ok(values)
    }

    fn add(&mut self, group: &str, name: &str, kind: &str, value: &Value) {
        match value {
            Value::Number(number) => {
                let key = (group.to_owned(), name.to_owned());
                let value = number.as_f64().unwrap_or(0.0);
                self.numbers.insert(key, Number { value, kind: kind.to_owned() });
            }
            Value::Object(fields) => {
                for (key, value) in fields {
                    let names = NAMES.iter().chain(&PLACES).any(|name| name == key);
                    if !names && key != "perfreg" {
                        self.add(group, &joined(name, key), &joined(kind, key), value);
                    }
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
                    let mut item = item.clone();
                    if let Value::Object(fields) = &mut item {
                        fields.retain(|key, _| !together.contains(&&**key));
                    }
                    self.add(group, &name, &kind, &item);
                }
            }
            Value::Array(items) if items.iter().all(Value::is_number) => {
                for (number, item) in items.iter().enumerate() {
                    self.add(group, &joined(name, &number.to_string()), kind, item);
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

/// Returns the fields that identify an item together; an empty list if the item lacks some of them.
fn together(item: &Value) -> &'static [&'static str] {
    let has_all = |fields: &&&[&str]| fields.iter().all(|field| !item[*field].is_null());
    TOGETHER.iter().find(has_all).copied().unwrap_or_default()
}

/// Returns the name of a list item. The name consists of the fields that identify the item `together`. Without such fields, the name consists
/// of the item's fields that [`NAMES`] lists, up to the first numeric field. If the item has none of these fields, the name consists of its
/// fields in [`PLACES`]. If the item has none of the fields in [`PLACES`] either, the name is the item's index in the list.
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

impl Differences {
    /// Returns all differences by group. The run's own numbers are first. Then comes the group with the difference that matters most. In each
    /// group, the differences that matter most are first, and those that are left out are last.
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
        let weights = Weights::new(a, b);
        let numbers = keys(&a.numbers, &b.numbers).into_iter().map(|key| {
            let [a, b] = [a, b].map(|run| run.numbers.get(key));
            let kind = a.or(b).map_or("", |number| &number.kind);
            let [a, b] = [a, b].map(|number| number.map(|number| number.value));
            let (group, name) = key.clone();
            let weight = weights.weight(key, kind, a, b);
            Difference { group, name, a, b, change: b.unwrap_or(0.0) - a.unwrap_or(0.0), weight }
        });
        let mut numbers: Vec<_> = numbers.filter(|number| number.a != number.b).collect();
        let mut groups: BTreeMap<String, f64> = BTreeMap::new();
        for Difference { group, weight, .. } in &numbers {
            let largest = groups.entry(group.clone()).or_insert(-1.0);
            *largest = largest.max(weight.measure());
        }
        numbers.sort_by(|one, other| {
            let is_run = |number: &Difference| number.group == RUN;
            let of_group = |number: &Difference| groups[&number.group];
            (is_run(other).cmp(&is_run(one)))
                .then(of_group(other).total_cmp(&of_group(one)))
                .then(one.group.cmp(&other.group))
                .then(other.weight.measure().total_cmp(&one.weight.measure()))
                .then(other.change.abs().total_cmp(&one.change.abs()))
        });
        Self {
            settings: settings.filter(|setting| setting.a != setting.b).collect(),
            numbers,
            spreads: [a.spread, b.spread],
        }
    }

    fn text(&self, a: &str, b: &str, most: usize, all: bool) -> String {
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
        let shown = |number: &&Difference| all || matches!(number.weight, Weight::Matters(_));
        for group in self.numbers.chunk_by(|one, other| one.group == other.group) {
            let rows: Vec<_> = group.iter().filter(shown).collect();
            if rows.is_empty() {
                continue;
            }
            let mut table = table::with_header(&format!("{}|>{a}|>{b}|>change|>%", group[0].group));
            for difference in rows.iter().take(most) {
                table.add_row(difference.cells());
            }
            let _ = write!(text, "{}", table::text(&table));
            let _ = match rows.len().saturating_sub(most) {
                0 => writeln!(text),
                more => writeln!(text, "... and {more} more\n"),
            };
        }
        if !all {
            text += &self.left_out();
        }
        if text.is_empty() {
            return "nothing but the spread of the cycles differs; --all shows it\n".to_owned();
        }
        text.truncate(text.trim_end().len());
        text + "\n"
    }

    /// Returns sentences about the rows that are left out.
    fn left_out(&self) -> String {
        let count = |weight: Weight| self.numbers.iter().filter(|one| one.weight == weight).count();
        let mut parts = Vec::new();
        let [few, within] = [Weight::FewCounts, Weight::WithinSpread].map(count);
        if few > 0 {
            parts.push(format!("{} of few counts", counted_plainly(few as u64, "row")));
        }
        if within > 0 {
            let spread =
                self.spreads.iter().fold(0.0_f64, |most, spread| most.max(*spread)) * 100.0;
            let rows = counted_plainly(within as u64, "row");
            parts.push(format!("{rows} within the spread of the cycles ({spread:.1}%)"));
        }
        match few + within {
            0 => String::new(),
            1 => format!("{} is left out; --all shows it\n", parts.concat()),
            _ => format!("{} are left out; --all shows them\n", parts.join(" and ")),
        }
    }
}

/// The numbers that determine how much the differences between two runs matter.
struct Weights<'v> {
    a: &'v Values,
    b: &'v Values,
    /// For each group and kind, the sum of its numbers in the run where this sum is larger.
    sums: BTreeMap<(&'v str, &'v str), f64>,
    /// The cycles of the longer run; 0 if neither run contains its cycles.
    cycles: f64,
}

impl<'v> Weights<'v> {
    fn new(a: &'v Values, b: &'v Values) -> Self {
        let mut sums: BTreeMap<(&str, &str), f64> = BTreeMap::new();
        for run in [a, b] {
            let mut of_run: BTreeMap<(&str, &str), f64> = BTreeMap::new();
            for ((group, _), number) in &run.numbers {
                *of_run.entry((group, &number.kind)).or_default() += number.value.abs();
            }
            for (kind, sum) in of_run {
                let largest = sums.entry(kind).or_default();
                *largest = largest.max(sum);
            }
        }
        let cycles = |run: &Values| run.number(RUN, "cycles").unwrap_or(0.0);
        Self { a, b, sums, cycles: cycles(a).max(cycles(b)) }
    }

    fn weight(
        &self,
        (group, name): &(String, String),
        kind: &str,
        a: Option<f64>,
        b: Option<f64>,
    ) -> Weight {
        if self.is_repeated(group, name, [a, b]) {
            return Weight::Repeated;
        }
        let [a, b] = [a, b].map(|number| number.unwrap_or(0.0));
        let most = a.abs().max(b.abs());
        let sum = self.sums.get(&(&**group, kind)).copied().unwrap_or(most);
        let relative = (b - a).abs() / most.max(f64::MIN_POSITIVE);
        let spread = self.a.spread.max(self.b.spread);
        let measure = (relative - spread).max(0.0) * (most / sum.max(f64::MIN_POSITIVE)).sqrt();
        if ALWAYS.contains(&&**group) {
            return Weight::Matters(measure);
        }
        let is_cycles = kind.split(' ').any(|word| CYCLES.contains(&word));
        let change = (b - a).abs();
        let cycles = if is_cycles { change } else { change * CYCLES_OF_EVENT };
        let is_count = a.fract() == 0.0 && b.fract() == 0.0;
        match is_count && (most < FEW * sum || cycles < FEW * self.cycles) {
            true => Weight::FewCounts,
            false if relative <= spread => Weight::WithinSpread,
            false => Weight::Matters(measure),
        }
    }

    /// Returns `true` if another row shows the same change. Such a row exists for the true number of a counter that measured the same
    /// number, for the time of a run whose cycles are shown, and for the lengths in a spread.
    fn is_repeated(&self, group: &str, name: &str, numbers: [Option<f64>; 2]) -> bool {
        let same = |other: &str| [self.a, self.b].map(|run| run.number(group, other)) == numbers;
        match group {
            "time" => self.cycles > 0.0 && name != "hertz",
            group if SPREADS.contains(&group) => true,
            _ => name.strip_suffix(" truth").is_some_and(|unit| same(&format!("{unit} measured"))),
        }
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
