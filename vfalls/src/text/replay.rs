//! Formats a replay's samples, events and hypercalls as text, in the style of `busstat`.

use std::io::{self, Write};

use crate::table::{self, WIDTH, wrap};
use simulator::replay::{CounterLocation, CounterPair, Listed};
use simulator::run::{GuestCalls, Hypercalls};

/// The width of the columns for counts, in characters.
const COUNT: usize = 10;

/// A unit or a strand, with the names of its events.
type Unit = (CounterLocation, Vec<&'static str>);

fn unit(pair: &CounterPair) -> Unit {
    (pair.place, pair.events.iter().map(|(_, event)| event.name()).collect())
}

fn instance(place: CounterLocation) -> String {
    match place {
        CounterLocation::Pmu(pmu) => pmu.to_string(),
        CounterLocation::Pic(strand) => format!("strand {strand} %pic"),
    }
}

/// The widths of the columns in the table of samples: first the column of instances, then each column of events.
#[derive(Clone, Copy)]
pub(crate) struct Columns([usize; 2]);

impl Columns {
    fn new<'a>(units: impl Iterator<Item = &'a Unit> + Clone) -> Self {
        let instance = units.clone().map(|(place, _)| instance(*place).len());
        let event = units.flat_map(|(_, events)| events.iter().map(|name| name.len()));
        Self([instance.max().unwrap_or(0).max(8), event.max().unwrap_or(0).max(6)])
    }

    /// Prints the header for samples of these units.
    pub(crate) fn header(output: &mut impl Write, pairs: &[CounterPair]) -> io::Result<Self> {
        let units: Vec<_> = pairs.iter().map(unit).collect();
        Self::new(units.iter()).print_header(output)
    }

    fn print_header(self, output: &mut impl Write) -> io::Result<Self> {
        let Self([instances, events]) = self;
        writeln!(
            output,
            "{:>12}  {:<instances$}  {:<events$}  {:>COUNT$}  {:<events$}  {:>COUNT$}",
            "references", "instance", "event0", "pic0", "event1", "pic1"
        )?;
        Ok(self)
    }

    /// Prints a sample: a line for each unit and each strand.
    pub(crate) fn print(
        self,
        output: &mut impl Write,
        references: u64,
        pairs: &[CounterPair],
    ) -> io::Result<()> {
        for pair in pairs {
            let counts: Vec<u64> =
                pair.events.iter().map(|(counter, _)| pair.latest(*counter)).collect();
            self.line(output, references, &unit(pair), &counts)?;
        }
        Ok(())
    }

    fn line(
        self,
        output: &mut impl Write,
        references: u64,
        (place, names): &Unit,
        counts: &[u64],
    ) -> io::Result<()> {
        let Self([instances, events]) = self;
        let mut line = format!("{references:>12}  {:<instances$}", instance(*place));
        for (event, count) in names.iter().zip(counts) {
            line += &format!("  {event:<events$}  {count:>COUNT$}");
        }
        writeln!(output, "{line}")
    }
}

/// The samples of several passes over the same references.
#[derive(Default)]
pub(crate) struct Samples {
    passes: Vec<PassSamples>,
}

struct PassSamples {
    units: Vec<Unit>,
    /// The number of references at the end of each sample, and the counts of all units.
    counts: Vec<(u64, Vec<u64>)>,
}

impl Samples {
    /// Adds a sample to the only pass, so before other passes are [joined](Self::join).
    pub(crate) fn add(&mut self, references: u64, pairs: &[CounterPair]) {
        if self.passes.is_empty() {
            let units = pairs.iter().map(unit).collect();
            self.passes.push(PassSamples { units, counts: Vec::new() });
        }
        let latest = |pair: &CounterPair| {
            pair.events.iter().map(|(counter, _)| pair.latest(*counter)).collect()
        };
        let counts: Vec<Vec<u64>> = pairs.iter().map(latest).collect();
        if let Some(pass) = self.passes.first_mut() {
            pass.counts.push((references, counts.concat()));
        }
    }

    /// Adds the samples of other passes.
    pub(crate) fn join(&mut self, mut others: Self) {
        self.passes.append(&mut others.passes);
    }

    /// Prints the samples in order of time. In each sample, a unit has a line for each pass that counts its events.
    pub(crate) fn print(&self, output: &mut impl Write) -> io::Result<()> {
        let [first, ..] = &*self.passes else { return Ok(()) };
        let all = self.passes.iter().flat_map(|pass| &pass.units);
        let columns = Columns::new(all).print_header(output)?;
        for (number, (references, _)) in first.counts.iter().enumerate() {
            let mut passes: Vec<_> = self
                .passes
                .iter()
                .filter_map(|pass| Some((&*pass.units, &*pass.counts.get(number)?.1)))
                .collect();
            for (place, _) in &first.units {
                for (units, counts) in &mut passes {
                    // Each unit of a later pass is also a unit of the first pass, and the units are in the same order.
                    if let [unit, rest @ ..] = units
                        && unit.0 == *place
                    {
                        let (own, others) = counts.split_at(unit.1.len());
                        columns.line(output, *references, unit, own)?;
                        (*units, *counts) = (rest, others);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns a table with a row for each event.
pub(crate) fn events(listed: &[Listed]) -> String {
    const MODELLED: &str = "modelled";
    let name = |event: &Listed| format!("{}:{}", event.class, event.event);
    let names = listed.iter().map(|event| name(event).len()).max();
    let left = WIDTH - names.unwrap_or(0) - MODELLED.len() - 4;
    let mut table = table::with_header(&format!("event|{MODELLED}|what it counts"));
    for event in listed {
        let (modelled, why) = match event.absence {
            None => ("yes", String::new()),
            Some(reason) => ("no", format!(" Reads 0: {reason}.")),
        };
        let mut cells = [name(event), modelled.to_owned()];
        for line in wrap(&format!("{}{why}", event.description), left) {
            let [name, modelled] = std::mem::take(&mut cells);
            table.add_row([name, modelled, line]);
        }
    }
    table::text(&table)
}

/// Returns a table with a row for each guest, and a row for each class of registers in the guest's
/// calls.
pub(crate) fn hypercalls(all: &Hypercalls, guests: &[GuestCalls]) -> String {
    let statuses: Vec<&String> = all.by_status.keys().collect();
    let counts: String = statuses.iter().map(|status| format!("|>{status}")).collect();
    let mut table = table::with_header(&format!("guest|grant|registers|>calls{counts}"));
    let mut line = |guest: &str, grant: &str, registers: &str, calls: &Hypercalls| {
        let Hypercalls { total, by_status } = calls;
        let count = |status: &&String| by_status.get(*status).unwrap_or(&0).to_string();
        let names = [guest, grant, registers].map(str::to_owned);
        table.add_row(
            names.into_iter().chain([total.to_string()]).chain(statuses.iter().map(count)),
        );
    };
    for GuestCalls { name, grant, hypercalls, by_class } in guests {
        line(name, grant, "", hypercalls);
        for (class, calls) in by_class {
            line("", "", class, calls);
        }
    }
    table::text(&table)
}
