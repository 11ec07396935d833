//! The functions that make the service's decisions. They use no atomics and no devices, and are public only so that proofs can call them.
//! Any release may change them.
//!
//! - [`turns`]: which strand gets a hub next.
//! - [`judgement`]: whether a unit that stays busy is broken.
//! - [`protocol`]: how rights pass from guest to guest.

pub use crate::hubs::turns;
pub use crate::progress::judgement;
pub use crate::rights::protocol;
