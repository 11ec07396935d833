//! Formats the layouts of event headers as a table.

use std::fmt;

use simulator::events::layouts::{LayoutRow, Layouts};

use crate::table;

pub(crate) struct LayoutsText<'a>(pub(crate) &'a Layouts);

/// The names of time units, and their lengths in seconds.
const UNITS: [(f64, &str); 5] =
    [(31_557_600.0, "years"), (1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")];

/// Returns a time with four digits. Chooses the largest unit that is not longer than the time.
pub(crate) fn time(seconds: f64) -> String {
    let fits = UNITS.into_iter().find(|(unit, _)| seconds >= *unit);
    let (unit, name) = fits.unwrap_or(UNITS[4]);
    let number = seconds / unit;
    let digits = match number {
        ..10.0 => 3,
        ..100.0 => 2,
        ..1000.0 => 1,
        _ => 0,
    };
    format!("{number:.digits$} {name}")
}

fn row(row: &LayoutRow) -> Vec<String> {
    let bits = &row.bits;
    let counts = [bits.short, bits.full, bits.type_, bits.id, bits.size, bits.clock, bits.cut];
    let mut cells = vec![row.name.to_owned()];
    cells.extend(counts.iter().map(u32::to_string));
    cells.push(row.ids.to_string());
    cells.push(time(row.granularity_s));
    cells.push(time(row.wrap_s));
    cells.push(row.heartbeat_s.map_or_else(|| "-".to_owned(), time));
    cells
}

impl fmt::Display for LayoutsText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layouts { hz, probe_ns, timer_hz, longest_off_ns, lowest_cut, highest_cut, layouts } =
            self.0;
        writeln!(
            f,
            "A clock of {hz} Hz, probes of {probe_ns} ns, a timer of {timer_hz} Hz, interrupts off for {longest_off_ns} ns: \
             headers can omit\nthe lowest {lowest_cut} bits of the clock, and the highest {highest_cut} of 32.\n"
        )?;
        let mut table = table::with_header(
            "layout|>short|>full|>type|>id|>size|>clock|>cut|>ids|>granularity|>wraps after|>heartbeat",
        );
        layouts.iter().for_each(|layout| table.add_row(row(layout)));
        write!(f, "{}", table::text(&table))?;
        write!(
            f,
            "\n\
             short, full: bits of the two headers; type, id, size, clock: bits of these in the short one; cut: the lowest bits of\n\
             the clock, which are omitted; ids: how many kinds of event the short header can distinguish; heartbeat: a reader\n\
             notices each wrap if heartbeats are no further apart than this; - if the timer interrupt comes too rarely for that.\n\
             The hypervisor's rings need no heartbeat: an event whose time the short header cannot express has the full one.\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (seconds, text) in [
            (0.0, "0.000 ns"),
            (0.25e-9, "0.250 ns"),
            (128e-9, "128.0 ns"),
            (0.067_108_864, "67.11 ms"),
            (1.5, "1.500 s"),
            (31_557_599.0, "31557599 s"),
            (63_115_200.0, "2.000 years"),
        ] {
            assert_eq!(time(seconds), text);
        }
    }
}
