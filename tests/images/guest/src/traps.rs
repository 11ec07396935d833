//! Handles a sampling guest's traps: the overflow trap, and accesses to %pcr and %pic, which this processor does not have.
//!
//! The illegal instruction handler replaces a read or write of %pcr or %pic with a call to the hypervisor's model, and then skips the
//! instruction.

use core::arch::{asm, global_asm};

use conform::control::Control;
use conform::counters::Counters;

use crate::sampled;
use crate::swept::control;

global_asm!(include_str!("../../assembly/traps.s"), options(raw));

/// The interrupted program's registers.
#[repr(C)]
pub struct Frame {
    /// %g0 to %g7, then %o0 to %o7, as they were at the trap.
    globals_and_outs: [u64; 16],
    pub tpc: u64,
    tnpc: u64,
    pub tstate: u64,
    y: u64,
}

/// The interrupted program's %l0 to %l7 and %i0 to %i7.
type Window = [u64; 16];

unsafe extern "C" {
    /// Installs the trap table for illegal instructions and overflow traps.
    fn take_traps();
    /// Executes `ta 0xfe` with these values in %o0 to %o5. Returns the value of %o0 after the trap.
    pub fn here(o0: u64, o1: u64, o2: u64, o3: u64, o4: u64, o5: u64) -> u64;
    pub fn there(o0: u64, o1: u64, o2: u64, o3: u64, o4: u64, o5: u64) -> u64;
    /// The address of the instruction after the trap.
    pub static here_next: u8;
    pub static there_next: u8;
    /// Writes and reads %pic with every kind of register as an operand. Returns the bits that differ.
    pub fn by_every_kind(value: u64) -> u64;
}

/// A PSTATE value with PEF, PRIV and IE.
const INTERRUPTIBLE: u64 = 0x16;

/// Bit 15 of %softint, which raises the overflow trap.
const OVERFLOW: u64 = 1 << 15;

/// TSTATE holds PSTATE from bit 8 on, and PRIV is bit 2 of PSTATE.
pub const TSTATE_PRIV: u64 = 1 << 10;

/// A PIL value that blocks the overflow trap.
const ALL_HELD: u64 = 15;

/// Installs the trap table, and leaves the overflow trap blocked.
pub fn install() {
    hold(true);
    // SAFETY: the table also has the window handlers. PIL is 15.
    unsafe {
        take_traps();
        asm!("wrpr {pstate}, 0, %pstate", pstate = in(reg) INTERRUPTIBLE, options(nostack));
    }
}

/// Blocks or allows the overflow trap.
pub fn hold(held: bool) {
    let pil = if held { ALL_HELD } else { 0 };
    // SAFETY: the guest has requested no other interrupt.
    unsafe { asm!("wrpr {pil}, 0, %pil", pil = in(reg) pil, options(nostack)) }
}

#[unsafe(no_mangle)]
extern "C" fn counter_overflow(frame: &mut Frame, _: &mut Window) {
    // SAFETY: clears only this bit, and has no other effect.
    unsafe { asm!("wr {bit}, 0, %asr21", bit = in(reg) OVERFLOW, options(nostack)) }
    sampled::overflowed(frame);
}

#[unsafe(no_mangle)]
extern "C" fn illegal_instruction(frame: &mut Frame, window: &mut Window) {
    // SAFETY: the processor has fetched an instruction from this address.
    let code = unsafe { (frame.tpc as *const u32).read_volatile() };
    let Some(access) = Access::decode(code) else {
        panic!("illegal instruction {code:#x} at {:#x}", frame.tpc);
    };
    match access {
        Access::Read(read, rd) => {
            let value = control(Control::Counters(read));
            if let Some(register) = register(frame, window, rd) {
                *register = value;
            }
        }
        Access::Write(write, rs1, operand) => {
            let mut value = |number| register(frame, window, number).map_or(0, |value| *value);
            let value = value(rs1)
                ^ match operand {
                    Operand::Register(rs2) => value(rs2),
                    Operand::Immediate(number) => number,
                };
            control(Control::Counters(write(value)));
        }
    }
    frame.tpc = frame.tnpc;
    frame.tnpc += 4;
}

/// Returns the register with this number in an instruction, or `None` for %g0.
fn register<'a>(frame: &'a mut Frame, window: &'a mut Window, number: u32) -> Option<&'a mut u64> {
    match number {
        0 => None,
        1..16 => frame.globals_and_outs.get_mut(number as usize),
        _ => window.get_mut(number as usize - 16),
    }
}

/// Returns the operations that read and write ancillary register `asr`, which is %pcr (16) or %pic (17).
const fn operations(asr: u32) -> Option<(Counters, fn(u64) -> Counters)> {
    match asr {
        16 => Some((Counters::Pcr, Counters::SetPcr)),
        17 => Some((Counters::Pic, Counters::SetPic)),
        _ => None,
    }
}

enum Operand {
    Register(u32),
    Immediate(u64),
}

/// An instruction `rd %asr, rd` or `wr rs1, operand, %asr`.
enum Access {
    Read(Counters, u32),
    Write(fn(u64) -> Counters, u32, Operand),
}

impl Access {
    fn decode(code: u32) -> Option<Self> {
        let (rd, rs1) = (code >> 25 & 31, code >> 14 & 31);
        match (code >> 30, code >> 19 & 0x3f) {
            (2, 0x28) => Some(Self::Read(operations(rs1)?.0, rd)),
            (2, 0x30) => {
                let operand = if code >> 13 & 1 == 0 {
                    Operand::Register(code & 31)
                } else {
                    // The immediate is a signed 13-bit number.
                    Operand::Immediate(i64::from((code << 19) as i32 >> 19) as u64)
                };
                Some(Self::Write(operations(rd)?.1, rs1, operand))
            }
            _ => None,
        }
    }
}
