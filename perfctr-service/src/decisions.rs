//! The decisions of the service, as functions without atomics and devices, for proofs. Any release may change these functions.
//!
//! - [`turns`]: which strand gets a hub next.
//! - [`judgement`]: whether a unit that stays busy is broken.
//! - [`protocol`]: how rights pass from guest to guest.

pub use crate::hubs::turns;
pub use crate::progress::judgement;
pub use crate::rights::protocol;
