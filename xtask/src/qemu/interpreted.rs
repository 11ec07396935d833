//! Runs an image on the simulator's interpreter, and compares the run with QEMU's, so that the interpreter and QEMU test each other.

use std::fs;
use std::time::Instant;

use anyhow::{Context, bail};
use platform::memory_map::{RESET, RESET_CODE};
use platform::{Machine, Model};
use simulator::execute::{Execution, Limits, Setup, Stop};

use super::machine::{Boot, End};
use vfalls::cmd::boot::console::Console;
use vfalls::cmd::boot::elf;
use vfalls::interrupt::{self, Interrupted};

/// The number of instructions between two checks of the console and the clock.
const BATCH: u64 = 1 << 16;

/// Boots the guest. Returns what the guest wrote, and how the run ended.
pub(super) fn run(boot: &Boot<'_>) -> anyhow::Result<(Vec<u8>, End)> {
    let deadline = Instant::now() + boot.timeout;
    let mut execution = loaded(boot)?;
    let mut console = Console::default();
    loop {
        match execution.run(Limits::instructions(BATCH)) {
            // Before it switches the machine off or halts, the hypervisor prints how the guest ended.
            Stop::Limit | Stop::Off | Stop::Ended => {}
            stop => bail!("the machine stops: {stop:?}"),
        }
        console.push(&execution.console(0));
        let end = console.ended().map(End::Code);
        if let Some(end) = end.or((Instant::now() >= deadline).then_some(End::TimeOut)) {
            return Ok((console.text().to_vec(), end));
        }
        if interrupt::happened() {
            bail!(Interrupted);
        }
    }
}

/// Returns the first of the guest's lines that differs under QEMU, or how the ends of the runs differ.
pub(super) fn difference((said, end): &(Vec<u8>, End), there: &(String, End)) -> Option<String> {
    let said = String::from_utf8_lossy(said);
    let lines = said.lines().zip(there.0.lines());
    if let Some((here, there)) = lines.into_iter().find(|(here, there)| here != there) {
        return Some(format!("{here}; under QEMU {there}"));
    }
    let same = said == there.0 && *end == there.1;
    (!same).then(|| format!("it ends with {end:?}, under QEMU with {:?}", there.1))
}

/// Returns a machine with all images and words loaded into its memory.
fn loaded(boot: &Boot<'_>) -> anyhow::Result<Execution> {
    let mut execution = Execution::new(&Setup::new(Machine::new(Model::Batoka, 1)?).niagara(true))?;
    execution.load(RESET, RESET_CODE.map(u32::to_be_bytes).as_flattened())?;
    for path in [boot.hypervisor, boot.guest] {
        let name = || path.display().to_string();
        let file = fs::read(path).with_context(name)?;
        elf::load(&file, &mut execution, 0).with_context(name)?;
    }
    for (address, word) in boot.words {
        execution.load(*address, &word.to_be_bytes())?;
    }
    Ok(execution)
}
