//! `boot`: executes a hypervisor and its guests on a simulated machine.

pub mod console;
mod consoles;
mod description;
pub mod elf;
mod events;
pub mod fatal;
pub mod gdb;
pub(crate) mod images;
mod locations;
mod report;

use crate::plain::{EscapingWriter, raw_stderr, raw_stdout};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use indicatif::{HumanCount, ProgressBar};
use platform::interfaces::Interface;
use platform::memory_map::RESET_CODE;
use platform::memory_map::start::{CLOCKS, ENTRY, MACHINE, machine_word};
use simulator::execute::mailbox::GuestState;
use simulator::execute::{Execution, Interfaces, Limits, Setup, Stop, map};
use simulator::input::{self, MAX_STREAM_BYTES};
use simulator::machine::guests::NamedGuest;
use simulator::machine::strands;
use simulator::memory::Pages;
use simulator::operator::{Operator, OperatorProgress, Scenario};
use simulator::replay::Selection;
use simulator::run::Run;

use crate::budget;
use crate::cmd::machine::ConfiguredArgs;
use crate::cmd::stat::complete_page;
use crate::exit::Mismatch;
use crate::interrupt::{self, Interrupted};
use crate::output::{self, Force};
use crate::page::Page;
use crate::say::say;

use self::consoles::Consoles;
use self::description::CompleteDescription;
use self::events::{EventArgs, Events};
use self::gdb::Debugged;
use self::images::ImageFile;

/// Boot guests under the hypervisor, on a simulated machine that executes their instructions
///
/// The machine is a T5440 (four UltraSPARC T2 Plus processors, 256 strands in all) or a smaller one. Its strands execute SPARC V9: the
/// bundled hypervisor, which has the performance counter service, and the guests. Loads and stores go through simulated caches,
/// memory channels and hubs, whose counters guests read by hypercalls. The output of guests and the log of the hypervisor appear
/// immediately. A report at the end says what the guests executed and counted. The exit status is 1 if a guest ends with a code other
/// than 0, or by a trap.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
                  vfalls boot                                 # a bundled guest, on eight strands\n  \
                  vfalls boot guest.elf                       # one guest with every right, on strand 0 of a T5440\n  \
                  vfalls boot guest.elf --strands 0-7,64-71   # on sixteen strands of two nodes\n  \
                  vfalls boot a.elf b.elf --md machine.toml   # the guests of a machine description\n  \
                  vfalls boot guest.elf -e dram:mem_reads --json out.json --events-out events\n  \
                  vfalls boot guest.elf --html page.html      # a page with charts, for a browser\n  \
                  vfalls boot guest.elf --limit 1000000       # stop after a million instructions\n  \
                  vfalls boot --md machine.toml --scenario steps.toml   # an operator transfers rights, resets a guest\n  \
                  vfalls boot guest.elf --gdb 1234            # gdb-multiarch guest.elf -ex 'target remote :1234'\n\n\
                  A guest is an ELF file for SPARC V9, linked at 0x80000000. It begins at its entry, in privileged mode with the MMU \
                  off, PIL 15 and no trap table.\n\n\
                  A step of a scenario can also make a clock go wrong:\n\n  \
                  [[step]]\n  at = 5_000_000      # instructions of all strands\n  \
                  do = \"clock\"\n  \
                  clock = \"%stick\"    # %stick, %tick, ptimer\n  \
                  strand = 8          # without it: %stick or %tick of all strands\n  \
                  drift = 500         # ppm, from now on; or stop = true (until a step with drift),\n  \
                  \u{20}                   #   jump = NS (negative: back), lose = NS (stands still for this time)")]
pub(crate) struct BootArgs {
    /// The guests, in the order of the machine description: ELF files for SPARC V9, linked at 0x80000000 [default: the bundled guest,
    /// once for each guest of the description]
    #[arg(value_name = "GUEST")]
    guests: Vec<PathBuf>,

    /// Take machine and guests from this machine description, binary or source (.toml); see vfalls md --help
    #[arg(long, value_name = "FILE", conflicts_with_all = ["machine", "nodes", "strands"])]
    md: Option<PathBuf>,

    #[command(flatten)]
    machine: ConfiguredArgs,

    /// The strands of the guest, such as 0-7,64-71 [default: 0; 0-7 for the bundled guest]
    #[arg(long, value_name = "LIST")]
    strands: Option<String>,

    /// The memory of each guest, in MB
    #[arg(long, value_name = "MB", default_value_t = 128, value_parser = clap::value_parser!(u64).range(4..=16384))]
    memory: u64,

    /// The hypervisor: an ELF file for SPARC V9, linked at 0x100000 [default: the bundled one]
    #[arg(long, value_name = "FILE")]
    hypervisor: Option<PathBuf>,

    /// Feed this file to the console of the first guest; - is standard input
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    /// Report these events, CLASS:EVENT; vfalls stat --list lists them
    #[arg(short, long, value_name = "LIST")]
    event: Vec<String>,

    /// Stop after N instructions of all strands together
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// Carry out the operator's steps in this file, each after a number of instructions of all strands together. vfalls stat --help
    /// describes such files; here a file must not define guests. A guest that is reset begins at its entry, with its memory unchanged
    #[arg(long, value_name = "FILE", conflicts_with = "gdb")]
    scenario: Option<PathBuf>,

    /// Wait at the first instruction of the first guest for a debugger, on this local port (0: any free port). The debugger's
    /// threads are the strands
    #[arg(long, value_name = "PORT", conflicts_with = "limit")]
    gdb: Option<u16>,

    /// Leave out caches, channels and hubs: an instruction takes one cycle, strands take turns of 16 cycles, and only instructions
    /// are counted
    #[arg(long)]
    fast: bool,

    /// Have the hypervisor compare %stick, %tick and the PTIMER every 10 ms of the machine's time.
    /// The hypervisor's log names each clock that is not trusted any more; the guests' time of day
    /// then comes from the other clocks
    #[arg(long)]
    clocks: bool,

    /// List the instructions and registers that software uses and the machine does not simulate in full
    #[arg(long)]
    log: bool,

    /// Write the result to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write a page with charts of the result to this file, for any browser
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    events: EventArgs,

    #[command(flatten)]
    force: Force,
}

/// The maximum number of instructions between two checks. A check prints the consoles, and carries out the operator's steps that are due.
const BATCH: u64 = 1 << 20;

/// The time between two clock comparisons by the hypervisor's watchdog, in microseconds.
const CLOCK_PERIOD: u64 = 10_000;

/// The maximum length of the file for a console's input, in bytes.
const MAX_INPUT_BYTES: u64 = 1 << 30;

pub(crate) fn run(args: BootArgs) -> anyhow::Result<()> {
    let json = args.force.create_if_wanted(args.json.as_ref())?;
    let page = args.force.create_if_wanted(args.html.as_ref())?;
    let memory = args.memory << 20;
    let hypervisor = match &args.hypervisor {
        Some(path) => ImageFile::read(path, &map::HYPERVISOR)?,
        None => ImageFile::bundled_hypervisor()?,
    };
    let interfaces = hypervisor.interfaces()?;
    ensure!(
        args.scenario.is_none() || interfaces.at(Interface::Mailbox).is_some(),
        "--scenario: an operator's steps need a mailbox, which {} does not have",
        hypervisor.name
    );
    if hypervisor.path.is_some() {
        print_interfaces(&hypervisor.name, &interfaces);
    }
    let complete = args.describe(memory)?;
    let selection = args.selection(&complete)?;
    let scenario = args.scenario(&complete)?;
    let mut operator = Operator::new(scenario, &complete.guests);
    let configuration = args.machine.configuration()?;
    ensure!(
        configuration.memory.pages == Pages::Hardware,
        "--config: has memory.pages, which is not allowed here: a guest chooses the addresses of its pages"
    );
    let setup = Setup::new(complete.machine)
        .memory((!args.fast).then_some(configuration.memory))
        .partition(memory * complete.guests.len() as u64)
        .consoles(complete.guests.len())
        .interfaces(interfaces);
    budget::allow(setup.partition);
    let mut execution = Execution::new(&setup)?;
    load(&mut execution, &hypervisor, &complete, memory)?;
    if args.clocks {
        execution.load(CLOCKS, &CLOCK_PERIOD.to_be_bytes())?;
    }
    if let Some(input) = &args.input {
        execution.input(0, &read_input(input)?);
    }
    let mut events = Events::begin(
        &args.events,
        args.force,
        &mut execution,
        (&hypervisor, &interfaces),
        &complete.guests,
    )?;

    let stdout = &mut BufWriter::new(raw_stdout());
    interrupt::catch()?;
    let names = complete.guests.iter().map(|guest| guest.name.clone());
    let mut consoles = Consoles::new(names);
    let stop = match args.gdb {
        None => {
            let mut beside = (&mut consoles, &mut events, &mut operator);
            execute(&mut execution, &mut beside, args.limit, stdout)?
        }
        Some(port) => Debugged {
            execution: &mut execution,
            consoles: &mut consoles,
            complete: &complete,
            memory,
            output: stdout,
        }
        .debug(port)?,
    };
    consoles.end(stdout)?;
    for step in operator.remaining() {
        say(format_args!(
            "note: {}:{}: not reached, because the machine stopped earlier",
            operator.scenario(),
            step.line
        ));
    }
    let mut executed = execution.executed(&selection, &complete.guests);
    executed.steps = operator.completed().to_vec();
    let images = complete.images.iter();
    for (number, (guest, image)) in executed.guests.iter_mut().zip(images).enumerate() {
        guest.state = consoles.state(&mut execution, number);
        guest.program.clone_from(&image.name);
        guest.console = String::from_utf8_lossy(consoles.text(number)).into_owned();
    }
    executed.hypervisor.console = String::from_utf8_lossy(consoles.hypervisor()).into_owned();
    let stdout = &mut EscapingWriter::new(stdout);
    writeln!(stdout)?;
    report::print(stdout, &executed)?;
    if args.log {
        report::log(stdout, execution.log())?;
    }
    locations::print(stdout, &consoles, &hypervisor, &complete)?;
    let compared = events.complete(&mut execution, &complete.guests, stdout);
    stdout.flush()?;
    let run = Run::from(executed);
    output::complete_run(json, &run)?;
    if let Some(page) = page {
        complete_page(page, &Page::new(&run)?)?;
    }
    compared?;
    ended(&mut execution, stop, &consoles, &complete.guests)
}

/// Prints which optional interfaces an image lacks, and which of its interfaces have a version that this program does not know.
fn print_interfaces(image: &str, interfaces: &Interfaces) {
    let lacking: Vec<_> = interfaces.lacking().map(|one| format!("no {}", one.name())).collect();
    if !lacking.is_empty() {
        say(format_args!(
            "note: {image} has {} (optional: see the module `interfaces` of the crate `platform`)",
            lacking.join(", ")
        ));
    }
    for (interface, version) in interfaces.other_versions() {
        say(format_args!(
            "note: {image} has version {version} of the interface {}, which is not used: this program knows version {}",
            interface.name(),
            interface.version()
        ));
    }
}

fn read_input(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path != Path::new("-") {
        return Ok(input::read(path, MAX_INPUT_BYTES)?);
    }
    Ok(input::read_stream("-", io::stdin().lock(), MAX_STREAM_BYTES)?)
}

impl BootArgs {
    fn describe(&self, memory: u64) -> anyhow::Result<CompleteDescription> {
        let real = description::real(memory);
        let images = self.guests.iter().map(|path| ImageFile::read(path, &real));
        let mut images: Vec<ImageFile> = images.collect::<anyhow::Result<_>>()?;
        if let Some(md) = &self.md {
            return description::from_file(md, images, memory);
        }
        let (image, default) = match images.pop() {
            Some(image) => (image, "0"),
            None => (ImageFile::bundled_guest(&real)?, "0-7"),
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
        description::with_one_guest(machine, &strands, image, memory)
    }

    fn scenario(&self, complete: &CompleteDescription) -> anyhow::Result<Scenario> {
        let Some(path) = &self.scenario else {
            return Ok(Scenario::default());
        };
        let unchecked = Scenario::read(path)?;
        ensure!(
            unchecked.guests.is_empty(),
            "{}: has guests of its own, which is not allowed here: the steps are for the machine's guests",
            path.display()
        );
        Ok(unchecked.check(complete.machine, &complete.guests, &[])?)
    }

    fn selection(&self, complete: &CompleteDescription) -> anyhow::Result<Selection> {
        match &self.event[..] {
            [] => Ok(Selection::default_for(complete.machine)),
            events => Ok(Selection::parse(&events.join(","))?),
        }
    }
}

/// Loads the reset code, the hypervisor, the guests and the machine description into memory.
fn load(
    execution: &mut Execution,
    hypervisor: &ImageFile,
    complete: &CompleteDescription,
    memory: u64,
) -> anyhow::Result<()> {
    execution.load(map::RESET, RESET_CODE.map(u32::to_be_bytes).as_flattened())?;
    hypervisor.load(execution, 0)?;
    for (image, number) in complete.images.iter().zip(0..) {
        image.load(execution, number * memory)?;
    }
    execution
        .load(map::DESCRIPTION.start, &complete.bytes)
        .context("the machine description is too long")?;
    // Some hypervisors do not read the description. They find the machine and the guest's entry at
    // these two addresses.
    execution.load(MACHINE, &machine_word(complete.machine).to_be_bytes())?;
    execution.load(ENTRY, &complete.images[0].entry.to_be_bytes())?;
    Ok(())
}

/// Executes until the machine stops. Meanwhile, carries out the operator's steps, prints the consoles, and reads the events.
fn execute(
    execution: &mut Execution,
    (consoles, events, operator): &mut (&mut Consoles, &mut Events, &mut Operator),
    limit: Option<u64>,
    output: &mut impl Write,
) -> anyhow::Result<Stop> {
    let most = limit.unwrap_or(u64::MAX);
    let mut left = most;
    let progress =
        if raw_stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    let scenario = operator.scenario().to_owned();
    let mut stop = Stop::Limit;
    loop {
        let executed = match stop {
            // No strand will execute again, so all remaining steps become due.
            Stop::Ended => u64::MAX,
            _ => most - left,
        };
        let mut worked = false;
        loop {
            match operator.work(execution, executed) {
                OperatorProgress::Nothing => break,
                OperatorProgress::Requested => {}
                OperatorProgress::Completed(_, step) => {
                    let line = report::step(&scenario, step);
                    progress.suspend(|| consoles.print_message(&line, output))?;
                }
            }
            worked = true;
        }
        let goes_on = match stop {
            Stop::Limit => left > 0 && !consoles.all_ended(execution),
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
        let batch =
            BATCH.min(left).min(operator.until_next_work(most - left)).min(events.patience());
        stop = execution.run(Limits::instructions(batch));
        left -= batch;
        events.read(execution)?;
        progress.suspend(|| consoles.show(execution, output))?;
        progress.set_message(format!("{} cycles", HumanCount(execution.now())));
        progress.tick();
    }
}

/// Fails unless all guests have exited with the code 0.
fn ended(
    execution: &mut Execution,
    stop: Stop,
    consoles: &Consoles,
    guests: &[NamedGuest],
) -> anyhow::Result<()> {
    if let Stop::ErrorState { strand, state } = stop {
        bail!(Mismatch(format!(
            "strand {strand} entered error state: {:?} at {:#x}",
            state.trap, state.pc
        )));
    }
    if let Stop::Stray(stray) = stop {
        bail!(stray);
    }
    for (number, NamedGuest { name, .. }) in guests.iter().enumerate() {
        bail!(Mismatch(match consoles.state(execution, number) {
            GuestState::Exited(0) => continue,
            GuestState::Exited(code) => format!("{name} ended with code {code}"),
            GuestState::Trapped => format!("{name} was ended by a trap"),
            GuestState::Failed => format!("{name} has no working strand left"),
            GuestState::Runs if stop == Stop::Limit =>
                format!("{name} had not ended when the limit was reached"),
            GuestState::Runs => format!("{name} has not ended, and all strands wait for ever"),
            GuestState::Absent => format!("the hypervisor has not started {name}"),
            GuestState::Unknown => format!("the hypervisor has not reported that {name} ended"),
        }));
    }
    Ok(())
}
