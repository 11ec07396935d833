//! What decides in the service, public only so that proofs can call it. Any release may change it. These are functions without atomics and
//! devices:
//!
//! - [`turns`]: which strand gets a hub next.
//! - [`judgement`]: whether a unit that stays busy is broken.
//! - [`protocol`]: how rights pass from guest to guest.
//!
//! [`machine`] has the atomics: the rights of a machine, without devices.

pub use crate::hubs::turns;
pub use crate::progress::judgement;
pub use crate::rights::{machine, protocol};
