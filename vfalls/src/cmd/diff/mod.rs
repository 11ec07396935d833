//! `diff`: shows the differences between two runs.

mod values;
mod weights;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::iter;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::numbers::counted_plainly;
use crate::output::{self, Force};
use crate::plain;
use crate::table::{self, cut};
use values::{Numbers, RUN, Values};
use weights::{Weight, Weights};

/// Show what differs between two runs, most important first
///
/// Compares two runs that stat, top, report, c2c or boot have written with --json. Replays and executions are deterministic: what
/// differs between two runs comes from what was changed. Files of another version of vfalls are refused.
///
/// First comes what has changed most in proportion, beyond the spread of the cycles (of stat --orders or --repeat), and what has a large
/// part in the sum of its kind. Changes within the spread are left out, and so are rows with small counts: the count is below 0.1% of the
/// sum of its kind, or the change is below 0.1% of the run, at 100 cycles for each event.
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

    /// Show rows with small counts and changes within the spread, too
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
    /// The number in the second run minus the number in the first run. A missing number counts as 0.
    change: f64,
    #[serde(skip)]
    weight: Weight,
}

/// A string, or a list of strings, that differs between the runs.
#[derive(Debug, Serialize)]
struct SettingDifference {
    name: String,
    a: Option<String>,
    b: Option<String>,
}

#[derive(Debug, Serialize)]
struct Differences {
    settings: Vec<SettingDifference>,
    numbers: Vec<Difference>,
    /// The spread of each run's cycles.
    #[serde(skip)]
    spreads: [f64; 2],
}

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

impl Differences {
    /// Returns all differences by group. The group [`RUN`] (the direct fields of the runs) comes first. The other groups follow, sorted by
    /// their most important differences. Within a group, the most important differences come first, and those that the output leaves out
    /// come last.
    fn new(a: &Values, b: &Values) -> Self {
        let settings = pairs(&a.texts, &b.texts).filter(|(_, [a, b])| a != b);
        let settings = settings.map(|(name, [a, b])| SettingDifference {
            name: name.clone(),
            a: a.cloned(),
            b: b.cloned(),
        });
        let none = Numbers::new();
        let mut groups: Vec<_> = pairs(&a.numbers, &b.numbers)
            .map(|(group, runs)| {
                let runs = runs.map(|numbers| numbers.unwrap_or(&none));
                Difference::of_group(group, runs, &Weights::new(group, runs, a, b))
            })
            .filter(|group| !group.is_empty())
            .collect();
        groups.sort_by(|one, other| {
            let is_run = |group: &[Difference]| group[0].group == RUN;
            let measure = |group: &[Difference]| group[0].weight.measure();
            (is_run(other).cmp(&is_run(one))).then(measure(other).total_cmp(&measure(one)))
        });
        let (settings, numbers) = (settings.collect(), groups.into_iter().flatten().collect());
        Self { settings, numbers, spreads: [a.spread, b.spread] }
    }

    fn text(&self, a: &str, b: &str, most: usize, all: bool) -> String {
        let mut text = String::new();
        if self.settings.is_empty() && self.numbers.is_empty() {
            return "nothing differs\n".to_owned();
        }
        if !self.settings.is_empty() {
            let mut table = table::with_header(&format!("set|{a}|{b}"));
            for SettingDifference { name, a, b } in &self.settings {
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
            text += &self.omitted_rows();
        }
        if text.is_empty() {
            return "nothing but the spread of the cycles differs; --all shows it\n".to_owned();
        }
        text.truncate(text.trim_end().len());
        text + "\n"
    }

    /// Returns sentences that say which rows are left out.
    fn omitted_rows(&self) -> String {
        let count = |weight: Weight| self.numbers.iter().filter(|one| one.weight == weight).count();
        let mut parts = Vec::new();
        let [few, within] = [Weight::FewCounts, Weight::WithinSpread].map(count);
        if few > 0 {
            parts.push(format!("{} with small counts", counted_plainly(few as u64, "row")));
        }
        if within > 0 {
            let spread =
                self.spreads.iter().fold(0.0_f64, |most, spread| most.max(*spread)) * 100.0;
            let rows = counted_plainly(within as u64, "row");
            parts.push(format!("{rows} within the spread of the cycles ({spread:.1}%)"));
        }
        match few + within {
            0 => String::new(),
            1 => format!("{} is omitted; --all shows it\n", parts.concat()),
            _ => format!("{} are omitted; --all shows them\n", parts.join(" and ")),
        }
    }
}

/// Returns the keys of both maps in order, each with its value in each map.
fn pairs<'m, V>(
    a: &'m BTreeMap<String, V>,
    b: &'m BTreeMap<String, V>,
) -> impl Iterator<Item = (&'m String, [Option<&'m V>; 2])> {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    iter::from_fn(move || {
        let order = match (a.peek(), b.peek()) {
            (Some((a, _)), Some((b, _))) => a.cmp(b),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        let (a, b) = (a.next_if(|_| order.is_le()), b.next_if(|_| order.is_ge()));
        let (key, _) = a.or(b)?;
        Some((key, [a, b].map(|entry| entry.map(|(_, value)| value))))
    })
}

impl Difference {
    /// Returns the differences in one group of numbers, most important first.
    fn of_group(group: &str, [a, b]: [&Numbers; 2], weights: &Weights<'_>) -> Vec<Self> {
        let mut differences = Vec::new();
        for (name, numbers) in pairs(a, b) {
            let [a, b] = numbers.map(|number| number.map(|number| number.value));
            if a != b {
                let kind = numbers.into_iter().flatten().next().map_or("", |number| &number.kind);
                let weight = weights.weight(name, kind, a, b);
                let change = b.unwrap_or(0.0) - a.unwrap_or(0.0);
                let (group, name) = (group.to_owned(), name.clone());
                differences.push(Self { group, name, a, b, change, weight });
            }
        }
        differences.sort_by(|one, other| {
            (other.weight.measure().total_cmp(&one.weight.measure()))
                .then(other.change.abs().total_cmp(&one.change.abs()))
        });
        differences
    }

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
