//! DRAM performance control and counter registers (FWARC/2007/529 section 2.2).

use bitfield_struct::bitfield;

use crate::counter::{Counter, CounterSet};
use crate::error::OutOfRange;
use crate::event::DramEvent;
use crate::guest::Reading;

/// DRAM PCR: a 4-bit event select for each counter. Counter 0 has bits 7:4, counter 1 bits 3:0.
#[bitfield(u64)]
#[derive(PartialEq, Eq, Hash)]
#[must_use]
pub struct DramPcr {
    #[bits(4)]
    select1: u8,
    #[bits(4)]
    select0: u8,
    #[bits(56)]
    __: u64,
}

super::event_select! {
    DramPcr counts DramEvent;
}

/// DRAM PIC: both 31-bit counters of a channel in one register, counter 0 in bits 62:32 and counter 1 in bits 30:0. The bit above
/// each counter is its flag: a wrap sets the flag, and only a write of the register clears it.
#[bitfield(u64)]
#[derive(PartialEq, Eq, Hash)]
#[must_use]
pub struct DramPic {
    #[bits(31)]
    pic1: u32,
    wrapped1: bool,
    #[bits(31)]
    pic0: u32,
    wrapped0: bool,
}

impl DramPic {
    /// A guest can write all 64 bits.
    pub const WRITABLE: u64 = u64::MAX;

    /// A counter's width in bits, without its flag.
    pub const WIDTH: u32 = Self::PIC0_BITS as u32;

    /// Returns one of the two counters, without its flag: 0 to 2^31 - 1.
    pub const fn counter(self, counter: Counter) -> u32 {
        match counter {
            Counter::Pic0 => self.pic0(),
            Counter::Pic1 => self.pic1(),
        }
    }

    /// Returns the register with `value` for `counter`, and all other bits unchanged. Fails for a value above 2^31 - 1.
    pub const fn with_counter(self, counter: Counter, value: u32) -> Result<Self, OutOfRange> {
        let changed = match counter {
            Counter::Pic0 => self.with_pic0_checked(value),
            Counter::Pic1 => self.with_pic1_checked(value),
        };
        match changed {
            Ok(changed) => Ok(changed),
            Err(()) => Err(OutOfRange::new(
                "count of a DRAM counter",
                value as u64,
                0,
                (1 << Self::WIDTH) - 1,
            )),
        }
    }

    /// Returns a counter and its flag.
    pub const fn reading(self, counter: Counter) -> Reading<{ Self::WIDTH }, true> {
        Reading::new(match counter {
            Counter::Pic0 => self.into_bits() >> 32,
            Counter::Pic1 => self.into_bits(),
        })
    }

    /// Returns the counters that have wrapped since their flags were last cleared.
    pub const fn wrapped(self) -> CounterSet {
        CounterSet::new(self.wrapped0(), self.wrapped1())
    }

    /// Returns the register with the flags of `counters` set, and the other flags clear.
    pub const fn with_wrapped(self, counters: CounterSet) -> Self {
        self.with_wrapped0(counters.contains(Counter::Pic0))
            .with_wrapped1(counters.contains(Counter::Pic1))
    }
}
