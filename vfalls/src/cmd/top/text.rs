//! The view for what is no terminal: a block of lines now and then.

use simulator::run::Replayed;
use std::io::{self, Write};

use crate::text::layouts::time;

use crate::cmd::top::grid::number;
use crate::cmd::top::view::{Look, summary};

/// So many blocks are printed, then half as many for the same number of intervals, and so on.
const BLOCKS: u64 = 50;

/// The width of a line.
const WIDTH: usize = 100;

/// Prints blocks.
#[derive(Default)]
pub(crate) struct Blocks {
    intervals: u64,
    shown: Option<Replayed>,
}

impl Blocks {
    /// Prints a sample, if it is its turn: of the first 50, each; of the next 50, every second; of the next 100, every fourth.
    ///
    /// # Errors
    /// `output` cannot be written.
    pub(crate) fn sample(
        &mut self,
        output: &mut impl Write,
        next: Replayed,
        look: Look,
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
            number(next.references),
            time(next.time.seconds),
            number(last.references),
            time(last.time.seconds)
        )?;
        for line in summary(&last, Look { width: WIDTH, ..look }) {
            let line = line.to_string();
            writeln!(output, "{}", line.trim_end())?;
        }
        writeln!(output)?;
        self.shown = Some(next);
        output.flush()
    }
}
