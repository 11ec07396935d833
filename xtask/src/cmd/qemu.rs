//! `qemu`: boots the images under `tests/images` on QEMU's niagara machine.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

use crate::qemu::build::{self, Devices};
use crate::qemu::checks;
use crate::qemu::machine::{self, Boot, End, MEMORY};
use crate::qemu::report::Report;
use crate::qemu::toolchain::Toolchain;
use platform::memory_map::start::{ENTRY, MACHINE, machine_word};
use simulator::input::{self, MAX_PROGRAM_BYTES};
use vfalls::cmd::boot::elf;
use vfalls::cmd::machine::MachineArgs;
use vfalls::exit::Mismatch;
use vfalls::output::Force;

/// Boot the service and a guest on an emulated SPARC V9 machine
///
/// Builds hypervisor images with the service, and boots each in QEMU with a guest that checks the service by real traps: an image with
/// models of the devices; the shipped image, to count the instructions of each call; an image with devices that fault; and an image that
/// leaks values, which the guest must find. A guest written in C makes the same calls by the C interface of guest-abi. Then the guest
/// makes all calls of the contract sweep, on every machine and with every grant, and must get the host's answers.
///
/// QEMU's machine has one strand, no counters, no hubs, and nothing that keeps guests apart. vfalls boot boots guests on a machine
/// that has many strands, counters and hubs, and keeps guests apart.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Example:\n  cargo xtask qemu\n  cargo xtask qemu --guest mine.elf --timeout 10\n  cargo xtask qemu --guest mine.elf --gdb 1234   # gdb-multiarch mine.elf -ex 'target remote :1234'"
)]
pub struct QemuArgs {
    #[command(flatten)]
    machine: MachineArgs,

    /// Boot this guest instead (an ELF file; see the documentation of xtask::qemu)
    #[arg(long, value_name = "FILE")]
    guest: Option<PathBuf>,

    /// The devices of the service, when it serves the guest of --guest
    #[arg(long, value_name = "D", default_value = "models", requires = "guest")]
    devices: Devices,

    /// Wait at reset for a debugger, on this local port
    #[arg(long, value_name = "PORT", requires = "guest", value_parser = clap::value_parser!(u16).range(1..))]
    gdb: Option<u16>,

    /// End a run after this many seconds [default: 60 with --guest, a day with --gdb, else 600]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,

    /// Write the checks, the instruction counts and the console as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    #[command(flatten)]
    force: Force,
}

pub fn run(args: QemuArgs) -> anyhow::Result<()> {
    let machine = args.machine.machine()?;
    let entry = args.guest.as_deref().map(entry).transpose()?;
    let output = args.force.create_if_wanted(args.json.as_ref())?;
    let toolchain = Toolchain::find()?;
    let seconds = args.timeout.unwrap_or(match (&args.gdb, &entry) {
        (Some(_), _) => 24 * 60 * 60,
        (None, Some(_)) => 60,
        (None, None) => 600,
    });
    let timeout = Duration::from_secs(seconds);
    let (report, ends) = match args.guest.zip(entry) {
        None => checks::run(&toolchain, machine, timeout)?,
        Some((guest, entry)) => {
            let boot = Boot {
                hypervisor: &build::hypervisor(&toolchain, args.devices)?,
                guest: &guest,
                words: &[(MACHINE, machine_word(machine)), (ENTRY, entry)],
                timeout,
                gdb: args.gdb,
            };
            let (console, end) = machine::run(&boot, &mut io::stdout().lock())?;
            let mut report = Report::default();
            report.add(&String::from_utf8_lossy(&console));
            (report, vec![end])
        }
    };
    if let Some(output) = output {
        output.complete_json(&report)?;
    }
    for end in ends {
        judge(&end, seconds)?;
    }
    if let [first, ..] = &*report.failed {
        let count = report.failed.len();
        return Err(Mismatch(format!("{count} checks failed, the first of them: {first}")).into());
    }
    Ok(())
}

fn judge(end: &End, timeout: u64) -> Result<(), Mismatch> {
    Err(Mismatch(match end {
        End::Code(0) => return Ok(()),
        End::Code(code) if *code < 1 << 32 => format!("the guest ended with {code}"),
        End::Code(_) => "the hypervisor ended the guest: see the end of the console".into(),
        End::TimeOut => format!("the guest did not end within {timeout} s"),
        End::Qemu(said) => format!("QEMU ended: {said}"),
    }))
}

/// Returns the entry address of a guest. Fails if the machine cannot load the guest.
fn entry(path: &Path) -> anyhow::Result<u64> {
    let name = || path.display().to_string();
    let file = input::read(path, MAX_PROGRAM_BYTES)?;
    let elf = elf::parse(&file).with_context(name)?;
    elf::entry(&elf, &MEMORY).with_context(name)
}
