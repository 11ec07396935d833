//! Attacks by traps: every trap that a guest can cause, traps that end the guest, and returns from traps that the guest has not taken.

use platform::memory_map::REAL;

use super::attack::{Attack, Index, RequiredOutcome, hub};
use super::edges::{NEIGHBOUR, OWN};
use crate::execute::map;
use crate::interpreter::WindowState;
use conform::assembler::{
    ADD, DONE, GL, ILLEGAL, JMPL, L1, L2, L3, L4, LDX, NOP, O5, PIL, PSTATE, RDHPR, RDPR, RESTORE,
    SAVE, SP, TBA, TL, TNPC, TPC, TSTATE, WR, WRPR, accesses, computes, mov, number, read_pc, trap,
    wrpr,
};

/// The number of traps that [`level`] causes at each trap level.
pub(super) const TRAPS: usize = GUEST_TRAP_COUNT + 128;
/// The number of these traps that the guest, not the hypervisor, takes.
pub(super) const GUEST_TRAP_COUNT: usize = 10 + 15 + 32 + 128;

/// The traps that a guest can cause with instructions, interrupts, windows and software traps. The last 128 go to the hypervisor.
fn traps() -> impl Iterator<Item = u16> {
    let of_instructions = [0x08, 0x10, 0x11, 0x20, 0x23, 0x24, 0x28, 0x30, 0x34, 0x37];
    let of_windows = (0x80..0x100).step_by(4);
    of_instructions.into_iter().chain(0x41..0x50).chain(of_windows).chain(0x100..0x200)
}

/// Returns a program that causes a trap.
fn provoked(taken: u16, required: RequiredOutcome) -> Attack {
    let state = ((taken >> 2 & 7) * 9) as u8;
    let other = u8::from(taken & 0x20 != 0);
    let (mut can_save, mut can_restore) = (5, 1);
    let words = match taken {
        0x08 => vec![computes(JMPL, L4, L2, 0), NOP],
        0x10 => vec![ILLEGAL[0]],
        // The program leaves privileged mode.
        0x11 => vec![wrpr(PSTATE, 0), computes(RDPR, L4, TL, 0)],
        // faddd.
        0x20 => vec![0x89a0_0842],
        // taddcctv and udivx.
        0x23 => vec![computes(0x22, L4, 0, number(1))],
        0x28 => vec![computes(0x0d, L4, 0, 0)],
        0x30 => vec![accesses(LDX, L4, L2, 0)],
        0x34 => vec![accesses(LDX, L4, L2, number(1))],
        0x37 => vec![accesses(0x1b, L4, L2, 0x4f << 5)],
        0x41..=0x4f => vec![
            // Writes %softint and %pil, and then sets the bits PRIV and IE of %pstate.
            computes(WR, 20, L3, 0),
            wrpr(PIL, 0),
            wrpr(PSTATE, 6),
            NOP,
        ],
        0x24 => vec![computes(SAVE, SP, SP, number(0))],
        0x80..=0xbf => {
            can_save = 0;
            vec![computes(SAVE, SP, SP, number(0))]
        }
        0xc0..=0xff => {
            can_restore = 0;
            vec![computes(RESTORE, 0, 0, 0)]
        }
        _ => vec![trap(u32::from(taken & 0xff))],
    };
    Attack {
        windows: WindowState {
            can_save,
            can_restore,
            other: if taken < 0x80 { 0 } else { other },
            clean: if taken == 0x24 { can_restore } else { 7 },
            state,
        },
        ..Attack::new(words, required).with([
            (L2, map::HYPERVISOR.start),
            (L3, 1 << (taken & 15)),
            (O5, 0x1234_5678),
        ])
    }
}

/// Every trap at trap levels 0 and 1. For a trap that has a service, the call uses an unknown function number.
pub(super) fn level(index: &mut Index) -> Attack {
    let level = index.below(2) as u64;
    let taken = traps().nth(index.below(TRAPS)).unwrap_or(0x10);
    let required = match taken {
        0x180.. => RequiredOutcome::Completes,
        _ => RequiredOutcome::Trap(taken),
    };
    provoked(taken, required).at(level)
}

/// Every trap that ends the guest, because the guest is at trap level 2 or its trap table is outside its memory. Also the calls that end a
/// guest.
pub(super) fn death(index: &mut Index) -> Attack {
    let (level, table) = index.one_of(&[
        (2, REAL + 0x8000),
        (0, map::HYPERVISOR.start & !0x7fff),
        (1, NEIGHBOUR),
        (2, 0),
    ]);
    let way = index.below(GUEST_TRAP_COUNT + 2);
    let exits = [[mov(O5, 0), trap(0x80)], [mov(O5, 2), trap(0xff)]];
    let attack = match way.checked_sub(GUEST_TRAP_COUNT) {
        Some(exit) => Attack::new(exits[exit], RequiredOutcome::Death),
        None => provoked(traps().nth(way).unwrap_or(0x10), RequiredOutcome::Death),
    };
    let mut attack = attack.at(level).with([(L4, table)]);
    attack.words.insert(0, computes(WRPR, TBA, L4, 0));
    attack
}

/// A program that sets one bit of %tstate and then returns from a trap level that the guest has not entered by a trap. Some returns follow
/// a call that nests traps in the hypervisor. The return must not give the guest the hypervisor's privilege, so the next instruction,
/// `rdhpr`, must trap.
pub(super) fn returns(index: &mut Index) -> Attack {
    let retry = index.below(2) as u32;
    let level = index.below(3) as u64;
    let bit = index.below(50);
    let deep = index.below(2) == 1;
    let state = match bit {
        0..48 => 1 << bit | 0x400,
        48 => 0,
        _ => u64::MAX,
    };
    let mut words = Vec::new();
    if deep {
        words.extend([wrpr(10, 0)]);
        words.extend(hub());
    }
    words.extend([wrpr(TL, level as u32), wrpr(GL, 0)]);
    if level == 0 {
        // `done` and `retry` are illegal at trap level 0.
        words.push(computes(DONE, retry, 0, 0));
        return Attack::new(words, RequiredOutcome::Trap(0x10)).with([(L2, OWN)]);
    }
    words.extend([
        read_pc(L1),
        computes(ADD, L1, L1, number(7 * 4)),
        computes(WRPR, TPC, L1, 0),
        computes(WRPR, TNPC, L1, 0),
        computes(WRPR, TSTATE, L3, 0),
        computes(DONE, retry, 0, 0),
        NOP,
        computes(RDHPR, 1, 0, 0),
    ]);
    let attack = Attack::new(words, RequiredOutcome::Trap(0x10)).with([(L2, OWN), (L3, state)]);
    Attack { level: level - 1, ..attack }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn returns_set_each_bit_of_the_state() {
        let states = (0..2 * 3 * 2 * 50).filter_map(|number| {
            let registers = returns(&mut Index(number)).registers;
            registers.iter().find(|(register, _)| *register == L3).map(|(_, state)| *state)
        });
        let states: BTreeSet<u64> = states.collect();
        let bits = (0..48).map(|bit| 1 << bit | 0x400);
        assert_eq!(states, bits.chain([0, u64::MAX]).collect());
    }
}
