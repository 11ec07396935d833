//! The diagnosis group. In Sun's hypervisor, a guest with a special right uses the group to find
//! physical addresses and to execute hyperprivileged code.

use guest_abi::{ApiGroup, HvError, Registers, StrandId, Version};
use hv_core::{CallError, Caller, Group, GuestId, Negotiated, Reply, Service};

use super::group::{Calls, GroupContext};
use guest_abi::kernel::{DIAG_GROUP, DIAG_HEXEC, DIAG_RA2PA};

/// Group 0x300, version 1.0. Without the group, Solaris panics. Every call returns ENOACCESS, which a guest without the right gets from
/// Sun's hypervisor too.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiagGroup;

impl Group for DiagGroup {
    const NUMBER: ApiGroup = DIAG_GROUP;
    const VERSIONS: &'static [Version] = &[Version::V1_0];
    const FUNCTIONS: &'static [u64] = &[DIAG_RA2PA, DIAG_HEXEC];
}

impl Service for DiagGroup {
    type Group = Self;
    type Context<'a> = GroupContext<'a, Self>;

    fn context<'a>(&'a self, caller: Caller, _: &'a Negotiated<Self>) -> GroupContext<'a, Self> {
        GroupContext { group: self, caller }
    }

    fn guest_reset(&self, _: GuestId, _: StrandId) {}
}

impl Calls for DiagGroup {
    fn call(&self, _: Caller, _: u64, _: &Registers) -> Result<Reply, CallError> {
        Err(HvError::NoAccess.into())
    }
}
