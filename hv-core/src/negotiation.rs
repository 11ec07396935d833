//! Which version of an API group a guest gets (sun4v specification, "API versioning").

use core::sync::atomic::compiler_fence;

use guest_abi::{HvError, Version};
use static_assertions::assert_impl_all;

use crate::sync::{AtomicU32, Ordering, fence};

/// A version of a group that a guest has negotiated: its position in the group's list of versions, counted from 1. 0 stands
/// for "not negotiated".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NegotiatedVersion(u8);

impl NegotiatedVersion {
    /// Not negotiated.
    pub const NONE: Self = Self(0);

    /// The version at this position, counted from 1.
    pub const fn new(number: u8) -> Self {
        Self(number)
    }

    /// Its position in the list, counted from 1.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The version itself, from the group's list; 0.0 for "not negotiated".
    pub fn version(self, versions: &[Version]) -> Version {
        match usize::from(self.0).checked_sub(1) {
            Some(index) => versions.get(index).copied().unwrap_or(Version::NONE),
            None => Version::NONE,
        }
    }
}

/// Returns the version that a guest gets when it asks for one, as its position and itself: that one, or the highest minor number of
/// the major number if it is lower. Major 0 gives the group up. A major number that is not in the list is ENOTSUPPORTED.
///
/// `versions` is the group's list, at most 255, lowest first, with no minor number left out.
#[inline(always)]
pub(crate) fn negotiate(
    versions: &[Version],
    wanted: Version,
) -> Result<(NegotiatedVersion, Version), HvError> {
    if wanted.major == 0 {
        return Ok((NegotiatedVersion::NONE, Version::NONE));
    }
    let fits = |version: &Version| version.major == wanted.major && version.minor <= wanted.minor;
    let found = versions
        .iter()
        .enumerate()
        .rfind(|(_, version)| fits(version));
    found
        .and_then(|(index, version)| {
            Some((NegotiatedVersion(u8::try_from(index + 1).ok()?), *version))
        })
        .ok_or(HvError::NotSupported)
}

/// What a guest gets that asks for a version of a group.
pub struct Asked<'a> {
    /// What it has negotiated of the group.
    pub(crate) version: &'a Negotiated,
    /// What it gets.
    pub(crate) granted: NegotiatedVersion,
    /// The minor number of that.
    pub(crate) minor: u64,
}

impl<'a> Asked<'a> {
    /// `versions` is the list of the group.
    #[inline(always)]
    pub(crate) fn new(
        version: &'a Negotiated,
        versions: &[Version],
        wanted: Version,
    ) -> Result<Self, HvError> {
        let (granted, Version { minor, .. }) = negotiate(versions, wanted)?;
        Ok(Self {
            version,
            granted,
            minor,
        })
    }
}

/// What one guest has negotiated of one group, shared by all its strands; nothing at first. It is written whole: strands
/// that negotiate at the same time get one version or the other.
///
/// It is one word of 32 bits, the [number](NegotiatedVersion::number) of the version, for a service whose fast path is assembly.
/// (SPARC V9 exchanges no bytes.)
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Negotiated(AtomicU32);

assert_impl_all!(Negotiated: Send, Sync);

impl Negotiated {
    /// This version is negotiated.
    pub fn new(version: NegotiatedVersion) -> Self {
        Self(AtomicU32::new(version.0.into()))
    }

    /// Returns what is negotiated.
    pub fn get(&self) -> NegotiatedVersion {
        // A fast path does not come here, but looks at a word that its service has derived from the version. A strand that
        // has seen the word of a version sees that version or a later one.
        // SPARC V9 needs no fence: no load overtakes an earlier one there (total store order), and the compiler sees no load of the
        // word to exchange this one with, because that is in another call, or in a trap entry.
        if !cfg!(target_arch = "sparc64") {
            fence(Ordering::Acquire);
        }
        // Relaxed: the fence orders it after the word, and nothing else hangs on it.
        NegotiatedVersion(self.0.load(Ordering::Relaxed) as u8)
    }

    /// Returns whether this is what is negotiated. The caller may then look at the word that its service has derived from that: the
    /// word is loaded later.
    #[inline(always)]
    pub(crate) fn is(&self, version: NegotiatedVersion) -> bool {
        let is = self.get() == version;
        if cfg!(target_arch = "sparc64") {
            // The processor keeps the order of two loads (total store order). This binds the compiler, and is no instruction.
            compiler_fence(Ordering::Acquire);
        } else {
            fence(Ordering::Acquire);
        }
        is
    }

    /// Negotiates, or forgets. The service is to be told afterwards.
    pub(crate) fn set(&self, version: NegotiatedVersion) {
        // Exchanged, because loom orders the stores of two strands only so. Relaxed: the service's word, which is exchanged
        // afterwards, publishes it.
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
