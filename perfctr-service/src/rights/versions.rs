//! Group 0x205, and which of its versions include the hubs.

use guest_abi::trap::{VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{ApiGroup, Version};
use hv_core::{Group, NegotiatedVersion};

/// API group 0x205, which has the registers 0 to 89.
#[derive(Clone, Copy, Debug)]
pub enum Vfalls {}

impl Group for Vfalls {
    const NUMBER: ApiGroup = ApiGroup::VFALLS;
    const VERSIONS: &'static [Version] = &[Version::V1_0, Version::V1_1];
    const FUNCTIONS: &'static [u64] = &[VFALLS_GET_PERFREG, VFALLS_SET_PERFREG];
}

/// A version of group 0x205. No other group has versions of this type, so no other group opens the fast path of this group.
pub(crate) type VfallsVersion = NegotiatedVersion<Vfalls>;

const V1_0: VfallsVersion = VfallsVersion::new(1);
pub(super) const V1_1: VfallsVersion = VfallsVersion::new(2);

/// Returns `true` if a guest has the hubs in `version`. Version 1.0 has them only for a `compatible` guest.
pub(super) fn has_hubs(version: VfallsVersion, compatible: bool) -> bool {
    version == V1_1 || version == V1_0 && compatible
}
