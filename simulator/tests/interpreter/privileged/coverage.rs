//! Records which instructions and traps occur in random walks (`walk.rs`), and lists those that must occur.

use std::collections::BTreeSet;

use simulator::interpreter::Level;
use tests::assembler::{ACCESSES, CAS, COMPUTES};

use super::walk::Step;

/// An opcode: op, op2 or op3, and the condition or control register that it selects.
type Opcode = (u32, u32, u32);

/// The instructions and traps that occur in any of the walks.
#[derive(Default)]
pub(crate) struct Coverage {
    /// The instructions that were executed and did not trap.
    executed: BTreeSet<Opcode>,
    /// The numbers of the traps, each with whether it interrupted a hypervisor.
    trapped: BTreeSet<(u16, bool)>,
    /// The total number of steps in all walks, and how many of them are traps.
    pub(crate) steps: usize,
    pub(crate) traps: usize,
}

impl Coverage {
    pub(crate) fn note(&mut self, step: Step, from: Level) {
        self.steps += 1;
        match step {
            Step::Executed(word) => {
                self.executed.insert(opcode(word));
            }
            Step::Trapped(number) => {
                self.traps += 1;
                // All software traps of a level are recorded under the same number.
                let number = if number < 0x100 { number } else { number & !0x7f };
                self.trapped.insert((number, from == Level::Hyperprivileged));
            }
        }
    }

    /// Returns the required opcodes and traps that no walk contains.
    pub(crate) fn missing(&self) -> (Vec<Opcode>, Vec<(u16, bool)>) {
        let opcodes = opcodes();
        let missing = opcodes.difference(&self.executed).copied().collect();
        let traps = traps();
        (missing, traps.difference(&self.trapped).copied().collect())
    }
}

fn opcode(word: u32) -> Opcode {
    let bits = |from: u32, many: u32| word >> from & ((1 << many) - 1);
    let (op, op3) = (bits(30, 2), bits(19, 6));
    match (op, op3) {
        (0, _) => {
            let selected = match bits(22, 3) {
                1 | 2 => bits(25, 4),
                3 => bits(25, 3),
                _ => 0,
            };
            (op, bits(22, 3), selected)
        }
        (1, _) => (op, 0, 0),
        (2, 0x28..=0x2a) => (op, op3, bits(14, 5)),
        (2, 0x2c) => (op, op3, bits(14, 4)),
        (2, 0x2f) => (op, op3, bits(10, 3)),
        (2, 0x30..=0x33 | 0x3e) => (op, op3, bits(25, 5)),
        (2, 0x3a) => (op, op3, bits(25, 4)),
        _ => (op, op3, 0),
    }
}

/// Returns the opcodes that walks must execute: those in tables, and the registers that chapter 7 lists under RDPR and WRPR.
fn opcodes() -> BTreeSet<Opcode> {
    // Shifts, FLUSHW, POPC, JMPL, RETURN, SAVE and RESTORE.
    const OTHERS: [u32; 9] = [0x25, 0x26, 0x27, 0x2b, 0x2e, 0x38, 0x39, 0x3c, 0x3d];
    const PRIVILEGED: &[u32] = &[0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16];
    const CONDITIONS: &[u32] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    const OF_REGISTERS: &[u32] = &[1, 2, 3, 5, 6, 7];
    const SELECTING: [(u32, u32, &[u32]); 16] = [
        // Bicc, BPcc, BPr, SETHI, CALL.
        (0, 2, CONDITIONS),
        (0, 1, CONDITIONS),
        (0, 3, OF_REGISTERS),
        (0, 4, &[0]),
        (1, 0, &[0]),
        // MOVcc and MOVr.
        (2, 0x2c, CONDITIONS),
        (2, 0x2f, OF_REGISTERS),
        // A Tcc that does not trap.
        (2, 0x3a, &[0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15]),
        // RDasr, RDHPR, RDPR; WRasr, SAVED and RESTORED, WRPR, WRHPR; DONE and RETRY.
        (2, 0x28, &[0, 2, 3, 5, 6, 22, 23, 25]),
        (2, 0x29, &[0, 3, 5, 31]),
        (2, 0x2a, PRIVILEGED),
        (2, 0x30, &[0, 2, 3, 6, 20, 21, 22, 23, 25]),
        (2, 0x31, &[0, 1]),
        (2, 0x32, PRIVILEGED),
        (2, 0x33, &[0, 3, 5, 31]),
        (2, 0x3e, &[0, 1]),
    ];
    let computes = COMPUTES.into_iter().chain(OTHERS).map(|op3| (2, op3, 0));
    let single = ACCESSES.iter().flat_map(|(op3, _)| [*op3, op3 | 0x10]);
    let accesses = single.chain(CAS.map(|(op3, _)| op3));
    let selecting = SELECTING.iter();
    let selecting = selecting.flat_map(|(op, op3, all)| all.iter().map(|one| (*op, *op3, *one)));
    computes.chain(accesses.map(|op3| (3, op3, 0))).chain(selecting).collect()
}

/// Returns the traps that walks must take (table 12-2), each with whether it interrupts a hypervisor.
fn traps() -> BTreeSet<(u16, bool)> {
    // privileged_opcode, fp_disabled, tag_overflow, clean_window, division_by_zero; Tcc.
    let guest = [0x11, 0x20, 0x23, 0x24, 0x28, 0x100, 0x180].into_iter();
    // A hypervisor also takes illegal_instruction and mem_address_not_aligned, but not privileged_opcode.
    let hypervisor = [0x10, 0x20, 0x23, 0x24, 0x28, 0x34, 0x100, 0x180];
    // There are 15 interrupt levels, and 32 spill and fill traps with four numbers each.
    let guest = guest.chain(0x41..=0x4f).chain((0x80..0x100).step_by(4));
    let guest = guest.map(|number| (number, false));
    guest.chain(hypervisor.map(|number| (number, true))).collect()
}
