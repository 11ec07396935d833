//! A model of the counters of a strand (FWARC/2007/529 section 2.1).

use guest_abi::Counter;
use guest_abi::event::SparcEvent;
use guest_abi::layout::{EventSelect, SparcPcr, SparcPic};
use guest_abi::sampling::{CounterSet, SparcMode};

/// The MASK of each event class that a counter counts in the present mode. At most one class has a MASK other than 0.
type Counted = [u8; 16];

/// How early an overflow trap comes: the first event that leaves the counter at most this many events before its wrap
/// sets the OV bit, which raises the trap. Hardware may be 0 to 16 events early, and by a different number each time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Early(u8);

impl Early {
    /// The trap comes at the wrap.
    pub const EXACT: Self = Self(0);

    /// The trap comes as early as hardware permits: when the counter is at -16 to -1.
    pub const MOST: Self = Self(16);

    /// Returns a trap that comes up to this many events before the wrap; `None` beyond 16.
    pub const fn new(events: u8) -> Option<Self> {
        if events <= Self::MOST.0 {
            Some(Self(events))
        } else {
            None
        }
    }

    /// Returns the highest count that does not yet trap.
    const fn quiet(self) -> u32 {
        u32::MAX - self.0 as u32
    }
}

/// %pcr and %pic of one strand. After reset both are 0, and the strand runs in user mode.
///
/// The unit sets OVn when counter n wraps, or, if TOEn is set, as early as [`Early`] states. The trap is a level: it is
/// pending while an OV bit and its TOE bit are both set. A write that sets OV has the effect of an overflow.
///
/// A write with HOLDOVn set does not clear an OVn that the counter has set, so that a handler that clears one OV bit
/// cannot lose the other. HOLDOV reads back as written.
#[derive(Clone, Debug)]
pub struct StrandUnit {
    pcr: SparcPcr,
    pic: [u32; 2],
    counted: [Counted; 2],
    /// The highest value of a counter at which it does not overflow early.
    quiet: [u32; 2],
    /// The OV bits that counters have set.
    raised: CounterSet,
    early: Early,
    mode: SparcMode,
}

impl StrandUnit {
    /// Returns the counters of a strand after reset.
    pub const fn new() -> Self {
        Self {
            pcr: SparcPcr::new(),
            pic: [0; 2],
            counted: [[0; 16]; 2],
            quiet: [u32::MAX; 2],
            raised: CounterSet::NONE,
            early: Early::EXACT,
            mode: SparcMode::User,
        }
    }

    /// Returns %pcr. An OV bit is set if its counter has overflowed since a write last cleared the bit.
    pub fn pcr(&self) -> u64 {
        self.pcr.into_bits()
    }

    /// Writes %pcr, as hyperprivileged code does. Bits 63:62 and 31:0 are kept.
    pub fn set_pcr(&mut self, value: u64) {
        let pcr = SparcPcr::from_bits(value & SparcPcr::WRITABLE);
        let held = CounterSet::when(pcr.hold_overflow0(), Counter::Pic0)
            | CounterSet::when(pcr.hold_overflow1(), Counter::Pic1);
        let kept = self.raised.intersection(held);
        let overflows = pcr.overflows() | kept;
        self.raised = self.raised.intersection(overflows);
        self.pcr = pcr.with_overflows(overflows);
        self.select();
    }

    /// Writes %pcr, as privileged code does: does not change HT.
    pub fn set_pcr_privileged(&mut self, value: u64) {
        let ht = self.pcr() & SparcPcr::HT;
        self.set_pcr(value & !SparcPcr::HT | ht);
    }

    /// Returns `true` if the overflow trap is pending.
    pub fn trap_pending(&self) -> bool {
        !self.pcr.trapping().is_empty()
    }

    /// Sets how early overflow traps come.
    pub fn set_early(&mut self, early: Early) {
        self.early = early;
        self.select();
    }

    /// Returns %pic: counter 0 in bits 31:0, counter 1 in bits 63:32.
    pub fn pic(&self) -> u64 {
        let [pic0, pic1] = self.pic;
        SparcPic::new().with_pic0(pic0).with_pic1(pic1).into_bits()
    }

    /// Writes %pic, and so both counters.
    pub fn set_pic(&mut self, value: u64) {
        let value = SparcPic::from_bits(value);
        self.pic = [value.pic0(), value.pic1()];
    }

    /// Returns the mode that the strand runs in.
    pub fn mode(&self) -> SparcMode {
        self.mode
    }

    /// Changes the mode that the strand runs in.
    pub fn set_mode(&mut self, mode: SparcMode) {
        self.mode = mode;
        self.select();
    }

    /// Counts an event that happened `n` times. The event must have a single MASK bit: an event of several bits, such as
    /// [`SparcEvent::Instructions`], is the sum of events that the caller reports one by one.
    #[inline(always)]
    pub fn count(&mut self, event: SparcEvent, n: u32) {
        let code = event.code();
        let (class, bit) = (usize::from(code >> 8 & 0xf), code as u8);
        let [counted0, counted1] = &self.counted;
        let any = n != 0;
        let (hit0, hit1) = (
            any & (counted0[class] & bit != 0),
            any & (counted1[class] & bit != 0),
        );
        let [pic0, pic1] = &mut self.pic;
        let (sum0, wrapped0) = pic0.overflowing_add(u32::from(hit0) * n);
        let (sum1, wrapped1) = pic1.overflowing_add(u32::from(hit1) * n);
        (*pic0, *pic1) = (sum0, sum1);
        let [quiet0, quiet1] = self.quiet;
        let (over0, over1) = (wrapped0 | (sum0 > quiet0), wrapped1 | (sum1 > quiet1));
        if (over0 & hit0) | (over1 & hit1) {
            let over0 = CounterSet::when(over0 & hit0, Counter::Pic0);
            self.overflow(over0 | CounterSet::when(over1 & hit1, Counter::Pic1));
        }
    }

    #[cold]
    fn overflow(&mut self, counters: CounterSet) {
        self.raised = self.raised | counters;
        self.pcr = self.pcr.with_overflows(self.pcr.overflows() | counters);
    }

    fn select(&mut self) {
        let counting = match self.mode {
            SparcMode::User => self.pcr.user(),
            SparcMode::Privileged => self.pcr.system(),
            SparcMode::Hyperprivileged => self.pcr.hypervisor(),
        };
        self.counted = [Counter::Pic0, Counter::Pic1].map(|counter| {
            let select = self.pcr.select(counter);
            let mut counted = [0; 16];
            if let Some(mask) = counted
                .get_mut(usize::from(select.class()))
                .filter(|_| counting)
            {
                *mask = select.mask();
            }
            counted
        });
        let traps = self.pcr.traps();
        self.quiet = [Counter::Pic0, Counter::Pic1].map(|counter| {
            if traps.contains(counter) {
                self.early.quiet()
            } else {
                u32::MAX
            }
        });
    }
}

impl Default for StrandUnit {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
