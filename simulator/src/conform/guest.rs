//! The guest that makes the calls. It has few instructions, and all it needs from a hypervisor are the traps.
//!
//! The machine stops one of the guest's strands at [`ANSWERED`], changes the strand's registers, and makes the strand continue at
//! [`REQUEST`]. So a check can choose every register's value before a call, and see its value afterwards. If an image has `cpu_start`,
//! the guest starts its other CPUs.

use conform::assembler::{
    ADD, BA_ANNULLED, DONE, G1, L0, L1, L2, L6, L7, LDX, NOP, O0, O1, O2, O3, O4, O5, OR, SUBCC,
    TBA, WRPR, accesses, branch, computes, mov, number, set, trap,
};
use platform::memory_map::REAL;

/// The address at which a strand makes a call. %l0 holds the trap number.
pub const REQUEST: u64 = REAL + 0x1000;
/// The address at which a strand continues after a call. A strand that has no call to make stays at this address.
pub const ANSWERED: u64 = REQUEST + 4;
/// The address at which a strand waits while it must not make a call.
pub const IDLE: u64 = REQUEST + 8;
/// The address at which a strand repeats a call forever. %l1 and %l2 hold the first argument and the function.
pub const REPEAT: u64 = REAL + 0x1100;
/// The offset of the word that holds the number of the guest's CPUs.
pub const CPUS: u64 = 0x48;
/// The offset of the trap table.
const TABLE: u64 = 0x8000;
/// The offset to which the branch at the guest's entry jumps.
const BEGIN: u64 = 0x100;

/// The words of `ba,pt %xcc` and `bgeu,pn %xcc` with a displacement of 0.
const BA: u32 = 0x1068_0000;
const BGEU: u32 = 0x1a60_0000;

/// Returns the initial content of the memory of a guest with this number of CPUs. The guest starts at the first byte.
#[must_use]
pub fn program(cpus: usize) -> Vec<u8> {
    let mut memory = vec![0; TABLE as usize];
    put(&mut memory, 0, &[branch(BA_ANNULLED, 0, BEGIN)]);
    memory[CPUS as usize..][..8].copy_from_slice(&(cpus as u64).to_be_bytes());
    put(&mut memory, BEGIN, &begin());
    let at = |address: u64| address - REAL;
    let requests = [
        computes(0x3a, 8, L0, 0),
        branch(BA_ANNULLED, ANSWERED, ANSWERED),
        branch(BA_ANNULLED, IDLE, IDLE),
    ];
    put(&mut memory, at(REQUEST), &requests);
    let mut repeat = vec![computes(OR, O0, 0, L1)];
    repeat.extend([O1, O2, O3, O4].map(|register| mov(register, 0)));
    repeat.extend([computes(OR, O5, 0, L2), trap(0x80)]);
    repeat.extend([branch(BA, REPEAT + 4 * repeat.len() as u64, REPEAT), NOP]);
    put(&mut memory, at(REPEAT), &repeat);
    for number in 0..1024 {
        // `done` skips the instruction that trapped. After a failed fetch (trap 8), the strand waits for its next call.
        let offset = TABLE + 32 * number;
        memory.resize(offset as usize + 32, 0);
        let word = match number & 0x1ff {
            8 => branch(BA_ANNULLED, REAL + offset, ANSWERED),
            _ => computes(DONE, 0, 0, 0),
        };
        put(&mut memory, offset, &[word]);
    }
    memory
}

/// Returns the instructions that negotiate CORE 1.0 and start the other CPUs.
fn begin() -> Vec<u32> {
    let [table, table_low] = set(L6, (REAL + TABLE) as u32);
    let [cpus, cpus_low] = set(L7, (REAL + CPUS) as u32);
    let mut words = vec![table, table_low, computes(WRPR, TBA, L6, 0)];
    words.extend([mov(O0, 1), mov(O1, 1), mov(O2, 0), mov(O5, 0), trap(0xff)]);
    words.extend([cpus, cpus_low, mov(L1, 1)]);
    let next = words.len() as u64;
    let here = |words: &[u32]| BEGIN + 4 * words.len() as u64;
    words.extend([accesses(LDX, G1, L7, number(0)), computes(SUBCC, 0, L1, G1)]);
    // The other CPUs' code comes after four parts: a branch, the branch's delay slot, the seven instructions of the call, and two
    // instructions that lead back.
    let cpu = here(&words) + 4 * (2 + 7 + 2);
    words.push(branch(BGEU, here(&words), cpu));
    words.push(computes(OR, O0, 0, L1));
    words.extend(set(O1, (REAL + cpu) as u32));
    words.extend([computes(OR, O2, 0, L6), mov(O3, 0), mov(O5, 0x10), trap(0x80), NOP]);
    words.push(branch(BA, here(&words), BEGIN + 4 * next));
    words.push(computes(ADD, L1, L1, number(1)));
    words.push(branch(BA_ANNULLED, REAL + here(&words), ANSWERED));
    words
}

fn put(memory: &mut [u8], offset: u64, words: &[u32]) {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    memory[offset as usize..][..bytes.len()].copy_from_slice(&bytes);
}
