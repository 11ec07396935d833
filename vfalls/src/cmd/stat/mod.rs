//! `stat`: replays a program, and shows the counts that the guest measured beside the true counts.

mod background;
pub(crate) mod header;
mod orders;
mod passes;
mod prepare;
mod repeat;

use crate::plain;
use simulator::text::lines;
use std::io::{self, Write};
use std::mem;
use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::ensure;
use guest_abi::layout::PerfConfig;
use simulator::operator::Scenario;
use simulator::replay::placement::Placement;
use simulator::replay::scenario;
use simulator::replay::{Prepared, Selection, Setup, Stage};
use simulator::run::{Played, Replayed, Run};

use crate::cmd::by_name;
use crate::cmd::events_out::{Outputs, TracingArgs};
use crate::cmd::machine::ReplayMachineArgs;
use crate::cmd::region::RegionArgs;
use crate::cmd::source::SourceArgs;
use crate::cmd::stat::orders::{Orders, OrdersArgs};
use crate::cmd::stat::passes::Passes;
use crate::cmd::stat::prepare::Inputs;
use crate::cmd::stat::repeat::RepeatArgs;
use crate::exit::Mismatch;
use crate::interrupt::{self, Interrupted};
use crate::output::{self, Force, OutputFile};
use crate::page::Page;
use crate::page::names::Names;
use crate::progress::{advance, progress_bar};
use crate::say::say;
use crate::table::{WIDTH, wrap};
use crate::text::replay::{self as report, Columns, Samples};
use crate::text::scenario as scenario_report;
use crate::text::summary::{self, ThreadRows};
use crate::text::waits;

/// Replay a program's threads on a simulated machine, and show a guest's counts beside the true ones
///
/// The memory references of each thread go through the caches, memory channels and hubs that its strand uses. A guest with
/// every right measures DRAM and hubs by hypercalls, and the strands' own %pic directly; another guest without rights is
/// refused. The exit status is 1 if a counter does not show what happened.
///
/// The caches of a T2 Plus take 20 bytes of memory for each line that they hold, whatever the length of the recording.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  vfalls stat                          # the recording that comes with the program\n  \
                  vfalls stat -- ./program arguments   # record a program, and replay it\n  \
                  vfalls record -o p.refs -- ./program && vfalls stat p.refs --place pack\n  \
                  vfalls stat p.refs -e dram:mem_reads -e lpu:cycles_c2c_portX --interval 100000\n  \
                  vfalls stat p.refs --perf-config c2c -e pic:L2_dmiss_ld,pic:Instr_cnt --json results.json\n  \
                  printf '0 w 0x1000 8\\n64 r 0x1000 8\\n' | vfalls stat -      # by hand\n  \
                  vfalls stat --html page.html -- ./program            # charts of it, for a browser\n  \
                  vfalls stat --list                   # what can be counted\n  \
                  vfalls stat --machine maramba --nodes 2\n  \
                  vfalls stat --md simulator/machines/batoka-4-disabled.toml\n  \
                  vfalls stat --config big-l2.toml p.refs    # [l2] bytes = 0x1000000, [timing] memory = 200, ...\n  \
                  vfalls stat p.refs --orders 10       # the spread of 10 replays with slightly different starts\n  \
                  vfalls stat --repeat 5 -- ./program  # the spread of 5 recordings\n  \
                  vfalls stat --events-out events && babeltrace2 events\n  \
                  vfalls stat --scenario simulator/scenarios/transfer.toml\n\n\
                  Per thread: CPI is cycles per instruction, MPKI is L2 misses per thousand instructions. A request of a core \
                  to the L2 cache of its node hits, or is served by local memory, by remote memory, or by another \
                  cache (c2c). States of threads: ready means that the strand executes another thread; a wait as recorded is one \
                  whose lock is not known.\n\n\
                  A scenario is a list of steps in the order of time:\n\n  \
                  [[step]]\n  at = 1_000_000      # references that the program has executed\n  \
                  do = \"transfer\"     # transfer: right, from, to; grant, revoke: right, guest; reset: guest;\n  \
                  right = \"global\"    #   fault, mend: unit; kill: strand; clock: in vfalls boot\n  \
                  from = \"measuring\"  # names of guests, in this file or in that of --guests;\n  \
                  to = \"other\"        #   default names: measuring, other\n\n\
                  Units are NODE0_MCU0 to NODE3_MCU1, ZAM0 to ZAM3, NODE0_L2 to NODE3_L2."
)]
pub(crate) struct StatArgs {
    #[command(flatten)]
    replay: ReplayArgs,

    /// List the events that the units of the machine count, what they mean, and which are not modelled
    #[arg(long, conflicts_with_all = ["recordings", "md", "command", "place", "event", "interval", "guests", "scenario", "events_out", "events_chrome"])]
    list: bool,

    /// Print a row for each unit and strand after every N references (busstat does so at time intervals)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    interval: Option<u64>,

    /// Changes of rights and hardware, from a TOML file of `[[step]]` tables; the file may also have `[[guest]]` tables
    #[arg(long, value_name = "FILE", conflicts_with_all = ["interval", "perf_config", "from", "to", "phase", "warm_up"])]
    scenario: Option<PathBuf>,

    #[command(flatten)]
    orders: OrdersArgs,

    #[command(flatten)]
    repeat: RepeatArgs,

    /// Show N threads in the tables, or all [default: as many as fit on a screen]
    #[arg(long, value_name = "N|all", conflicts_with_all = ["scenario", "list"])]
    threads: Option<ThreadRows>,

    /// Print the hypercalls by guest and status, too
    #[arg(long)]
    calls: bool,

    /// Write the results to a file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Make a page of the results: one file that any browser opens, with charts, their numbers and what stands out
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scenario", "list"])]
    html: Option<PathBuf>,

    /// Write a page's details to the --json file, too: counts over time, misses by address, time and instruction, shared lines,
    /// calls and events. This takes longer, and at most 200 MB of memory, however long the recording is: if there are many instructions,
    /// pages, lines or calls, the least important ones are added up or left out
    #[arg(long, requires = "json", conflicts_with_all = ["scenario", "list"])]
    details: bool,

    #[command(flatten)]
    force: Force,

    #[command(flatten)]
    events_out: TracingArgs,
}

#[derive(clap::Args, Debug)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    machine: ReplayMachineArgs,

    /// Machine and guests from a machine description, binary or its source (.toml); see vfalls md --help
    #[arg(long, value_name = "FILE", conflicts_with_all = ["machine", "nodes", "guests"])]
    md: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) source: SourceArgs,

    /// The strands that execute the threads: spread (over nodes, then cores, then strands), pack (strand after strand),
    /// one-per-core (core after core), a list such as 0,8,64-71, or deal:LIST (artificial: the references of one thread, dealt to
    /// these strands in turns of 1024) [default: spread, unless the recordings name their strands]
    #[arg(long, value_name = "WHERE")]
    place: Option<Placement>,

    /// Count this event: CLASS:EVENT, or several separated by commas (may be repeated). Classes are dram, lpu, gpd, asu and
    /// pic. A unit counts two events at the same time; vfalls stat replays the recording once for every two events of a class
    #[arg(short, long, value_name = "EVENT")]
    event: Vec<String>,

    /// The L2 misses that L2_imiss and L2_dmiss_ld count: all, local, remote, c2c
    #[arg(long, value_name = "WHICH", default_value = "all", value_parser = perf_config)]
    perf_config: PerfConfig,

    /// The number of cycles for which an access keeps a hub busy
    #[arg(long, value_name = "N", default_value_t = Setup::HUB_CYCLES, value_parser = clap::value_parser!(u64).range(..=Setup::MAX_HUB_CYCLES))]
    hub_cycles: u64,

    /// The guests, from a TOML file of `[[guest]]` tables: name, strands, grant, compatible
    #[arg(long, value_name = "FILE")]
    guests: Option<PathBuf>,

    #[command(flatten)]
    region: RegionArgs,
}

fn perf_config(text: &str) -> anyhow::Result<PerfConfig> {
    by_name("PERF_CONFIG", text, PerfConfig::ALL, PerfConfig::text)
}

pub(crate) fn run(args: StatArgs) -> anyhow::Result<()> {
    if args.list {
        return list(&args);
    }
    let json = args.force.create_if_wanted(args.json.as_ref())?;
    let page = args.force.create_if_wanted(args.html.as_ref())?;
    let outputs = Outputs::create(&args.events_out.files, args.force)?;
    let Inputs { earlier, source, prepared, others, scenario } = prepare::prepare(&args)?;
    let selections = std::iter::once(&prepared.setup().selection).chain(&others);
    for event in selections.flat_map(Selection::not_modelled) {
        say(format_args!("note: {event} is not modelled, and reads 0"));
    }
    let stdout = &mut plain::stdout();
    let orders = Orders::new(&args.orders, &args.replay, &source, &earlier, &prepared)?;
    header::print(stdout, &prepared, &args.replay)?;
    let names = Names::of_recordings(&prepared.setup().programs, source.is_bundled());
    let run = match scenario {
        None => {
            let passes = Passes::new(&others, &source, &prepared);
            let (run, spreads) = orders.beside(|| {
                let all = passes.number();
                let run = run_passes(stdout, prepared, passes)?;
                print(stdout, &run, all, &names, &args)?;
                Ok(run)
            })?;
            spreads.print(stdout, &run)?;
            Run::from(run)
        }
        Some(scenario) => Run::from(play(stdout, prepared, scenario)?),
    };
    stdout.flush()?;
    for note in run.notes() {
        say(format_args!("note: {note}"));
    }
    ensure!(!matches!(&run, Run::Replay(run) if run.stopped), Interrupted);
    if let Some(trace) = run.trace() {
        outputs.complete(trace)?;
    }
    output::complete_run(json, &run)?;
    if let Some(file) = page {
        let page = match &run {
            Run::Replay(run) => Page::replay(run, &names),
            run => Page::new(run)?,
        };
        complete_page(file, &page)?;
    }
    ensure_truth(&run)?;
    // The process ends soon, so freeing the many parts of a run one by one would take time for nothing.
    mem::forget(run);
    Ok(())
}

/// Fails unless every counter shows what happened.
pub(crate) fn ensure_truth(run: &Run) -> anyhow::Result<()> {
    let wrong = || Mismatch("what the guest measured is not what happened".to_owned());
    ensure!(run.truth_matches(), wrong());
    Ok(())
}

fn list(args: &StatArgs) -> anyhow::Result<()> {
    let json = args.force.create_if_wanted(args.json.as_ref())?;
    let events = Selection::available_events(args.replay.machine.configuration()?.machine);
    let mut stdout = plain::stdout();
    write!(stdout, "{}", report::events(&events))?;
    let units = "dram events are counted in each DRAM channel, lpu, gpd and asu events in each hub, and pic events in each strand. Two \
                 events of each class are counted at the same time.";
    writeln!(stdout, "\n{}", wrap(units, WIDTH).join("\n"))?;
    stdout.flush()?;
    output::complete_json(json, &events)
}

/// Replays all passes, and prints their samples.
fn run_passes(
    output: &mut impl Write,
    prepared: Prepared,
    passes: Passes<'_>,
) -> anyhow::Result<Replayed> {
    let interval = prepared.setup().interval.is_some();
    let run = match passes.number() == 1 {
        true => run_plain(output, prepared, None)?,
        false => {
            let mut samples = Samples::default();
            let run = passes
                .beside(&mut samples, |samples| run_plain(output, prepared, Some(samples)))?;
            samples.print(output)?;
            run
        }
    };
    if interval {
        writeln!(output)?;
    }
    Ok(run)
}

/// Replays a pass. Prints its samples, or keeps them in `kept`.
fn run_plain(
    output: &mut impl Write,
    prepared: Prepared,
    mut kept: Option<&mut Samples>,
) -> anyhow::Result<Replayed> {
    let bar = progress_bar(&prepared.setup().programs)?;
    let name = prepared.measuring().name.clone();
    let interval = prepared.setup().interval.is_some();
    let mut columns = None;
    let mut show = |progress: Stage<'_>| match progress {
        Stage::Started([]) => Ok(()),
        Stage::Started(refused) => {
            writeln!(output, "guest {name} may not use {} units\n", refused.len())
        }
        Stage::Progress(progress) => {
            let _ = advance(&bar, progress);
            Ok(())
        }
        Stage::Sample { references, counters, .. } if interval => match &mut kept {
            Some(kept) => {
                kept.add(references, counters);
                Ok(())
            }
            None => bar.suspend(|| {
                let columns = match columns {
                    Some(columns) => columns,
                    None => *columns.insert(Columns::header(output, counters)?),
                };
                columns.print(output, references, counters)?;
                output.flush()
            }),
        },
        _ => Ok(()),
    };
    let mut shown = Ok(());
    // While a replay waits for a pipe, it would not notice a caught interrupt. Therefore, interrupts are caught only if the total length of
    // every recording is known.
    let mut programs = prepared.setup().programs.iter();
    let ends_early = programs.all(|program| program.progress().total.is_some());
    if ends_early {
        interrupt::catch()?;
    }
    let run = prepared.run(|stage| match until_error(&mut shown, show(stage)) {
        ControlFlow::Continue(()) if ends_early && interrupt::happened() => ControlFlow::Break(()),
        goes_on => goes_on,
    });
    interrupt::release();
    bar.finish_and_clear();
    shown?;
    Ok(run?)
}

fn print(
    output: &mut impl Write,
    run: &Replayed,
    passes: usize,
    names: &Names,
    args: &StatArgs,
) -> io::Result<()> {
    let rows = args.threads.unwrap_or_default();
    summary::print(output, run, rows)?;
    if passes > 1 && !run.stopped {
        passes::print(output, passes, run)?;
    }
    waits::print(output, run, names, rows)?;
    if args.calls {
        writeln!(output, "\nHypercalls by guest and status:\n")?;
        let calls = report::hypercalls(&run.hypercalls, &run.guests);
        write!(output, "{calls}")?;
        if let Some(reads) = run.details.as_ref().map(|details| details.series.reads) {
            writeln!(
                output,
                "\n{} of the {} hypercalls were made by the guest to read its counters for the details over time ({} samples).",
                reads.calls, run.hypercalls.total, reads.samples
            )?;
        }
    }
    Ok(())
}

fn play(output: &mut impl Write, prepared: Prepared, scenario: Scenario) -> anyhow::Result<Played> {
    use scenario::ScenarioStage;

    let bar = progress_bar(&prepared.setup().programs)?;
    let file = &scenario.name.clone();
    let mut show = |progress: ScenarioStage<'_>| {
        match progress {
            ScenarioStage::Progress(progress) => {
                let _ = advance(&bar, progress);
            }
            ScenarioStage::Step(step) => {
                bar.suspend(|| scenario_report::step(output, file, step))?;
            }
            ScenarioStage::Phase(number, phase) => {
                bar.suspend(|| scenario_report::phase(output, number, phase))?;
            }
            ScenarioStage::NotReached(step, references) => bar.suspend(|| {
                say(format_args!(
                    "note: {file}:{}: not reached, because the program ends after {references} references",
                    step.line
                ));
            }),
            _ => {}
        }
        Ok(())
    };
    let mut shown = Ok(());
    let run = prepared.play(scenario, |progress| until_error(&mut shown, show(progress)));
    bar.finish_and_clear();
    shown?;
    let run = run?;
    scenario_report::end(output, &run)?;
    Ok(run)
}

/// Stops a replay at the first output error, and stores the error in `shown`.
pub(crate) fn until_error(shown: &mut io::Result<()>, result: io::Result<()>) -> ControlFlow<()> {
    *shown = result;
    match shown {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    }
}

pub(crate) fn complete_page(mut file: OutputFile, page: &Page) -> anyhow::Result<()> {
    file.write_all(lines(&page.html()).as_bytes())?;
    file.complete()
}
