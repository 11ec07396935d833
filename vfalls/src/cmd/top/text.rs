//! Prints the replay as blocks of plain text, when there is no terminal.

use std::io::{self, Write};

use simulator::run::Replayed;

use crate::cmd::top::view::{ViewContext, summary};
use crate::numbers::count;
use crate::table::WIDTH;
use crate::text::layouts::time;

/// The number of intervals at the start of a replay that each get a block of their own. Later
/// blocks cover several intervals.
const BLOCKS: u64 = 50;

/// Prints blocks of text. The longer the replay lasts, the more references lie between two blocks,
/// so that the text of a long replay stays short.
#[derive(Default)]
pub(crate) struct Blocks {
    intervals: u64,
    shown: Option<Replayed>,
}

impl Blocks {
    /// Prints each of the first 50 samples, every second of the next 50 samples, every fourth of
    /// the next 100, and so on.
    pub(crate) fn sample(
        &mut self,
        output: &mut impl Write,
        next: Replayed,
        look: ViewContext,
    ) -> io::Result<()> {
        self.intervals += 1;
        let every = (self.intervals.div_ceil(BLOCKS)).next_power_of_two();
        if !self.intervals.is_multiple_of(every) {
            return Ok(());
        }
        let last = match &self.shown {
            Some(shown) => next.since(shown),
            None => next.clone(),
        };
        writeln!(
            output,
            "After {} references, {}; the last {}, {}:\n",
            count(next.references),
            time(next.time.seconds),
            count(last.references),
            time(last.time.seconds)
        )?;
        for line in summary(&last, ViewContext { width: WIDTH, ..look }) {
            writeln!(output, "{}", line.to_string().trim_end())?;
        }
        writeln!(output)?;
        self.shown = Some(next);
        output.flush()
    }
}
