//! A model of a strand's counters (FWARC/2007/529 section 2.1), based on the public sources of the UltraSPARC T2. The T2 Plus may differ.

mod delayed;
mod skid;
#[cfg(test)]
mod tests;

use guest_abi::Counter;
use guest_abi::layout::{SparcPcr, SparcPic, SparcSelect};
use guest_abi::sampling::{CounterSet, SparcMode};

use delayed::DelayedUpdates;
pub use delayed::Phase;
pub use skid::Early;

/// For each class, the MASK bits that a counter counts in the current mode. Indices 0 to 7 are classes of completed instructions, 8
/// to 15 of flushed instructions.
type Counted = [u8; 16];

/// %pcr and %pic of one strand, and bit 15 of its %softint. After reset all are 0, and the strand is in user mode and takes interrupts.
///
/// The unit sets OVn when counter n wraps. With TOEn it sets OVn earlier, as [`Early`] states. A write with HOLDOVn does not change OVn.
///
/// - The trap is requested as long as an OV bit and its TOE bit are both set. An event of a flushed instruction also briefly requests the
///   trap if it would overflow a counter that does not count flushed instructions.
/// - A request sets bit 15 of %softint if the strand takes interrupts and is not in hyperprivileged mode. Bit 15 causes the trap
///   (tt 0x4f), and stays set until the handler clears it.
///
/// By default PIC shows every event immediately. [`set_phase`](Self::set_phase) makes the unit update PIC every 8 clocks, as hardware does.
#[derive(Clone, Debug)]
pub struct StrandUnit {
    /// The register without HOLDOV.
    pcr: SparcPcr,
    pic: [u32; 2],
    counted: [Counted; 2],
    /// A limit for each counter. Events up to the limit only increment the counter. Events that wrap the counter, or raise it above
    /// the limit, also need [`handle_above_limit`](Self::handle_above_limit).
    limits: [u32; 2],
    early: Early,
    mode: SparcMode,
    interruptible: bool,
    softint: bool,
    delayed: Option<DelayedUpdates>,
}

impl StrandUnit {
    /// Returns the counters of a strand after reset.
    pub const fn new() -> Self {
        Self {
            pcr: SparcPcr::new(),
            pic: [0; 2],
            counted: [[0; 16]; 2],
            limits: [u32::MAX; 2],
            early: Early::EXACT,
            mode: SparcMode::User,
            interruptible: true,
            softint: false,
            delayed: None,
        }
    }

    /// Returns %pcr. HOLDOV reads as 0.
    pub fn pcr(&self) -> u64 {
        self.pcr.into_bits()
    }

    /// Writes bits 31:0 of %pcr, as hyperprivileged code does. OV bits that HOLDOV protects do not change.
    pub fn set_pcr(&mut self, value: u64) {
        let held = SparcPcr::from_bits(value).holds();
        let written = SparcPcr::from_bits(value & SparcPcr::READBACK_MASK);
        let overflows = written.overflows().without(held) | self.pcr.overflows().intersection(held);
        let before = core::mem::replace(&mut self.pcr, written.with_overflows(overflows));
        if let Some(delayed) = &mut self.delayed {
            delayed.discard(counters_losing_events(before, self.pcr));
        }
        self.update_selection();
        self.request();
    }

    /// Writes %pcr, as privileged code does: HT does not change.
    pub fn set_pcr_privileged(&mut self, value: u64) {
        let ht = self.pcr() & SparcPcr::HT;
        self.set_pcr(value & !SparcPcr::HT | ht);
    }

    /// Returns `true` if an OV bit and its TOE bit are both set, which requests the overflow trap.
    pub fn trap_requested(&self) -> bool {
        !self.pcr.trapping().is_empty()
    }

    /// Returns bit 15 of %softint: the overflow trap happens once the strand takes interrupts.
    pub fn softint(&self) -> bool {
        self.softint
    }

    /// Writes bit 15 of %softint. A trap that is still requested sets the bit again immediately if the strand takes interrupts.
    pub fn set_softint(&mut self, set: bool) {
        self.softint = set;
        self.request();
    }

    /// Sets whether the strand takes interrupts of level 15. It takes them if PSTATE.IE is 1 and %pil is below 15.
    pub fn set_interruptible(&mut self, interruptible: bool) {
        self.interruptible = interruptible;
        self.request();
    }

    /// Sets the maximum number of events by which an overflow trap precedes the wrap.
    pub fn set_early(&mut self, early: Early) {
        self.early = early;
        self.update_selection();
    }

    /// Sets when PIC shows new events: every 8 clocks of [`pass`](Self::pass), or immediately if `phase` is `None`. Drops the events that
    /// PIC does not show yet.
    ///
    /// With updates every 8 clocks, a read of PIC misses up to 8 events of each counter. After a write of PIC, an update can still
    /// add up to 7 earlier events. A write of %pcr that clears UT, ST or HT, or changes the SL of a counter, loses up to 8 events
    /// of each affected counter.
    pub fn set_phase(&mut self, phase: Option<Phase>) {
        self.delayed = phase.map(DelayedUpdates::new);
        self.update_selection();
    }

    /// Lets clocks pass, which matters only if PIC is updated every 8 clocks.
    pub fn pass(&mut self, clocks: u64) {
        if let Some(delayed) = &mut self.delayed {
            let arrived = delayed.pass(clocks);
            for counter in Counter::ALL.iter().copied() {
                let pic = &mut self.pic[counter.index()];
                let (sum, wrapped) = pic.overflowing_add(arrived[counter.index()]);
                *pic = sum;
                if wrapped {
                    self.overflow(counter.into());
                }
            }
        }
    }

    /// Returns %pic: counter 0 in bits 31:0, counter 1 in bits 63:32.
    pub fn pic(&self) -> u64 {
        let [pic0, pic1] = self.pic;
        SparcPic::new().with_pic0(pic0).with_pic1(pic1).into_bits()
    }

    /// Writes %pic, and so both counters, at the end of the current clock. The write replaces an update of PIC that is due then.
    pub fn set_pic(&mut self, value: u64) {
        if let Some(delayed) = &mut self.delayed {
            delayed.cancel_due();
        }
        let value = SparcPic::from_bits(value);
        self.pic = [value.pic0(), value.pic1()];
    }

    /// Returns the current mode: user, privileged or hyperprivileged.
    pub fn mode(&self) -> SparcMode {
        self.mode
    }

    /// Switches the strand to `mode`. An overflow trap that waited for the end of hyperprivileged mode sets bit 15 of %softint now.
    pub fn set_mode(&mut self, mode: SparcMode) {
        self.mode = mode;
        self.update_selection();
        self.request();
    }

    /// Returns how many events a counter with TOE can still count without requesting a trap. If both counters have TOE, returns the smaller
    /// number. Returns 0 if a counter with TOE counts idle clocks, because [`count`](Self::count) may add any number of them. Returns
    /// `u64::MAX` if no counter can request the trap.
    pub fn events_before_trap(&self) -> u64 {
        let trapping = Counter::ALL
            .iter()
            .filter(|counter| self.is_counting() && self.pcr.traps().contains(**counter));
        let left = trapping.map(|counter| match self.pcr.select(*counter).base_class() {
            0 => 0,
            _ => (self.early.threshold()).saturating_sub(self.pic[counter.index()]),
        });
        left.min().map_or(u64::MAX, u64::from)
    }

    /// Counts `n` clocks. In each clock, all events that `events` selects happen together. Events of classes 8 to 15 belong to a flushed
    /// instruction.
    ///
    /// If events of one class happen in the same clock, report them in one call. If PIC is updated every 8 clocks, the first of the `n`
    /// clocks is the current clock.
    #[inline(always)]
    pub fn count(&mut self, events: impl Into<SparcSelect>, n: u32) {
        let events = events.into();
        let class = usize::from(events.class() & 0xf);
        let mask = happening(events);
        let [counted0, counted1] = &self.counted;
        let any = n != 0;
        let hit0 = any & (counted0[class] & mask != 0);
        let hit1 = any & (counted1[class] & mask != 0);
        if events.counts_flushed() & any {
            self.trap_on_flushed(events);
        }
        let [pic0, pic1] = &mut self.pic;
        let (sum0, wrapped0) = pic0.overflowing_add(u32::from(hit0) * n);
        let (sum1, wrapped1) = pic1.overflowing_add(u32::from(hit1) * n);
        (*pic0, *pic1) = (sum0, sum1);
        let [limit0, limit1] = self.limits;
        let (over0, over1) = (wrapped0 | (sum0 > limit0), wrapped1 | (sum1 > limit1));
        if (over0 & hit0) | (over1 & hit1) {
            self.handle_above_limit(CounterSet::new(over0 & hit0, over1 & hit1), n);
        }
    }

    /// Handles counters that `n` events have wrapped, or have raised above the limit in [`limits`](Self::limits).
    #[cold]
    fn handle_above_limit(&mut self, counters: CounterSet, n: u32) {
        if self.delayed.is_none() {
            return self.overflow(counters);
        }
        // PIC already includes the `n` events, but must not show them before the next update, so take them back and let them wait.
        for counter in counters.iter() {
            let pic = &mut self.pic[counter.index()];
            *pic = pic.wrapping_sub(n);
        }
        for clock in 0..n {
            if clock > 0 {
                self.pass(1);
            }
            self.overflow(self.near_wrap().intersection(counters));
            if let Some(delayed) = &mut self.delayed {
                delayed.wait(counters);
            }
        }
    }

    /// Requests the trap, without OV, if an event of a flushed instruction would overflow a counter that does not count the event.
    #[cold]
    fn trap_on_flushed(&mut self, events: SparcSelect) {
        let selecting = Counter::ALL.iter().copied().filter(|counter| {
            let select = self.pcr.select(*counter);
            !select.counts_flushed()
                && select.base_class() == events.base_class()
                && happening(select) & happening(events) != 0
        });
        let selecting: CounterSet = selecting.collect();
        if self.is_counting() && !self.near_wrap().intersection(selecting).is_empty() {
            self.interrupt();
        }
    }

    /// Returns the counters with TOE whose next event sets OV, even if the counter does not wrap.
    #[inline(always)]
    fn near_wrap(&self) -> CounterSet {
        let [near0, near1] = self.pic.map(|pic| pic >= self.early.threshold());
        CounterSet::new(near0, near1).intersection(self.pcr.traps())
    }

    #[inline(always)]
    fn overflow(&mut self, counters: CounterSet) {
        self.pcr = self.pcr.with_overflows(self.pcr.overflows() | counters);
        self.request();
    }

    #[inline(always)]
    fn request(&mut self) {
        if self.trap_requested() {
            self.interrupt();
        }
    }

    #[inline(always)]
    fn interrupt(&mut self) {
        self.softint |= self.interruptible && self.mode != SparcMode::Hyperprivileged;
    }

    #[inline(always)]
    fn is_counting(&self) -> bool {
        match self.mode {
            SparcMode::User => self.pcr.user(),
            SparcMode::Privileged => self.pcr.system(),
            SparcMode::Hyperprivileged => self.pcr.hypervisor(),
        }
    }

    // This function is inlined, because images that contain the model have few register windows left.
    #[inline(always)]
    fn update_selection(&mut self) {
        let counting = self.is_counting();
        let traps = self.pcr.traps();
        for (counter, counted) in Counter::ALL.iter().copied().zip(&mut self.counted) {
            let select = self.pcr.select(counter);
            for (class, mask) in (0_u8..).zip(counted) {
                let counts = class == select.base_class()
                    || select.counts_flushed() && class == select.class();
                *mask = if counting && counts { happening(select) } else { 0 };
            }
        }
        for (counter, limit) in Counter::ALL.iter().copied().zip(&mut self.limits) {
            *limit = if self.delayed.is_some() {
                0
            } else if traps.contains(counter) {
                self.early.threshold()
            } else {
                u32::MAX
            };
        }
    }
}

/// Returns the MASK of a select. Class 0 has one event, and MASK does not select it.
const fn happening(select: SparcSelect) -> u8 {
    match select.base_class() {
        0 => u8::MAX,
        _ => select.mask(),
    }
}

/// Returns the counters whose waiting events are lost when %pcr changes from `before` to `after`.
fn counters_losing_events(before: SparcPcr, after: SparcPcr) -> CounterSet {
    let mode = before.user() && !after.user()
        || before.system() && !after.system()
        || before.hypervisor() && !after.hypervisor();
    let changed = |counter: &Counter| {
        mode || before.select(*counter).class() != after.select(*counter).class()
    };
    Counter::ALL.iter().copied().filter(changed).collect()
}
