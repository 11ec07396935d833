//! The decisions of the service, as functions without atomics and without devices: for proofs. What is here may change with
//! any version.
//!
//! - [`turns`]: which strand has a hub next.
//! - [`judgement`]: whether a unit that stays busy is broken.
//! - [`protocol`]: how rights pass from guest to guest.

pub use crate::hubs::turns;
pub use crate::progress::judgement;
pub use crate::rights::protocol;
