//! `sim`: the main job.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use guest_abi::StrandId;
use guest_abi::layout::PerfConfig;
use hv_core::GuestId;
use indicatif::{ProgressBar, ProgressStyle};
use perfctr_service::{GuestConfig, policy};
use platform::Machine;
use serde::Serialize;

use crate::cmd::Mismatch;
use crate::cmd::machine::MachineArgs;
use crate::cmd::md::describe;
use crate::cmd::trace_out::{EventArgs, Outputs};
use crate::output::OutputFile;
use crate::report::scenario as scenario_report;
use crate::report::sim::{self as report, Samples};
use simulator::events::Recording;
use simulator::events::collect::Collector;
use simulator::machine::board::{Board, devices};
use simulator::machine::clock::{HZ, MachineClock};
use simulator::memory::MemorySystem;
use simulator::nearest::unknown;
use simulator::recording::{RecordingReader, bundled};
use simulator::scheduler::{MOST_PROGRAMS, Scheduler};
use simulator::sim::guests::{self, Guest};
use simulator::sim::measure::{Bystander, LONGEST_UNREAD, Measurement, Pair};
use simulator::sim::results::Results;
use simulator::sim::scenario::{Progress, Scenario, ScenarioResults, Stage, Unchecked, play};
use simulator::sim::selection::{DEFAULT, Events};
use simulator::strands;

/// Boot a simulated machine, replay a program on it, and show what a guest measures beside what really happened
///
/// The program's references go through caches, memory controllers and hubs. A guest with every right measures DRAM and
/// hubs by hypercalls, and the strands' own %pic directly; another guest without rights is refused. The exit status is
/// 1 if a counter does not show what happened.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Strands: each of k traces has every k-th of the strands (one at least), and deals its references to them\n\
                  in turns of 1024, round robin. Without --strands: the first strand of cores 0 and 1 of every node, as far\n\
                  as they are the first guest's.\n\n\
                  Examples:\n  cargo xtask sim\n  \
                  cargo xtask sim --machine maramba --nodes 2 --trace refs.txt --events dram:mem_reads --interval 100000\n  \
                  cargo xtask sim --perf-config c2c --events pic:L2_dmiss_ld,pic:Instr_cnt,lpu:cycles_HIT_M\n  \
                  cargo xtask sim --md simulator/machines/batoka-4-disabled.toml\n  \
                  cargo xtask sim --trace-out events && babeltrace2 events\n  \
                  zcat trace.gz | cargo xtask sim --trace - --json results.json\n  \
                  cargo xtask sim --scenario simulator/scenarios/transfer.toml\n\n\
                  A scenario is a list of steps in the order of time:\n\n  \
                  [[step]]\n  at = 1_000_000      # references that the program has executed\n  \
                  do = \"transfer\"     # transfer: right, from, to; grant, revoke: right, guest; reset: guest;\n  \
                  right = \"global\"    #   fault, mend: unit; kill: strand\n  \
                  from = \"measuring\"  # as [[guest]] tables of this file name them, or --guests, or without either\n  \
                  to = \"other\"        #   measuring and other\n\n\
                  Units are NODE0_MCU0 to NODE3_MCU1, ZAM0 to ZAM3, NODE0_L2 to NODE3_L2."
)]
pub struct Args {
    #[command(flatten)]
    machine: MachineArgs,

    /// Machine and guests from a machine description, binary or its source (.toml); see cargo xtask md --help
    #[arg(long, value_name = "FILE", conflicts_with_all = ["machine", "nodes", "guests"])]
    md: Option<PathBuf>,

    /// A recording to replay, plain, gzip or zstd, `-` for standard input; may be repeated
    #[arg(long, value_name = "FILE")]
    trace: Vec<PathBuf>,

    /// The strands that execute the program, such as 0-7 or 0,64,128
    #[arg(long, value_name = "LIST")]
    strands: Option<String>,

    /// What is counted: CLASS:EVENT, at most two of a class; classes are dram, lpu, gpd, asu, pic
    #[arg(long, value_name = "LIST")]
    events: Option<String>,

    /// Which L2 misses L2_imiss and L2_dmiss_ld count: all, local, remote, c2c
    #[arg(long, value_name = "WHICH", default_value = "all", value_parser = perf_config)]
    perf_config: PerfConfig,

    /// Print a sample every so many references
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    interval: u64,

    /// How many cycles an access to a hub takes; meanwhile the hub is busy
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(..=100_000))]
    hub_cycles: u64,

    /// The guests, from a TOML file of [[guest]] tables: name, strands, grant, compatible
    #[arg(long, value_name = "FILE")]
    guests: Option<PathBuf>,

    /// What happens meanwhile, from a TOML file of [[step]] tables, and maybe [[guest]] tables in place of --guests
    #[arg(long, value_name = "FILE", conflicts_with_all = ["interval", "perf_config"])]
    scenario: Option<PathBuf>,

    /// Write everything to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    #[command(flatten)]
    events_out: EventArgs,
}

const CONFIGS: [(&str, PerfConfig); 4] = [
    ("all", PerfConfig::All),
    ("local", PerfConfig::Local),
    ("remote", PerfConfig::Remote),
    ("c2c", PerfConfig::CacheToCache),
];

fn perf_config(text: &str) -> anyhow::Result<PerfConfig> {
    let found = CONFIGS.iter().find(|(name, _)| *name == text);
    let names = CONFIGS.iter().map(|(name, _)| *name);
    found
        .map(|(_, config)| *config)
        .with_context(|| unknown("PERF_CONFIG", text, names))
}

/// What is simulated, checked.
struct Setup {
    machine: Machine,
    readers: Vec<RecordingReader>,
    strands: Vec<StrandId>,
    events: Events,
    guests: Vec<Guest>,
    measuring: GuestId,
    scenario: Option<Scenario>,
}

/// What a simulation comes to.
#[derive(Serialize)]
#[serde(untagged)]
enum Outcome {
    Plain(Results),
    Scenario(ScenarioResults),
}

impl Outcome {
    fn truth_matches(&self) -> bool {
        match self {
            Self::Plain(results) => results.truth_matches,
            Self::Scenario(results) => results.truth_matches,
        }
    }
}

/// Simulates, as `args` say.
///
/// # Errors
/// Bad input, or [`Mismatch`] if a counter does not show what happened.
pub fn run(args: Args) -> anyhow::Result<()> {
    let setup = prepare(&args)?;
    let json = args.json.as_ref().map(OutputFile::create).transpose()?;
    for event in setup.events.not_modelled() {
        eprintln!("note: {event} is not modelled, and reads 0");
    }
    let outputs = Outputs::create(&args.events_out)?;
    let (results, recording) = simulate(&args, setup, &outputs)?;
    outputs.complete(&recording)?;
    if let Some(mut file) = json {
        let name = || {
            format!(
                "{}: cannot be written",
                args.json.as_deref().unwrap_or("".as_ref()).display()
            )
        };
        serde_json::to_writer_pretty(&mut file, &results).with_context(name)?;
        writeln!(file).with_context(name)?;
        file.complete()?;
    }
    if !results.truth_matches() {
        bail!(Mismatch(
            "what the guest measured is not what happened".to_owned()
        ));
    }
    Ok(())
}

fn prepare(args: &Args) -> anyhow::Result<Setup> {
    let scenario = (args.scenario.as_ref())
        .map(|path| Scenario::read(path))
        .transpose()?;
    let (machine, guests) = machine_and_guests(args, scenario.as_ref())?;
    let events = match &args.events {
        Some(text) => events_of(machine, Events::parse(text)?)?,
        None if machine.model().has_hubs() => Events::parse(DEFAULT)?,
        None => Events::parse(DEFAULT)?.without_hubs(),
    };
    let configs: Vec<_> = guests.iter().map(|guest| guest.config).collect();
    policy::check(machine, &configs)?;
    let strands = match &args.strands {
        Some(text) => strands::parse(text)?,
        None => default_strands(machine, &configs[0]),
    };
    if let Some(strand) = strands
        .iter()
        .find(|strand| strand.index() >= machine.strands())
    {
        bail!(
            "there is no strand {strand}; this machine has strands 0 to {}",
            machine.strands() - 1
        );
    }
    let measuring = guests::holder(&guests, &strands)?;
    ensure!(
        args.trace.len() <= MOST_PROGRAMS,
        "{} traces, expected at most {MOST_PROGRAMS}",
        args.trace.len()
    );
    let standard_inputs = args
        .trace
        .iter()
        .filter(|path| path.as_os_str() == "-")
        .count();
    ensure!(
        standard_inputs <= 1,
        "standard input is named {standard_inputs} times, expected once at most"
    );
    let readers = if args.trace.is_empty() {
        vec![bundled()]
    } else {
        args.trace
            .iter()
            .map(RecordingReader::open)
            .collect::<Result<_, _>>()?
    };
    let first_strands = (guests.iter()).filter_map(|guest| guest.config.strands.iter().next());
    let busy: Vec<StrandId> = strands.iter().copied().chain(first_strands).collect();
    let scenario = scenario
        .map(|file| file.check(machine, &guests, &busy))
        .transpose()?;
    Ok(Setup {
        machine,
        readers,
        strands,
        events,
        guests,
        measuring,
        scenario,
    })
}

fn machine_and_guests(
    args: &Args,
    scenario: Option<&Unchecked>,
) -> anyhow::Result<(Machine, Vec<Guest>)> {
    let of_scenario = scenario.filter(|file| !file.guests.is_empty());
    if let Some(path) = &args.md {
        ensure!(
            of_scenario.is_none(),
            "the scenario has guests of its own, expected no --md"
        );
        let described = describe(path)?;
        let name = path.display();
        let machine = described
            .machine
            .with_context(|| format!("{name}: describes no Victoria Falls machine"))?;
        ensure!(!described.guests.is_empty(), "{name}: describes no guest");
        let guests = described.guests.into_iter().map(Guest::from).collect();
        return Ok((machine, guests));
    }
    let machine = args.machine.machine()?;
    let guests = match (&args.guests, of_scenario) {
        (Some(_), Some(_)) => bail!("the scenario has guests of its own, expected no --guests"),
        (Some(path), None) => guests::from_file(path)?,
        (None, Some(file)) => file.guests.clone(),
        (None, None) => guests::default(machine),
    };
    Ok((machine, guests))
}

/// What is counted of the events that were asked for. Those of hubs are left out, aloud, on a machine without hubs.
fn events_of(machine: Machine, events: Events) -> anyhow::Result<Events> {
    if machine.model().has_hubs() {
        return Ok(events);
    }
    let name = machine.model().name();
    let left = events.without_hubs();
    for class in events.of_hubs() {
        ensure!(
            !left.is_empty(),
            "a {name} has no hubs, and so no {class} events; expected dram or pic events"
        );
        eprintln!("note: a {name} has no hubs, and so no {class} events; they are left out");
    }
    Ok(left)
}

/// The first strands of cores 0 and 1 of every node, as far as they are the first guest's; else its first strand.
fn default_strands(machine: Machine, first: &GuestConfig) -> Vec<StrandId> {
    let of_node =
        |node: usize| [0, StrandId::PER_CORE].map(|strand| node * StrandId::PER_NODE + strand);
    let strands: Vec<StrandId> = (0..machine.nodes())
        .flat_map(of_node)
        .filter_map(StrandId::new)
        .filter(|strand| first.strands.has(*strand))
        .collect();
    if strands.is_empty() {
        first.strands.iter().take(1).collect()
    } else {
        strands
    }
}

fn simulate(args: &Args, setup: Setup, outputs: &Outputs) -> anyhow::Result<(Outcome, Recording)> {
    let Setup {
        machine,
        readers,
        strands,
        events,
        guests,
        measuring,
        scenario,
    } = setup;
    let devices = devices(machine, args.hub_cycles);
    let configs: Vec<_> = guests.iter().map(|guest| guest.config).collect();
    let clock = MachineClock::new(&devices);
    let rings = outputs.rings();
    let collector = match &rings {
        Some(rings) => rings.collector(&clock),
        None => Collector::Off,
    };
    let board = Board::new(&devices, &clock, &collector, outputs.keep, &configs)?;
    let recorded = || Recording {
        hz: HZ,
        resolution: outputs.layout.resolution(),
        began: 0,
        missed: collector.missed(),
        guests: guests.iter().map(|guest| guest.name.clone()).collect(),
        streams: collector.streams(),
    };

    let output = &mut io::BufWriter::new(io::stdout().lock());
    let list = strands
        .iter()
        .map(StrandId::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    let Guest { name, config } = &guests[measuring.index()];
    writeln!(
        output,
        "{} with {} nodes, {} strands",
        machine.model(),
        machine.nodes(),
        machine.strands()
    )?;
    writeln!(
        output,
        "program: {}",
        readers
            .iter()
            .map(RecordingReader::name)
            .collect::<Vec<_>>()
            .join(", ")
    )?;
    writeln!(
        output,
        "executed by strands {list} of guest {name} ({})\n",
        config.grant
    )?;

    if let Some(scenario) = scenario {
        let stage = Stage {
            devices: &devices,
            board: &board,
            guests: &guests,
            program: (measuring, &strands),
            events,
        };
        let bar = progress_bar(&readers)?;
        let scheduler = Scheduler::new(readers, &strands);
        let results = play(&stage, &scenario, scheduler, &mut |progress| {
            match progress {
                Progress::Read(bytes) => bar.set_position(bytes),
                Progress::Step(step) => {
                    bar.suspend(|| scenario_report::step(output, &scenario.name, step))?;
                }
                Progress::Phase(number, phase) => {
                    bar.suspend(|| scenario_report::phase(output, number, phase))?;
                }
                Progress::NotReached(step, references) => {
                    bar.finish_and_clear();
                    eprintln!(
                        "note: {}:{}: not reached, the program ends after {references} references",
                        scenario.name, step.line
                    );
                }
            }
            Ok(())
        })?;
        bar.finish_and_clear();
        scenario_report::end(output, &results)?;
        output.flush()?;
        return Ok((Outcome::Scenario(results), recorded()));
    }
    let mut memory = MemorySystem::new(&machine)?;
    let mut guest = Measurement::start(
        &board,
        machine,
        measuring,
        &strands,
        &events,
        args.perf_config,
    )?;
    let bystanders = bystanders(&board, &guests, measuring)?;
    if !guest.refused.is_empty() {
        writeln!(
            output,
            "guest {name} may not use {} units\n",
            guest.refused.len()
        )?;
    }

    let bar = progress_bar(&readers)?;
    let mut scheduler = Scheduler::new(readers, &strands);
    let mut samples = Samples::new(&guest.pairs);
    let mut references = 0;
    let (mut printed, mut read) = (0, 0);
    loop {
        let until =
            (args.interval - (references - printed)).min(LONGEST_UNREAD - (references - read));
        let share = scheduler.next(usize::try_from(until).unwrap_or(usize::MAX))?;
        let ended = share.is_none();
        if let Some(share) = share {
            memory.replay(share.strand, share.offset, share.references, &devices);
            references += share.references.len() as u64;
        }
        bar.set_position(scheduler.progress().read);
        let sample = references - printed == args.interval || ended && references > printed;
        if sample || references - read == LONGEST_UNREAD {
            guest.sample()?;
            read = references;
        }
        if sample {
            bystanders.iter().for_each(Bystander::ask);
            bar.suspend(|| {
                samples
                    .print(output, references, &guest.pairs)
                    .and_then(|()| output.flush())
            })?;
            guest.pairs.iter_mut().for_each(Pair::shown);
            printed = references;
        }
        if ended {
            break;
        }
    }
    bar.finish_and_clear();
    let results = Results::new(
        machine,
        references,
        &guest.pairs,
        memory.truth(),
        args.perf_config,
        &guests,
        &board,
    );
    report::print(output, &results)?;
    output.flush()?;
    Ok((Outcome::Plain(results), recorded()))
}

/// A strand of every guest that does not measure.
fn bystanders<'a>(
    board: &'a Board<'a>,
    guests: &[Guest],
    measuring: GuestId,
) -> anyhow::Result<Vec<Bystander<'a>>> {
    let mut bystanders = Vec::new();
    for (number, guest) in guests.iter().enumerate() {
        let (Some(id), Some(strand)) = (GuestId::new(number), guest.config.strands.iter().next())
        else {
            continue;
        };
        if id != measuring {
            bystanders.push(Bystander::new(board.strand(id, strand))?);
        }
    }
    Ok(bystanders)
}

/// Shows on a terminal how far these traces have been read.
pub(super) fn progress_bar(readers: &[RecordingReader]) -> anyhow::Result<ProgressBar> {
    if !io::stderr().is_terminal() {
        return Ok(ProgressBar::hidden());
    }
    let total: Option<u64> = readers.iter().map(|reader| reader.progress().total).sum();
    Ok(match total {
        Some(total) => ProgressBar::new(total).with_style(ProgressStyle::with_template(
            "{wide_bar} {bytes}/{total_bytes} of the trace, {eta} left",
        )?),
        None => ProgressBar::new_spinner().with_style(ProgressStyle::with_template(
            "{spinner} {bytes} of the trace, {elapsed}",
        )?),
    })
}
