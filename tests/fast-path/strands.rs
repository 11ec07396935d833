//! Functions that change and compare strands.

use simulator::interpreter::instruction::{ControlRegister, Register};
use simulator::interpreter::{Exception, Level, Strand, Trap, Word};

use super::call;
use super::world::Effect;

/// Pairs of words that must be equal, or a description of a difference in anything else.
pub(crate) type WordPairs<W> = Result<Vec<(W, W)>, String>;

pub(crate) const G7: Register = Register::new(7);
pub(crate) const O2: Register = Register::new(10);
pub(crate) const O3: Register = Register::new(11);
pub(crate) const LOCALS: u32 = 16;
pub(crate) const OUTS: u32 = 8;
pub(crate) const INS: u32 = 24;

/// %hintp: 1 if hstick_match is pending.
pub(crate) const HINTP: ControlRegister = ControlRegister::Hyperprivileged(3);
const TL: ControlRegister = ControlRegister::Privileged(7);

/// The trap types of trap 0x80 and of a failed store.
pub(crate) const FAST: u16 = 0x180;
pub(crate) const STORE_ERROR: u16 = 0x07;

/// Takes a trap of this type (0 to 0x1ff) to the hypervisor.
pub(crate) fn take<W: Word>(strand: &mut Strand<W>, number: u16) {
    let trap = if number < FAST { Trap::STORE_ERROR } else { Trap::software(number.into()) };
    strand.take(Exception::from(trap)).unwrap();
    // The interpreter cannot construct every trap, so the strand has taken store_error instead. Correct the trap type and the address of
    // the table entry.
    if number < FAST {
        let table = strand.pc - 32 * u64::from(STORE_ERROR);
        strand.pc = table + 32 * u64::from(number);
        strand.npc = strand.pc + 4;
        call::write(strand, ControlRegister::Privileged(3), number as i16);
    }
}

/// Returns the trap level.
pub(crate) fn level<W: Word>(strand: &Strand<W>) -> usize {
    strand.control.frames().0.len()
}

pub(crate) fn copy_g7<W: Word>(to: &mut Strand<W>, from: &Strand<W>) {
    let mut from = from.registers.clone();
    from.set_global(3);
    set_g7(to, from.get(G7));
}

/// Sets the hypervisor's %g7.
pub(crate) fn set_g7<W: Word>(strand: &mut Strand<W>, word: W) {
    let global = strand.registers.global();
    strand.registers.set_global(3);
    strand.registers.set(G7, word);
    strand.registers.set_global(global);
}

/// Returns eight registers of the current window.
pub(crate) fn eight<W: Word>(strand: &Strand<W>, first: u32) -> [W; 8] {
    std::array::from_fn(|number| strand.registers.get(Register::new(first + number as u32)))
}

pub(crate) fn set_eight<W: Word>(strand: &mut Strand<W>, first: u32, words: [W; 8]) {
    for (number, word) in (first..).zip(words) {
        strand.registers.set(Register::new(number), word);
    }
}

/// Clears the trap registers of a trap level. The strand must be executing the hypervisor.
pub(crate) fn clear_level<W: Word>(strand: &mut Strand<W>, cleared: usize) {
    use ControlRegister::{Hyperprivileged, Privileged};
    let level = level(strand);
    call::write(strand, TL, cleared as i16);
    for register in 0..4 {
        call::write(strand, Privileged(register), 0);
    }
    call::write(strand, Hyperprivileged(1), 0);
    call::write(strand, TL, level as i16);
}

/// The highest trap level, and the highest level that a guest can select.
const LEVELS: usize = 6;
const OF_GUEST: usize = 2;

/// Compares two strands. Returns pairs of words that must be equal, or a description of a difference in anything else.
pub(crate) fn compare_strands<W: Word>(done: &Strand<W>, expected: &Strand<W>) -> WordPairs<W> {
    if (done.pc, done.npc, done.windows) != (expected.pc, expected.npc, expected.windows)
        || done.control != expected.control
        || done.registers.window() != expected.registers.window()
        || done.registers.global() != expected.registers.global()
    {
        return Err(format!("control: {done:?}, expected {expected:?}"));
    }
    let mut pairs = vec![
        (W::from_byte(done.ccr), W::from_byte(expected.ccr)),
        (W::from_byte(done.asi), W::from_byte(expected.asi)),
        (W::from_half(done.y), W::from_half(expected.y)),
    ];
    pairs.extend(call::all_registers(done).into_iter().zip(call::all_registers(expected)));
    pairs.retain(|(a, b)| a != b);
    Ok(pairs)
}

/// Compares the effects of an execution with the expected effects.
pub(crate) fn compare_effects<W: Word>(done: &[Effect<W>], expected: &[Effect<W>]) -> WordPairs<W> {
    if done.len() != expected.len() {
        return Err(format!("effects: {done:?}, expected {expected:?}"));
    }
    let mut pairs = Vec::new();
    for (done, expected) in done.iter().zip(expected) {
        match (*done, *expected) {
            (Effect::Load { address: a, shift: m }, Effect::Load { address: b, shift: n })
                if m == n =>
            {
                pairs.push((a, b));
            }
            (
                Effect::Store { address: a, shift: m, value: v },
                Effect::Store { address: b, shift: n, value: w },
            )
            | (
                Effect::Swap { address: a, shift: m, value: v },
                Effect::Swap { address: b, shift: n, value: w },
            ) if m == n => pairs.extend([(a, b), (v, w)]),
            (
                Effect::Register { space: m, address: a, value: None },
                Effect::Register { space: n, address: b, value: None },
            ) if m == n => pairs.push((a, b)),
            (Effect::WritePcr(v), Effect::WritePcr(w)) | (Effect::Halt(v), Effect::Halt(w)) => {
                pairs.push((v, w));
            }
            (a, b) if a == b => {}
            (a, b) => return Err(format!("effects: {a:?}, expected {b:?}")),
        }
    }
    Ok(pairs)
}

/// Compares two strands within the hypervisor. The trap registers of higher levels may differ.
pub(crate) fn compare_in_hypervisor<W: Word>(
    done: &Strand<W>,
    expected: &Strand<W>,
) -> WordPairs<W> {
    let [done, expected] = [done, expected].map(|strand| {
        let mut strand = strand.clone();
        if strand.level() == Level::Hyperprivileged {
            (level(&strand) + 1..=LEVELS).for_each(|above| clear_level(&mut strand, above));
        }
        strand
    });
    compare_strands(&done, &expected)
}

/// Compares two strands that execute a guest, in everything that the guest can observe, including the trap registers of levels that it can
/// select. (The comparison includes the hypervisor's globals, so a test copies them first.)
pub(crate) fn compare_in_guest<W: Word>(done: &Strand<W>, expected: &Strand<W>) -> WordPairs<W> {
    let seen = |strand: &Strand<W>| {
        let (below, above) = strand.control.frames();
        [below, above].concat()[..OF_GUEST].to_vec()
    };
    if seen(done) != seen(expected)
        || (level(done), done.level()) != (level(expected), expected.level())
    {
        return Err(format!("levels: {done:?}, expected {expected:?}"));
    }
    let [done, expected] = [done, expected].map(|strand| {
        let mut strand = strand.clone();
        if strand.level() != Level::Hyperprivileged {
            take(&mut strand, FAST);
            (level(&strand) + 1..=LEVELS).for_each(|above| clear_level(&mut strand, above));
        }
        strand
    });
    compare_strands(&done, &expected)
}
