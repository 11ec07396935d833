//! The packages whose values change, and the tests that must notice.

use crate::steps::is_image_only;

/// Crates whose mutants are drawn together.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: &'static str,
    /// The crates' folders, relative to the workspace root.
    pub(crate) folders: &'static [&'static str],
    /// The crates that contain many mutants at the same time, under cargo's names for them.
    pub(crate) crates: &'static [&'static str],
    /// The test suites. Quick ones, and those closest to the code, come first.
    pub(crate) suites: &'static [Suite],
}

impl Package {
    /// Returns whether a file's mutants need programs of their own, because they are tested in the
    /// image.
    pub(crate) fn needs_own_program(&self, file: &str) -> bool {
        self.crates.is_empty() || is_image_only(file)
    }
}

/// Test programs of a crate: those of one target, or all.
#[derive(Debug)]
pub(crate) struct Suite {
    pub(crate) package: &'static str,
    pub(crate) folder: &'static str,
    pub(crate) target: Option<&'static str>,
    /// The programs' arguments.
    pub(crate) arguments: &'static str,
}

const fn suite(
    package: &'static str,
    folder: &'static str,
    target: Option<&'static str>,
    arguments: &'static str,
) -> Suite {
    Suite { package, folder, target, arguments }
}

const WHOLE_SYSTEM: Suite = suite("tests", "tests", None, SKIP_SLOW);

/// Tests that need other programs, which `cargo test` leaves out.
pub(crate) const IGNORED: &str = "--ignored";

/// Arguments that skip the whole-system tests that repeat something hundreds of times.
const SKIP_SLOW: &str = "--skip=ht_does_not_depend_on_the_version --skip=no_call_is_served_beyond_the_version_in_force \
     --skip=two_strands_negotiate --skip=another_unit_is_mended --skip=nobody_reads_what_another_guest_has_written \
     --skip=a_change_that_is_pending_all_the_time_is_seen_to_be";

static PACKAGES: [Package; 3] = [
    Package { name: "hypervisor", folders: &["hypervisor"], crates: &[], suites: &[] },
    Package {
        name: "platform",
        folders: &["platform"],
        crates: &["sun4v-platform"],
        suites: &[
            suite("sun4v-platform", "platform", None, ""),
            suite("simulator-tests", "simulator/tests", Some("md"), ""),
            WHOLE_SYSTEM,
            suite("simulator-tests", "simulator/tests", None, ""),
            suite("vfalls", "vfalls", Some("commands"), ""),
        ],
    },
    Package {
        name: "simulator",
        folders: &["simulator", "simulator/refs", "simulator/conform"],
        crates: &["sun4v-simulator", "vfalls-refs", "sun4v-conform"],
        suites: &[
            suite("vfalls-refs", "simulator/refs", None, ""),
            suite("sun4v-conform", "simulator/conform", None, ""),
            suite("simulator-tests", "simulator/tests", Some("units"), ""),
            suite("simulator-tests", "simulator/tests", None, ""),
            WHOLE_SYSTEM,
            suite("vfalls", "vfalls", None, ""),
            suite("simulator-tests", "simulator/tests", Some("interpreter"), IGNORED),
            suite("vfalls", "vfalls", Some("commands"), IGNORED),
            suite("vfalls", "vfalls", Some("production"), IGNORED),
        ],
    },
];

/// Returns the package of this name.
pub(crate) fn named(name: &str) -> Result<&'static Package, String> {
    let names: Vec<_> = PACKAGES.iter().map(|package| package.name).collect();
    let package = PACKAGES.iter().find(|package| package.name == name);
    package.ok_or_else(|| format!("expected one of: {}", names.join(", ")))
}
