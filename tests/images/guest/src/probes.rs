//! Declares the assembly probes, which check registers, windows and levels around a trap. The guest in C uses the same probes.

use core::arch::global_asm;

global_asm!(include_str!("../../assembly/around.s"), options(raw));
global_asm!(include_str!("../../assembly/deep.s"), options(raw));
global_asm!(include_str!("../../assembly/handlers.s"), options(raw));
global_asm!(include_str!("../../assembly/left.s"), options(raw));
global_asm!(include_str!("../../assembly/level.s"), options(raw));

/// The registers that [`around_fast`] and similar probes find after the trap.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    pub o: [u64; 8],
    pub l: [u64; 8],
    pub i: [u64; 4],
    pub g: [u64; 8],
    /// Values before the trap: CWP, CANSAVE, CANRESTORE, OTHERWIN, CLEANWIN, WSTATE, PSTATE, PIL, TL, GL, %y, %asi, %ccr.
    pub before: [u64; 13],
    /// The values of the same registers after the trap, in the same order.
    pub after: [u64; 13],
}

/// The bits that a trap has set in the free windows and in the globals of levels 1 and 2, all of which were 0 before the trap.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Residue {
    pub windows: u64,
    pub globals: u64,
}

impl Residue {
    pub const NONE: Self = Self { windows: 0, globals: 0 };
}

impl Around {
    /// Returns the registers after a trap that gives %o0 to %o5 these values and changes nothing else.
    pub fn with_outs([o0, o1, o2, o3, o4, o5]: [u64; 6], before: [u64; 13]) -> Self {
        Self {
            // The stack pointer is stored as %fp - %sp.
            o: [o0, o1, o2, o3, o4, o5, 192, 0x173],
            l: core::array::from_fn(|n| 0x101 + 0x10 * n as u64),
            i: core::array::from_fn(|n| 0x102 + 0x10 * n as u64),
            g: [0, 0x114, 0x124, 0x134, 0x144, 0x154, 0x164, 0x174],
            before,
            after: before,
        }
    }
}

/// The state after a call from a trap level above 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtLevel {
    pub status: u64,
    pub value: u64,
    pub tl: u64,
    /// GL is in bits 7:0. Bits 8 and up are %g1, which was 0x77.
    pub gl: u64,
}

/// The state after a call made with an unusual PSTATE.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WithPstate {
    pub value: u64,
    /// The PSTATE bits that the call has left inverted.
    pub inverted: u64,
}

unsafe extern "C" {
    /// Traps with `o` in %o0 to %o5, and a pattern in every other register.
    pub fn around_fast(o: &[u64; 6], around: &mut Around);
    pub fn around_core(o: &[u64; 6], around: &mut Around);
    pub fn around_0x81(o: &[u64; 6], around: &mut Around);
    pub fn around_0x83(o: &[u64; 6], around: &mut Around);
    pub fn around_0x84(o: &[u64; 6], around: &mut Around);
    pub fn around_0xfd(o: &[u64; 6], around: &mut Around);
    pub fn around_0xfe(o: &[u64; 6], around: &mut Around);
    /// Traps with six free windows, and with the arguments in %o0, %o1 and %o5.
    pub fn left_fast(o0: u64, o1: u64, function: u64) -> Residue;
    pub fn left_core(o0: u64, o1: u64, function: u64) -> Residue;
    pub fn left_0x84(o0: u64, o1: u64, function: u64) -> Residue;
    pub fn left_0xfe(o0: u64, o1: u64, function: u64) -> Residue;
    /// Traps twice at each of `depth` + 1 depths, with `sp` as the stack pointer. Returns the bits of local registers that changed.
    pub fn deep_fast(depth: u64, function: u64, o0: u64, sp: u64) -> u64;
    pub fn deep_core(depth: u64, function: u64, o0: u64, sp: u64) -> u64;
    /// Traps at trap level `level` with global level `level`.
    pub fn at_level(o0: u64, o1: u64, function: u64, level: u64) -> AtLevel;
    /// Traps with these PSTATE bits inverted.
    pub fn with_pstate(o0: u64, function: u64, bits: u64) -> WithPstate;
    /// Causes a trap whose handler traps again, and so on.
    pub fn trap_in_handlers() -> !;
    /// Returns how many ticks %tick advances during a trap.
    pub fn ticks_fast(o0: u64, o1: u64, function: u64) -> u64;
    pub fn ticks_core(o0: u64, o1: u64, function: u64) -> u64;
    /// Returns how many ticks %tick advances if the probe makes no trap.
    pub fn ticks_none() -> u64;
}
