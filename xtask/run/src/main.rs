//! Runs a hypervisor and its guests on a simulated machine that executes. Run it by `cargo xtask run`.
#![deny(unsafe_code, clippy::print_stderr, clippy::print_stdout)]

mod consoles;
mod description;
mod disassembly;
mod gdb;
mod images;
mod places;
mod report;

use std::cell::RefCell;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

use anyhow::{Context, bail, ensure};
use clap::Parser;
use indicatif::{HumanCount, ProgressBar};
use simulator::events::Trace;
use simulator::execution::mailbox::GuestState;
use simulator::execution::operator::Operator;
use simulator::execution::{Execution, Limits, Setup, Stop, calls, map};
use simulator::guests::Guest;
use simulator::input;
use simulator::simulation::Selection;
use simulator::simulation::scenario::Scenario;
use simulator::strands;
use xtask::cmd::Mismatch;
use xtask::cmd::events_out::{FileArgs, Outputs};
use xtask::cmd::machine::ConfiguredArgs;
use xtask::cmd::sim::complete_page;
use xtask::exit;
use xtask::interrupt::{self, Interrupted};
use xtask::output::Force;
use xtask::qemu::machine::{ENTRY, MACHINE, RESET, word};
use xtask::say::say;

use consoles::Consoles;
use description::Complete;
use gdb::Debugged;
use images::Image;

/// Run guests under the hypervisor with the performance counter service, on a simulated machine that executes
///
/// The machine is a T5440 or a smaller one: its strands execute SPARC V9, and the hypervisor's image is the one that is shipped. What
/// guests do goes through caches, memory channels and hubs, whose counters they read by hypercalls. What they print is shown as it
/// comes; at the end, what happened. The exit status is 1 if a guest ends with a code other than 0, or by a trap.
#[derive(Parser, Debug)]
#[command(
    name = "cargo xtask run",
    bin_name = "cargo xtask run",
    after_help = "Examples:\n  \
                  cargo xtask run                                 # a bundled guest, on eight strands\n  \
                  cargo xtask run guest.elf                       # one guest with every right, on strand 0 of a T5440\n  \
                  cargo xtask run guest.elf --strands 0-7,64-71   # on sixteen strands of two nodes\n  \
                  cargo xtask run a.elf b.elf --md machine.toml   # the guests of a machine description\n  \
                  cargo xtask run guest.elf -e dram:mem_reads --json out.json --events-out events\n  \
                  cargo xtask run guest.elf --html page.html      # charts of it, for a browser\n  \
                  cargo xtask run guest.elf --limit 1000000       # at most so many instructions\n  \
                  cargo xtask run --md machine.toml --scenario steps.toml   # an operator transfers rights, resets a guest\n  \
                  cargo xtask run guest.elf --gdb 1234            # gdb-multiarch guest.elf -ex 'target remote :1234'\n\n\
                  A guest is an ELF file for SPARC V9, linked at 0x80000000. It begins at its entry, in privileged mode with the MMU \
                  off, PIL 15 and no trap table."
)]
struct Args {
    /// The guests: ELF files for SPARC V9, linked at 0x80000000, in the order of the description [default: the bundled guest, for
    /// each guest of the description]
    #[arg(value_name = "GUEST")]
    guests: Vec<PathBuf>,

    /// Guests and machine from a machine description, binary or its source (.toml); see cargo xtask md --help
    #[arg(long, value_name = "FILE", conflicts_with_all = ["machine", "nodes", "strands"])]
    md: Option<PathBuf>,

    #[command(flatten)]
    machine: ConfiguredArgs,

    /// The strands of the guest [default: 0; 0-7 for the bundled guest]
    #[arg(long, value_name = "LIST")]
    strands: Option<String>,

    /// The memory of each guest, in MB
    #[arg(long, value_name = "MB", default_value_t = 128, value_parser = clap::value_parser!(u64).range(4..=16384))]
    memory: u64,

    /// The hypervisor: an ELF file for SPARC V9, linked at 0x100000 [default: the bundled one]
    #[arg(long, value_name = "FILE")]
    hypervisor: Option<PathBuf>,

    /// What comes to the console of the first guest: a file, or - for standard input
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    /// The events that are reported, CLASS:EVENT, as cargo xtask sim --list lists them
    #[arg(short, long, value_name = "LIST")]
    event: Vec<String>,

    /// Stop after so many instructions of all strands together
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// Steps of an operator, each after so many instructions of all strands: a file as cargo xtask sim --help describes it, without
    /// guests of its own. A guest that is reset begins at its entry, and finds its memory as it was
    #[arg(long, value_name = "FILE", conflicts_with = "gdb")]
    scenario: Option<PathBuf>,

    /// Wait at the first instruction of the first guest for a debugger, at this port of this computer (0: any): its threads are
    /// strands
    #[arg(long, value_name = "PORT", conflicts_with = "limit")]
    gdb: Option<u16>,

    /// Execute without caches, channels and hubs: an instruction takes one cycle, strands take turns of 16 cycles, and
    /// only instructions are counted
    #[arg(long)]
    fast: bool,

    /// List what software did that the machine does not simulate in full: instructions and registers
    #[arg(long)]
    log: bool,

    /// Write the results to a file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Make a page of the results: one file that any browser opens
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    events: FileArgs,

    #[command(flatten)]
    force: Force,
}

/// How many instructions are executed before somebody looks at the consoles.
const BATCH: u64 = 1 << 20;

/// The longest input of a console.
const LONGEST_INPUT: u64 = 1 << 30;

fn main() -> ExitCode {
    exit::main(run)
}

fn run(args: Args) -> anyhow::Result<()> {
    let json = args.force.create_if_wanted(args.json.as_ref())?;
    let page = args.force.create_if_wanted(args.html.as_ref())?;
    let events = Outputs::create(&args.events, args.force)?;
    let memory = args.memory << 20;
    let hypervisor = match &args.hypervisor {
        Some(path) => Image::read(path, &map::HYPERVISOR)?,
        None => Image::bundled_hypervisor()?,
    };
    let complete = args.describe(memory)?;
    let selection = args.selection(&complete)?;
    let scenario = args.scenario(&complete)?;
    let mut operator = Operator::new(scenario, &complete.guests);
    let configuration = args.machine.configuration()?;
    let setup = Setup {
        memory: (!args.fast).then_some(configuration.memory),
        partition: memory * complete.guests.len() as u64,
        consoles: complete.guests.len(),
        ..Setup::new(complete.machine)
    };
    let mut execution = Execution::new(&setup)?;
    load(&mut execution, &hypervisor, &complete, memory)?;
    if let Some(input) = &args.input {
        execution.input(0, &read_input(input)?);
    }
    let calls = Rc::new(RefCell::new(Vec::new()));
    if args.events.wanted() {
        let calls = Rc::clone(&calls);
        execution.observe_calls(Some(Box::new(move |call| calls.borrow_mut().push(*call))));
    }

    let output = &mut BufWriter::new(io::stdout());
    interrupt::catch()?;
    let names = complete.guests.iter().map(|guest| guest.name.clone());
    let mut consoles = Consoles::new(names);
    let stopped = match args.gdb {
        None => None,
        Some(port) => Debugged {
            execution: &mut execution,
            consoles: &mut consoles,
            complete: &complete,
            memory,
            output,
            steps: None,
            ended: None,
        }
        .debug(port)?,
    };
    let stop = match stopped {
        Some(stop) => stop,
        None => execute(
            &mut execution,
            &mut consoles,
            &mut operator,
            args.limit,
            output,
        )?,
    };
    consoles.end(output)?;
    for line in operator.left() {
        say(format_args!(
            "note: {}:{line}: not reached, the machine stops before",
            operator.scenario()
        ));
    }
    let mut results = execution.results(&selection, &complete.guests);
    results.steps = operator.made().to_vec();
    let images = complete.images.iter();
    for (number, (guest, image)) in results.guests.iter_mut().zip(images).enumerate() {
        guest.program.clone_from(&image.name);
        guest.console = String::from_utf8_lossy(consoles.text(number)).into_owned();
    }
    writeln!(output)?;
    report::print(output, &results)?;
    if args.log {
        report::log(output, execution.log())?;
    }
    places::print(output, &consoles, &hypervisor, &complete)?;
    output.flush()?;
    if let Some(json) = json {
        json.complete_json(&results)?;
    }
    if let Some(page) = page {
        complete_page(page, &results)?;
    }
    events.complete(&Trace {
        epoch: args.events.epoch(),
        ..calls::trace(&calls.borrow(), &complete.guests)
    })?;
    ended(&mut execution, stop, &consoles, &complete.guests)
}

/// Reads what comes to a console.
fn read_input(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path != Path::new("-") {
        return Ok(input::read(path, LONGEST_INPUT)?);
    }
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(LONGEST_INPUT)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Args {
    fn describe(&self, memory: u64) -> anyhow::Result<Complete> {
        let real = description::real(memory);
        let images = self.guests.iter().map(|path| Image::read(path, &real));
        let mut images: Vec<Image> = images.collect::<anyhow::Result<_>>()?;
        if let Some(md) = &self.md {
            return description::of_file(md, images, memory);
        }
        let (image, default) = match images.pop() {
            Some(image) => (image, "0"),
            None => (Image::bundled_guest(&real)?, "0-7"),
        };
        ensure!(
            images.is_empty(),
            "found {} guests, expected --md FILE, a machine description that says where they run",
            images.len() + 1
        );
        let machine = self.machine.configuration()?.machine;
        let strands = strands::parse(self.strands.as_deref().unwrap_or(default))?;
        for strand in &strands {
            ensure!(
                strand.index() < machine.strands(),
                "strand {strand}: this machine has strands 0 to {}",
                machine.strands() - 1
            );
        }
        description::of_one(machine, &strands, image, memory)
    }

    fn scenario(&self, complete: &Complete) -> anyhow::Result<Scenario> {
        let Some(path) = &self.scenario else {
            return Ok(Scenario::default());
        };
        let unchecked = Scenario::read(path)?;
        ensure!(
            unchecked.guests.is_empty(),
            "{}: has guests of its own, expected none: they are those of the machine",
            path.display()
        );
        let names = complete.guests.iter().map(|guest| guest.name.as_str());
        Ok(unchecked.check_for(complete.machine, &names.collect::<Vec<_>>(), &[])?)
    }

    fn selection(&self, complete: &Complete) -> anyhow::Result<Selection> {
        match &self.event[..] {
            [] => Ok(Selection::default_of(complete.machine)),
            events => Ok(Selection::parse(&events.join(","))?),
        }
    }
}

/// Fills the memory of the machine.
fn load(
    execution: &mut Execution,
    hypervisor: &Image,
    complete: &Complete,
    memory: u64,
) -> anyhow::Result<()> {
    execution.load(map::RESET, RESET.map(u32::to_be_bytes).as_flattened())?;
    hypervisor.load(execution, 0)?;
    for (image, number) in complete.images.iter().zip(0..) {
        image.load(execution, number * memory)?;
    }
    execution
        .load(map::DESCRIPTION.start, &complete.bytes)
        .context("the machine description is too long")?;
    // For images that read no description.
    execution.load(MACHINE, &word(complete.machine).to_be_bytes())?;
    execution.load(ENTRY, &complete.images[0].entry.to_be_bytes())?;
    Ok(())
}

/// Executes until all is over, makes the operator's steps, and shows what guests write.
fn execute(
    execution: &mut Execution,
    consoles: &mut Consoles,
    operator: &mut Operator,
    limit: Option<u64>,
    output: &mut impl Write,
) -> anyhow::Result<Stop> {
    let most = limit.unwrap_or(u64::MAX);
    let mut left = most;
    let progress = if io::stderr().is_terminal() {
        ProgressBar::new_spinner()
    } else {
        ProgressBar::hidden()
    };
    let mut stop = Stop::Limit;
    loop {
        let executed = match stop {
            // Nothing else happens any more.
            Stop::Ended => u64::MAX,
            _ => most - left,
        };
        let made = operator.made().len();
        let worked = operator.work(execution, executed);
        progress.suspend(|| {
            let mut made = operator.made()[made..].iter();
            made.try_for_each(|step| consoles.tell(&report::step(operator, step), output))
        })?;
        let goes_on = match stop {
            Stop::Limit => left > 0 && consoles.ended(0).is_none(),
            Stop::Ended => worked,
            _ => false,
        };
        if !goes_on {
            progress.finish_and_clear();
            return Ok(stop);
        }
        if interrupt::happened() {
            bail!(Interrupted);
        }
        let batch = BATCH.min(left).min(operator.patience(most - left));
        stop = execution.run(Limits::instructions(batch));
        left -= batch;
        progress.suspend(|| consoles.show(execution, output))?;
        progress.set_message(format!("{} cycles", HumanCount(execution.now())));
        progress.tick();
    }
}

/// Fails unless all guests have ended with 0.
fn ended(
    execution: &mut Execution,
    stop: Stop,
    consoles: &Consoles,
    guests: &[Guest],
) -> anyhow::Result<()> {
    if let Stop::ErrorState { strand, state } = stop {
        bail!(Mismatch(format!(
            "strand {strand} entered error state: {:?} at {:#x}",
            state.trap, state.pc
        )));
    }
    for (number, guest) in guests.iter().enumerate() {
        let name = &guest.name;
        let state = match (execution.guest(number), consoles.ended(number)) {
            (GuestState::Absent | GuestState::Runs, Some(code)) => GuestState::Exited(code),
            (state, _) => state,
        };
        match state {
            GuestState::Exited(0) => {}
            GuestState::Exited(code) => {
                bail!(Mismatch(format!("{name} ended with the code {code}")))
            }
            GuestState::Trapped => bail!(Mismatch(format!("{name} was ended by a trap"))),
            GuestState::Failed => bail!(Mismatch(format!("{name} has no strand that works"))),
            GuestState::Runs if stop == Stop::Limit => {
                bail!(Mismatch(format!("{name} has not ended at the limit")))
            }
            GuestState::Runs => bail!(Mismatch(format!(
                "{name} has not ended, and all strands wait for ever"
            ))),
            GuestState::Absent => bail!(Mismatch(format!("the hypervisor has not started {name}"))),
        }
    }
    Ok(())
}
