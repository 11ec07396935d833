//! Performs replays in addition to the replay that `stat` shows. In some of them, the threads start slightly later. Others replay other
//! recordings of the same program.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Scope, ScopedJoinHandle};

use anyhow::{Context, anyhow, bail};
use simulator::replay::{Prepared, Setup, Stage};
use simulator::run::{Replayed, Spread};

use crate::cmd::source::ReplaySource;
use crate::table::{self, WIDTH, wrap};

/// If a recording of several threads has at most this number of references, `stat` replays it a second time, to see whether the order of
/// the threads matters.
const MOST_CHECKED: u64 = 50_000_000;

/// The stack of a replay's host thread, in bytes. In a build without optimisation, several stack frames each contain a service of 160 KB.
const STACK: usize = 8 << 20;

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
    /// The replay shows whether a small change of order matters.
    Check,
    Orders,
    /// The replay is of another recording of the program.
    Repeat,
}

/// A replay that is not shown. Only its number of cycles is used.
struct Job<'a> {
    number: usize,
    source: &'a ReplaySource,
    setup: Setup,
    purpose: Purpose,
}

impl Job<'_> {
    /// Replays the recording. Returns the number of cycles; `None` if the replay was stopped, or if the recording is too long for a check.
    fn run(self, stop: &AtomicBool) -> anyhow::Result<Option<u64>> {
        let programs = self.source.open()?.into_iter().map(|program| program.read_ahead());
        let prepared = self.setup.programs(programs.collect::<Vec<_>>()).check()?;
        let most = match self.purpose {
            Purpose::Check => MOST_CHECKED,
            Purpose::Orders | Purpose::Repeat => u64::MAX,
        };
        let run = prepared.run(|stage| match stage {
            Stage::Progress(progress) if progress.references > most => ControlFlow::Break(()),
            _ if stop.load(Ordering::Relaxed) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })?;
        Ok((!run.stopped && run.references <= most).then_some(run.cycles))
    }
}

/// The jobs that no host thread has taken yet, and the results of the finished jobs.
pub(super) struct Jobs<'a> {
    left: Mutex<std::vec::IntoIter<Job<'a>>>,
    done: Mutex<Vec<(Purpose, usize, Option<u64>)>>,
    stop: AtomicBool,
    /// The reason for which the check of the order is left out. `None` if the order is checked, or if it cannot matter.
    unchecked: Option<String>,
}

impl<'a> Jobs<'a> {
    /// Returns the replays that the arguments require in addition to the prepared one.
    pub(super) fn new(
        args: &OrdersArgs,
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
            (None, None) if references.is_some_and(|references| references > MOST_CHECKED) => {
                unchecked = Some(long());
                0
            }
            (None, None) => 1,
        };
        let job = |late: u64| {
            let setup = setup.again(Vec::new(), late);
            Job { number: late as usize, source, setup, purpose }
        };
        let mut jobs: Vec<_> = (1..=others).map(job).collect();
        jobs.extend(earlier.iter().enumerate().map(|(number, source)| Job {
            number,
            source,
            setup: setup.again(Vec::new(), 0),
            purpose: Purpose::Repeat,
        }));
        Ok(Self {
            left: Mutex::new(jobs.into_iter()),
            done: Mutex::default(),
            stop: AtomicBool::new(false),
            unchecked,
        })
    }

    /// Calls `run` while other host threads do the jobs. Adds the results of all jobs to the run, unless the run was stopped.
    pub(super) fn beside(
        &self,
        run: impl FnOnce() -> anyhow::Result<Replayed>,
    ) -> anyhow::Result<Replayed> {
        thread::scope(|scope| {
            let workers = self.start(scope)?;
            let mut run = run().inspect_err(|_| self.stop())?;
            match run.stopped {
                true => self.stop(),
                false => self.finish(workers, &mut run)?,
            }
            Ok(run)
        })
    }

    /// Starts host threads that do jobs: at most one for each job, and at most one for each processor of the host except this thread's
    /// processor. If there is a job, starts at least one.
    fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
    ) -> anyhow::Result<Vec<Worker<'scope>>> {
        let left = lock(&self.left).len();
        let processors = thread::available_parallelism().map_or(1, |number| number.get());
        let workers = left.min((processors - 1).max(1));
        let start = |_| {
            let thread = thread::Builder::new().stack_size(STACK);
            thread.spawn_scoped(scope, || self.work()).context("no thread for a replay")
        };
        (0..workers).map(start).collect()
    }

    /// Does jobs until none is left.
    fn work(&self) -> anyhow::Result<()> {
        loop {
            let Some(job) = lock(&self.left).next() else { return Ok(()) };
            let (purpose, number) = (job.purpose, job.number);
            let cycles = job.run(&self.stop)?;
            lock(&self.done).push((purpose, number, cycles));
        }
    }

    /// Makes all host threads stop soon.
    fn stop(&self) {
        lock(&self.left).by_ref().for_each(drop);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Does the remaining jobs, and adds the results to the run that is shown.
    fn finish(&self, workers: Vec<Worker<'_>>, run: &mut Replayed) -> anyhow::Result<()> {
        let own = if workers.is_empty() { Ok(()) } else { self.work() };
        let failed = || Err(anyhow!("a replay has failed"));
        for ended in workers.into_iter().map(ScopedJoinHandle::join).collect::<Vec<_>>() {
            ended.unwrap_or_else(|_| failed())?;
        }
        own?;
        let mut done = lock(&self.done);
        done.sort_unstable();
        let (repeats, orders): (Vec<_>, Vec<_>) =
            done.iter().partition(|(purpose, ..)| *purpose == Purpose::Repeat);
        let cycles = |done: Vec<(Purpose, usize, Option<u64>)>| -> Option<Vec<u64>> {
            let cycles = done.iter().map(|(.., cycles)| *cycles);
            cycles.collect::<Option<Vec<_>>>().filter(|cycles| !cycles.is_empty())
        };
        let of_run = [run.cycles];
        let orders = cycles(orders).map(|others| [&of_run, &*others].concat());
        let repeats = cycles(repeats).map(|earlier| [&*earlier, &of_run].concat());
        (run.orders, run.repeats) = (orders.and_then(Spread::new), repeats.and_then(Spread::new));
        Ok(())
    }

    /// Prints how much the cycles of these replays differ, or why this was not checked.
    pub(super) fn print(&self, output: &mut impl Write, run: &Replayed) -> io::Result<()> {
        if run.stopped {
            return Ok(());
        }
        if let Some(repeats) = &run.repeats {
            spread(output, "recordings of the program", repeats)?;
        }
        let done = lock(&self.done);
        let is_long = done.iter().any(|(.., cycles)| cycles.is_none());
        let asked = done.iter().any(|(purpose, ..)| *purpose == Purpose::Orders);
        let sentence = match &run.orders {
            Some(orders) if asked => {
                let latest = Setup::LATEST;
                let replays =
                    format!("replays, in which each thread starts up to {latest} cycles later");
                return spread(output, &replays, orders);
            }
            Some(orders) if matters(orders) => format!(
                "A small change of order moves the result by {:.0}%, from {} to {} cycles: --orders N gives the spread.",
                orders.difference() * 100.0,
                orders.least,
                orders.most
            ),
            Some(_) => return Ok(()),
            None => match self.unchecked.clone().or_else(|| is_long.then(long)) {
                Some(why) => format!(
                    "Whether a small change of order moves the result is not checked: {why}."
                ),
                None => return Ok(()),
            },
        };
        writeln!(output, "\n{}", wrap(&sentence, WIDTH).join("\n"))
    }
}

type Worker<'scope> = ScopedJoinHandle<'scope, anyhow::Result<()>>;

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn long() -> String {
    format!(
        "there are more than {} million references (--orders 2 checks it)",
        MOST_CHECKED / 1_000_000
    )
}

/// Returns `true` if the numbers of cycles differ by more than 5%, not counting the delay of the threads' starts.
fn matters(orders: &Spread) -> bool {
    orders.most - orders.least > orders.least / 20 + Setup::LATEST
}

/// Prints the smallest, the median and the largest number of cycles of several runs, and how far each is from the median.
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
