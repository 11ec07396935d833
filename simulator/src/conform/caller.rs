//! A guest's strand before and after a call.

use std::fmt;

use conform::random::Random;
use guest_abi::StrandId;

use super::guest::REQUEST;
use crate::interpreter::instruction::{ControlRegister, Register};
use crate::interpreter::{
    At, CounterRegister, Environment, Instruction, Level, Strand, Trap, WindowState,
};

/// The register %l0, which holds the trap number.
const TRAP: Register = Register::new(16);

/// A call to make: the software trap's number, and %o0 to %o5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The software trap's number, 0x80 to 0xff.
    pub trap: u8,
    /// %o0 to %o5 before the call.
    pub registers: [u64; 6],
}

impl Request {
    /// Makes this the strand's next call, with random values in all registers that a call must preserve.
    pub fn put(&self, strand: &mut Strand, random: &mut Random) {
        scramble(strand, random);
        for (number, value) in (8..).zip(self.registers) {
            strand.registers.set(Register::new(number), value);
        }
        strand.registers.set(TRAP, self.trap.into());
        resume_at(strand, REQUEST);
    }

    /// Returns `true` for `api_set_version` and `api_get_version`.
    pub(super) const fn is_negotiation(&self) -> bool {
        self.trap == 0xff && matches!(self.registers[5], 0 | 3)
    }
}

/// Returns a call of trap 0x80.
pub(super) const fn fast_request(function: u64, o0: u64, o1: u64) -> Request {
    Request { trap: 0x80, registers: [o0, o1, 0x2222_0bad, 0x3333_0bad, 0x4444_0bad, function] }
}

/// Returns strand number `number`, which must exist in the largest machine.
pub(super) const fn strand(number: usize) -> StrandId {
    match StrandId::new(number) {
        Some(strand) => strand,
        None => panic!("a machine has 256 strands"),
    }
}

/// Makes a strand continue at an address.
pub fn resume_at(strand: &mut Strand, address: u64) {
    (strand.pc, strand.npc) = (address, address + 4);
}

/// Gives random values to a strand's registers, except those that control execution.
pub fn scramble(strand: &mut Strand, random: &mut Random) {
    let global = random.below(3);
    for level in [0, 1, 2] {
        strand.registers.set_global((global + 1 + level) % 3);
        (1..8).for_each(|number| strand.registers.set(Register::new(number), random.next_u64()));
    }
    let window = random.below(8);
    for distance in 1..9 {
        strand.registers.set_window((window + distance) % 8);
        (8..32).for_each(|number| strand.registers.set(Register::new(number), random.next_u64()));
    }
    let any = random.next_u64();
    (strand.ccr, strand.asi, strand.y) = (any as u8, (any >> 8) as u8, (any >> 32) as u32);
    let mut count = || random.below(8) as u8;
    let [mut can_save, mut can_restore] = [count(), count()];
    let [mut other, mut clean] = [count(), count()];
    // In about half of all calls, the window counts are a combination that can occur in correct software.
    if any >> 16 & 1 == 0 {
        can_save %= 7;
        can_restore %= 7 - can_save;
        other = 6 - can_save - can_restore;
        clean = clean.max(can_restore);
    }
    let state = (any >> 24) as u8 & 0x3f;
    strand.windows = WindowState { can_save, can_restore, other, clean, state };
}

/// Returns %o0 to %o5.
#[must_use]
pub fn outs(strand: &Strand) -> [u64; 6] {
    [8, 9, 10, 11, 12, 13].map(|number| strand.registers.get(Register::new(number)))
}

/// Checks that a call has changed no registers of its strand except %o0 to %o5. Registers in the next two windows may become 0 if
/// the windows were free, because a guest cannot rely on the values in free windows.
///
/// # Errors
/// Something else differs. The error says what.
pub fn check_preserved(before: &Strand, after: &Strand) -> Result<(), String> {
    let differ = |what: fmt::Arguments<'_>, before: u64, after: u64| match before == after {
        true => Ok(()),
        false => Err(format!("{what} is {after:#x} and was {before:#x}")),
    };
    let [mut before, mut after] = [before.clone(), after.clone()];
    differ(format_args!("the state"), before.state(), after.state())?;
    differ(format_args!("%y"), before.y.into(), after.y.into())?;
    if before.windows != after.windows {
        return Err(format!("{:?}, and was {:?}", after.windows, before.windows));
    }
    // %tba, %pstate, %tl and %pil.
    for number in [5, 6, 7, 8] {
        let [before, after] = [&mut before, &mut after].map(|strand| privileged(strand, number));
        differ(format_args!("privileged register {number}"), before, after)?;
    }
    for global in 0..3 {
        for strand in [&mut before, &mut after] {
            strand.registers.set_global(global);
        }
        for number in (0..8).map(Register::new) {
            let [before, after] = [&before, &after].map(|strand| strand.registers.get(number));
            differ(format_args!("%g of level {global}, {number:?}"), before, after)?;
        }
    }
    let (current, free) = (before.registers.window(), before.windows.can_save >= 2);
    for distance in 0..8 {
        for strand in [&mut before, &mut after] {
            strand.registers.set_window((current + distance) % 8);
        }
        for number in 16..32 {
            let is_in = number >= 24;
            // The next window's %i registers are the current window's %o registers.
            if distance == 1 && (24..30).contains(&number) {
                continue;
            }
            let may_be_clear = free && matches!((is_in, distance), (false, 1 | 2) | (true, 2 | 3));
            let register = Register::new(number);
            let [before, after] = [&before, &after].map(|strand| strand.registers.get(register));
            if !may_be_clear || after != 0 {
                differ(format_args!("window +{distance}, {register:?}"), before, after)?;
            }
        }
    }
    Ok(())
}

/// Returns a privileged register's value; 0 for a trap register at trap level 0.
#[must_use]
pub fn privileged(strand: &mut Strand, number: u8) -> u64 {
    strand.control_register(ControlRegister::Privileged(number), &mut NoBus).unwrap_or_default()
}

/// A bus that refuses all accesses. Only the strand's registers are used here.
struct NoBus;

impl Environment for NoBus {
    fn fetch(&mut self, _: u64, _: Level) -> Result<Instruction, Trap> {
        Err(Trap::INSTRUCTION_ACCESS_ERROR)
    }

    fn load(&mut self, _: At, _: u8) -> Result<u64, Trap> {
        Err(Trap::DATA_ACCESS_ERROR)
    }

    fn store(&mut self, _: At, _: u8, _: u64) -> Result<(), Trap> {
        Err(Trap::DATA_ACCESS_ERROR)
    }

    fn read(&mut self, _: CounterRegister, _: Level) -> Result<u64, Trap> {
        Err(Trap::DATA_ACCESS_ERROR)
    }

    fn write(&mut self, _: CounterRegister, _: u64, _: Level) -> Result<(), Trap> {
        Err(Trap::DATA_ACCESS_ERROR)
    }
}
