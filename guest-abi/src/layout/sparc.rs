//! The strand's own performance registers, ASR 16 and 17 (FWARC/2007/529 section 2.1).

use bitfield_struct::bitfield;

use super::{EventSelect, ReservedEvent, ones};
use crate::counter::{Counter, CounterSet};
use crate::event::SparcEvent;

/// SPARC PCR, %pcr (ASR 16). Privileged code can write all bits except HT.
///
/// [`new`](Self::new) returns all zeros, which counts nothing because no mode is enabled. To count only one event, begin with
/// [`OFF`](Self::OFF): a counter with select 0 counts idle clocks as soon as a mode is enabled.
#[bitfield(u64)]
#[derive(PartialEq, Eq)]
pub struct SparcPcr {
    /// PRIV: user code may neither read nor write the counters.
    pub privileged: bool,
    /// ST: count in privileged mode.
    pub system: bool,
    /// UT: count in user mode.
    pub user: bool,
    /// HT: count in hyperprivileged mode. Only the hypervisor can write it.
    pub hypervisor: bool,
    /// TOE0: trap when counter 0 overflows. The trap is pending while OV0 and TOE0 are set, even if software set OV0.
    pub trap_on_overflow0: bool,
    /// TOE1: trap when counter 1 overflows, as TOE0 does for counter 0.
    pub trap_on_overflow1: bool,
    /// MASK0: the events of the class SL0 that counter 0 counts.
    pub mask0: u8,
    /// SL0: event class of counter 0.
    #[bits(4)]
    pub class0: u8,
    /// OV0: counter 0 has overflowed since OV0 was last cleared. If TOE0 is set, hardware sets OV0
    /// up to 15 events early.
    pub overflow0: bool,
    /// MASK1: the events of the class SL1 that counter 1 counts.
    pub mask1: u8,
    /// SL1: event class of counter 1.
    #[bits(4)]
    pub class1: u8,
    /// OV1: counter 1 has overflowed since OV1 was last cleared, as OV0 says for counter 0.
    pub overflow1: bool,
    #[bits(30)]
    __: u32,
    /// HOLDOV0: a write with HOLDOV0 does not change OV0. Reads as 0.
    pub hold_overflow0: bool,
    /// HOLDOV1: a write with HOLDOV1 does not change OV1. Reads as 0.
    pub hold_overflow1: bool,
}

/// The select of a SPARC counter: an event class (SL), and the counted events of the class (MASK). The event tables write both as
/// one number, with SL in bits 11:8 and MASK in bits 7:0.
///
/// - A counter counts the clocks in which at least one of the selected events happens. A taken branch counts 1 under 0x203,
///   although both bits of MASK select it.
/// - Classes 8 to 15 have the events of classes 0 to 7, and also count instructions that are flushed because they trap.
/// - Class 0 counts the clocks in which no strand of the core issues an instruction, whatever MASK is. To stop one counter, select
///   [`OFF`](Self::OFF), not 0.
// Not a bit field: `new` keeps bits 15:12 at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SparcSelect(u16);

impl SparcSelect {
    /// Counts nothing: class 2 with an empty MASK.
    pub const OFF: Self = Self(0x200);

    /// Returns the select of `class` (0 to 15) and `mask`; `None` for a class beyond 15.
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

    /// Returns `true` if the events of flushed instructions count too, as in classes 8 to 15.
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
    pub const KEPT: u64 = 0xffff_ffff;

    /// The HT bit, bit 3.
    pub const HT: u64 = ones(Self::HYPERVISOR_OFFSET, Self::HYPERVISOR_BITS);

    /// Returns the select of a counter. The select need not be in the event tables.
    pub const fn select(self, counter: Counter) -> SparcSelect {
        let (class, mask) = match counter {
            Counter::Pic0 => (self.class0(), self.mask0()),
            Counter::Pic1 => (self.class1(), self.mask1()),
        };
        SparcSelect::from_code((class as u16) << 8 | mask as u16)
    }

    /// Returns the register with `select` for `counter`, and all other bits unchanged.
    #[must_use]
    pub const fn with_select(self, counter: Counter, select: SparcSelect) -> Self {
        match counter {
            Counter::Pic0 => self.with_class0(select.class()).with_mask0(select.mask()),
            Counter::Pic1 => self.with_class1(select.class()).with_mask1(select.mask()),
        }
    }

    /// Returns the counters that have overflowed (OV).
    pub const fn overflows(self) -> CounterSet {
        CounterSet::new(self.overflow0(), self.overflow1())
    }

    /// Returns the register with OV set for `counters`, and clear for the other counters.
    #[must_use]
    pub const fn with_overflows(self, counters: CounterSet) -> Self {
        self.with_overflow0(counters.contains(Counter::Pic0))
            .with_overflow1(counters.contains(Counter::Pic1))
    }

    /// Returns the counters that trap when they overflow (TOE).
    pub const fn traps(self) -> CounterSet {
        CounterSet::new(self.trap_on_overflow0(), self.trap_on_overflow1())
    }

    /// Returns the register with TOE set for `counters`, and clear for the other counters.
    #[must_use]
    pub const fn with_traps(self, counters: CounterSet) -> Self {
        self.with_trap_on_overflow0(counters.contains(Counter::Pic0))
            .with_trap_on_overflow1(counters.contains(Counter::Pic1))
    }

    /// Returns the register with `counter` off: it neither counts nor traps. All other bits stay, including OV.
    #[must_use]
    pub const fn without(self, counter: Counter) -> Self {
        self.with_select(counter, SparcSelect::OFF)
            .with_traps(self.traps().without(CounterSet::only(counter)))
    }

    /// Returns the counters with HOLDOV: a write of this value does not change their OV bits.
    pub const fn holds(self) -> CounterSet {
        CounterSet::new(self.hold_overflow0(), self.hold_overflow1())
    }

    /// Returns the counters whose trap is pending: OV and TOE are both set.
    pub const fn trapping(self) -> CounterSet {
        self.overflows().intersection(self.traps())
    }

    /// Returns the value to write to stop counting. The write does not change OV, even if a counter
    /// overflows just before the write. The last events before the write, up to 8 of each counter,
    /// are lost: see [`StrandCounters`](crate::guest::StrandCounters).
    #[must_use]
    pub const fn stopped(self) -> Self {
        self.acknowledging(CounterSet::NONE)
            .with_user(false)
            .with_system(false)
            .with_hypervisor(false)
    }

    /// Returns the value to write to clear OV of `counters`. The write loses no overflow of the other counter.
    #[must_use]
    pub const fn acknowledging(self, counters: CounterSet) -> Self {
        self.with_overflows(self.overflows().without(counters))
            .with_hold_overflow0(!counters.contains(Counter::Pic0))
            .with_hold_overflow1(!counters.contains(Counter::Pic1))
    }
}

impl EventSelect for SparcPcr {
    type Event = SparcEvent;

    /// Bits 63:62 are HOLDOV.
    const WRITABLE: u64 = 0xc000_0000_ffff_ffff;

    fn field(counter: Counter) -> u64 {
        match counter {
            Counter::Pic0 => ones(Self::MASK0_OFFSET, Self::MASK0_BITS + Self::CLASS0_BITS),
            Counter::Pic1 => ones(Self::MASK1_OFFSET, Self::MASK1_BITS + Self::CLASS1_BITS),
        }
    }

    fn with_event(self, counter: Counter, event: SparcEvent) -> Self {
        self.with_select(counter, event.into())
    }

    fn event(self, counter: Counter) -> Result<SparcEvent, ReservedEvent> {
        let code = self.select(counter).code();
        SparcEvent::from_code(code).ok_or(ReservedEvent(code))
    }
}

/// SPARC PIC, %pic (ASR 17): two 32-bit counters.
#[bitfield(u64)]
#[derive(PartialEq, Eq)]
pub struct SparcPic {
    /// Counter 0, bits 31:0.
    pub pic0: u32,
    /// Counter 1, bits 63:32.
    pub pic1: u32,
}

impl SparcPic {
    /// Returns the register with `value` for `counter`, and the other counter unchanged.
    #[must_use]
    pub const fn with_counter(self, counter: Counter, value: u32) -> Self {
        match counter {
            Counter::Pic0 => self.with_pic0(value),
            Counter::Pic1 => self.with_pic1(value),
        }
    }

    /// The number of bits of a counter: 32.
    pub const WIDTH: u32 = Self::PIC0_BITS as u32;

    /// Returns the value of counter 0 or 1.
    pub const fn counter(self, counter: Counter) -> u32 {
        match counter {
            Counter::Pic0 => self.pic0(),
            Counter::Pic1 => self.pic1(),
        }
    }
}
