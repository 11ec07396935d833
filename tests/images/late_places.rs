//! Places where a late fault comes, and addresses of stores. The guest passes the place to software trap 0x84 in %o0,
//! and the address in %o5.

/// At the guest's next instruction.
pub const NEXT: u64 = 0;
/// Where the hypervisor waits for its own next store on the slow path.
pub const STORE: u64 = 1;
/// Where the next call on the slow path waits for earlier stores.
pub const SLOW: u64 = 2;
/// In the next get of a DRAM register, at its access on the fast path.
pub const LOAD: u64 = 3;
/// In the hypervisor's function for software trap 0x84, when it is called again.
pub const RUST: u64 = 4;
/// At the next store to a hub on the fast path.
pub const STORE_TO_HUB: u64 = 5;
/// In the last instruction of the handler of the next trap.
pub const HANDLER: u64 = 6;
/// Where the fast path waits for the next store to a hub: the board traps there.
pub const WAIT: u64 = 7;
/// Where the next call of trap 0xff waits for earlier stores.
pub const CORE: u64 = 8;

/// The address of a store whose late fault makes the hypervisor's handler trap again.
pub const TRAPS: u64 = 8;
