//! Places where a late fault comes, and addresses of stores. The guest passes the place to software trap 0x84 in %o0,
//! and the address in %o5.

/// The fault comes at the guest's next instruction.
pub const NEXT: u64 = 0;
/// The fault comes where the hypervisor waits for its own next store on the slow path.
pub const STORE: u64 = 1;
/// The fault comes where the next call on the slow path waits for earlier stores.
pub const SLOW: u64 = 2;
/// The fault comes in the next get of a DRAM register, at its access on the fast path.
pub const LOAD: u64 = 3;
/// The fault comes in the hypervisor's function for software trap 0x84, when it is called again.
pub const RUST: u64 = 4;
/// The fault comes at the next store to a hub on the fast path.
pub const STORE_TO_HUB: u64 = 5;
/// The fault comes in the last instruction of the handler of the next trap.
pub const HANDLER: u64 = 6;
/// The fault comes where the fast path waits for the next store to a hub. The board traps there.
pub const WAIT: u64 = 7;
/// The fault comes where the next call of trap 0xff waits for earlier stores.
pub const CORE: u64 = 8;

/// The address of a store whose late fault makes the hypervisor's handler trap again.
pub const TRAPS: u64 = 8;
