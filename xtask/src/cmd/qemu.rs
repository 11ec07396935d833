//! `qemu`: the images under `tests/images` on QEMU's niagara machine.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::sweep::tell::Detail;
use anyhow::{Context, ensure};
use platform::{Machine, Model};

use super::Mismatch;
use super::machine::MachineArgs;
use crate::output::OutputFile;
use crate::qemu::build::{self, Devices};
use crate::qemu::c_guest;
use crate::qemu::elf::Elf;
use crate::qemu::image;
use crate::qemu::machine::{self, Boot, End};
use crate::qemu::report::Report;
use crate::qemu::sweep;
use crate::qemu::toolchain::Toolchain;

/// Boot the service and a guest on an emulated SPARC V9 machine
///
/// Builds a hypervisor image with the service and boots it in QEMU with a guest that checks it by real traps: with models
/// of the devices; as it is shipped, to count the instructions of each call; with devices that
/// fault; and with a hypervisor that leaks, for the guest to find. A guest written in C makes the same calls by the C
/// interface of guest-abi. Then the guest makes all calls of the contract sweep, on every machine and with every grant,
/// and must be answered as the host.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Example:\n  cargo xtask qemu\n  cargo xtask qemu --guest mine.elf --timeout 10"
)]
pub struct Args {
    #[command(flatten)]
    machine: MachineArgs,

    /// Boot this guest instead (an ELF file; see the documentation of xtask::qemu)
    #[arg(long, value_name = "FILE")]
    guest: Option<PathBuf>,

    /// What the service reaches when it serves that guest
    #[arg(long, value_name = "D", default_value = "models", requires = "guest")]
    devices: Devices,

    /// End a run after this many seconds
    #[arg(long, value_name = "S", default_value = "60", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,

    /// Write the checks, the instruction counts and the console as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Where the hypervisor looks for its machine.
const MACHINE: u64 = 0x3ff_fff8;
/// Where the hypervisor looks for the guest's entry.
const ENTRY: u64 = 0x3ff_fff0;
/// Where the guest that checks looks for what it is to do.
const TASK: u64 = 0x87ff_fff8;

/// Runs it.
///
/// # Errors
/// [`Mismatch`] if a check failed or the guest ended badly. Otherwise what is missing, or cannot be built or written.
pub fn run(args: Args) -> anyhow::Result<()> {
    let machine = args.machine.machine()?;
    if let Some(guest) = &args.guest {
        ensure!(
            guest.is_file(),
            "{}: expected the ELF file of a guest",
            guest.display()
        );
    }
    let output = args.json.map(OutputFile::create).transpose()?;
    let toolchain = Toolchain::find()?;
    let timeout = Duration::from_secs(args.timeout);
    let mut report = Report::default();
    let mut ends = Vec::new();
    let swept = args.guest.is_none();
    match args.guest {
        Some(guest) => {
            let hypervisor = build::hypervisor(&toolchain, args.devices)?;
            let entry = entry(&guest)?;
            let words = [(MACHINE, word(machine)), (ENTRY, entry)];
            ends.push(boot(&hypervisor, &guest, &words, timeout, &mut report)?);
        }
        None => {
            let guest = build::guest(&toolchain)?;
            let in_c = c_guest::guest(&toolchain)?;
            let control = build::hypervisor(&toolchain, Devices::Control)?;
            for (guest, devices, task) in [
                (&guest, Devices::Models, 0),
                (&in_c, Devices::Models, 0),
                (&guest, Devices::Mmio, 1),
                (&in_c, Devices::Mmio, 1),
                (&guest, Devices::Faults, 2),
                (&in_c, Devices::Faults, 2),
                (&guest, Devices::Leaks, 3),
                (&in_c, Devices::Leaks, 3),
            ] {
                let hypervisor = build::hypervisor(&toolchain, devices)?;
                let words = [(MACHINE, word(machine)), (TASK, task | word(machine) << 16)];
                ends.push(boot(&hypervisor, guest, &words, timeout, &mut report)?);
                if devices == Devices::Mmio {
                    let lines = report.budgets() + &look(&hypervisor, &control)?;
                    io::stdout().write_all(lines.as_bytes())?;
                    report.add(&lines);
                }
            }
        }
    }
    if swept {
        ends.push(compare(&toolchain, timeout, &mut report)?);
    }
    if let Some(mut output) = output {
        serde_json::to_writer_pretty(&mut output, &report)?;
        output.write_all(b"\n")?;
        output.complete()?;
    }
    for end in ends {
        judge(&end, args.timeout)?;
    }
    if let [first, ..] = &*report.failed {
        let count = report.failed.len();
        return Err(Mismatch(format!("{count} checks failed, the first of them: {first}")).into());
    }
    Ok(())
}

/// Runs the sweep, and compares it with what the host answers.
fn compare(toolchain: &Toolchain, timeout: Duration, report: &mut Report) -> anyhow::Result<End> {
    let guest = build::guest(toolchain)?;
    let hypervisor = build::hypervisor(toolchain, Devices::Control)?;
    let words = |detail: Detail| [(TASK, 4 | detail.to_word() << 32)];
    let before = report.console.len();
    let end = boot(&hypervisor, &guest, &words(Detail::Parts), timeout, report)?;
    let lines = sweep::compare(&report.console[before..], |detail| {
        let boot = Boot {
            hypervisor: &hypervisor,
            guest: &guest,
            words: &words(detail),
            timeout,
        };
        let (console, _) = machine::run(&boot, &mut io::sink())?;
        Ok(String::from_utf8_lossy(&console).into_owned())
    })?;
    io::stdout().write_all(lines.as_bytes())?;
    report.add(&lines);
    Ok(end)
}

fn boot(
    hypervisor: &Path,
    guest: &Path,
    words: &[(u64, u64)],
    timeout: Duration,
    report: &mut Report,
) -> anyhow::Result<End> {
    let boot = Boot {
        hypervisor,
        guest,
        words,
        timeout,
    };
    let (console, end) = machine::run(&boot, &mut io::stdout().lock())?;
    report.add(&String::from_utf8_lossy(&console));
    Ok(end)
}

fn judge(end: &End, timeout: u64) -> Result<(), Mismatch> {
    Err(Mismatch(match end {
        End::Code(0) => return Ok(()),
        End::Code(code) if *code < 1 << 32 => format!("the guest ended with {code}"),
        End::Code(_) => "the hypervisor ended the guest: see the last line of the console".into(),
        End::TimeOut => format!("the guest did not end within {timeout} seconds"),
        End::Qemu(said) => format!("QEMU ended: {said}"),
    }))
}

/// The machine as the hypervisor is told of it.
fn word(machine: Machine) -> u64 {
    let family = match machine.model() {
        Model::Batoka => 0,
        Model::Maramba => 0x100,
    };
    machine.nodes() as u64 | family
}

/// The entry of a guest.
fn entry(path: &Path) -> anyhow::Result<u64> {
    let name = || path.display().to_string();
    let file = fs::read(path).with_context(name)?;
    Ok(Elf::new(&file).with_context(name)?.entry())
}

/// What can be seen of the shipped image without running it, line by line. That the test control would be seen is seen
/// of the image that has it.
fn look(path: &Path, control: &Path) -> anyhow::Result<String> {
    let name = || path.display().to_string();
    let (file, other) = (fs::read(path).with_context(name)?, fs::read(control)?);
    let elf = Elf::new(&file).with_context(name)?;
    let hidden = !image::has_control(&Elf::new(&other)?)?;
    let mut lines = format!(
        "image: {} bytes of instructions, {} of constants\n",
        elf.size(".text"),
        elf.size(".rodata")
    );
    for (name, wrong) in image::check(&elf).with_context(name)? {
        lines.push_str(&Report::line(name, wrong.as_deref()));
    }
    lines.push_str(&Report::line(
        "test control is seen in the image that has it",
        hidden.then_some("it is not"),
    ));
    Ok(lines)
}
