//! Which version of an API group a guest has (sun4v specification, "API versioning").

use guest_abi::{HvError, Version};

use crate::sync::{AtomicU8, Ordering};

/// One guest's negotiated version of one group, shared by all its strands.
///
/// It is the place of the version in the group's list, counted from 1; 0 stands for "not negotiated". One word, written
/// whole: strands that negotiate at the same time get one version or the other, and no call sees a mixture.
#[derive(Debug, Default)]
pub struct Negotiated(AtomicU8);

impl Negotiated {
    /// Not negotiated.
    pub const fn new() -> Self {
        Self(AtomicU8::new(0))
    }

    /// The place of the version in the group's list, counted from 1; 0 if the group is not negotiated.
    #[inline]
    pub fn place(&self) -> usize {
        self.0.load(Ordering::Relaxed).into()
    }

    /// The version; 0.0 if the group is not negotiated.
    pub fn version(&self, versions: &[Version]) -> Version {
        match self.place().checked_sub(1) {
            Some(index) => versions.get(index).copied().unwrap_or(Version::NONE),
            None => Version::NONE,
        }
    }

    /// Negotiates, and returns the minor number that the guest has now: the one it asked for, or the highest if that is
    /// lower. Major 0 gives the group up. A major number that is not in the list is ENOTSUPPORTED and changes nothing.
    ///
    /// `versions` is the group's list, at most 255, lowest first, with no minor number left out.
    pub fn negotiate(&self, versions: &[Version], major: u64, minor: u64) -> Result<u64, HvError> {
        if major == 0 {
            self.reset();
            return Ok(0);
        }
        let (place, version) = (1u8..)
            .zip(versions)
            .filter(|(_, version)| version.major == major && version.minor <= minor)
            .last()
            .ok_or(HvError::NotSupported)?;
        self.0.store(place, Ordering::Release);
        Ok(version.minor)
    }

    /// Back to "not negotiated", as at guest reset.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSIONS: &[Version] = &[Version::V1_0, Version::V1_1, Version::new(2, 0)];

    #[test]
    fn the_table_of_the_specification() {
        let state = Negotiated::new();
        assert_eq!((state.place(), state.version(VERSIONS)), (0, Version::NONE));
        for (major, minor, granted) in [
            (1, 0, 0),
            (1, 1, 1),
            (1, 2, 1),
            (1, u64::MAX, 1),
            (1, 0, 0),
            (2, 7, 0),
            (1, 1, 1),
        ] {
            assert_eq!(
                state.negotiate(VERSIONS, major, minor),
                Ok(granted),
                "{major}.{minor}"
            );
            assert_eq!(state.version(VERSIONS), Version::new(major, granted));
        }
        for major in [3, 1 << 32 | 1, u64::MAX] {
            assert_eq!(
                state.negotiate(VERSIONS, major, 0),
                Err(HvError::NotSupported)
            );
            assert_eq!(
                state.version(VERSIONS),
                Version::V1_1,
                "a refusal changes nothing"
            );
        }
        assert_eq!(state.negotiate(VERSIONS, 0, 5), Ok(0));
        assert_eq!(state.version(VERSIONS), Version::NONE);
    }
}
