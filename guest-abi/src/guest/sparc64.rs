//! The real transport: traps, and the strand's ancillary registers. SPARC V9 only.
#![allow(unsafe_code)]

use core::arch::asm;

use super::{Hypercall, StrandCounters};
use crate::clock::Clock;
use crate::layout::{SparcPcr, SparcPic};
use crate::trap::{Registers, Trap};

/// The sun4v virtual machine that this code runs in: the hypervisor, the clock %stick, and the calling strand's counters.
#[derive(Clone, Copy, Debug)]
pub struct Sun4v(());

impl Sun4v {
    /// Returns the virtual machine that the code runs in. Does not check that there is one.
    ///
    /// # Safety
    /// Every strand that uses the value or a copy has to run in privileged mode of a sun4v virtual machine. Calls through
    /// [`Hypercall`] must not change memory or translations that the program relies on. No call of this crate changes them.
    pub const unsafe fn new() -> Self {
        Self(())
    }
}

macro_rules! ta {
    ($number:literal, $registers:ident) => {
        // SAFETY: `Sun4v::new` promises privileged mode and harmless calls. The hypervisor writes only these registers; the
        // compiler treats memory and condition codes as clobbered.
        unsafe {
            asm!(
                concat!("ta ", $number),
                inout("o0") $registers.o0,
                inout("o1") $registers.o1,
                inout("o2") $registers.o2,
                inout("o3") $registers.o3,
                inout("o4") $registers.o4,
                inout("o5") $registers.o5,
                options(nostack),
            );
        }
    };
}

impl Hypercall for Sun4v {
    #[inline]
    fn trap(&self, trap: Trap, registers: &mut Registers) {
        match trap {
            Trap::Fast => ta!(0x80, registers),
            Trap::Core => ta!(0xff, registers),
        }
    }
}

macro_rules! read {
    ($register:literal) => {{
        let value: u64;
        // SAFETY: `Sun4v::new` promises privileged mode, where the register can be read. A read changes nothing. The compiler
        // treats memory as clobbered, so that it moves no measured access across the read.
        unsafe {
            asm!(
                concat!("rd ", $register, ", {value}"),
                value = out(reg) value,
                options(nostack, preserves_flags),
            );
        }
        value
    }};
}

macro_rules! write {
    ($register:literal, $value:expr) => {{
        let value: u64 = $value;
        // SAFETY: `Sun4v::new` promises privileged mode, where the register can be written. A write only changes counting;
        // the guest's own handler handles the overflow traps that it enables.
        unsafe {
            asm!(
                concat!("wr {value}, 0, ", $register),
                value = in(reg) value,
                options(nostack, preserves_flags),
            );
        }
    }};
}

impl StrandCounters for Sun4v {
    #[inline]
    fn pcr(&self) -> SparcPcr {
        read!("%asr16").into()
    }

    #[inline]
    fn set_pcr(&self, pcr: SparcPcr) {
        write!("%asr16", pcr.into());
    }

    #[inline]
    fn pic(&self) -> SparcPic {
        read!("%asr17").into()
    }

    #[inline]
    fn set_pic(&self, pic: SparcPic) {
        write!("%asr17", pic.into());
    }
}

impl Clock for Sun4v {
    /// Returns %stick (ASR 24), without bit 63, NPT.
    #[inline]
    fn ticks(&self) -> u64 {
        read!("%asr24") & !(1 << 63)
    }
}
