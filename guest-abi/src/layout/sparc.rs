//! The strand's own performance registers, ASR 16 and 17 (FWARC/2007/529 section 2.1).

use core::fmt;

use bitfield_struct::bitfield;

use super::{EventSelect, ReservedEvent, ones};
use crate::counter::{Counter, CounterSet};
use crate::event::SparcEvent;

/// SPARC PCR, %pcr (ASR 16). Privileged code can write all bits except HT.
///
/// [`new`](Self::new) returns all zeros, which counts nothing because no mode is enabled. To count only one event, begin with
/// [`OFF`](Self::OFF): a counter with select 0 counts idle clocks as soon as a mode is enabled.
#[bitfield(u64)]
#[derive(PartialEq, Eq, Hash)]
#[must_use]
pub struct SparcPcr {
    pv: bool,
    st: bool,
    ut: bool,
    ht: bool,
    toe0: bool,
    toe1: bool,
    mask0: u8,
    #[bits(4)]
    sl0: u8,
    ov0: bool,
    mask1: u8,
    #[bits(4)]
    sl1: u8,
    ov1: bool,
    #[bits(30)]
    __: u32,
    holdov0: bool,
    holdov1: bool,
}

super::fields! {
    SparcPcr {
        /// PRIV: user code may neither read nor write the counters.
        privileged, with_privileged: bool = pv, with_pv;
        /// ST: count in privileged mode.
        system, with_system: bool = st, with_st;
        /// UT: count in user mode.
        user, with_user: bool = ut, with_ut;
        /// HT: count in hyperprivileged mode. Only the hypervisor can write this bit.
        hypervisor, with_hypervisor: bool = ht, with_ht;
    }
}

/// The select of a SPARC counter: an event class (SL), and the counted events of the class (MASK). The event tables write both as
/// one number, with SL in bits 11:8 and MASK in bits 7:0.
///
/// - A counter counts the clocks in which at least one of the selected events happens. For example, with the select 0x203 a taken
///   branch counts as 1, although both bits of MASK select taken branches.
/// - Classes 8 to 15 have the events of classes 0 to 7, and also count instructions that are flushed because they trap.
/// - Class 0 counts the clocks in which no strand of the core issues an instruction, no matter what MASK is. To stop one counter, select
///   [`OFF`](Self::OFF), not 0.
// This is not a bit field, because `new` has to keep bits 15:12 at 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub struct SparcSelect(u16);

impl SparcSelect {
    /// Counts nothing: class 2 with an empty MASK.
    pub const OFF: Self = Self(0x200);

    /// Returns the select of `class` (0 to 15) and `mask`; `None` if the class is above 15.
    pub const fn new(class: u8, mask: u8) -> Option<Self> {
        if class < 16 { Some(Self((class as u16) << 8 | mask as u16)) } else { None }
    }

    /// Returns the event class, SL: 0 to 15.
    pub const fn class(self) -> u8 {
        (self.0 >> 8) as u8
    }

    /// Returns the class without its highest bit: 0 to 7. The highest bit adds the events of flushed instructions.
    pub const fn base_class(self) -> u8 {
        self.class() & 7
    }

    /// Returns `true` if the events of flushed instructions are counted too, as in classes 8 to 15.
    pub const fn counts_flushed(self) -> bool {
        self.class() >= 8
    }

    /// Returns the events of the class, MASK.
    pub const fn mask(self) -> u8 {
        self.0 as u8
    }

    /// Returns the select with SL in bits 11:8 of `code` and MASK in bits 7:0. Ignores other bits.
    pub const fn from_code(code: u16) -> Self {
        Self(code & 0xfff)
    }

    /// Returns `SL << 8 | MASK`.
    pub const fn code(self) -> u16 {
        self.0
    }
}

/// Writes the event's name, such as `Instr_ld`; `off` for [`SparcSelect::OFF`]; or else the class and the mask: `class 2 mask 0x03`.
impl fmt::Display for SparcSelect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match SparcEvent::from_code(self.0) {
            Some(event) => event.fmt(f),
            None if *self == Self::OFF => f.pad("off"),
            None => write!(f, "class {} mask {:#04x}", self.class(), self.mask()),
        }
    }
}

impl fmt::Debug for SparcSelect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SparcSelect({self})")
    }
}

impl From<SparcEvent> for SparcSelect {
    fn from(event: SparcEvent) -> Self {
        Self::from_code(event.code())
    }
}

impl SparcPcr {
    /// Both counters off, and no mode enabled.
    pub const OFF: Self = Self::new()
        .with_select(Counter::Pic0, SparcSelect::OFF)
        .with_select(Counter::Pic1, SparcSelect::OFF);

    /// The bits that read back as written. HOLDOV reads as 0.
    pub const READBACK_MASK: u64 = 0xffff_ffff;

    /// The HT bit, bit 3.
    pub const HT: u64 = ones(Self::HT_OFFSET, Self::HT_BITS);

    /// Returns the select of a counter. The select need not be in the event tables.
    pub const fn select(self, counter: Counter) -> SparcSelect {
        let (class, mask) = match counter {
            Counter::Pic0 => (self.sl0(), self.mask0()),
            Counter::Pic1 => (self.sl1(), self.mask1()),
        };
        SparcSelect::from_code((class as u16) << 8 | mask as u16)
    }

    /// Returns the register with `select` for `counter`, and all other bits unchanged.
    pub const fn with_select(self, counter: Counter, select: SparcSelect) -> Self {
        match counter {
            Counter::Pic0 => self.with_sl0(select.class()).with_mask0(select.mask()),
            Counter::Pic1 => self.with_sl1(select.class()).with_mask1(select.mask()),
        }
    }

    /// Returns the counters that have overflowed since their OV was last cleared. Hardware sets OV up to 15 events early if TOE is set.
    pub const fn overflows(self) -> CounterSet {
        CounterSet::new(self.ov0(), self.ov1())
    }

    /// Returns the register with OV set for `counters`, and clear for the other counters.
    pub const fn with_overflows(self, counters: CounterSet) -> Self {
        self.with_ov0(counters.contains(Counter::Pic0)).with_ov1(counters.contains(Counter::Pic1))
    }

    /// Returns the counters that trap when they overflow (TOE). The trap is pending while OV and TOE are set, even if software set OV.
    pub const fn traps(self) -> CounterSet {
        CounterSet::new(self.toe0(), self.toe1())
    }

    /// Returns the register with TOE set for `counters`, and clear for the other counters.
    pub const fn with_traps(self, counters: CounterSet) -> Self {
        self.with_toe0(counters.contains(Counter::Pic0)).with_toe1(counters.contains(Counter::Pic1))
    }

    /// Returns the register with `counter` off: the counter neither counts nor traps. All other bits stay, including OV.
    pub const fn without(self, counter: Counter) -> Self {
        self.with_select(counter, SparcSelect::OFF)
            .with_traps(self.traps().without(CounterSet::only(counter)))
    }

    /// Returns the counters with HOLDOV: a write of this value does not change their OV bits. HOLDOV reads as 0.
    pub const fn holds(self) -> CounterSet {
        CounterSet::new(self.holdov0(), self.holdov1())
    }

    /// Returns the register with HOLDOV set for `counters`, and clear for the other counters.
    pub const fn with_holds(self, counters: CounterSet) -> Self {
        self.with_holdov0(counters.contains(Counter::Pic0))
            .with_holdov1(counters.contains(Counter::Pic1))
    }

    /// Returns the counters whose trap is pending: OV and TOE are both set.
    pub const fn trapping(self) -> CounterSet {
        self.overflows().intersection(self.traps())
    }

    /// Returns the value to write to stop counting. The write does not change OV, even if a counter
    /// overflows just before the write. The last events before the write, up to 8 of each counter,
    /// are lost: see [`StrandCounters`](crate::guest::StrandCounters).
    pub const fn stopped(self) -> Self {
        self.acknowledging(CounterSet::NONE)
            .with_user(false)
            .with_system(false)
            .with_hypervisor(false)
    }

    /// Returns the value to write to clear OV of `counters`. The write loses no overflow of the other counter.
    pub const fn acknowledging(self, counters: CounterSet) -> Self {
        self.with_overflows(self.overflows().without(counters))
            .with_holds(CounterSet::BOTH.without(counters))
    }
}

impl EventSelect for SparcPcr {
    type Event = SparcEvent;

    /// Bits 63:62 are HOLDOV.
    const WRITABLE: u64 = 0xc000_0000_ffff_ffff;

    fn field(counter: Counter) -> u64 {
        match counter {
            Counter::Pic0 => ones(Self::MASK0_OFFSET, Self::MASK0_BITS + Self::SL0_BITS),
            Counter::Pic1 => ones(Self::MASK1_OFFSET, Self::MASK1_BITS + Self::SL1_BITS),
        }
    }

    fn with_event(self, counter: Counter, event: SparcEvent) -> Self {
        self.with_select(counter, event.into())
    }

    fn code(self, counter: Counter) -> u16 {
        self.select(counter).code()
    }

    fn event(self, counter: Counter) -> Result<SparcEvent, ReservedEvent> {
        let code = self.code(counter);
        SparcEvent::from_code(code).ok_or(ReservedEvent(code))
    }
}

/// SPARC PIC, %pic (ASR 17): two 32-bit counters.
#[bitfield(u64)]
#[derive(PartialEq, Eq, Hash)]
#[must_use]
pub struct SparcPic {
    first: u32,
    second: u32,
}

super::fields! {
    SparcPic {
        /// Counter 0, bits 31:0.
        pic0, with_pic0: u32 = first, with_first;
        /// Counter 1, bits 63:32.
        pic1, with_pic1: u32 = second, with_second;
    }
}

impl SparcPic {
    /// Returns the register with `value` for `counter`, and the other counter unchanged.
    pub const fn with_counter(self, counter: Counter, value: u32) -> Self {
        match counter {
            Counter::Pic0 => self.with_pic0(value),
            Counter::Pic1 => self.with_pic1(value),
        }
    }

    /// A counter's width in bits: 32.
    pub const WIDTH: u32 = Self::FIRST_BITS as u32;

    /// Returns the value of one of the two counters.
    pub const fn counter(self, counter: Counter) -> u32 {
        match counter {
            Counter::Pic0 => self.pic0(),
            Counter::Pic1 => self.pic1(),
        }
    }
}
