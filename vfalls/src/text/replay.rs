//! Samples, events and hypercalls of a replay as text, in the style of `busstat`.

use std::io::{self, Write};

use crate::table::{self, WIDTH, wrap};
use simulator::replay::{Listed, Pair, Place};
use simulator::run::{GuestCalls, Hypercalls};

/// Prints samples one by one. A header precedes the first sample.
#[derive(Default)]
pub(crate) struct Samples {
    /// The widths of the columns for instances and events; `None` before the first sample.
    widths: Option<[usize; 2]>,
}

/// The width of the columns for counts, in characters.
const COUNT: usize = 10;

fn instance(place: Place) -> String {
    match place {
        Place::Pmu(pmu) => pmu.to_string(),
        Place::Pic(strand) => format!("strand {strand} %pic"),
    }
}

impl Samples {
    fn widths(pairs: &[Pair]) -> [usize; 2] {
        let instance = pairs.iter().map(|pair| instance(pair.place).len());
        let event = pairs.iter().flat_map(|pair| pair.events.iter().map(|(_, name)| name.len()));
        [instance.max().unwrap_or(0).max(8), event.max().unwrap_or(0).max(6)]
    }

    /// Prints a sample: a line for each unit and each strand.
    pub(crate) fn print(
        &mut self,
        output: &mut impl Write,
        references: u64,
        pairs: &[Pair],
    ) -> io::Result<()> {
        let first = self.widths.is_none();
        let [instances, events] = *self.widths.get_or_insert_with(|| Self::widths(pairs));
        if first {
            writeln!(
                output,
                "{:>12}  {:<instances$}  {:<events$}  {:>COUNT$}  {:<events$}  {:>COUNT$}",
                "references", "instance", "event0", "pic0", "event1", "pic1"
            )?;
        }
        for pair in pairs {
            let mut line = format!("{references:>12}  {:<instances$}", instance(pair.place));
            for (counter, event) in &pair.events {
                line += &format!("  {event:<events$}  {:>COUNT$}", pair.latest(*counter));
            }
            writeln!(output, "{line}")?;
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
