//! The negotiation of API group versions.

use super::status::{EINVAL, ENOTSUPPORTED};
use std::collections::BTreeMap;

/// The group number of the base interface.
pub const SUN4V: u64 = 0;
/// The group number of the core calls.
pub const CORE: u64 = 1;
/// The performance counters' group number, FWARC/2007/529 section 3.2.
pub const PERF: u64 = 0x205;

/// For each group, the version that a guest has negotiated. The initial version 0.0 means "not negotiated".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versions(BTreeMap<u64, (u64, u64)>);

impl Versions {
    /// Negotiates a version (api_set_version). Returns the granted minor version, or the error status. After an error, the old version
    /// stays valid.
    pub fn set(&mut self, group: u64, major: u64, minor: u64) -> Result<u64, u64> {
        let newest_minor = match group {
            SUN4V | CORE => 0,
            PERF => 1,
            _ => return Err(EINVAL),
        };
        let agreed = match major {
            0 if group != SUN4V => (0, 0),
            1 => (1, minor.min(newest_minor)),
            _ => return Err(ENOTSUPPORTED),
        };
        self.0.insert(group, agreed);
        Ok(agreed.1)
    }

    /// Returns the major and minor version (api_get_version), or the error status. 0.0 means "not negotiated".
    pub fn get(&self, group: u64) -> Result<(u64, u64), u64> {
        match group {
            SUN4V | CORE | PERF => Ok(self.0.get(&group).copied().unwrap_or((0, 0))),
            _ => Err(EINVAL),
        }
    }

    /// Returns the minor version of the performance counters; `None` if the group is not negotiated.
    pub fn perf_minor(&self) -> Option<u64> {
        match self.0.get(&PERF) {
            Some(&(1, minor)) => Some(minor),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_guest_has_negotiated_nothing() {
        let versions = Versions::default();
        for group in [0, 1, 0x205] {
            assert_eq!(versions.get(group), Ok((0, 0)));
        }
        assert_eq!(versions.perf_minor(), None);
    }

    #[test]
    fn unknown_groups_are_invalid_even_for_major_0() {
        let mut versions = Versions::default();
        let beyond = [0x1_0000_0205, 1 << 63, u64::MAX];
        for group in [2, 0x202, 0x209, 0x20c, 0x300].into_iter().chain(beyond) {
            for major in [0, 1, 2] {
                assert_eq!(versions.set(group, major, 0), Err(6), "group {group:#x}");
            }
            assert_eq!(versions.get(group), Err(6), "group {group:#x}");
        }
        assert_eq!(versions, Versions::default());
    }

    #[test]
    fn minor_versions_are_lowered_to_the_newest() {
        for (group, minor, agreed) in [
            (0, 0, 0),
            (0, 7, 0),
            (1, 0, 0),
            (1, u64::MAX, 0),
            (0x205, 0, 0),
            (0x205, 1, 1),
            (0x205, 2, 1),
            (0x205, 1 << 32, 1),
            (0x205, u64::MAX, 1),
        ] {
            let mut versions = Versions::default();
            let case = format!("{group:#x} 1.{minor}");
            assert_eq!(versions.set(group, 1, minor), Ok(agreed), "{case}");
            assert_eq!(versions.get(group), Ok((1, agreed)), "{case}");
        }
    }

    #[test]
    fn unknown_major_versions_leave_the_old_state() {
        let mut versions = Versions::default();
        assert_eq!(versions.set(0x205, 1, 1), Ok(1));
        for major in [2, 0x1_0000_0001, u64::MAX] {
            assert_eq!(versions.set(0x205, major, 0), Err(13));
            assert_eq!(versions.set(1, major, 0), Err(13));
            assert_eq!(versions.set(0, major, 0), Err(13));
        }
        assert_eq!(versions.get(0x205), Ok((1, 1)));
    }

    #[test]
    fn major_0_disables_every_group_but_sun4v() {
        let mut versions = Versions::default();
        for group in [0, 1, 0x205] {
            assert!(versions.set(group, 1, 0).is_ok());
        }
        assert_eq!(versions.set(0, 0, 0), Err(13));
        assert_eq!(versions.get(0), Ok((1, 0)));
        for group in [1, 0x205] {
            assert_eq!(versions.set(group, 0, 5), Ok(0));
            assert_eq!(versions.get(group), Ok((0, 0)));
        }
        assert_eq!(versions.perf_minor(), None);
    }

    #[test]
    fn the_minor_version_goes_up_and_down() {
        let mut versions = Versions::default();
        for minor in [0, 1, 1, 0, 0, 1] {
            assert_eq!(versions.set(0x205, 1, minor), Ok(minor));
            assert_eq!(versions.perf_minor(), Some(minor));
        }
    }
}
