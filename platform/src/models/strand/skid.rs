//! The skid of overflow traps: how many events before the wrap a trap comes.

/// The maximum number of events by which an overflow trap precedes the wrap. With TOE, an event that brings the counter this close to
/// wrapping sets OV, which requests the trap. On the T2, the maximum is 15: the counter was at -16 to -1 before the event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Early(u8);

impl Early {
    /// The trap happens at the wrap.
    pub const EXACT: Self = Self(0);

    /// The trap happens as early as the hardware permits. The handler finds the counter at -15 to
    /// 0.
    pub const MAX: Self = Self(15);

    /// Returns the setting with which the trap happens up to `events` events before the wrap; `None` if `events` is above 15.
    pub const fn new(events: u8) -> Option<Self> {
        if events <= Self::MAX.0 { Some(Self(events)) } else { None }
    }

    /// Returns the lowest value of a counter at which an event sets OV.
    pub(super) const fn threshold(self) -> u32 {
        u32::MAX - self.0 as u32
    }
}
