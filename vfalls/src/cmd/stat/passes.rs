//! Performs further replays (passes), which count the events for which one replay has too few counters.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use simulator::replay::{Prepared, Selection, Setup, Stage};
use simulator::run::{Replayed, Total};

use crate::cmd::source::ReplaySource;
use crate::cmd::stat::background::{BackgroundJob, BackgroundJobs};
use crate::plain;
use crate::table::{WIDTH, wrap};
use crate::text::replay::Samples;

/// A pass after the first one.
struct Pass<'a> {
    number: usize,
    source: &'a ReplaySource,
    setup: Setup,
    bar: ProgressBar,
}

impl BackgroundJob for Pass<'_> {
    type Done = (usize, Replayed, Samples);

    fn run(self, stop: &AtomicBool) -> anyhow::Result<Self::Done> {
        let programs = self.source.open()?.into_iter().map(|program| program.read_ahead());
        let prepared = self.setup.programs(programs.collect::<Vec<_>>()).check()?;
        let interval = prepared.setup().interval.is_some();
        let mut samples = Samples::default();
        let run = prepared.run(|stage| {
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
        self.bar.inc(1);
        Ok((self.number, run, samples))
    }
}

/// The passes after the first one.
pub(super) struct Passes<'a> {
    passes: Vec<Pass<'a>>,
    /// Shows how many passes are done, after the end of the first pass, which has a bar of its own.
    bar: ProgressBar,
}

impl<'a> Passes<'a> {
    /// Returns passes that count these events. Apart from the events, each pass is the same replay as the prepared first pass.
    pub(super) fn new(
        selections: &[Selection],
        source: &'a ReplaySource,
        first: &Prepared,
    ) -> Self {
        let bar = ProgressBar::hidden();
        bar.set_length(1 + selections.len() as u64);
        let pass = |(number, selection): (usize, &Selection)| {
            let Setup { interval, details, .. } = *first.setup();
            let setup = first.setup().repeated(Vec::new(), 0).selection(*selection);
            let setup = setup.interval(interval).details(details);
            Pass { number, source, setup, bar: bar.clone() }
        };
        Self { passes: selections.iter().enumerate().map(pass).collect(), bar }
    }

    /// Returns the number of all passes, including the first one.
    pub(super) fn number(&self) -> usize {
        1 + self.passes.len()
    }

    /// Calls `first`, which performs the first pass and keeps its samples. At the same time, other host threads perform these passes.
    /// Unless the run was stopped, adds the counters of these passes to the run, and their samples to those of the first pass.
    pub(super) fn beside(
        self,
        samples: &mut Samples,
        first: impl FnOnce(&mut Samples) -> anyhow::Result<Replayed>,
    ) -> anyhow::Result<Replayed> {
        let Self { passes, bar } = self;
        let (mut run, mut done) = BackgroundJobs::new(passes).run(|| {
            let run = first(samples)?;
            if plain::raw_stderr().is_terminal() && !run.stopped {
                bar.set_style(ProgressStyle::with_template("{wide_bar} {pos} of {len} passes")?);
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            bar.inc(1);
            Ok(run)
        })?;
        bar.finish_and_clear();
        done.sort_by_key(|(number, ..)| *number);
        for (_, pass, of_pass) in done {
            run.add_pass(pass)?;
            samples.join(of_pass);
        }
        Ok(run)
    }
}

/// Prints how many passes it took to count the events.
pub(super) fn print(output: &mut impl Write, passes: usize, run: &Replayed) -> io::Result<()> {
    let events = Total::by_event(&run.counters).len();
    let sentence = format!(
        "The {events} events were counted in {passes} passes, because a unit counts two at a time. All else is the same in each pass, except \
         for the hypercalls: they are those of the first pass."
    );
    writeln!(output, "{}", wrap(&sentence, WIDTH).join("\n"))
}
