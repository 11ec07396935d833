//! The tests of a mutant: which, and in what order. What is quick and near comes first.

use crate::mutant::{Mutant, Rule};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// `cargo test` on this machine.
    Host,
    /// `cargo test` with loom's atomics.
    Loom,
    /// The production tests, which build the image from the sources. (Tests of the bundled image do not see a mutant.)
    Image,
}

pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) what: What,
    /// The arguments of `cargo test`, or of the program of the production tests.
    pub(crate) arguments: &'static str,
    /// The step is for mutants of files whose paths begin with one of these.
    files: &'static [&'static str],
}

/// Steps leave out what `cargo xtask mutants` leaves out, and tests of production that take minutes.
pub(crate) const STEPS: [Step; 11] = [
    Step {
        name: "guest-abi",
        what: What::Host,
        arguments: "--profile=mutants --package=sun4v-guest-abi --lib --tests -- --skip=a_program_without_libc",
        files: &["guest-abi/"],
    },
    Step {
        name: "hv-core",
        what: What::Host,
        arguments: "--profile=mutants --package=sun4v-hv-core --lib --tests -- --skip=a_version_is_never_a_mixture",
        files: &["hv-core/"],
    },
    Step {
        name: "platform",
        what: What::Host,
        arguments: "--profile=mutants --package=sun4v-platform --lib --tests",
        files: &["platform/"],
    },
    Step {
        name: "perfctr-service",
        what: What::Host,
        arguments: "--profile=mutants --package=sun4v-perfctr-service --lib --tests -- --skip=a_program_in_c",
        files: &["perfctr-service/"],
    },
    Step {
        name: "hypervisor",
        what: What::Host,
        arguments: "--profile=mutants --package=hypervisor --lib --tests",
        files: &["hypervisor/src/logger/", "hypervisor/src/services/", "hypervisor/src/lib.rs"],
    },
    Step {
        name: "loom of the parts",
        what: What::Loom,
        arguments: "--profile=quick --package=sun4v-hv-core --package=sun4v-perfctr-service --lib -- loom_",
        files: ORDERED,
    },
    Step {
        name: "loom of the whole",
        what: What::Loom,
        arguments: "--profile=quick --package=tests --test=loom",
        files: ORDERED,
    },
    Step {
        name: "whole system",
        what: What::Host,
        arguments: "--profile=mutants --package=tests --tests -- --skip=ht_does_not_depend_on_the_version \
                    --skip=no_call_is_served_beyond_the_version_in_force --skip=two_strands_negotiate --skip=another_unit_is_mended \
                    --skip=nobody_reads_what_another_guest_has_written --skip=a_change_that_is_pending_all_the_time_is_seen_to_be",
        files: &["guest-abi/", "hv-core/", "platform/", "perfctr-service/"],
    },
    Step {
        name: BOOT,
        what: What::Image,
        arguments: "--include-ignored --exact all_cpus_of_two_guests_run a_guest_takes_its_own_traps a_guest_ends_alone \
                    the_operator_is_heard services::a_kernel_is_served",
        files: &[""],
    },
    Step {
        name: "image serves",
        what: What::Image,
        arguments: "--include-ignored contract:: faults:: kernel:: barriers::each_ transfers:: log:: lists:: late:: \
                    two_calls_of_a_hub_in_every_order --skip=defect",
        files: &[""],
    },
    Step {
        name: "image fails",
        what: What::Image,
        arguments: "--include-ignored --skip=attacks:: --skip=defect --skip=contract:: --skip=faults:: --skip=kernel:: --skip=barriers::each_ \
                    --skip=transfers:: --skip=log:: --skip=lists:: --skip=late:: --skip=two_calls_of_a_hub",
        files: &[""],
    },
];

/// The first step that builds the image.
pub(crate) const BOOT: &str = "image boots";

/// Where loom's atomics are.
const ORDERED: &[&str] = &[
    "hv-core/src/negotiation.rs",
    "hv-core/src/hypervisor.rs",
    "hv-core/src/service.rs",
    "hv-core/src/sync/",
    "perfctr-service/src/hubs/",
    "perfctr-service/src/l2.rs",
    "perfctr-service/src/outage.rs",
    "perfctr-service/src/progress/",
    "perfctr-service/src/rights/",
    "perfctr-service/src/service/",
    "perfctr-service/src/statistics.rs",
    "perfctr-service/src/units.rs",
];

/// Returns whether only images have the code of this file.
pub(crate) fn is_of_images(file: &str) -> bool {
    ["/sparc64/", "hypervisor/src/image/", "hypervisor/image/", "/service/words.rs"]
        .iter()
        .any(|part| file.contains(part))
}

impl Step {
    pub(crate) fn judges(&self, mutant: &Mutant) -> bool {
        // On the processor that runs the tests, all orderings but loom's are strong.
        let may = match self.what {
            What::Image => true,
            What::Loom => !is_of_images(&mutant.file),
            What::Host => !is_of_images(&mutant.file) && mutant.edit.rule != Rule::Weaken,
        };
        may && self.files.iter().any(|path| mutant.file.starts_with(path))
    }
}
