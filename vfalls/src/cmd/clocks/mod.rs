//! `clocks`: measures the clocks of this machine, and reports which clocks can be trusted.

mod day;
mod fit;
mod hardware_clocks;
mod host;
mod lock;
mod machine;
mod measure;
mod report;
mod witness;

use crate::plain;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use guest_abi::StrandId;
use guest_abi::clock::{ClockSource, Description};
use hv_core::time::{
    Candidate, Environment, Limits, OperatorSetting, Timekeeper, Verdict, Watchdog,
};
use indicatif::{ProgressBar, ProgressStyle};

use crate::cmd::by_name;
use crate::exit::Mismatch;
use crate::interrupt::{self, Interrupted};
use crate::output::{self, OutputFile};

use self::day::TimeOfDayFollower;
use self::fit::Fit;
use self::hardware_clocks::{Comparisons, Device};
use self::host::{ClockName, HostClock};
use self::machine::Processors;
use self::measure::{Comparison, Rounds};
use self::report::{ClockReport, ClockRow, Drift, Measured, WatchdogStats};
use self::witness::Witnesses;

/// Measure the clocks of this machine, and choose one as a hypervisor does
///
/// Prints for each clock: the frequency, measured against the best other clock, and its
/// uncertainty; the resolution, the duration of a read, the jitter, and the drift from the other
/// clocks; whether the clock is safe on this machine, or why not. Then prints the chosen clock, the
/// faults that a watchdog found in this clock during the measurement, and how far a time of day
/// computed from this clock drifted from the system's time of day. At the end, it says which clocks
/// are independent of each other. Clocks that are made of one counter agree even if the counter is
/// wrong, so the kernel's clocks are also compared with real-time clocks and PTP clocks, where
/// these can be read. The exit status is 1 if no clock can be used.
#[derive(clap::Args, Debug)]
#[command(after_help = "The clocks: tsc, monotonic_raw, monotonic, monotonic_coarse\n\n\
                  Examples:\n  vfalls clocks\n  \
                  vfalls clocks --disable tsc --json clocks.json\n  \
                  vfalls clocks --seconds 60\n  \
                  vfalls clocks --lock")]
pub(crate) struct ClocksArgs {
    /// Compare the clocks for this many seconds, 0.1 to 3600
    #[arg(long, value_name = "SECONDS", default_value = "1.5", value_parser = seconds)]
    seconds: f64,

    /// Do not use this clock (may be repeated)
    #[arg(long, value_name = "NAME", value_parser = name)]
    disable: Vec<ClockName>,

    /// Treat this clock as safe, no matter what the test finds; a safe clock with a higher rating is still preferred (may be
    /// repeated)
    #[arg(long, value_name = "NAME", value_parser = name)]
    force: Vec<ClockName>,

    /// Measure nothing, but simulate a drifting clock that is locked to a system time with a tick of 10 ms, in each of several ways
    #[arg(long, conflicts_with_all = ["seconds", "disable", "force"])]
    lock: bool,

    /// Write the measurements to a new file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn seconds(text: &str) -> anyhow::Result<f64> {
    let seconds: f64 = text.parse().map_err(|_| anyhow!("expected a number"))?;
    ensure!((0.1..=3600.0).contains(&seconds), "expected 0.1 to 3600");
    Ok(seconds)
}

fn name(text: &str) -> anyhow::Result<ClockName> {
    by_name("clock", text, &ClockName::ALL, ClockName::text)
}

/// The number of rounds. The clocks are read once in each round.
const ROUNDS: u32 = 300;
/// The number of rounds between two checks of the watchdog.
const ROUNDS_PER_CHECK: u32 = 20;

type Keeper = Timekeeper<HostClock, { ClockName::ALL.len() }>;

pub(crate) fn run(args: ClocksArgs) -> anyhow::Result<()> {
    if let Some(both) = args.disable.iter().find(|name| args.force.contains(name)) {
        bail!("{} cannot be both disabled and forced", both.text());
    }
    interrupt::catch()?;
    let json = args.json.as_ref();
    let file = json.map(|path| OutputFile::create(path, false)).transpose()?;
    let mut output = plain::stdout();
    if args.lock {
        let report = lock::compare();
        lock::print(&report, &mut output)?;
        output.flush()?;
        return output::complete_json(file, &report);
    }
    let report = measure(&args)?;
    report.print(&mut output)?;
    output.flush()?;
    output::complete_json(file, &report)?;
    ensure!(report.chosen.is_some(), Mismatch("no clock can be used".to_owned()));
    Ok(())
}

fn measure(args: &ClocksArgs) -> anyhow::Result<ClockReport> {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}")?;
    let steps = 4 + ClockName::ALL.len() as u64 + u64::from(ROUNDS);
    let progress = ProgressBar::new(steps).with_style(style);
    let processors = Processors::here();
    let clocks = find(&processors, &progress)?;

    let environment = Environment {
        strands: processors.count,
        // The system does not report the hazards `idle_stops_counters` and `rate_changes`, so this code assumes the worst case.
        idle_stops_counters: true,
        rate_changes: true,
        cpu_hz: clocks[ClockName::Tsc as usize].map_or(0, |clock| clock.describe().hz),
        poll_interval: 1_000_000_000,
    };
    let candidates = ClockName::ALL.map(|name| Candidate {
        source: clocks[name as usize],
        operator: if args.disable.contains(&name) {
            OperatorSetting::Disable
        } else if args.force.contains(&name) {
            OperatorSetting::Force
        } else {
            OperatorSetting::Default
        },
    });
    let strand = StrandId::new(0).context("a strand")?;
    let verdicts = candidates.map(|candidate| {
        let description = candidate.source.map(|clock| clock.describe());
        Verdict::assess(description.as_ref(), &environment, candidate.operator)
    });
    let keeper = Keeper::new(candidates, &environment, strand).ok();

    let mut rows = Vec::new();
    for name in ClockName::ALL {
        step(&progress, name.text())?;
        let clock = clocks[name as usize];
        rows.push(row(name, clock.as_ref(), verdicts[name as usize]));
    }

    step(&progress, "first readings of devices")?;
    let devices = Device::all(Path::new("/"));
    let [_, by_kernel @ ..] = &clocks;
    let outside = Comparisons::begin(&devices, by_kernel.iter().flatten().next().copied())?;

    let present: Vec<ClockName> = present(&clocks).collect();
    let mut rounds = Rounds::new(clocks.into_iter().flatten().collect());
    let mut watchdog = Watchdog::new(Limits::default());
    let mut watched = keeper.as_ref().map(|_| WatchdogStats::default());
    let mut day = keeper.as_ref().and_then(|keeper| {
        let of = clocks[keeper.chosen()]?.describe();
        TimeOfDayFollower::new(keeper.clock(strand), nanoseconds(of.step, of) as u64)
    });
    let mut comparisons = ClockName::ALL.map(|name| compare(name, &clocks));
    for round in 0..ROUNDS {
        step(&progress, "comparing")?;
        rounds.read();
        comparisons.iter_mut().flatten().for_each(Comparison::read);
        if let (Some(keeper), Some(watched)) = (&keeper, &mut watched)
            && round % ROUNDS_PER_CHECK == 0
        {
            watched.note(watchdog.check(keeper, strand));
            day.iter_mut().for_each(TimeOfDayFollower::follow);
        }
        // The pauses differ in length. With equal pauses, each round could come at the same point between two interrupts that update a
        // clock.
        let uneven = 0.5 + (f64::from(round) * 0.618).fract();
        thread::sleep(Duration::from_secs_f64(args.seconds / f64::from(ROUNDS) * uneven));
    }
    step(&progress, "last readings of devices")?;
    let compared = outside.end()?;
    progress.finish_and_clear();

    for (row, comparison) in rows.iter_mut().zip(&comparisons) {
        row.measured = comparison.and_then(|by| Some(Measured::new((by.by(), by.frequency()?))));
    }
    if let (Some(watched), Some(found)) = (&mut watched, watchdog.frequency()) {
        let by = ClockName::ALL[found.reference].text();
        watched.frequency = Some(Measured::new((by, found.frequency)));
    }
    let kernel = present.iter().map(|name| name.text());
    let day_clock = HostClock::time_of_day().map(|clock| clock.describe().name);
    let names: Vec<&str> = kernel.chain(day_clock).collect();
    let witnesses = Witnesses::new(&processors, &names, &devices, host::discipline());
    if let (Some(keeper), Some(watched)) = (&keeper, &mut watched)
        && let Some(frequency) = &watched.frequency
    {
        let clocks = [ClockName::ALL[keeper.chosen()].text(), frequency.by];
        watched.one_witness = witnesses.share_witness(clocks);
    }
    let mut drift = Vec::new();
    for (clock, name) in present.iter().enumerate() {
        // The jitter is measured against the best other clock.
        let best = present.iter().position(|other| other != name);
        let scatter = best.and_then(|best| rounds.drift(clock, best)).map(|line| line.scatter);
        rows[*name as usize].jitter = scatter;
        for (other, than) in present.iter().enumerate().filter(|(other, _)| *other != clock) {
            if let Some(Fit { slope, error, .. }) = rounds.drift(clock, other) {
                drift.push(Drift {
                    clock: name.text(),
                    than: than.text(),
                    parts_per_million: slope,
                    error,
                });
            }
        }
    }
    Ok(ClockReport {
        architecture: std::env::consts::ARCH,
        processors: processors.count,
        kernel_clock: processors.kernel.map(|kernel| kernel.current),
        clocks: rows,
        drift,
        time_of_day: day.map(TimeOfDayFollower::end),
        verdict: witnesses.verdict(&compared),
        witnesses,
        compared,
        unreadable: devices.into_iter().filter(|of| of.clock.is_none()).map(|of| of.name).collect(),
        chosen: keeper.map(|keeper| ClockName::ALL[keeper.chosen()].text()),
        watchdog: watched,
    })
}

/// Returns the clocks of this machine. The frequency of the cycle counter is measured against the best other clock.
fn find(
    processors: &Processors,
    progress: &ProgressBar,
) -> anyhow::Result<[Option<HostClock>; ClockName::ALL.len()]> {
    let mut clocks = ClockName::ALL.map(|name| HostClock::find(name, processors));
    let [cycles, others @ ..] = &mut clocks;
    step(progress, "frequency of tsc")?;
    if let (Some(clock), Some(by)) = (cycles.as_mut(), others.iter().flatten().next()) {
        *clock = clock.with_hz(measure::frequency(*clock, *by));
    }
    step(progress, "tsc on all processors")?;
    if let Some(clock) = cycles
        && measure::step_back(clock, processors.count.min(4)) > 0
    {
        *clock = clock.unsynchronised();
    }
    Ok(clocks)
}

/// Starts a comparison of a clock with the best other clock of known frequency.
fn compare(
    name: ClockName,
    clocks: &[Option<HostClock>; ClockName::ALL.len()],
) -> Option<Comparison> {
    let others = ClockName::ALL.into_iter();
    let mut others = others.filter(|other| ![name, ClockName::Tsc].contains(other));
    let by = others.find_map(|other| clocks[other as usize])?;
    Some(Comparison::new(clocks[name as usize]?, by))
}

fn present(clocks: &[Option<HostClock>; ClockName::ALL.len()]) -> impl Iterator<Item = ClockName> {
    let all = ClockName::ALL.into_iter();
    all.filter(|name| clocks[*name as usize].is_some())
}

fn nanoseconds(ticks: u64, of: Description) -> f64 {
    ticks as f64 * 1e9 / of.hz as f64
}

fn row(name: ClockName, clock: Option<&HostClock>, verdict: Verdict) -> ClockRow {
    let description = clock.map(ClockSource::describe);
    let resolution = clock.and_then(measure::resolution).zip(description);
    ClockRow {
        name: name.text(),
        present: clock.is_some(),
        hz: description.map(|description| description.hz),
        resolution: resolution.map(|(ticks, of)| nanoseconds(ticks, of)),
        read: clock.map(measure::cost),
        measured: None,
        jitter: None,
        rating: description.map(|description| description.rating),
        usable: verdict.is_usable(),
        verdict: match verdict {
            Verdict::Safe => "safe".to_owned(),
            Verdict::Forced(reason) => format!("forced: {reason}"),
            Verdict::Unsafe(reason) => format!("not used: {reason}"),
        },
    }
}

/// Shows the next step of the measurement in the progress bar. Fails if the user has interrupted the program.
fn step(progress: &ProgressBar, message: &'static str) -> anyhow::Result<()> {
    ensure!(!interrupt::happened(), Interrupted);
    progress.set_message(message);
    progress.inc(1);
    Ok(())
}
