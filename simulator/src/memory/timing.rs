//! How long things take, in cycles. One reference after another: every wait adds to the machine's time.

/// An instruction is fetched, or a datum read or written, in a cache of the core.
pub const REFERENCE: u64 = 1;

/// A request of a core goes to the L2 cache of its node and back. Stores do not wait for it.
pub const L2_ACCESS: u64 = 24;

/// The other nodes of the machine are asked for a line, and answer.
pub const SNOOP: u64 = 60;

/// A line comes from the cache of another node, in addition to the snoop.
pub const CACHE_TO_CACHE: u64 = 80;

/// A line comes from memory, in addition to its time in the queue.
pub const MEMORY: u64 = 40;

/// The memory is that of another node.
pub const REMOTE: u64 = 60;

/// A DRAM channel works on one line at a time for so long, in the order of arrival. A line is in the queue
/// from its arrival until the channel has done with it. Reads are waited for, writes are not.
pub const CHANNEL: u64 = 60;
