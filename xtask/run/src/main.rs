//! Runs a hypervisor and its guests on a simulated machine that executes. Run it by `cargo xtask run`.
#![deny(unsafe_code, clippy::print_stderr, clippy::print_stdout)]

mod consoles;
mod description;
mod images;
mod places;
mod report;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use clap::Parser;
use simulator::execution::mailbox::GuestState;
use simulator::execution::{Execution, Limits, Setup, Stop, map};
use simulator::simulation::Selection;
use simulator::strands;
use xtask::cmd::Mismatch;
use xtask::cmd::machine::ConfiguredArgs;
use xtask::exit;
use xtask::interrupt::{self, Interrupted};
use xtask::output::Force;
use xtask::qemu::machine::{ENTRY, MACHINE, RESET, word};

use consoles::Consoles;
use description::{Complete, Guest};
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
                  cargo xtask run guest.elf                       # one guest with every right, on strand 0 of a T5440\n  \
                  cargo xtask run guest.elf --strands 0-7,64-71   # on sixteen strands of two nodes\n  \
                  cargo xtask run a.elf b.elf --md machine.toml   # the guests of a machine description\n  \
                  cargo xtask run guest.elf -e dram:mem_reads --json out.json\n  \
                  cargo xtask run guest.elf --limit 1000000       # at most so many instructions\n\n\
                  A guest is an ELF file for SPARC V9, linked at 0x80000000. It begins at its entry, in privileged mode with the MMU \
                  off, PIL 15 and no trap table."
)]
struct Args {
    /// The guests: ELF files for SPARC V9, linked at 0x80000000, in the order of the description
    #[arg(value_name = "GUEST", required = true)]
    guests: Vec<PathBuf>,

    /// Guests and machine from a machine description, binary or its source (.toml); see cargo xtask md --help
    #[arg(long, value_name = "FILE", conflicts_with_all = ["machine", "nodes", "strands"])]
    md: Option<PathBuf>,

    #[command(flatten)]
    machine: ConfiguredArgs,

    /// The strands of the guest [default: 0]
    #[arg(long, value_name = "LIST")]
    strands: Option<String>,

    /// The memory of each guest, in MB
    #[arg(long, value_name = "MB", default_value_t = 128, value_parser = clap::value_parser!(u64).range(4..=16384))]
    memory: u64,

    /// The hypervisor: an ELF file for SPARC V9, linked at 0x100000
    #[arg(long, value_name = "FILE")]
    hypervisor: PathBuf,

    /// The events that are reported, CLASS:EVENT, as cargo xtask sim --list lists them
    #[arg(short, long, value_name = "LIST")]
    event: Vec<String>,

    /// Stop after so many instructions of all strands together
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// Execute without caches, channels and hubs: an instruction takes one cycle, and only instructions are counted
    #[arg(long)]
    fast: bool,

    /// List what software did that the machine does not simulate in full: instructions and registers
    #[arg(long)]
    log: bool,

    /// Write the results to a file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    #[command(flatten)]
    force: Force,
}

/// How many instructions are executed before somebody looks at the consoles.
const BATCH: u64 = 1 << 20;

fn main() -> ExitCode {
    exit::main(run)
}

fn run(args: Args) -> anyhow::Result<()> {
    let json = args.force.create_if_wanted(args.json.as_ref())?;
    let memory = args.memory << 20;
    let real = description::REAL_BASE..description::REAL_BASE + memory;
    let images = args.guests.iter().map(|path| Image::read(path, &real));
    let images: Vec<Image> = images.collect::<anyhow::Result<_>>()?;
    let hypervisor = Image::read(&args.hypervisor, &map::HYPERVISOR)?;
    let complete = args.describe(&images, memory)?;
    let selection = args.selection(&complete)?;
    let configuration = args.machine.configuration()?;
    let setup = Setup {
        memory: (!args.fast).then_some(configuration.memory),
        partition: memory * images.len() as u64,
        ..Setup::new(complete.machine)
    };
    let mut execution = Execution::new(&setup)?;
    load(&mut execution, &hypervisor, &images, &complete, memory)?;

    let output = &mut BufWriter::new(io::stdout());
    interrupt::catch()?;
    let names = complete.guests.iter().map(|guest| guest.name.clone());
    let mut consoles = Consoles::new(names);
    let stop = execute(&mut execution, &mut consoles, args.limit, output)?;
    consoles.end(output)?;
    let strands = complete.guests.iter().map(|guest| guest.strands.clone());
    let results = execution.results(&selection, &strands.collect::<Vec<_>>());
    writeln!(output)?;
    report::print(output, &results, &complete.guests)?;
    if args.log {
        for entry in execution.log().entries() {
            writeln!(
                output,
                "strand {} at {:#x}: {}",
                entry.strand, entry.pc, entry.what
            )?;
        }
    }
    places::print(output, &consoles, &hypervisor, &images, &complete.guests)?;
    output.flush()?;
    if let Some(json) = json {
        json.complete_json(&results)?;
    }
    ended(&mut execution, stop, &consoles, &complete.guests)
}

impl Args {
    fn describe(&self, images: &[Image], memory: u64) -> anyhow::Result<Complete> {
        if let Some(md) = &self.md {
            return description::of_file(md, images, memory);
        }
        ensure!(
            images.len() == 1,
            "found {} guests, expected --md FILE, a machine description that says where they run",
            images.len()
        );
        let machine = self.machine.configuration()?.machine;
        let strands = strands::parse(self.strands.as_deref().unwrap_or("0"))?;
        for strand in &strands {
            ensure!(
                strand.index() < machine.strands(),
                "strand {strand}: this machine has strands 0 to {}",
                machine.strands() - 1
            );
        }
        description::of_one(machine, &strands, images, memory)
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
    images: &[Image],
    complete: &Complete,
    memory: u64,
) -> anyhow::Result<()> {
    execution.load(map::RESET, RESET.map(u32::to_be_bytes).as_flattened())?;
    hypervisor.load(execution, 0)?;
    for (image, number) in images.iter().zip(0..) {
        image.load(execution, number * memory)?;
    }
    execution
        .load(map::DESCRIPTION.start, &complete.bytes)
        .context("the machine description is too long")?;
    // For images that read no description.
    execution.load(MACHINE, &word(complete.machine).to_be_bytes())?;
    execution.load(ENTRY, &images[0].entry.to_be_bytes())?;
    Ok(())
}

/// Executes until all is over, and shows what guests write.
fn execute(
    execution: &mut Execution,
    consoles: &mut Consoles,
    limit: Option<u64>,
    output: &mut impl Write,
) -> anyhow::Result<Stop> {
    let mut left = limit.unwrap_or(u64::MAX);
    loop {
        let batch = BATCH.min(left);
        let stop = execution.run(Limits::instructions(batch));
        left -= batch;
        consoles.show(execution, output)?;
        if stop != Stop::Limit || left == 0 || consoles.ended(0).is_some() {
            return Ok(stop);
        }
        if interrupt::happened() {
            bail!(Interrupted);
        }
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
