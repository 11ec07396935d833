//! `bench`: the cost of calls and samples, and the speed of replay and execution.

mod calls;
mod comparison;
mod cost;
mod execution;
mod growth;
pub(crate) mod instructions;
mod reading;
mod recording;
mod replay;
mod time;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, ensure};
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::budgets::X86_BUDGETS;
use calls::Times;
use cost::{Costs, Stat};
use instructions::{CALLS, Counter};
use reading::{Figures, Files};
use recording::{Cost, PROGRAMS};
use replay::Rates;
use vfalls::interrupt::{self, Interrupted};
use vfalls::output::{Force, OutputFile};
use vfalls::table;

/// Measure instructions and time per hypercall, instructions per sample, references per second of the replay, and the cost of recording
///
/// valgrind's callgrind counts the instructions and, for comparison, those of rustsbi's counter_fw_read. The numbers for calls and
/// samples are the same each time. The times of calls are wall time, for one thread and for two threads at once. They are medians of many
/// rounds, and each round has every kind of call. The ratios are to rustsbi's call in the same round. CPU time is the sum over all
/// processors. References in memory are replayed while all counters of a Batoka count; the best, the median and the worst of several
/// rounds are printed. `vfalls stat FILE` is the whole command: on two processors, a second thread reads and decodes. Its instructions
/// are the difference between a long and a short file. For generated programs, the bundled recording, --details and --html, the
/// instructions are those of the whole process. The cost of recording is the processor time that recording adds to the emulator's own,
/// and the instructions that it adds; qemu-user is needed to measure this cost.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  cargo xtask bench --json bench.json\n  cargo xtask bench --growth growth.svg"
)]
pub struct BenchArgs {
    /// Write the numbers to a file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Count only the instructions of references and views that have a budget, and fail if a count is above it
    #[arg(long, conflicts_with = "json")]
    budgets: bool,

    /// Measure only how the cost of vfalls stat grows with the references, strands and threads of programs, write a picture of it (SVG), and
    /// fail if something grows faster than its input; takes minutes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "budgets"])]
    growth: Option<PathBuf>,

    /// Measure only the time of vfalls and of other tools that simulate caches, on the same programs: cachegrind, lackey, and pycachesim
    /// if python3 has it
    #[arg(long, conflicts_with_all = ["json", "budgets", "growth"])]
    beside: bool,

    #[command(flatten)]
    force: Force,
}

/// The content of the file that `--json` writes.
#[derive(Serialize)]
struct BenchReport {
    instructions: BTreeMap<&'static str, u64>,
    ns_ratio_to_rustsbi: BTreeMap<String, f64>,
    threads: BTreeMap<String, calls::Rates>,
    /// The instructions of `vfalls stat` for each reference, by the names of their budgets.
    stat_instructions_per_reference: BTreeMap<&'static str, u64>,
    /// The instructions of runs of `vfalls stat` with a view, as a percentage of a run without views.
    stat_views: BTreeMap<&'static str, u64>,
    references_per_second: u64,
    reading: BTreeMap<&'static str, Figures>,
    recording: BTreeMap<&'static str, Cost>,
}

/// The number of rounds that determine the rate in the JSON file. All other rates use `FURTHER_ROUNDS`.
const ROUNDS: usize = 15;
const FURTHER_ROUNDS: usize = 5;
const READING_ROUNDS: usize = 5;
const RECORDING_ROUNDS: usize = 2;

/// Further machines to measure: their numbers of strands and nodes.
const FURTHER: [(usize, usize); 7] =
    [(8, 4), (64, 1), (64, 2), (64, 4), (128, 2), (128, 4), (256, 4)];

pub fn run(args: BenchArgs) -> anyhow::Result<()> {
    ensure!(
        !cfg!(debug_assertions),
        "bench: this is a debug build, expected a release build as cargo xtask bench makes it"
    );
    if args.budgets {
        recording::within_budget()?;
        let counter = Counter::new()?;
        let reading = reading::within_budget(&counter);
        // `cost` prints its numbers even if a number of `reading` is above its budget.
        return cost::within_budget(&counter).and(reading);
    }
    if let Some(picture) = &args.growth {
        return draw_growth(args.force.create(picture)?);
    }
    if args.beside {
        let counter = Counter::new()?;
        write!(io::stdout(), "{}", comparison::tables(&Stat::new(&counter)?)?)?;
        return Ok(());
    }
    interrupt::catch()?;
    let file = args.force.create_if_wanted(args.json.as_ref())?;
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}")?;
    let measured = [CALLS.len(), 1 + FURTHER.len(), execution::KINDS.len()];
    let programs = reading::KINDS.len() + PROGRAMS.len();
    // The other three steps are the build, the cost of vfalls stat and the time of calls.
    let steps = measured.iter().sum::<usize>() + programs + 3;
    let bench = Bench { progress: ProgressBar::new(steps as u64).with_style(style) };

    let counter = bench.step("building what is counted", Counter::new)?;
    let instructions = bench.count_calls(&counter)?;
    let costs = bench.step("cost of vfalls stat", || Costs::count(&counter))?;
    bench.print(&costs.tables())?;
    let times = bench.step("time of calls", Times::measure)?;
    times.tables().iter().try_for_each(|table| bench.print(table))?;
    let references_per_second = bench.time()?;
    let reading = bench.read(&counter)?;
    let recording = bench.record()?;
    bench.progress.finish_and_clear();
    if let Some(file) = file {
        file.complete_json(&BenchReport {
            instructions,
            ns_ratio_to_rustsbi: times.ratios(),
            threads: times.threads(),
            stat_instructions_per_reference: costs.references,
            stat_views: costs.views,
            references_per_second,
            reading,
            recording,
        })?;
    }
    Ok(())
}

fn draw_growth(mut picture: OutputFile) -> anyhow::Result<()> {
    let counter = Counter::new()?;
    let costs = growth::Costs::measure(&Stat::new(&counter)?)?;
    write!(io::stdout(), "{}", costs.table())?;
    picture.write_all(costs.picture().context("nothing was measured")?.as_bytes())?;
    picture.complete()?;
    costs.check_limits()
}

/// Instruction counts, by the name of the kind of call.
type CountsByName = BTreeMap<&'static str, u64>;

/// Shows progress on standard error, and prints tables to standard output.
struct Bench {
    progress: ProgressBar,
}

impl Bench {
    fn step<T>(&self, name: &str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        self.progress.set_message(name.to_owned());
        ensure!(!interrupt::happened(), Interrupted);
        let result = work();
        ensure!(!interrupt::happened(), Interrupted);
        self.progress.inc(1);
        result
    }

    fn print(&self, text: &str) -> io::Result<()> {
        self.progress.suspend(|| writeln!(io::stdout(), "{text}"))
    }

    fn count_calls(&self, counter: &Counter) -> anyhow::Result<CountsByName> {
        let mut instructions = BTreeMap::new();
        for kind in &CALLS {
            instructions.insert(kind.name, self.step(kind.name, || counter.count(kind))?);
        }
        self.print(&X86_BUDGETS.table(&instructions))?;
        Ok(instructions)
    }

    /// Measures how fast the decoded recording is replayed. Returns the best rate of all rounds, in references per second.
    fn time(&self) -> anyhow::Result<u64> {
        let references = replay::recording()?;
        let mut table = table::with_header(
            "replay, million references a second of CPU time|>best|>median|>worst|>to reach|>to aim for",
        );
        let mut measure =
            |name: &str,
             rounds,
             budgets: &[&str],
             round: &dyn Fn() -> anyhow::Result<(usize, f64)>| {
                let rates =
                    self.step(&format!("replay: {name}"), || Rates::measure(rounds, round))?;
                let Rates { best, median, worst } = rates;
                let millions = [best, median, worst].map(|rate| format!("{:.1}", rate / 1e6));
                let budgets = budgets.iter().map(ToString::to_string);
                table.add_row([name.to_owned()].into_iter().chain(millions).chain(budgets));
                anyhow::Ok(best)
            };
        let decoded = "the recording, decoded before the replay";
        let round = || replay::decoded(&references, 1, 4);
        let best = measure(decoded, ROUNDS, &["10", "50"], &round)?;
        for (strands, nodes) in FURTHER {
            let name = format!("on {strands} strands of {nodes} nodes");
            let round = || replay::decoded(&references, strands, nodes);
            measure(&name, FURTHER_ROUNDS, &[], &round)?;
        }
        for (name, memory) in execution::KINDS {
            let name = format!("instructions that a strand executes, {name}");
            let to_reach = if memory.is_none() { "30" } else { "10" };
            measure(&name, FURTHER_ROUNDS, &[to_reach], &|| execution::executed(memory))?;
        }
        let count = HumanCount(references.len() as u64);
        self.print(&format!("the recording has {count} references\n{}", table::text(&table)))?;
        Ok(best.round() as u64)
    }

    /// Measures the cost of a reference in each kind of file, from the file to the counters.
    fn read(&self, counter: &Counter) -> anyhow::Result<BTreeMap<&'static str, Figures>> {
        let mut table = table::with_header(
            "vfalls stat FILE, a reference|>million references|>instructions|>to reach|>CPU time, ns|>wall time, ns",
        );
        let mut all = BTreeMap::new();
        for &(kind, name) in reading::KINDS {
            let measure = || Files::new(kind)?.figures(counter, READING_ROUNDS);
            let figures = self.step(&format!("reading: {name}"), measure)?;
            table.add_row([name.to_owned()].into_iter().chain(figures.cells(name)));
            all.insert(name, figures);
        }
        self.print(&table::text(&table))?;
        Ok(all)
    }

    fn record(&self) -> anyhow::Result<BTreeMap<&'static str, Cost>> {
        let mut table = table::with_header(
            "recording|>million references|>ns of CPU time each (to reach: 10)|>times the emulator|>bytes each (to reach: 0.4)|\
             >ns of CPU time to read each (to reach: 3)|>instructions to record each (to reach: 40)|\
             >instructions to write each",
        );
        let mut costs = BTreeMap::new();
        for program @ (name, _) in PROGRAMS {
            let measure = || recording::cost(program, RECORDING_ROUNDS);
            match self.step(&format!("recording: {name}"), measure)? {
                Some(cost) => {
                    table.add_row([name.to_owned()].into_iter().chain(cost.cells()));
                    costs.insert(name, cost);
                }
                None => {
                    table.add_row([format!("{name} (is not here)")]);
                }
            }
        }
        self.print(&table::text(&table))?;
        Ok(costs)
    }
}
