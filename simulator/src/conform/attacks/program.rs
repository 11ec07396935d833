//! The attacker's trap table and programs in its memory.

use conform::assembler::{BA_ANNULLED, JMPL, L1, NOP, branch, computes, number, sethi};
use guest_abi::StrandId;
use platform::memory_map::REAL;

use super::attack::Attack;
use crate::conform::caller::resume_at;
use crate::conform::guest::{ANSWERED, program};
use crate::execute::{Execution, NoMemoryAt};
use crate::interpreter::Control as Privileged;
use crate::interpreter::instruction::Register;

/// The offset of the attacker's trap table in its memory. The table has [`VECTORS`] entries, and each entry jumps to [`CAUGHT`]. The
/// attack programs are at the offset [`PROGRAMS`], with [`PROGRAM_BYTES`] bytes for each strand.
const TABLE: u64 = 0x8000;
const VECTORS: u64 = 0x400;
const PROGRAMS: u64 = 0x10_0000;
const PROGRAM_BYTES: u64 = 0x200;

/// The address to which the attacker's trap table sends every trap.
pub const CAUGHT: u64 = REAL + 0x1_0000;

/// Writes the program of a guest with `cpus` CPUs, and the attacker's trap table, into the guest's memory at the physical address
/// `base`.
///
/// # Errors
/// The machine has no memory there.
pub fn prepare(execution: &mut Execution, base: u64, cpus: usize) -> Result<(), NoMemoryAt> {
    execution.load(base, &program(cpus))?;
    for vector in 0..VECTORS {
        // Each table entry is `ba,a` to `CAUGHT`.
        let offset = TABLE + 32 * vector;
        let word = branch(BA_ANNULLED, REAL + offset, CAUGHT);
        execution.load(base + offset, &word.to_be_bytes())?;
    }
    Ok(())
}

/// Makes one of a guest's strands begin an attack. `cpu` is the strand's number in the guest. The guest's memory is at the physical
/// address `base`, and must have been [prepared](prepare). The strand's privileged registers become `control`. The program ends at
/// [`ANSWERED`], or at [`CAUGHT`] if the guest takes a trap.
pub(super) fn start(
    execution: &mut Execution,
    (id, cpu): (StrandId, usize),
    base: u64,
    control: &Privileged,
    attack: &Attack,
) -> Result<(), NoMemoryAt> {
    let place = PROGRAMS + PROGRAM_BYTES * cpu as u64;
    let mut words = attack.words.clone();
    words.extend(jump(ANSWERED));
    debug_assert!(4 * words.len() as u64 <= PROGRAM_BYTES, "{words:x?}");
    let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_be_bytes).collect();
    execution.load(base + place, &bytes)?;
    let registers = execution.strand_mut(id);
    registers.control = control.clone();
    registers.windows = attack.windows;
    registers.registers.set_global(0);
    for (window, stack) in (0..8).zip(attack.stack.into_iter().cycle()) {
        registers.registers.set_window(window);
        registers.registers.set(Register::SP, stack);
    }
    registers.registers.set_window(attack.window);
    for (register, value) in &attack.registers {
        registers.registers.set(Register::new(*register), *value);
    }
    resume_at(registers, REAL + place);
    Ok(())
}

/// Returns a jump to an address in the guest's memory.
fn jump(to: u64) -> [u32; 3] {
    let low = to as u32 & 0x3ff;
    [sethi(L1, to as u32 - low), computes(JMPL, 0, L1, number(low)), NOP]
}
