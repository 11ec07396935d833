//! Performs replays in addition to the one that `stat` shows. In these replays, the threads start slightly later, or the recording is
//! another one of the same program.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::bail;
use simulator::replay::{Prepared, Setup, Stage};
use simulator::run::{Replayed, Spread};

use crate::cmd::source::ReplaySource;
use crate::cmd::stat::ReplayArgs;
use crate::cmd::stat::background::{BackgroundJob, BackgroundJobs};
use crate::table::{self, WIDTH, wrap};

/// The maximum length of a recording, in references, that `stat` replays a second time. The second replay shows whether the order of the
/// threads matters.
const MAX_CHECKED: u64 = 50_000_000;

#[derive(clap::Args, Debug)]
pub(crate) struct OrdersArgs {
    /// Replay N times with slightly different starts of the threads, and print the least, median and most cycles. Without this option, a
    /// second replay shows whether the order of threads matters
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000), conflicts_with_all = ["scenario", "list"])]
    orders: Option<u32>,
}

/// The purpose of a replay that is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Purpose {
    /// The replay shows whether a small change in the order matters.
    Check,
    Orders,
    /// The replay is of another recording of the program.
    Repeat,
}

/// A replay that is done only for its number of cycles.
struct ExtraReplay<'a> {
    number: usize,
    source: &'a ReplaySource,
    setup: Setup,
    purpose: Purpose,
}

/// A replay's purpose, its index, and its number of cycles. The cycles are `None` if the recording is too long for a check.
type Done = (Purpose, usize, Option<u64>);

impl BackgroundJob for ExtraReplay<'_> {
    type Done = Done;

    fn run(self, stop: &AtomicBool) -> anyhow::Result<Done> {
        let programs = self.source.open()?.into_iter().map(|program| program.read_ahead());
        let prepared = self.setup.programs(programs.collect::<Vec<_>>()).check()?;
        let most = match self.purpose {
            Purpose::Check => MAX_CHECKED,
            Purpose::Orders | Purpose::Repeat => u64::MAX,
        };
        let run = prepared.run(|stage| match stage {
            Stage::Progress(progress) if progress.references > most => ControlFlow::Break(()),
            _ if stop.load(Ordering::Relaxed) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })?;
        let cycles = (!run.stopped && run.references <= most).then_some(run.cycles);
        Ok((self.purpose, self.number, cycles))
    }
}

/// The replays that `stat` performs in addition to the replay that it shows.
pub(super) struct Orders<'a> {
    jobs: Vec<ExtraReplay<'a>>,
    /// Why the order is not checked; `None` if it is checked, or if it cannot matter.
    unchecked: Option<String>,
}

impl<'a> Orders<'a> {
    /// Returns the replays that the arguments require in addition to the prepared one.
    pub(super) fn new(
        args: &OrdersArgs,
        replay: &ReplayArgs,
        source: &'a ReplaySource,
        earlier: &'a [ReplaySource],
        prepared: &Prepared,
    ) -> anyhow::Result<Self> {
        let setup = prepared.setup();
        let threads: usize = setup.programs.iter().map(|program| program.threads()).sum();
        let references: Option<u64> = setup.programs.iter().map(|one| one.references()).sum();
        let stream = source.stream().map(|path| match path.as_os_str() == "-" {
            true => "standard input can be read only once".to_owned(),
            false => format!("{} can be read only once", path.display()),
        });
        let purpose = if args.orders.is_some() { Purpose::Orders } else { Purpose::Check };
        let mut unchecked = None;
        let others = match (args.orders, stream) {
            (Some(_), _) if threads < 2 => bail!("found 1 thread, expected several for --orders"),
            (Some(_), Some(stream)) => bail!("{stream}, expected a file for --orders"),
            (Some(all), None) => u64::from(all) - 1,
            (None, _) if threads < 2 => 0,
            (None, Some(stream)) => {
                unchecked = Some(stream);
                0
            }
            (None, None) if references.is_some_and(|references| references > MAX_CHECKED) => {
                unchecked = Some(long());
                0
            }
            (None, None) => 1,
        };
        let job = |late: u64| {
            let setup = setup.repeated(Vec::new(), late);
            ExtraReplay { number: late as usize, source, setup, purpose }
        };
        let mut jobs: Vec<_> = (1..=others).map(job).collect();
        for (number, source) in earlier.iter().enumerate() {
            // The program may be at different addresses in each recording.
            let region = replay.region_of(source, &source.open()?, setup.machine)?;
            let setup = setup.repeated(Vec::new(), 0).region(region);
            jobs.push(ExtraReplay { number, source, setup, purpose: Purpose::Repeat });
        }
        Ok(Self { jobs, unchecked })
    }

    /// Calls `run` while other host threads do these replays. Adds the lengths of these replays, in cycles, to the run, unless the run was
    /// stopped.
    pub(super) fn beside(
        self,
        run: impl FnOnce() -> anyhow::Result<Replayed>,
    ) -> anyhow::Result<(Replayed, Spreads)> {
        let asked = self.jobs.iter().any(|job| job.purpose == Purpose::Orders);
        let (mut run, mut done) = BackgroundJobs::new(self.jobs).run(run)?;
        done.sort_unstable();
        let (repeats, orders): (Vec<Done>, Vec<Done>) =
            done.iter().partition(|(purpose, ..)| *purpose == Purpose::Repeat);
        let cycles = |done: &[Done]| -> Option<Vec<u64>> {
            let cycles = done.iter().map(|(.., cycles)| *cycles);
            cycles.collect::<Option<Vec<_>>>().filter(|cycles| !cycles.is_empty())
        };
        let of_run = [run.cycles];
        let is_long = orders.iter().any(|(.., cycles)| cycles.is_none());
        let orders = cycles(&orders).map(|others| [&of_run, &*others].concat());
        let repeats = cycles(&repeats).map(|earlier| [&*earlier, &of_run].concat());
        (run.orders, run.repeats) = (orders.and_then(Spread::new), repeats.and_then(Spread::new));
        let unchecked = self.unchecked.or_else(|| is_long.then(long));
        Ok((run, Spreads { asked, unchecked }))
    }
}

/// What to print about the lengths of the replays in a run.
pub(super) struct Spreads {
    /// Whether the user asked for replays in other orders.
    asked: bool,
    /// Why the order was not checked; `None` if it was checked, or if it cannot matter.
    unchecked: Option<String>,
}

impl Spreads {
    /// Prints how much the cycles of the replays differ, or why the replays were not compared.
    pub(super) fn print(self, output: &mut impl Write, run: &Replayed) -> io::Result<()> {
        if run.stopped {
            return Ok(());
        }
        if let Some(repeats) = &run.repeats {
            spread(output, "recordings of the program", repeats)?;
        }
        let sentence = match &run.orders {
            Some(orders) if self.asked => {
                let latest = Setup::MAX_START_DELAY;
                let replays =
                    format!("replays, in which each thread starts up to {latest} cycles later");
                return spread(output, &replays, orders);
            }
            Some(orders) if matters(orders) => format!(
                "A slightly different order of threads changes the result by {:.0}%, from {} to {} cycles: --orders N gives the spread.",
                orders.difference() * 100.0,
                orders.least,
                orders.most
            ),
            Some(_) => return Ok(()),
            None => match self.unchecked {
                Some(why) => format!(
                    "It was not checked whether a slightly different order of threads changes the result: {why}."
                ),
                None => return Ok(()),
            },
        };
        writeln!(output, "\n{}", wrap(&sentence, WIDTH).join("\n"))
    }
}

fn long() -> String {
    format!(
        "there are more than {} million references (--orders 2 checks it)",
        MAX_CHECKED / 1_000_000
    )
}

/// Returns `true` if the cycles differ by more than 5% plus the longest delay of a thread's start.
fn matters(orders: &Spread) -> bool {
    orders.most - orders.least > orders.least / 20 + Setup::MAX_START_DELAY
}

/// Prints the least, median and most cycles of several runs, and how far the extremes are from the median.
fn spread(output: &mut impl Write, runs: &str, spread: &Spread) -> io::Result<()> {
    writeln!(output, "\nThe cycles of {} {runs}:\n", spread.cycles.len())?;
    let mut table = table::with_header("|>cycles|>from the median");
    let Spread { least, median, most, .. } = *spread;
    for (name, cycles) in [("least", least), ("median", median), ("most", most)] {
        let apart = (cycles as f64 / median.max(1) as f64 - 1.0) * 100.0;
        let apart = match apart.abs() < 0.05 {
            true => "0.0%".to_owned(),
            false => format!("{apart:+.1}%"),
        };
        table.add_row([name.to_owned(), cycles.to_string(), apart]);
    }
    write!(output, "{}", table::text(&table))
}
