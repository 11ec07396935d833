//! Checks the hypervisor: boots guests on every build, inspects the image files, runs the sweep, takes samples, and boots guests that must
//! fail.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use conform::tell::Detail;
use platform::Machine;
use platform::memory_map::escape::TRAPPED;
use platform::memory_map::start::{MACHINE, machine_word};

use super::build::{self, Devices, Production};
use super::entry;
use super::machine::{self, Boot, End, TASK};
use super::report::Report;
use super::toolchain::Toolchain;
use super::{c_guest, image, interpreted, purpose, sweep as swept};
use vfalls::cmd::boot::elf;

/// The numbers of the guests' tasks.
mod task {
    /// Performs all checks. Needs a machine with models of the devices.
    pub(super) const ALL: u64 = 0;
    /// Performs the checks that need no devices, for the shipped image. Also counts instructions.
    pub(super) const SHIPPED: u64 = 1;
    pub(super) const FAULTS: u64 = 2;
    pub(super) const LEAKS: u64 = 3;
    /// Makes the calls of the sweep. Bits 63:32 choose how much the guest reports.
    pub(super) const SWEEP: u64 = 4;
    pub(super) const EXHAUST: u64 = 5;
    pub(super) const TRAP_IN_HANDLERS: u64 = 6;
    pub(super) const SAMPLING: u64 = 7;
    /// Like SWEEP, with words of memory in place of devices.
    pub(super) const SWEEP_OF_MEMORY: u64 = 12;
    pub(super) const TRAP_AT_ACCESS: u64 = 13;
    /// Checks what the sweep does not cover: preserved registers, hubs that other strands use, and traced calls.
    pub(super) const STATES_OF_MEMORY: u64 = 14;
    /// Counts the instructions of calls.
    pub(super) const COUNTS: u64 = 15;
    /// Counts the instructions of calls to a hub that another strand has taken.
    pub(super) const COUNTS_OF_TAKEN: u64 = 16;
}

/// The software traps that the tests' images claim.
const CLAIMED: [u8; 2] = [0x84, 0xfe];

/// The settings of the checks, and the results up to now.
struct Checks<'a> {
    toolchain: &'a Toolchain,
    machine: Machine,
    timeout: Duration,
    guest: PathBuf,
    report: Report,
    ends: Vec<End>,
}

/// Performs all checks, and prints the results. Returns the results, and how each guest ended. Guests that must fail are not among them.
pub fn run(
    toolchain: &Toolchain,
    machine: Machine,
    timeout: Duration,
) -> anyhow::Result<(Report, Vec<End>)> {
    let mut checks = Checks {
        toolchain,
        machine,
        timeout,
        guest: build::guest(toolchain)?,
        report: Report::default(),
        ends: Vec::new(),
    };
    checks.guests()?;
    checks.check_image_files()?;
    checks.sweep(swept::SweptDevices::Models)?;
    checks.sweep(swept::SweptDevices::Memory)?;
    checks.states()?;
    checks.budgets()?;
    checks.sampling()?;
    checks.failing_guests()?;
    checks.foreign_guests()?;
    Ok((checks.report, checks.ends))
}

impl Checks<'_> {
    /// Boots both guests on each build that they can check. Counts the instructions of calls on the shipped hypervisor, here with words in
    /// memory in place of %pcr and %pic.
    fn guests(&mut self) -> anyhow::Result<()> {
        let rust = [self.guest.clone()];
        let both = [self.guest.clone(), c_guest::guest(self.toolchain)?];
        let on = |devices| build::hypervisor(self.toolchain, devices);
        let mut boots = Vec::new();
        for (devices, task) in [
            (Devices::Models, task::ALL),
            (Devices::Mmio, task::SHIPPED),
            (Devices::Faults, task::FAULTS),
            (Devices::Leaks, task::LEAKS),
        ] {
            boots.push((on(devices)?, &both[..], task));
        }
        boots.push((on(Devices::Memory)?, &rust[..], task::COUNTS_OF_TAKEN));
        let shipped = build::production(self.toolchain, Production::PcrInMemory)?;
        boots.push((shipped, &rust[..], task::COUNTS));
        let mut differs = None;
        for (hypervisor, guests, task) in boots {
            for guest in guests {
                let there = self.boot(&hypervisor, guest, task)?;
                let again = interpreted::run(&self.run(&hypervisor, guest, &self.words(task)))?;
                differs = differs.or(interpreted::difference(&again, &there));
                self.ends.push(there.1);
            }
        }
        let purpose = purpose::lines(&self.report.instructions);
        let interpreted = Report::line(
            "the same guests print the same and take as many instructions when the simulator interprets them",
            differs.as_deref(),
        );
        self.say(&(purpose + &interpreted))
    }

    /// Compares all counts with their budgets, and reports the result.
    fn budgets(&mut self) -> anyhow::Result<()> {
        let budgets = self.report.budgets();
        self.say(&budgets)
    }

    /// Checks the image files of the shipped hypervisor and of the hypervisor that `vfalls new-image` writes. Also checks an image that
    /// serves the tests' control calls, to show that the check for control calls finds them.
    fn check_image_files(&mut self) -> anyhow::Result<()> {
        let shipped = build::production(self.toolchain, Production::Shipped)?;
        let smallest = build::smallest(self.toolchain)?;
        let control = build::hypervisor(self.toolchain, Devices::Control)?;
        let mut lines = String::new();
        for (image, suffix) in [(&shipped, ""), (&smallest, ", smallest")] {
            let name = || image.display().to_string();
            let file = fs::read(image).with_context(name)?;
            let elf = elf::parse(&file).with_context(name)?;
            let [text, constants] = [".text", ".rodata"].map(|section| elf::size(&elf, section));
            lines +=
                &format!("image{suffix}: {text} bytes of instructions, {constants} of constants\n");
            for (what, wrong) in image::check(&elf).with_context(name)? {
                lines += &Report::line(&format!("{what}{suffix}"), wrong.as_deref());
            }
        }
        let hidden = !image::has_control(&elf::parse(&fs::read(&control)?)?)?;
        let name = "test control is seen in the image that has it";
        lines += &Report::line(name, hidden.then_some("it is not"));
        let swept = build::hypervisor(self.toolchain, Devices::Memory)?;
        let [shipped, swept] = [&shipped, &swept].map(fs::read);
        let differs = entry::difference(&elf::parse(&shipped?)?, &elf::parse(&swept?)?, &CLAIMED)?;
        let name = "the entry code that is swept is the shipped one, but for addresses";
        lines += &Report::line(name, differs.as_deref());
        self.say(&lines)
    }

    /// Runs the sweep and compares the answers with the host's.
    fn sweep(&mut self, of: swept::SweptDevices) -> anyhow::Result<()> {
        let (devices, task) = match of {
            swept::SweptDevices::Models => (Devices::Control, task::SWEEP),
            swept::SweptDevices::Memory => (Devices::Memory, task::SWEEP_OF_MEMORY),
        };
        let hypervisor = build::hypervisor(self.toolchain, devices)?;
        let task = |detail: Detail| task | detail.to_word() << 32;
        let (said, end) = self.boot(&hypervisor, &self.guest.clone(), task(Detail::Parts))?;
        self.ends.push(end);
        let lines = swept::compare(of, &said, |detail| {
            let words = self.words(task(detail));
            let boot = self.run(&hypervisor, &self.guest, &words);
            let (console, _) = machine::run(&boot, &mut io::sink())?;
            Ok(String::from_utf8_lossy(&console).into_owned())
        })?;
        self.say(&lines)
    }

    /// Checks the shipped entry code in states that the sweep does not reach. Words in memory replace the devices. Also performs part of
    /// the sweep with tracing on; the answers and counts must equal the host's.
    fn states(&mut self) -> anyhow::Result<()> {
        const READ_BACK: Detail = Detail::Configurations(1);
        let hypervisor = build::hypervisor(self.toolchain, Devices::Memory)?;
        let task = task::STATES_OF_MEMORY | READ_BACK.to_word() << 32;
        let (said, end) = self.boot(&hypervisor, &self.guest.clone(), task)?;
        self.ends.push(end);
        let mut expected = swept::expected(swept::SweptDevices::Memory, READ_BACK).into_iter();
        let missing = expected.find(|line| !said.lines().any(|there| there == line));
        let name = "calls that are traced are answered as others";
        self.say(&Report::line(name, missing.as_deref()))
    }

    /// Boots a guest that takes samples twice, and compares the two outputs.
    fn sampling(&mut self) -> anyhow::Result<()> {
        let hypervisor = build::hypervisor(self.toolchain, Devices::Control)?;
        let (said, end) = self.boot(&hypervisor, &self.guest.clone(), task::SAMPLING)?;
        self.ends.push(end);
        let words = self.words(task::SAMPLING);
        let boot = self.run(&hypervisor, &self.guest, &words);
        let (again, _) = machine::run(&boot, &mut io::sink())?;
        let wrong = (said.as_bytes() != again).then_some("the console differs");
        self.say(&Report::line("sampling is the same in every run", wrong))
    }

    /// Boots guests that the hypervisor must end. Checks the hypervisor's messages.
    fn failing_guests(&mut self) -> anyhow::Result<()> {
        for (name, devices, task, says, place) in [
            (
                "a hypervisor out of register windows says so and stops",
                Devices::Control,
                task::EXHAUST,
                &["hypervisor: trap 0xa0 at 0x1", ", TL 2, out of register windows\n%tpc "][..],
                "::recurse at ",
            ),
            (
                "a guest that traps in its trap handlers is served in them, and ended at the third",
                Devices::Models,
                task::TRAP_IN_HANDLERS,
                &["10\n20\nguest: trap 0x10 at 0x80", ", TL 3\n%tpc "],
                ": handler at ",
            ),
            (
                "a guest that traps at the address of a device access is blamed for it",
                Devices::Faults,
                task::TRAP_AT_ACCESS,
                // The guest has no function at this address.
                &["guest: trap 0x3f at 0x10", ", TL 1\n%tpc "],
                "",
            ),
        ] {
            let hypervisor = build::hypervisor(self.toolchain, devices)?;
            let (said, end) = self.boot(&hypervisor, &self.guest.clone(), task)?;
            let in_order =
                says.iter().try_fold(&*said, |said, part| Some(said.split_once(part)?.1));
            // The first line after the registers says where the trap was.
            let placed = in_order.and_then(|said| said.split_once("\n%tpc 0x")?.1.lines().next());
            let right = end == End::Code(TRAPPED)
                && in_order.is_some()
                && placed.unwrap_or_default().contains(place);
            let wrong = format!("it ended with {end:?}, at {placed:?}");
            self.say(&Report::line(name, (!right).then_some(&wrong)))?;
        }
        Ok(())
    }

    /// Runs this program with `--guest` on guests of a few instructions. Checks the messages and the exit status.
    fn foreign_guests(&mut self) -> anyhow::Result<()> {
        // The instruction is `ba,a,pt` to itself.
        const ENDLESS: [u32; 1] = [0x3080_0000];
        // The instructions are `mov CODE, %o0; mov 2, %o5; ta 0xff`.
        const fn exit(code: u32) -> [u32; 3] {
            [0x9010_2000 | code, 0x9a10_2002, 0x91d0_20ff]
        }
        // The instructions are `mov 0x5e, %l3; jmpl %g0, %o7; nop`.
        const CALL_OF_NULL: [u32; 3] = [0xa610_205e, 0x9fc0_0000, 0x0100_0000];
        let patience = self.timeout.as_secs();
        for (name, code, timeout, error, prints) in [
            ("a guest that ends with 0", &exit(0)[..], patience, "", &[][..]),
            ("a guest that ends with 3", &exit(3), patience, "the guest ended with 3", &[]),
            ("a guest that does not end", &ENDLESS, 1, "the guest did not end within 1 s", &[]),
            (
                "a guest that calls NULL is blamed for it",
                &CALL_OF_NULL,
                patience,
                "the hypervisor ended the guest: see the end of the console",
                &[
                    "guest: trap 0x3e at 0x0, TL 1\n%tpc 0000000000000000  %tnpc 0000000000000004  ",
                    // %o7 is the address of the `jmpl`.
                    "\n%o4 0000000000000000 0000000000000000 0000000000000000 0000000080000004\n",
                    "\n%l0 0000000000000000 0000000000000000 0000000000000000 000000000000005e\n",
                ],
            ),
        ] {
            let path = build::directory().join("guest-of-others.elf");
            fs::write(&path, elf::program(0x8000_0000, code))
                .with_context(|| path.display().to_string())?;
            let output = Command::new(std::env::current_exe()?)
                .args(["qemu", "--timeout", &timeout.to_string(), "--guest"])
                .arg(&path)
                .stdin(Stdio::null())
                .output()?;
            let said = String::from_utf8_lossy(&output.stderr);
            let printed = String::from_utf8_lossy(&output.stdout);
            let (status, says) = match error {
                "" => (0, String::new()),
                _ => (1, format!("error: {error}\n")),
            };
            let right = output.status.code() == Some(status)
                && said == says
                && prints.iter().all(|part| printed.contains(part));
            let wrong = format!("{}, {said:?} and {printed:?}", output.status);
            self.say(&Report::line(&format!("{name}, with --guest"), (!right).then_some(&wrong)))?;
        }
        Ok(())
    }

    /// Boots a guest for a task. Returns the guest's output, and how it ended.
    fn boot(
        &mut self,
        hypervisor: &Path,
        guest: &Path,
        task: u64,
    ) -> anyhow::Result<(String, End)> {
        let words = self.words(task);
        let boot = self.run(hypervisor, guest, &words);
        let (console, end) = machine::run(&boot, &mut io::stdout().lock())?;
        let said = String::from_utf8_lossy(&console).into_owned();
        self.report.add(&said);
        // A call under test could end the guest with code 0, too, so the last line must be there.
        if end == End::Code(0) && !said.ends_with("checked\n") {
            self.say(&Report::line("a guest comes to its end", Some("it ends before")))?;
        }
        Ok((said, end))
    }

    fn run<'b>(&self, hypervisor: &'b Path, guest: &'b Path, words: &'b [(u64, u64)]) -> Boot<'b> {
        Boot { hypervisor, guest, words, timeout: self.timeout, gdb: None }
    }

    fn words(&self, task: u64) -> [(u64, u64); 2] {
        let machine = machine_word(self.machine);
        [(MACHINE, machine), (TASK, task | machine << 16)]
    }

    /// Prints lines of this program, and adds them to the report like lines of a guest.
    fn say(&mut self, lines: &str) -> anyhow::Result<()> {
        io::stdout().write_all(lines.as_bytes())?;
        self.report.add(lines);
        Ok(())
    }
}
