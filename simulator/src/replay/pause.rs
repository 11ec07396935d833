//! Limits on what a replay executes before it pauses, and before it reads the counters.

use crate::memory::Config;

/// The maximum number of references without a pause, if the DRAM channels are as fast as a T2 Plus's.
const MAX_PAUSE_INTERVAL: u64 = 1 << 14;

/// The maximum number of references between two reads of the counters. With more, a 31-bit counter could wrap twice.
pub(super) const MAX_UNREAD_REFERENCES: u64 = 1_000_000;

/// The maximum number of cycles that lines may spend in a DRAM channel's queue between two reads of the counters. With more, a
/// 31-bit counter could wrap twice.
pub(super) const MAX_UNREAD_CYCLES: u64 = 1 << 30;

/// Returns the maximum number of references without a pause. Slow DRAM channels need more frequent pauses, because lines wait
/// longer and [`MAX_UNREAD_CYCLES`] are reached sooner.
pub(super) fn pause(memory: &Config) -> u64 {
    let slower = |config: &Config| config.timing.channel_read.max(config.timing.channel_write);
    let (own, usual) = (slower(memory), slower(&Config::T2_PLUS));
    MAX_PAUSE_INTERVAL * usual / own.max(usual)
}
