//! Generates every change of one field in an instruction: opcode, register, immediate, displacement, or annul bit.

use std::collections::BTreeMap;

use simulator::interpreter::Instruction;

use super::image::Image;

/// A field of an instruction: its lowest bit and its width in bits.
type Field = (u32, u32);

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Changed {
    Opcode,
    Register,
    Immediate,
    Displacement,
    Annul,
}

/// Several changes of one instruction, all with the same effect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    /// The address of the instruction.
    pub(crate) at: u64,
    pub(crate) kind: Changed,
    /// One of the changed words.
    pub(crate) word: u32,
    /// The number of changed words that have this effect.
    pub(crate) number: usize,
}

/// Returns the fields of an instruction word (UltraSPARC Architecture 2007, section 6.2). Omits the branch prediction bit, because no
/// result depends on it.
fn fields(word: u32) -> Vec<(Changed, Field)> {
    use Changed::{Annul, Displacement, Immediate, Opcode, Register};
    let bits = |(from, many): Field| word >> from & ((1 << many) - 1);
    let mut fields = vec![(Opcode, (30, 2))];
    fields.extend(match (bits((30, 2)), bits((22, 3))) {
        // In order: BPr, SETHI, BPcc (which has a condition code field), and the other branches.
        (0, 3) => vec![
            (Annul, (29, 1)),
            (Opcode, (25, 4)),
            (Opcode, (22, 3)),
            (Displacement, (20, 2)),
            (Register, (14, 5)),
            (Displacement, (0, 14)),
        ],
        (0, 4) => vec![(Register, (25, 5)), (Opcode, (22, 3)), (Immediate, (0, 22))],
        (0, 1) => vec![
            (Annul, (29, 1)),
            (Opcode, (25, 4)),
            (Opcode, (22, 3)),
            (Opcode, (20, 2)),
            (Displacement, (0, 19)),
        ],
        (0, _) => {
            vec![(Annul, (29, 1)), (Opcode, (25, 4)), (Opcode, (22, 3)), (Displacement, (0, 22))]
        }
        (1, _) => vec![(Displacement, (0, 30))],
        _ => {
            let mut all = vec![(Register, (25, 5)), (Opcode, (19, 6)), (Register, (14, 5))];
            all.push((Opcode, (13, 1)));
            let shift = matches!(bits((19, 6)), 0x25..=0x27) && bits((30, 2)) == 2;
            let move_on_register = bits((19, 6)) == 0x2f && bits((30, 2)) == 2;
            all.extend(match (bits((13, 1)), shift, move_on_register) {
                (1, true, _) => vec![(Opcode, (12, 1)), (Immediate, (0, 12))],
                (1, _, true) => vec![(Opcode, (10, 3)), (Immediate, (0, 10))],
                (1, ..) => vec![(Immediate, (0, 13))],
                (_, true, _) => vec![(Opcode, (12, 1)), (Immediate, (5, 7)), (Register, (0, 5))],
                (_, _, true) => vec![(Opcode, (10, 3)), (Immediate, (5, 5)), (Register, (0, 5))],
                // Bits 12:5 hold an address space identifier, or have no meaning.
                _ => vec![(Immediate, (5, 8)), (Register, (0, 5))],
            });
            all
        }
    });
    fields
}

/// Returns the target address of a branch.
fn target(at: u64, instruction: Instruction) -> Option<u64> {
    match instruction {
        Instruction::Branch { displacement, .. }
        | Instruction::BranchOnRegister { displacement, .. }
        | Instruction::Call { displacement } => {
            Some(at.wrapping_add_signed(i64::from(displacement)))
        }
        _ => None,
    }
}

/// Returns where a branch to `to` leads, when the instruction at `from` is the branch. Skips instructions that only lead to another one: NOP,
/// and branches that are always taken and have no delay slot. The trap table consists mostly of these.
fn destination(image: &Image, from: u64, mut to: u64) -> u64 {
    const MAX_SKIPPED: usize = 32;
    const NOP: u32 = 0x0100_0000;
    // BA,a or BPA,a: these have condition 8 and the annul bit.
    let is_always = |word: u32| word >> 25 == 0x18 && matches!(word >> 22 & 7, 1 | 2);
    for _ in 0..MAX_SKIPPED {
        let next = match image.code(to) {
            // The changed branch is no longer the instruction that the image has there.
            _ if to == from => None,
            Some(NOP) => Some(to + 4),
            Some(word) if is_always(word) => target(to, Instruction::decode(word)),
            _ => None,
        };
        let Some(next) = next else { break };
        to = next;
    }
    to
}

/// Returns the changes of the instruction at an address. Each change gives one field another value. Changes that lead to equal instructions
/// are merged into one, and so are branches that lead to the same instruction, and all branches to addresses that are not near.
pub(crate) fn changes(image: &Image, at: u64, is_near: impl Fn(u64) -> bool) -> Vec<Change> {
    let word = image.code(at).unwrap();
    let mut all: BTreeMap<(Changed, String), Change> = BTreeMap::new();
    for (kind, (from, many)) in fields(word) {
        let mask = ((1_u64 << many) - 1) as u32;
        let with = |value: u32| word & !(mask << from) | value << from;
        let values = (0..=mask).map(with).filter(|changed| *changed != word);
        let mut elsewhere = None;
        for word in values {
            let change = Change { at, kind, word, number: 1 };
            let instruction = Instruction::decode(word);
            let key = match target(at, instruction) {
                Some(to) if kind == Changed::Displacement && is_near(to) => {
                    format!("{:#x}", destination(image, at, to))
                }
                Some(_) if kind == Changed::Displacement => {
                    elsewhere.get_or_insert(Change { number: 0, ..change }).number += 1;
                    continue;
                }
                _ => format!("{instruction:?}"),
            };
            all.entry((kind, key)).or_insert(Change { number: 0, ..change }).number += 1;
        }
        all.extend(elsewhere.map(|change| ((kind, format!("elsewhere, {from}")), change)));
    }
    all.into_values().collect()
}
