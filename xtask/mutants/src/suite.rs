//! The tests that run on mutants, the nearest first: a mutant that these catch is not built for the others.

use std::path::Path;

/// Tests of some packages that run together on some mutants.
#[derive(Debug)]
pub(crate) struct Suite {
    /// The name that people read.
    pub(crate) name: &'static str,
    /// The files and directories whose mutants it runs on.
    of: &'static [&'static str],
    /// Files and directories below these that are excepted.
    not_of: &'static [&'static str],
    /// The packages whose tests run.
    pub(crate) packages: &'static [&'static str],
    /// The targets, as arguments of cargo.
    pub(crate) targets: &'static [&'static str],
    /// The names of tests that take too long, and are skipped.
    pub(crate) slow: &'static [&'static str],
    /// They run on SPARC V9, emulated, for the code that is compiled only there.
    pub(crate) on_sparc: bool,
}

/// The directories that are mutated.
pub(crate) const MUTATED: [&str; 4] = [
    "guest-abi/src",
    "hv-core/src",
    "perfctr-service/src",
    "platform/src/md",
];

/// Files in these directories that are not mutated: they are compiled only for SPARC V9, where
/// `cargo xtask qemu` tests them, or only for loom, for shuttle or for tests.
pub(crate) const NOT_MUTATED: [&str; 6] = [
    "guest-abi/src/guest/sparc64.rs",
    "hv-core/src/sync/model.rs",
    "hv-core/src/sync/schedules.rs",
    "hv-core/src/sync/steps.rs",
    "perfctr-service/src/service/words.rs",
    "perfctr-service/src/sparc64/**",
];

/// The suites, in the order in which they run.
///
/// They leave out examples in documentation, and tests that take minutes with a mutant: the end-to-end tests of `xtask` and
/// the slow tests named here.
pub(crate) const SUITES: [Suite; 9] = [
    Suite {
        name: "guest-abi's tests",
        of: &["guest-abi/src"],
        not_of: &["guest-abi/src/capi"],
        packages: &["guest-abi"],
        targets: &["--tests"],
        // They compile the C interface by a cargo of their own.
        slow: &FROM_C,
        on_sparc: false,
    },
    Suite {
        name: "guest-abi's tests in C",
        // All of it: more than the module of the C interface is for it alone.
        of: &["guest-abi/src"],
        not_of: &[],
        packages: &["guest-abi"],
        targets: &["--test=c"],
        slow: &[],
        on_sparc: false,
    },
    Suite {
        name: "hv-core's tests",
        of: &["hv-core/src"],
        not_of: &[],
        packages: &["hv-core"],
        targets: &["--tests"],
        slow: &[],
        on_sparc: false,
    },
    Suite {
        name: "perfctr-service's tests",
        of: &["perfctr-service/src"],
        not_of: &["perfctr-service/src/description"],
        packages: &["perfctr-service"],
        targets: &["--lib"],
        slow: &[],
        on_sparc: false,
    },
    Suite {
        name: "perfctr-service's tests on SPARC V9",
        of: &[
            "perfctr-service/src/hubs/gate.rs",
            "perfctr-service/src/rights/access.rs",
            "perfctr-service/src/rights/guest.rs",
        ],
        not_of: &[],
        packages: &["perfctr-service"],
        targets: &["--lib"],
        slow: &["every_small_schedule"],
        on_sparc: true,
    },
    Suite {
        name: "models of the decisions",
        of: &[
            "perfctr-service/src/hubs/turns.rs",
            "perfctr-service/src/progress",
            "perfctr-service/src/rights/protocol.rs",
            "perfctr-service/src/rights/protocol",
        ],
        not_of: &[],
        packages: &["proof"],
        targets: &["--test=small"],
        slow: &[],
        on_sparc: false,
    },
    Suite {
        name: "platform's tests",
        of: &["platform/src/md"],
        not_of: &[],
        packages: &["sun4v-platform"],
        targets: &["--lib"],
        slow: &[],
        on_sparc: false,
    },
    Suite {
        name: "machine descriptions from source",
        of: &["platform/src/md", "perfctr-service/src/description"],
        not_of: &[],
        packages: &["simulator"],
        targets: &["--test=md"],
        slow: &[],
        on_sparc: false,
    },
    Suite {
        name: "whole-system tests",
        of: &["guest-abi/src", "hv-core/src", "perfctr-service/src"],
        not_of: &["guest-abi/src/capi"],
        packages: &["hv-core", "sun4v-platform", "perfctr-service", "tests"],
        targets: &["--tests"],
        slow: &STRESS,
        on_sparc: false,
    },
];

const FROM_C: [&str; 2] = ["a_program_in_c", "a_program_without_libc"];

/// Tests in which threads call while others negotiate, mend units or move rights, some hundred times.
const STRESS: [&str; 7] = [
    "a_version_is_never_a_mixture",
    "ht_does_not_depend_on_the_version",
    "no_call_is_served_beyond_the_version_in_force",
    "two_strands_negotiate",
    "another_unit_is_mended",
    "nobody_reads_what_another_guest_has_written",
    "a_change_that_is_pending_all_the_time_is_seen_to_be",
];

impl Suite {
    /// Returns whether it runs on mutants of this file.
    #[must_use]
    pub(crate) fn concerns(&self, file: &str) -> bool {
        let below = |roots: &[&str]| roots.iter().any(|root| Path::new(file).starts_with(root));
        below(self.of) && !below(self.not_of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(file: &str) -> Vec<&str> {
        let suites = SUITES.iter().filter(|suite| suite.concerns(file));
        suites.map(|suite| suite.name).collect()
    }

    #[test]
    fn the_nearest_tests_come_first() {
        assert_eq!(
            names("guest-abi/src/strand.rs"),
            [
                "guest-abi's tests",
                "guest-abi's tests in C",
                "whole-system tests"
            ]
        );
        assert_eq!(
            names("guest-abi/src/capi/function.rs"),
            ["guest-abi's tests in C"]
        );
        assert_eq!(
            names("platform/src/md/node.rs"),
            ["platform's tests", "machine descriptions from source"]
        );
        assert_eq!(
            names("perfctr-service/src/description/mod.rs"),
            ["machine descriptions from source", "whole-system tests"]
        );
        assert_eq!(
            names("perfctr-service/src/service/call.rs"),
            ["perfctr-service's tests", "whole-system tests"]
        );
        assert_eq!(
            names("perfctr-service/src/rights/access.rs")[1],
            "perfctr-service's tests on SPARC V9"
        );
        for file in [
            "hubs/turns.rs",
            "progress/mod.rs",
            "rights/protocol/ledger.rs",
        ] {
            assert_eq!(
                names(&format!("perfctr-service/src/{file}")),
                [
                    "perfctr-service's tests",
                    "models of the decisions",
                    "whole-system tests"
                ]
            );
        }
        assert!(names("hv-core/srcs.rs").is_empty());
    }

    #[test]
    fn every_mutated_directory_has_tests() {
        for root in MUTATED {
            assert!(!names(&format!("{root}/file.rs")).is_empty(), "{root}");
        }
    }

    /// Every name of a slow test is that of a test: a wrong one would skip nothing, or a future test of that name.
    #[test]
    fn slow_tests_are_tests() {
        let read = |path: &str| std::fs::read_to_string(xtask::cargo::root().join(path)).unwrap();
        let sources = [
            "guest-abi/tests/c/main.rs",
            "tests/tests/negotiation_threads.rs",
            "tests/tests/operator_threads.rs",
            "tests/tests/rights_stopped.rs",
            "tests/tests/rights_threads.rs",
        ]
        .map(read)
        .concat();
        for name in FROM_C.iter().chain(&STRESS) {
            assert!(sources.contains(&format!("#[test]\nfn {name}()")), "{name}");
        }
    }
}
