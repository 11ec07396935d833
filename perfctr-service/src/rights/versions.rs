//! The versions of group 0x205, and which of them include the hubs.

use guest_abi::Version;
use hv_core::NegotiatedVersion;

/// The versions of group 0x205, lowest first.
pub(crate) const VERSIONS: &[Version] = &[Version::V1_0, Version::V1_1];

const V1_0: NegotiatedVersion = NegotiatedVersion::new(1);
pub(super) const V1_1: NegotiatedVersion = NegotiatedVersion::new(2);

/// Returns `true` if a guest has the hubs in `version`. Version 1.0 has them only for a `compatible` guest.
pub(super) fn has_hubs(version: NegotiatedVersion, compatible: bool) -> bool {
    version == V1_1 || version == V1_0 && compatible
}
