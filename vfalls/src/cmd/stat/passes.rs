//! Replays that count the events for which one replay has too few counters.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use simulator::replay::{Prepared, Selection, Stage};
use simulator::run::{Replayed, Total};

use crate::cmd::source::ReplaySource;
use crate::cmd::stat::beside::{Beside, Job};
use crate::table::{WIDTH, wrap};
use crate::text::replay::Samples;

/// A pass after the first one.
struct Pass {
    number: usize,
    prepared: Prepared,
}

impl Job for Pass {
    type Done = (usize, Replayed, Samples);

    fn run(self, stop: &AtomicBool) -> anyhow::Result<Self::Done> {
        let interval = self.prepared.setup().interval.is_some();
        let mut samples = Samples::default();
        let run = self.prepared.run(|stage| {
            if let Stage::Sample { references, counters, .. } = stage
                && interval
            {
                samples.add(references, counters);
            }
            match stop.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        Ok((self.number, run, samples))
    }
}

/// The passes after the first one.
pub(super) struct Passes(Vec<Pass>);

impl Passes {
    /// Prepares passes that count these events, and otherwise replay what the prepared first pass replays.
    pub(super) fn prepare(
        selections: Vec<Selection>,
        source: &ReplaySource,
        first: &Prepared,
    ) -> anyhow::Result<Self> {
        let prepare = |(number, selection)| {
            let programs = source.open()?.into_iter().map(|program| program.read_ahead());
            let setup = first.setup().again(programs.collect(), 0).selection(selection);
            let setup = setup.interval(first.setup().interval).details(first.setup().details);
            Ok(Pass { number, prepared: setup.check()? })
        };
        (0..).zip(selections).map(prepare).collect::<anyhow::Result<_>>().map(Self)
    }

    /// Returns the number of all passes, with the first one.
    pub(super) fn number(&self) -> usize {
        1 + self.0.len()
    }

    /// Returns the events that these passes count, and that the memory system does not model.
    pub(super) fn not_modelled(&self) -> impl Iterator<Item = String> {
        self.0.iter().flat_map(|pass| pass.prepared.setup().selection.not_modelled())
    }

    /// Calls `first`, which is the first pass and keeps its samples, while other host threads make these passes. Adds their counters to the run,
    /// and their samples to those of the first pass, unless the run was stopped.
    pub(super) fn beside(
        self,
        samples: &mut Samples,
        first: impl FnOnce(&mut Samples) -> anyhow::Result<Replayed>,
    ) -> anyhow::Result<Replayed> {
        let (mut run, mut done) = Beside::new(self.0).run(|| first(samples))?;
        done.sort_by_key(|(number, ..)| *number);
        for (_, pass, of_pass) in done {
            run.add_pass(pass)?;
            samples.join(of_pass);
        }
        Ok(run)
    }
}

/// Prints in how many passes the events were counted.
pub(super) fn print(output: &mut impl Write, passes: usize, run: &Replayed) -> io::Result<()> {
    let events = Total::by_event(&run.counters).len();
    let sentence = format!(
        "The {events} events were counted in {passes} passes, because a unit counts two at once. All else is the same in each pass, except \
         for the hypercalls: they are those of the first pass."
    );
    writeln!(output, "{}", wrap(&sentence, WIDTH).join("\n"))
}
