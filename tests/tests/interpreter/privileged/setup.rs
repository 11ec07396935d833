//! What a walk begins with: instructions that give every register a random value.

use simulator::interpreter::instruction::Control;

use crate::encode::{NOP, Second, accesses, computes, set};

use super::choice::state_value;
use super::memory::{CODE, HTBAS, TBAS, VALUES};
use super::walk::{HPRIV, PRIV, Walk};

/// Returns the words, which end with a jump to the beginning of the walk.
pub(crate) fn words(walk: &mut Walk) -> Vec<u32> {
    let mut words = Vec::new();
    let mut value = 0;
    // Loads random values, %g1 last, which is the address of the values.
    let mut load = |words: &mut Vec<u32>, registers: &[u32]| {
        words.extend(set(1, VALUES as u32));
        for register in registers {
            words.push(accesses(0x0b, *register, 1, Second::Number(value)));
            value += 8;
        }
    };
    write(&mut words, Control::Privileged(6), PRIV);
    for window in 0..8 {
        write(&mut words, Control::Privileged(9), window);
        load(&mut words, &Vec::from_iter(16..32));
    }
    for level in 1..=6 {
        let (pc, npc) = (walk.fresh(), walk.fresh());
        let state = state_value(&mut walk.random, 1);
        let number = walk.random.below(0x200) as u64;
        write(&mut words, Control::Privileged(7), level);
        for (register, value) in (0..).zip([pc, npc, state, number]) {
            write(&mut words, Control::Privileged(register), value);
        }
    }
    let random = &mut walk.random;
    let windows = random.below(7) as u64;
    let others = random.below(7 - windows as usize) as u64;
    let tl = random.below(3) as u64;
    for (control, value) in [
        (Control::Hyperprivileged(5), HTBAS[random.below(2)]),
        (Control::Hyperprivileged(3), 0),
        (Control::Hyperprivileged(31), 1 << 63),
        (Control::Ancillary(23), 1 << 63),
        (Control::Ancillary(25), 1 << 63),
        (Control::Ancillary(22), 0),
        (Control::Ancillary(0), random.next_u64() & 0xffff_ffff),
        (Control::Ancillary(2), random.next_u64() & 0xff),
        (Control::Ancillary(3), random.next_u64() & 0xff),
        (Control::Ancillary(6), random.next_u64() & 7),
        (Control::Privileged(5), TBAS[random.below(2)]),
        (Control::Privileged(8), random.next_u64() & 15),
        (Control::Privileged(9), random.next_u64() & 7),
        (Control::Privileged(10), windows),
        (Control::Privileged(11), 6 - windows - others),
        (Control::Privileged(12), 6),
        (Control::Privileged(13), others),
        (Control::Privileged(14), random.next_u64() & 0x3f),
        (Control::Privileged(7), tl),
    ] {
        write(&mut words, control, value);
    }
    let guest = random.below(2) == 0;
    for global in [3, 2, 1, 0] {
        write(&mut words, Control::Privileged(16), global);
        load(&mut words, &[2, 3, 4, 5, 6, 7, 1]);
    }
    words.push(computes(0x32, 16, 0, Second::Number(tl as i32)));
    words.push(computes(
        0x33,
        0,
        0,
        Second::Number(if guest { 0 } else { HPRIV as i32 }),
    ));
    let here = super::memory::BASE + 4 * words.len() as u64;
    words.push(1 << 30 | ((CODE.start - here) / 4) as u32);
    words.push(NOP);
    words
}

/// Writes a control register by %g1 and %g2.
pub(crate) fn write(words: &mut Vec<u32>, control: Control, value: u64) {
    words.extend(set(1, (value >> 32) as u32));
    words.extend(set(2, value as u32));
    // sllx %g1, 32, %g1
    words.push(computes(0x25, 1, 1, Second::Number(32)) | 1 << 12);
    let (op3, number) = match control {
        Control::Ancillary(number) => (0x30, number),
        Control::Privileged(number) => (0x32, number),
        Control::Hyperprivileged(number) => (0x33, number),
    };
    words.push(computes(op3, number.into(), 1, Second::Register(2)));
}
