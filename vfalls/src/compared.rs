//! Compares runs side by side: the settings that differ, and the figures.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::mem;

use anyhow::Context;
use serde::Serialize;
use simulator::nearest::unknown;
use simulator::run::{FigureValue, Run, SettingValue};

use crate::numbers::counted_plainly;
use crate::table::{self, Table, WIDTH, cut, wrap};

/// Figures that appear in the table only if the user names them.
const OMITTED_BY_DEFAULT: [&str; 5] = ["instructions", "local", "remote", "c2c", "hypercalls"];

const JSON: &str = ".json";

/// The named values of many runs. The names are in the order of their first occurrence.
struct Fields<V> {
    names: Vec<Cow<'static, str>>,
    /// The values of each run, in the order of the names. A row can be shorter than the list of names.
    rows: Vec<Vec<Option<V>>>,
}

impl<V> Default for Fields<V> {
    fn default() -> Self {
        Self { names: Vec::new(), rows: Vec::new() }
    }
}

impl<V: Clone + PartialEq> Fields<V> {
    fn add(&mut self, run: impl Iterator<Item = (Cow<'static, str>, V)>) {
        let mut row = vec![None; self.names.len()];
        for (name, value) in run {
            let place = self.place(&name).unwrap_or_else(|| {
                self.names.push(name);
                row.push(None);
                self.names.len() - 1
            });
            row[place] = Some(value);
        }
        self.rows.push(row);
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|other| other == name)
    }

    fn get(&self, row: usize, place: usize) -> Option<&V> {
        self.rows[row].get(place)?.as_ref()
    }

    /// Returns `true` if the runs do not all have the same value.
    fn differs(&self, place: usize) -> bool {
        let first = self.get(0, place);
        (1..self.rows.len()).any(|row| self.get(row, place) != first)
    }
}

/// The names, settings and figures of the runs.
#[derive(Default)]
pub(crate) struct Runs {
    names: Vec<String>,
    /// Each setting, and whether a T2 Plus has the same value.
    settings: Fields<(SettingValue, bool)>,
    figures: Fields<FigureValue>,
}

impl Runs {
    pub(crate) fn add(&mut self, name: String, run: &Run) {
        self.names.push(name);
        let settings = run.settings().into_iter();
        self.settings.add(settings.map(|one| (one.name, (one.value, one.is_usual))));
        self.figures.add(run.figures().into_iter().map(|one| (one.name, one.value)));
    }

    /// Counts the runs that have the same settings as an earlier run. Returns this number, the name of one such run, and the name of the
    /// earlier run. Returns `None` if there is no such run.
    pub(crate) fn repeated(&self) -> Option<(usize, &str, &str)> {
        let mut earlier = BTreeMap::new();
        let (mut number, mut example) = (0, None);
        for (row, name) in self.names.iter().enumerate() {
            let places = 0..self.settings.names.len();
            let settings: Vec<_> = places.map(|place| self.settings.get(row, place)).collect();
            if let Some(first) = earlier.get(&settings) {
                number += 1;
                example = example.or(Some((name, *first)));
            } else {
                earlier.insert(settings, name);
            }
        }
        example.map(|(later, first)| (number, later.as_str(), first.as_str()))
    }
}

struct Column {
    name: Cow<'static, str>,
    values: Vec<Option<FigureValue>>,
    /// The change of each value as a percentage of the base's value; `None` if a value is missing, or the base's value is 0.
    changes: Vec<Option<f64>>,
}

/// Several runs in comparison: their settings and their figures.
pub(crate) struct RunComparison {
    names: Vec<String>,
    /// The name of the run that changes are relative to.
    base: String,
    /// The settings and figures that all runs have in common. Leaves out settings that are the same on a T2 Plus.
    same: BTreeMap<Cow<'static, str>, CommonValue>,
    /// The settings that differ, and their values in each run.
    settings: Vec<(Cow<'static, str>, Vec<Option<SettingValue>>)>,
    figures: Vec<Column>,
    /// The indices of the runs, in the order of the rows.
    order: Vec<usize>,
}

/// A setting or figure that is the same in all runs.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum CommonValue {
    Setting(SettingValue),
    Figure(FigureValue),
}

impl CommonValue {
    fn text(&self) -> String {
        match self {
            Self::Setting(value) => value.to_string(),
            Self::Figure(value) => format!("{value:.2}"),
        }
    }
}

impl RunComparison {
    /// Compares the runs. `asked` names the figures to show. If `asked` is empty, the table shows the usual figures that differ between the
    /// runs. `base` is the index of the run that changes are relative to.
    pub(crate) fn new(runs: Runs, asked: &[String], base: usize) -> anyhow::Result<Self> {
        let Runs { names, settings, figures } = runs;
        let number = names.len();
        let mut same = BTreeMap::new();
        let mut differing = Vec::new();
        for (place, name) in settings.names.iter().enumerate() {
            if settings.differs(place) {
                let values = (0..number).map(|row| Some(settings.get(row, place)?.0.clone()));
                differing.push((name.clone(), values.collect()));
            } else if let Some((value, false)) = settings.get(0, place) {
                same.insert(name.clone(), CommonValue::Setting(value.clone()));
            }
        }
        let mut places = Vec::new();
        for name in asked {
            let known = figures.names.iter().map(|name| &**name);
            let place = figures.place(name).with_context(|| unknown("event", name, known))?;
            if !places.contains(&place) {
                places.push(place);
            }
        }
        if asked.is_empty() {
            for (place, name) in figures.names.iter().enumerate() {
                if OMITTED_BY_DEFAULT.contains(&&**name) {
                    continue;
                }
                match figures.get(0, place) {
                    Some(value) if number > 1 && !figures.differs(place) => {
                        same.insert(name.clone(), CommonValue::Figure(*value));
                    }
                    _ => places.push(place),
                }
            }
        }
        let column = |place: usize| {
            let values: Vec<_> = (0..number).map(|row| figures.get(row, place).copied()).collect();
            let base = values[base].map(FigureValue::as_f64).filter(|base| *base != 0.0);
            let change = |value: &Option<FigureValue>| {
                base.zip(*value).map(|(base, value)| (value.as_f64() - base) / base * 100.0)
            };
            let changes = values.iter().map(change).collect();
            Column { name: figures.names[place].clone(), values, changes }
        };
        let figures = places.into_iter().map(column).collect();
        let (base, order) = (names[base].clone(), (0..number).collect());
        Ok(Self { names, base, same, settings: differing, figures, order })
    }

    /// Returns the name of each column, and whether it has numbers.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&str, bool)> {
        let is_number =
            |value: &Option<SettingValue>| matches!(value, None | Some(SettingValue::Number(_)));
        let settings = self.settings.iter();
        let settings = settings.map(move |(name, values)| (&**name, values.iter().all(is_number)));
        let figures = self.figures.iter().map(|column| (&*column.name, true));
        [("run", false)].into_iter().chain(settings).chain(figures)
    }

    /// Sorts the rows by a column. Runs that lack the column are last; equal rows keep their order.
    pub(crate) fn sort(&mut self, column: usize) {
        let mut order = mem::take(&mut self.order);
        order.sort_by(|one, other| self.compare(column, *one, *other));
        self.order = order;
    }

    pub(crate) fn reverse(&mut self) {
        self.order.reverse();
    }

    /// Compares two runs by the value in a column.
    fn compare(&self, column: usize, one: usize, other: usize) -> Ordering {
        fn last<V>(
            one: Option<V>,
            other: Option<V>,
            compare: impl Fn(V, V) -> Ordering,
        ) -> Ordering {
            match (one, other) {
                (Some(one), Some(other)) => compare(one, other),
                (one, other) => one.is_none().cmp(&other.is_none()),
            }
        }
        let Some(column) = column.checked_sub(1) else {
            return self.names[one].cmp(&self.names[other]);
        };
        match self.settings.get(column) {
            Some((_, values)) => last(values[one].as_ref(), values[other].as_ref(), Ord::cmp),
            None => {
                let values = &self.figures[column - self.settings.len()].values;
                last(values[one], values[other], FigureValue::compare)
            }
        }
    }

    /// Returns the position that each row has when the rows are sorted by a column.
    pub(crate) fn ranks(&self, column: usize) -> Vec<usize> {
        let mut sorted: Vec<usize> = (0..self.order.len()).collect();
        sorted.sort_by(|one, other| self.compare(column, self.order[*one], self.order[*other]));
        let mut places = vec![0; sorted.len()];
        for (place, row) in sorted.into_iter().enumerate() {
            places[row] = place;
        }
        places
    }

    /// Returns each row's number as a percentage of the largest number in a column of figures. Returns an empty list for other columns.
    pub(crate) fn parts(&self, column: usize) -> Vec<Option<f64>> {
        let figures = column.checked_sub(1 + self.settings.len());
        let Some(Column { values, .. }) = figures.and_then(|place| self.figures.get(place)) else {
            return Vec::new();
        };
        let largest = values.iter().flatten().map(|value| value.as_f64()).fold(0.0, f64::max);
        let part =
            |row: &usize| values[*row].map(|value| 100.0 * value.as_f64() / largest.max(1e-9));
        self.order.iter().map(part).collect()
    }

    /// Returns the table with whole names and exact numbers.
    pub(crate) fn exact(&self) -> Table {
        self.table(|name| name, |column| format!(">{column} %"), usize::MAX, None)
    }

    /// Returns the table with rounded numbers. Run names are shown without the beginning and the end that they all share.
    pub(crate) fn rounded(&self) -> Table {
        let (begin, end) = self.around();
        self.table(|name| &name[begin..name.len() - end], |_| ">%".to_owned(), 40, Some(2))
    }

    /// Returns two lengths in bytes: the length of the directory prefix that all names share, and the length of `.json` if all names end
    /// with it (0 otherwise).
    fn around(&self) -> (usize, usize) {
        let [first, others @ ..] = &self.names[..] else {
            return (0, 0);
        };
        let directory = |name: &str| name.rfind('/').map_or(0, |slash| slash + 1);
        let mut begin = directory(first);
        for name in others {
            while !name.starts_with(&first[..begin]) {
                begin = directory(&first[..begin - 1]);
            }
        }
        let ends = |name: &String| name[begin..].len() > JSON.len() && name.ends_with(JSON);
        (begin, if self.names.iter().all(ends) { JSON.len() } else { 0 })
    }

    /// Returns the table. `shown` returns the part of a run's name to show. `change` returns the heading of a column of changes. `most` is
    /// the maximum number of characters in a setting. `digits` is the number of decimals in a ratio; `None` for all decimals.
    fn table(
        &self,
        shown: impl Fn(&str) -> &str,
        change: impl Fn(&str) -> String,
        most: usize,
        digits: Option<usize>,
    ) -> Table {
        let align = |(name, is_number): (&str, bool)| match is_number {
            true => format!(">{name}"),
            false => name.to_owned(),
        };
        let settings = self.columns().take(1 + self.settings.len()).map(align);
        let figures = self.figures.iter();
        let figures = figures.flat_map(|Column { name, .. }| [format!(">{name}"), change(name)]);
        let mut table = table::with_columns(settings.chain(figures));
        for row in &self.order {
            let setting = |(_, values): &(_, Vec<Option<SettingValue>>)| {
                values[*row].as_ref().map_or("-".to_owned(), |value| cut(&value.to_string(), most))
            };
            let figures = self.figures.iter().flat_map(|column| {
                let value = column.values[*row].map_or("-".to_owned(), |value| match digits {
                    Some(digits) => format!("{value:.digits$}"),
                    None => value.to_string(),
                });
                [value, percent(column.changes[*row])]
            });
            let first = [shown(&self.names[*row]).to_owned()].into_iter();
            table.add_row(first.chain(self.settings.iter().map(setting)).chain(figures));
        }
        table
    }

    /// Returns sentences about what the table shows, without full stops.
    pub(crate) fn description(&self) -> [String; 2] {
        let first = match self.names.len() {
            1 => "1 run".to_owned(),
            number => {
                let number = counted_plainly(number as u64, "run");
                format!("{number}; each % is the change from {}", self.base)
            }
        };
        let same = self.same.iter();
        let same = same.map(|(name, value)| format!("{name} {}", cut(&value.text(), WIDTH)));
        let of = if self.names.len() == 1 { "its settings" } else { "the same in all runs" };
        [first, format!("{of}: {}", same.collect::<Vec<_>>().join("; "))]
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for line in self.description().iter().flat_map(|about| wrap(about, WIDTH)) {
            let _ = writeln!(text, "{line}");
        }
        text + "\n" + &table::text(&self.rounded())
    }
}

fn percent(change: Option<f64>) -> String {
    let rounded = change.map(|change| format!("{change:+.1}"));
    match rounded.as_deref() {
        None => "-".to_owned(),
        Some("+0.0" | "-0.0") => "0.0".to_owned(),
        Some(rounded) => rounded.to_owned(),
    }
}

impl Serialize for RunComparison {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Row<'a> {
            run: &'a str,
            settings: BTreeMap<&'a str, &'a Option<SettingValue>>,
            figures: BTreeMap<&'a str, Option<FigureValue>>,
            changes: BTreeMap<&'a str, Option<f64>>,
        }
        #[derive(Serialize)]
        struct Rows<'a> {
            base: &'a str,
            same: &'a BTreeMap<Cow<'static, str>, CommonValue>,
            runs: Vec<Row<'a>>,
        }
        let rows = self.order.iter().map(|row| Row {
            run: &self.names[*row],
            settings: self.settings.iter().map(|(name, values)| (&**name, &values[*row])).collect(),
            figures: self.figures.iter().map(|one| (&*one.name, one.values[*row])).collect(),
            changes: self.figures.iter().map(|one| (&*one.name, one.changes[*row])).collect(),
        });
        Rows { base: &self.base, same: &self.same, runs: rows.collect() }.serialize(to)
    }
}
