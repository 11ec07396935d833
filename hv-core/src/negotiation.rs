//! The versions of API groups that guests negotiate (sun4v specification, "API versioning").

use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::compiler_fence;

use guest_abi::{HvError, Version};
use static_assertions::assert_impl_all;

use crate::group::Group;
use crate::sync::{AtomicU32, Ordering, const_unless_loom, fence};

/// A negotiated version of group `G`. It is stored as its position in [the group's list](Group::VERSIONS), counted from 1. The
/// value 0 stands for "not negotiated".
///
/// A version of one group cannot be used for another group:
///
/// ```compile_fail
/// # use guest_abi::{ApiGroup, Version};
/// # use hv_core::{Group, NegotiatedVersion};
/// # enum One {} enum Other {}
/// # impl Group for One { const NUMBER: ApiGroup = ApiGroup(0x400); const VERSIONS: &'static [Version] = &[Version::V1_0]; const FUNCTIONS: &'static [u64] = &[]; }
/// # impl Group for Other { const NUMBER: ApiGroup = ApiGroup(0x401); const VERSIONS: &'static [Version] = &[Version::V1_0]; const FUNCTIONS: &'static [u64] = &[]; }
/// let of_one: NegotiatedVersion<One> = NegotiatedVersion::new(1);
/// let of_other: NegotiatedVersion<Other> = of_one;
/// ```
pub struct NegotiatedVersion<G>(u8, PhantomData<fn() -> G>);

impl<G> NegotiatedVersion<G> {
    /// The value for "not negotiated".
    pub const NONE: Self = Self::new(0);

    /// Returns the version at position `number` of the group's list, counted from 1. A position outside the list stands for version 0.0.
    #[inline(always)]
    pub const fn new(number: u8) -> Self {
        Self(number, PhantomData)
    }

    /// Returns the position in the list, counted from 1.
    #[inline(always)]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Returns `true` if no version is negotiated.
    #[inline(always)]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl<G: Group> NegotiatedVersion<G> {
    /// Returns the version, or 0.0 if none is negotiated.
    pub fn version(self) -> Version {
        version(G::VERSIONS, self.0)
    }
}

// Not derived, because a derived implementation would require `G` to implement the trait, too.
impl<G> Clone for NegotiatedVersion<G> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<G> Copy for NegotiatedVersion<G> {}

impl<G> PartialEq for NegotiatedVersion<G> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<G> Eq for NegotiatedVersion<G> {}

impl<G> fmt::Debug for NegotiatedVersion<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NegotiatedVersion").field(&self.0).finish()
    }
}

/// Returns the version at position `number` of a list, counted from 1; 0.0 for a position outside the list.
#[inline(always)]
pub(crate) fn version(versions: &[Version], number: u8) -> Version {
    match usize::from(number).checked_sub(1) {
        Some(index) => versions.get(index).copied().unwrap_or(Version::NONE),
        None => Version::NONE,
    }
}

/// Returns the version that a guest gets for `wanted`: the version with the same major number, and with the highest minor number that
/// is not above the wanted one. Major 0 releases the group. Fails with ENOTSUPPORTED if the list does not have the major number.
#[inline(always)]
pub(crate) fn negotiate(versions: &[Version], wanted: Version) -> Result<(u8, Version), HvError> {
    if wanted.major == 0 {
        return Ok((0, Version::NONE));
    }
    let fits = |version: &Version| version.major == wanted.major && version.minor <= wanted.minor;
    let found = versions.iter().enumerate().rfind(|(_, version)| fits(version));
    found
        .and_then(|(index, version)| Some((u8::try_from(index + 1).ok()?, *version)))
        .ok_or(HvError::NotSupported)
}

/// A version that is granted, but not stored yet.
#[derive(Debug)]
pub struct PendingVersion<'a> {
    /// The word that stores the guest's negotiated version. It still holds the earlier version.
    pub(crate) version: &'a Word,
    /// The position of the granted version in the group's list, counted from 1.
    pub(crate) granted: u8,
    /// The granted version's minor number.
    pub(crate) minor: u64,
}

impl<'a> PendingVersion<'a> {
    #[inline(always)]
    pub(crate) fn new(
        version: &'a Word,
        versions: &[Version],
        wanted: Version,
    ) -> Result<Self, HvError> {
        let (granted, Version { minor, .. }) = negotiate(versions, wanted)?;
        Ok(Self { version, granted, minor })
    }
}

/// The version of one group that one guest has negotiated. All strands of the guest share it. If several strands negotiate at the same
/// time, one of them wins.
///
/// In memory, this is a 32-bit word that holds the version's [number](NegotiatedVersion::number), so that a fast path can read it in
/// assembly. (It is not a byte, because SPARC V9 cannot exchange single bytes.)
#[repr(transparent)]
pub struct Negotiated<G> {
    word: Word,
    group: PhantomData<fn() -> G>,
}

assert_impl_all!(Negotiated<()>: Send, Sync);

impl<G> Negotiated<G> {
    const_unless_loom! {
        /// Returns a word in which `version` is the negotiated version.
        pub fn new(version: NegotiatedVersion<G>) -> Self {
            Self { word: Word(AtomicU32::new(version.0 as u32)), group: PhantomData }
        }
    }

    /// Returns the current version. Another strand of the guest may change it at any time.
    #[inline]
    pub fn get(&self) -> NegotiatedVersion<G> {
        NegotiatedVersion::new(self.word.get())
    }

    pub(crate) const fn word(&self) -> &Word {
        &self.word
    }
}

impl<G> Default for Negotiated<G> {
    fn default() -> Self {
        Self::new(NegotiatedVersion::NONE)
    }
}

impl<G> fmt::Debug for Negotiated<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Negotiated").field(&self.get()).finish()
    }
}

/// The atomic word of a negotiated version, whatever group it belongs to.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Word(AtomicU32);

impl Word {
    #[inline]
    pub(crate) fn get(&self) -> u8 {
        // A fast path does not call this function: it loads a word that its service has derived from the version. A strand may load that
        // word first, and then load the version here. The second load must return the version from which the word was derived, or a later
        // one, so a fence orders the two loads. SPARC V9 needs no fence: the processor keeps loads in order (total store order), and the
        // compiler cannot swap the two, because the word is loaded in another call or in a trap entry.
        if !cfg!(target_arch = "sparc64") {
            fence(Ordering::Acquire);
        }
        // A relaxed load is enough, because the fence orders it, and the version publishes no other memory.
        self.0.load(Ordering::Relaxed) as u8
    }

    /// Returns `true` if `version` is negotiated. This load comes before any later load of a word that was derived from the version.
    #[inline(always)]
    pub(crate) fn holds(&self, version: u8) -> bool {
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
    pub(crate) fn set(&self, version: u8) {
        // This is an exchange, because loom does not order two strands' stores. It can be relaxed, because the service then publishes the
        // version with its own exchange.
        self.0.swap(version.into(), Ordering::Relaxed);
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
                assert_eq!(super::version(VERSIONS, number), version);
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
        assert_eq!(super::version(VERSIONS, 4), Version::NONE);
        assert!(Negotiated::<()>::default().get().is_none());
    }
}
