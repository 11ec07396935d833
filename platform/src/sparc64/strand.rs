//! The calling strand's registers.
#![allow(unsafe_code)]

use core::arch::asm;

use guest_abi::StrandId;

use super::StrandBlock;
use crate::{StrandRegisters, TickRegisters};

/// Reads an ancillary state register of the strand.
macro_rules! read_asr {
    ($number:literal) => {{
        let value: u64;
        // SAFETY: hyperprivileged code can read %pcr, %tick and %stick, and a read changes nothing.
        unsafe {
            asm!(concat!("rd %asr", $number, ", {value}"), value = out(reg) value, options(nomem, nostack, preserves_flags));
        }
        value
    }};
}

/// Writes an ancillary state register of the strand.
macro_rules! write_asr {
    ($number:literal, $value:expr) => {{
        // SAFETY: hyperprivileged code can write %pcr and %pic, which affect only what is counted.
        unsafe {
            asm!(concat!("wr {value}, 0, %asr", $number), value = in(reg) $value, options(nomem, nostack, preserves_flags));
        }
    }};
}

/// The calling strand's %pcr, %pic, %tick and %stick.
///
/// With the feature `pcr-in-memory`, %pcr and %pic are words in the strand's block, because QEMU lacks these registers.
#[derive(Clone, Copy, Debug)]
pub struct StrandRegs {
    cross_call: fn(StrandId),
}

impl StrandRegs {
    /// Returns the registers. [`StrandRegisters::cross_call`] calls the function `cross_call`, because the board decides how strands
    /// interrupt each other.
    ///
    /// # Safety
    /// The code runs in hyperprivileged mode, in an image built with [`sun4v_image!`](crate::sun4v_image), and each call names the strand
    /// that executes it.
    pub const unsafe fn new(cross_call: fn(StrandId)) -> Self {
        Self { cross_call }
    }

    /// Returns the block that holds %pcr and %pic; `None` if the strand has the registers.
    #[inline(always)]
    fn memory(&self) -> Option<&'static StrandBlock<()>> {
        // SAFETY: the caller of `new` promises that this is an image. %pcr and %pic do not depend on its handler.
        cfg!(feature = "pcr-in-memory").then(|| unsafe { StrandBlock::current() })
    }
}

impl StrandRegisters for StrandRegs {
    fn pcr(&self, _: StrandId) -> u64 {
        match self.memory() {
            Some(block) => block.pcr.get(),
            None => read_asr!(16),
        }
    }

    fn set_pcr(&self, _: StrandId, value: u64) {
        match self.memory() {
            Some(block) => block.pcr.set(value),
            None => write_asr!(16, value),
        }
    }

    fn set_pic(&self, _: StrandId, value: u64) {
        match self.memory() {
            Some(block) => block.pic.set(value),
            None => write_asr!(17, value),
        }
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
        read_asr!(4)
    }

    #[inline]
    fn stick(&self, _: StrandId) -> u64 {
        read_asr!(24)
    }
}
