//! Decides whether a unit that stays busy is stuck. [`Watch::step`] returns the next state of a strand's watch.
//!
//! A strand that asks for a unit and does not get it reads three counts of the unit, and its own clock: this is a *look* at the unit. The
//! time since the strand's last look counts as *waited* if the unit was busy at both looks, no access has ended in between, and the time is
//! at most [`BUSY_PAUSE_TICKS`]. Otherwise the watch restarts. A unit is stuck when a strand has waited [`BUSY_LIMIT_TICKS`], 32 times the
//! longest pause. By then, the strand has found the unit busy at least 32 times, and has never paused for longer than [`BUSY_PAUSE_TICKS`].
//! No access has ended in that time.
//!
//! - A clock that goes back restarts the watch, because the difference wraps to a large number. A jump forward by more than a pause
//!   restarts the watch too. Equal readings add nothing. (A smaller jump adds at most one pause, so smaller jumps can make a unit seem
//!   stuck only if there are 32 or more looks in a row during one access.)
//! - A strand that is refused in another strand's turn does not learn whether the chip is busy. The look finds the unit busy if a busy
//!   chip has refused an access to the unit since the strand's previous look. If not, the look adds no time, and the next look that finds
//!   the unit busy adds the time since the strand last found the unit busy.
//! - Similarly, a strand that cannot enter the gate has found the unit busy if no strand has entered since its last look.

/// A unit that stays busy for this long is stuck: about one second, in ticks of %stick.
pub const BUSY_LIMIT_TICKS: u64 = 1 << 30;
/// The longest time between two looks that is counted as waited, in ticks of %stick: about 30 ms, three ticks of a kernel's clock.
pub const BUSY_PAUSE_TICKS: u64 = BUSY_LIMIT_TICKS / 32;

/// Counts of what happens at a unit. The counts may wrap, because only their differences matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct UnitCounts {
    /// The number of accesses that have ended.
    pub ended: u32,
    /// The number of accesses that a busy chip has refused.
    pub chip_busy: u32,
    /// The number of times that a strand entered the unit's gate.
    pub entered: u32,
}

/// Why a strand that asked for a unit did not get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// Another access is in flight, or the chip is busy.
    Busy,
    /// Another strand has the turn.
    Turn,
    /// The strand could not enter the gate.
    Locked,
}

/// A strand's watch of a unit that it has found busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Watch {
    /// The unit's counts at the strand's last look.
    pub counts: UnitCounts,
    /// When the strand last found the unit busy.
    pub last: u64,
    /// How many ticks the strand has waited; `None` if it has not found the unit busy since the watch restarted.
    pub waited: Option<u32>,
}

impl Watch {
    /// Evaluates a look at a unit that the strand did not get. Returns the next state, and `true` if the unit is stuck.
    pub fn step(mut self, found: WaitReason, counts: UnitCounts, now: u64) -> (Self, bool) {
        let before = core::mem::replace(&mut self.counts, counts);
        let busy = match found {
            WaitReason::Busy => true,
            WaitReason::Turn => counts.chip_busy != before.chip_busy,
            WaitReason::Locked => counts.entered == before.entered,
        };
        self.waited = self.waited.filter(|_| counts.ended == before.ended);
        if !busy {
            return (self, false);
        }
        let since_last = now.wrapping_sub(core::mem::replace(&mut self.last, now));
        let waited = match self.waited {
            Some(waited) if since_last <= BUSY_PAUSE_TICKS => u64::from(waited) + since_last,
            _ => 0,
        };
        self.waited = Some(waited.min(BUSY_LIMIT_TICKS) as u32);
        (self, waited >= BUSY_LIMIT_TICKS)
    }
}
