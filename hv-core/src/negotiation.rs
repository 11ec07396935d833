//! The versions of API groups that guests negotiate (sun4v specification, "API versioning").

use core::sync::atomic::compiler_fence;

use guest_abi::{HvError, Version};
use static_assertions::assert_impl_all;

use crate::sync::{AtomicU32, Ordering, const_unless_loom, fence};

/// A negotiated version, stored as its position in the group's list of versions, counted from 1. 0 stands for "not negotiated".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NegotiatedVersion(u8);

impl NegotiatedVersion {
    /// The value for "not negotiated".
    pub const NONE: Self = Self(0);

    /// Returns the version at this position, counted from 1.
    pub const fn new(number: u8) -> Self {
        Self(number)
    }

    /// Returns the position in the list, counted from 1.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Returns the version at this position of the group's list; 0.0 for "not negotiated".
    pub fn version(self, versions: &[Version]) -> Version {
        match usize::from(self.0).checked_sub(1) {
            Some(index) => versions.get(index).copied().unwrap_or(Version::NONE),
            None => Version::NONE,
        }
    }
}

/// Returns the version that a guest gets for `wanted`. It has the same major number, and the highest minor number that is not above
/// the wanted one. Major 0 releases the group. Fails with ENOTSUPPORTED if the list does not have the major number.
#[inline(always)]
pub(crate) fn negotiate(
    versions: &[Version],
    wanted: Version,
) -> Result<(NegotiatedVersion, Version), HvError> {
    if wanted.major == 0 {
        return Ok((NegotiatedVersion::NONE, Version::NONE));
    }
    let fits = |version: &Version| version.major == wanted.major && version.minor <= wanted.minor;
    let found = versions.iter().enumerate().rfind(|(_, version)| fits(version));
    found
        .and_then(|(index, version)| {
            Some((NegotiatedVersion(u8::try_from(index + 1).ok()?), *version))
        })
        .ok_or(HvError::NotSupported)
}

/// A granted version that is not stored yet.
pub struct Asked<'a> {
    /// Where the guest's negotiated version is stored. Still holds the earlier version.
    pub(crate) version: &'a Negotiated,
    pub(crate) granted: NegotiatedVersion,
    /// The minor number of the granted version.
    pub(crate) minor: u64,
}

impl<'a> Asked<'a> {
    #[inline(always)]
    pub(crate) fn new(
        version: &'a Negotiated,
        versions: &[Version],
        wanted: Version,
    ) -> Result<Self, HvError> {
        let (granted, Version { minor, .. }) = negotiate(versions, wanted)?;
        Ok(Self { version, granted, minor })
    }
}

/// The version of one group that one guest has negotiated. All strands of the guest share it. If several strands negotiate at the
/// same time, the version of one of them is the result.
///
/// In memory this is one word of 32 bits, the [number](NegotiatedVersion::number) of the version, so that a fast path can read it
/// in assembly. (SPARC V9 cannot exchange single bytes.)
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Negotiated(AtomicU32);

assert_impl_all!(Negotiated: Send, Sync);

impl Negotiated {
    const_unless_loom! {
        /// Returns a value that holds `version`.
        pub fn new(version: NegotiatedVersion) -> Self {
            Self(AtomicU32::new(version.0 as u32))
        }
    }

    /// Returns the present version. Another strand of the guest may change it at any time.
    #[inline]
    pub fn get(&self) -> NegotiatedVersion {
        // A fast path does not call this function. It loads a word that its service has derived from the version. A strand that has
        // loaded a word derived from one version must then load this version or a later one here, so a fence orders the two loads.
        // SPARC V9 needs no fence: the processor keeps the order of loads (total store order), and the compiler cannot exchange the
        // two loads, because the load of the word is in another call or in a trap entry.
        if !cfg!(target_arch = "sparc64") {
            fence(Ordering::Acquire);
        }
        // Relaxed: the fence orders this load, and the version publishes no other memory.
        NegotiatedVersion(self.0.load(Ordering::Relaxed) as u8)
    }

    /// Returns `true` if `version` is negotiated. A later load of a word that was derived from the version stays after this load.
    #[inline(always)]
    pub(crate) fn is(&self, version: NegotiatedVersion) -> bool {
        let is = self.get() == version;
        if cfg!(target_arch = "sparc64") {
            // The processor keeps the order of the two loads (total store order). This fence stops the compiler from changing the order.
            compiler_fence(Ordering::Acquire);
        } else {
            fence(Ordering::Acquire);
        }
        is
    }

    /// Stores a version. The caller then calls [`Service::version_changed`](crate::Service::version_changed).
    pub(crate) fn set(&self, version: NegotiatedVersion) {
        // An exchange, because loom does not order stores of two strands. Relaxed: afterwards the service publishes it by its own exchange.
        self.0.swap(version.0.into(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSIONS: &[Version] = &[Version::V1_0, Version::V1_1, Version::new(2, 0)];

    #[test]
    fn the_table_of_the_specification() {
        let got = |major, minor| {
            negotiate(VERSIONS, Version::new(major, minor)).map(|(number, version)| {
                assert_eq!(number.version(VERSIONS), version);
                version
            })
        };
        assert_eq!(got(1, 0), Ok(Version::V1_0));
        assert_eq!(got(1, 1), Ok(Version::V1_1));
        assert_eq!(got(1, 2), Ok(Version::V1_1));
        assert_eq!(got(1, u64::MAX), Ok(Version::V1_1));
        assert_eq!(got(2, 7), Ok(Version::new(2, 0)));
        assert_eq!(got(0, 0), Ok(Version::NONE));
        assert_eq!(got(0, 5), Ok(Version::NONE));
        for major in [3, 1 << 32 | 1, u64::MAX] {
            assert_eq!(got(major, 0), Err(HvError::NotSupported));
        }
    }

    #[test]
    fn a_position_outside_the_list_is_no_version() {
        assert_eq!(NegotiatedVersion::new(4).version(VERSIONS), Version::NONE);
        assert_eq!(Negotiated::default().get(), NegotiatedVersion::NONE);
    }
}
