//! The decisions of the service. They are public only so that proofs can call them, and any release may change them. Three modules have
//! functions without atomics and devices:
//!
//! - [`turns`]: which strand gets a hub next.
//! - [`judgement`]: whether a unit that stays busy is broken.
//! - [`protocol`]: how rights pass from guest to guest.
//!
//! The module [`machine`] keeps the rights of a machine in atomics, and also has no devices.

pub use crate::hubs::turns;
pub use crate::progress::judgement;
pub use crate::rights::{machine, protocol};
