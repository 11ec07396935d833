//! The statuses that hypercalls return in %o0.

pub const EOK: u64 = 0;
/// An argument is out of range.
pub const EINVAL: u64 = 6;
/// No function with this number is available to the guest.
pub const EBADTRAP: u64 = 7;
/// The unit is in use at the moment.
pub const EWOULDBLOCK: u64 = 9;
/// The guest's grant does not cover the register.
pub const ENOACCESS: u64 = 10;
/// The register or the version does not exist.
pub const ENOTSUPPORTED: u64 = 13;
