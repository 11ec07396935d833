//! Starts a random walk (`walk.rs`) with instructions that give every register a random value.

use simulator::interpreter::instruction::ControlRegister::{
    self, Ancillary, Hyperprivileged, Privileged,
};

use tests::assembler::{LDX, NOP, accesses, computes, number, set, wrpr};

use super::choice::state_value;
use super::memory::{CODE, HTBAS, TBAS, VALUES};
use super::walk::{HPRIV, PRIV, Walk};

/// Returns the setup's words. The last ones jump to the start of the walk.
pub(crate) fn words(walk: &mut Walk) -> Vec<u32> {
    let mut words = Vec::new();
    let mut value = 0;
    // Loads random values. %g1 holds the address of the values, so it is loaded last.
    let mut load = |words: &mut Vec<u32>, registers: &[u32]| {
        words.extend(set(1, VALUES as u32));
        for register in registers {
            words.push(accesses(LDX, *register, 1, number(value)));
            value += 8;
        }
    };
    write(&mut words, Privileged(6), PRIV);
    for window in 0..8 {
        write(&mut words, Privileged(9), window);
        load(&mut words, &Vec::from_iter(16..32));
    }
    for level in 1..=6 {
        let (pc, npc) = (walk.fresh(), walk.fresh());
        let state = state_value(&mut walk.random, 1);
        let number = walk.random.below(0x200) as u64;
        write(&mut words, Privileged(7), level);
        for (register, value) in (0..).zip([pc, npc, state, number]) {
            write(&mut words, Privileged(register), value);
        }
    }
    let random = &mut walk.random;
    let windows = random.below(7) as u64;
    let others = random.below(7 - windows as usize) as u64;
    let tl = random.below(3) as u64;
    for (control, value) in [
        (Hyperprivileged(5), HTBAS[random.below(2)]),
        (Hyperprivileged(3), 0),
        (Hyperprivileged(31), 1 << 63),
        (Ancillary(23), 1 << 63),
        (Ancillary(25), 1 << 63),
        (Ancillary(22), 0),
        (Ancillary(0), random.next_u64() & 0xffff_ffff),
        (Ancillary(2), random.next_u64() & 0xff),
        (Ancillary(3), random.next_u64() & 0xff),
        (Ancillary(6), random.next_u64() & 7),
        (Privileged(5), TBAS[random.below(2)]),
        (Privileged(8), random.next_u64() & 15),
        (Privileged(9), random.next_u64() & 7),
        (Privileged(10), windows),
        (Privileged(11), 6 - windows - others),
        (Privileged(12), 6),
        (Privileged(13), others),
        (Privileged(14), random.next_u64() & 0x3f),
        (Privileged(7), tl),
    ] {
        write(&mut words, control, value);
    }
    let guest = random.below(2) == 0;
    for global in [3, 2, 1, 0] {
        write(&mut words, Privileged(16), global);
        load(&mut words, &[2, 3, 4, 5, 6, 7, 1]);
    }
    words.push(wrpr(16, tl as u32));
    words.push(computes(0x33, 0, 0, number(if guest { 0 } else { HPRIV as u32 })));
    let here = super::memory::BASE + 4 * words.len() as u64;
    words.push(1 << 30 | ((CODE.start - here) / 4) as u32);
    words.push(NOP);
    words
}

/// Adds instructions that write a control register, with %g1 and %g2 as scratch registers.
pub(crate) fn write(words: &mut Vec<u32>, control: ControlRegister, value: u64) {
    words.extend(set(1, (value >> 32) as u32));
    words.extend(set(2, value as u32));
    // The instruction is sllx %g1, 32, %g1.
    words.push(computes(0x25, 1, 1, number(32)) | 1 << 12);
    let (op3, number) = match control {
        Ancillary(number) => (0x30, number),
        Privileged(number) => (0x32, number),
        Hyperprivileged(number) => (0x33, number),
    };
    words.push(computes(op3, number.into(), 1, 2));
}
