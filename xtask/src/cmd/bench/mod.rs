//! `bench`: the cost of calls and samples, and the speed of the simulation.

mod calls;
mod execution;
pub mod instructions;
pub mod reading;
mod recording;
mod replay;
mod time;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::ensure;
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::budgets::OF_X86;
use crate::cargo;
use calls::Times;
use instructions::{Counter, KINDS};
use reading::{Figures, Files};
use recording::{Cost, PROGRAMS};
use replay::Rates;
use vfalls::interrupt::{self, Interrupted};
use vfalls::output::Force;
use vfalls::table;

/// Measure instructions and time per hypercall, instructions per sample, references per second of the replay, and the cost of recording
///
/// valgrind's callgrind counts the instructions, and those of rustsbi's counter_fw_read for comparison; the numbers
/// repeat exactly. The times of calls, of one thread and of two at once, are wall time: medians of many rounds, each of which has
/// every kind of call; the ratios are to rustsbi's call in the same round. CPU time is the sum over all processors. References in
/// memory are replayed while all counters of a Batoka count; the best, the median and the worst of several rounds are
/// printed. `vfalls stat FILE` is the whole command, which reads and decodes in a second thread where there are two processors; its
/// instructions are those of a long file less those of a short one. The cost of recording is the processor time that it adds to
/// that of the emulator; it needs qemu-user.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  cargo xtask bench --json bench.json")]
pub struct BenchArgs {
    /// Write the numbers to a file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Count only the instructions of references that have a budget, and fail if a count is above it
    #[arg(long, conflicts_with = "json")]
    budgets: bool,

    #[command(flatten)]
    force: Force,
}

/// The content of the JSON file.
#[derive(Serialize)]
struct Report {
    instructions: BTreeMap<&'static str, u64>,
    ns_ratio_to_rustsbi: BTreeMap<String, f64>,
    threads: BTreeMap<String, calls::Rates>,
    instructions_per_reference: BTreeMap<&'static str, u64>,
    references_per_second: u64,
    reading: BTreeMap<&'static str, Figures>,
    recording: BTreeMap<&'static str, Cost>,
}

/// The rounds for the rate that the JSON file has, and for each other rate.
const ROUNDS: usize = 15;
const FURTHER_ROUNDS: usize = 5;
const READING_ROUNDS: usize = 5;
const RECORDING_ROUNDS: usize = 2;

/// Further rates: the numbers of strands and nodes on which the recording is replayed.
const FURTHER: [(usize, usize); 7] =
    [(8, 4), (64, 1), (64, 2), (64, 4), (128, 2), (128, 4), (256, 4)];

/// How the bundled recording is replayed to count the instructions of a reference: a name, and the arguments of `vfalls stat`.
const REPLAYS: [(&str, &[&str]); 5] = [
    ("on 1 strand", &["--place", "0"]),
    ("on the 8 strands of a core", &["--place", "0-7"]),
    ("on 8 strands of 1 node", &["--nodes", "1"]),
    ("on 8 strands of 2 nodes", &["--nodes", "2"]),
    ("on 8 strands of 4 nodes", &["--nodes", "4"]),
];

/// Measures and prints.
///
/// # Errors
/// This is a debug build, valgrind or qemu-user is missing and cannot be installed, the file cannot be written, a count is above
/// its budget, or an interrupt came ([`Interrupted`]).
pub fn run(args: BenchArgs) -> anyhow::Result<()> {
    ensure!(
        !cfg!(debug_assertions),
        "bench: this is a debug build, expected a release build as cargo xtask bench makes it"
    );
    if args.budgets {
        return reading::within_budget();
    }
    interrupt::catch()?;
    let file = args.force.create_if_wanted(args.json.as_ref())?;
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}")?;
    let steps = KINDS.len()
        + 1
        + REPLAYS.len()
        + 1
        + FURTHER.len()
        + execution::KINDS.len()
        + reading::Kind::ALL.len()
        + PROGRAMS.len();
    let progress = ProgressBar::new(steps as u64).with_style(style);
    let output = &mut io::stdout().lock();

    progress.set_message("building what is counted");
    let counter = step(Counter::new)?;
    let (instructions, instructions_per_reference) = count(&counter, output, &progress)?;
    progress.set_message("time of calls");
    let times = step(Times::measure)?;
    progress.inc(1);
    progress.suspend(|| -> io::Result<()> {
        let tables = times.tables();
        tables.iter().try_for_each(|table| writeln!(output, "{table}"))
    })?;
    let references_per_second = time(output, &progress)?;
    let reading = read(&counter, output, &progress)?;
    let recording = record(output, &progress)?;
    progress.finish_and_clear();
    if let Some(memory) = peak_memory() {
        writeln!(output, "peak memory: {memory} KB (to reach: 200000)")?;
    }
    if let Some(file) = file {
        file.complete_json(&Report {
            instructions,
            ns_ratio_to_rustsbi: times.ratios(),
            threads: times.threads(),
            instructions_per_reference,
            references_per_second,
            reading,
            recording,
        })?;
    }
    Ok(())
}

/// Instructions, by the name of the call or replay.
type Counts = BTreeMap<&'static str, u64>;

/// Counts the instructions of every kind of call, and of a reference in every kind of replay.
fn count(
    counter: &Counter,
    output: &mut impl Write,
    progress: &ProgressBar,
) -> anyhow::Result<(Counts, Counts)> {
    let mut instructions = BTreeMap::new();
    for kind in &KINDS {
        progress.set_message(kind.name);
        let count = step(|| counter.count(kind))?;
        progress.inc(1);
        instructions.insert(kind.name, count);
    }
    let table = OF_X86.table(&instructions);
    progress.suspend(|| writeln!(output, "{table}"))?;

    let vfalls = step(cargo::vfalls)?;
    let references = replay::recording()?.len() as u64;
    let mut table =
        table::with_header("a reference of the recording, decoded and replayed|>instructions");
    let mut of_references = BTreeMap::new();
    for (name, arguments) in REPLAYS {
        progress.set_message(name);
        let count = step(|| counter.replay(&vfalls, arguments, references))?;
        progress.inc(1);
        of_references.insert(name, count);
        table.add_row([name.to_owned(), count.to_string()]);
    }
    progress.suspend(|| writeln!(output, "{}", table::text(&table)))?;
    Ok((instructions, of_references))
}

/// Times the replay. Returns the best rate of replaying the decoded recording once, in references per second.
fn time(output: &mut impl Write, progress: &ProgressBar) -> anyhow::Result<u64> {
    let references = replay::recording()?;
    let mut table = table::with_header(
        "replay, million references a second of CPU time|>best|>median|>worst|>to reach|>to aim for",
    );
    let mut row = |name: String, rates: &Rates, budgets: &[&str]| {
        progress.inc(1);
        let millions =
            [rates.best(), rates.median(), rates.worst()].map(|rate| format!("{:.1}", rate / 1e6));
        table.add_row(
            [name].into_iter().chain(millions).chain(budgets.iter().map(ToString::to_string)),
        );
    };

    let measure = |name: &str, rounds, round: &dyn Fn() -> anyhow::Result<(usize, f64)>| {
        progress.set_message(format!("replay: {name}"));
        Rates::of(rounds, || step(round))
    };
    let decoded = "the recording, decoded before the replay";
    let rates = measure(decoded, ROUNDS, &|| replay::decoded(&references, 1, 4))?;
    row(decoded.to_owned(), &rates, &["10", "50"]);
    for (strands, nodes) in FURTHER {
        let name = format!("on {strands} strands of {nodes} nodes");
        let further =
            measure(&name, FURTHER_ROUNDS, &|| replay::decoded(&references, strands, nodes))?;
        row(name, &further, &[]);
    }
    for (name, memory) in execution::KINDS {
        let name = format!("instructions that a strand executes, {name}");
        let executed = measure(&name, FURTHER_ROUNDS, &|| execution::executed(memory))?;
        let to_reach = if memory.is_none() { "30" } else { "10" };
        row(name, &executed, &[to_reach]);
    }
    let count = HumanCount(references.len() as u64);
    progress.suspend(|| {
        writeln!(output, "the recording has {count} references\n{}", table::text(&table))
    })?;
    Ok(rates.best().round() as u64)
}

/// Measures the cost of a reference of each kind of file.
fn read(
    counter: &Counter,
    output: &mut impl Write,
    progress: &ProgressBar,
) -> anyhow::Result<BTreeMap<&'static str, Figures>> {
    let mut table = table::with_header(
        "vfalls stat FILE, a reference|>million references|>instructions|>to reach|>CPU time, ns|>wall time, ns",
    );
    let mut all = BTreeMap::new();
    for &kind in reading::Kind::ALL {
        progress.set_message(format!("reading: {}", kind.name()));
        let figures = step(|| Files::new(kind)?.figures(counter, READING_ROUNDS))?;
        progress.inc(1);
        table.add_row([kind.name().to_owned()].into_iter().chain(figures.cells(kind)));
        all.insert(kind.name(), figures);
    }
    progress.suspend(|| writeln!(output, "{}", table::text(&table)))?;
    Ok(all)
}

/// Measures the cost of recording programs.
fn record(
    output: &mut impl Write,
    progress: &ProgressBar,
) -> anyhow::Result<BTreeMap<&'static str, Cost>> {
    let mut table = table::with_header(
        "recording|>million references|>ns of CPU time each (to reach: 10)|>times the emulator|>bytes each (to reach: 0.4)|\
         >ns of CPU time to read each (to reach: 3)",
    );
    let mut costs = BTreeMap::new();
    for program in PROGRAMS {
        progress.set_message(format!("recording: {}", program.0));
        match step(|| recording::cost(program, RECORDING_ROUNDS))? {
            Some(cost) => {
                table.add_row([program.0.to_owned()].into_iter().chain(cost.cells()));
                costs.insert(program.0, cost);
            }
            None => {
                table.add_row([format!("{} (is not here)", program.0)]);
            }
        }
        progress.inc(1);
    }
    progress.suspend(|| writeln!(output, "{}", table::text(&table)))?;
    Ok(costs)
}

/// Does a part of the work. Fails if an interrupt came before or during it.
fn step<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    ensure!(!interrupt::happened(), Interrupted);
    let result = work();
    ensure!(!interrupt::happened(), Interrupted);
    result
}

/// Returns the peak memory of this process in KB, if the system reports it.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
