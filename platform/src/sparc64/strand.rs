//! The strand's own registers.
#![allow(unsafe_code)]

use core::arch::asm;

use guest_abi::StrandId;

#[cfg(feature = "pcr-in-memory")]
use super::StrandBlock;
use crate::{StrandRegisters, TickRegisters};

/// %pcr, %pic, %tick and %stick of the strand that executes the call.
///
/// With the feature `pcr-in-memory` the first two are words of the strand's memory: QEMU does not have the registers.
#[derive(Clone, Copy, Debug)]
pub struct StrandRegs {
    cross_call: fn(StrandId),
}

impl StrandRegs {
    /// Returns the registers. [`StrandRegisters::cross_call`] calls `cross_call`, because how a strand interrupts another
    /// depends on the board.
    ///
    /// # Safety
    /// The code runs in hyperprivileged mode, in an image of [`sun4v_image!`](crate::sun4v_image). Calls for a strand are
    /// made on that strand.
    pub const unsafe fn new(cross_call: fn(StrandId)) -> Self {
        Self { cross_call }
    }

    /// Returns the block of the strand that executes this.
    #[cfg(feature = "pcr-in-memory")]
    fn block(&self) -> &'static StrandBlock<()> {
        // SAFETY: the caller of `new` promises that this is an image. %pcr and %pic do not depend on its handler.
        unsafe { StrandBlock::own() }
    }
}

impl StrandRegisters for StrandRegs {
    #[cfg(not(feature = "pcr-in-memory"))]
    fn pcr(&self, _: StrandId) -> u64 {
        let value: u64;
        // SAFETY: hyperprivileged code can read %pcr, which changes nothing.
        unsafe {
            asm!("rd %asr16, {value}", value = out(reg) value, options(nomem, nostack, preserves_flags));
        }
        value
    }

    #[cfg(not(feature = "pcr-in-memory"))]
    fn set_pcr(&self, _: StrandId, value: u64) {
        // SAFETY: hyperprivileged code can write %pcr, which only says what is counted.
        unsafe {
            asm!("wr {value}, 0, %asr16", value = in(reg) value, options(nomem, nostack, preserves_flags));
        }
    }

    #[cfg(not(feature = "pcr-in-memory"))]
    fn set_pic(&self, _: StrandId, value: u64) {
        // SAFETY: hyperprivileged code can write %pic, which only holds counts.
        unsafe {
            asm!("wr {value}, 0, %asr17", value = in(reg) value, options(nomem, nostack, preserves_flags));
        }
    }

    #[cfg(feature = "pcr-in-memory")]
    fn pcr(&self, _: StrandId) -> u64 {
        self.block().pcr.get()
    }

    #[cfg(feature = "pcr-in-memory")]
    fn set_pcr(&self, _: StrandId, value: u64) {
        self.block().pcr.set(value);
    }

    #[cfg(feature = "pcr-in-memory")]
    fn set_pic(&self, _: StrandId, value: u64) {
        self.block().pic.set(value);
    }

    fn ticks(&self, strand: StrandId) -> u64 {
        self.stick(strand)
    }

    fn cross_call(&self, strand: StrandId) {
        (self.cross_call)(strand);
    }
}

impl TickRegisters for StrandRegs {
    #[inline]
    fn tick(&self, _: StrandId) -> u64 {
        let value: u64;
        // SAFETY: hyperprivileged code can read %tick, which changes nothing.
        unsafe {
            asm!("rd %asr4, {value}", value = out(reg) value, options(nomem, nostack, preserves_flags));
        }
        value
    }

    #[inline]
    fn stick(&self, _: StrandId) -> u64 {
        let value: u64;
        // SAFETY: hyperprivileged code can read %stick, which changes nothing.
        unsafe {
            asm!("rd %asr24, {value}", value = out(reg) value, options(nomem, nostack, preserves_flags));
        }
        value
    }
}
