//! The service's decisions. They are public only so that proofs can call them, and any release may change them. The functions of these
//! three modules use neither atomics nor devices:
//!
//! - [`turns`]: which strand gets a hub next.
//! - [`judgement`]: whether a unit that stays busy is broken.
//! - [`protocol`]: how rights pass from guest to guest.
//!
//! The module [`machine`] keeps a machine's rights in atomics, but has no devices either.

pub use crate::hubs::turns;
pub use crate::progress::judgement;
pub use crate::rights::{machine, protocol};
