//! API groups that guests negotiate.

use guest_abi::{ApiGroup, Version};

/// An API group that guests negotiate, with its functions. A service can be its own group.
///
/// A service may have group CORE. It then determines the versions of CORE, but serves only calls through trap 0x80: the hypervisor itself
/// serves trap 0xff.
pub trait Group {
    /// The number that guests use to negotiate the group.
    const NUMBER: ApiGroup;

    /// The group's versions, 1 to 255 of them, lowest first. Within each major number, the minor numbers count up from 0. Any other list
    /// fails the build.
    const VERSIONS: &'static [Version];

    /// The numbers of the group's FAST functions, which guests call through trap 0x80. The service gets only calls of these functions.
    const FUNCTIONS: &'static [u64];
}
