//! The steps in which a mutant is tested, in order. Quick tests, and tests of the mutant's own crate, come first.

use crate::mutant::{Mutant, SWAP, WEAKEN};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepKind {
    /// `cargo test` on this machine.
    Host,
    /// `cargo test` with loom's atomics.
    Loom,
    /// The tests in `vfalls/tests/production` that build the image from the sources. (Tests of the bundled image use no mutant.)
    Image,
    /// The proof of the fast path, which examines the image that an earlier step has built.
    FastPath,
}

pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) kind: StepKind,
    /// The arguments of `cargo test`, or of the step's test program.
    pub(crate) arguments: &'static str,
    /// The step tests a file's mutants if the file's path begins with one of these texts.
    files: &'static [&'static str],
}

const fn step(
    name: &'static str,
    kind: StepKind,
    files: &'static [&'static str],
    arguments: &'static str,
) -> Step {
    Step { name, kind, arguments, files }
}

/// All steps, in order. They skip the tests that `cargo xtask mutants` skips, and those tests of `vfalls/tests/production` that take
/// minutes.
#[rustfmt::skip]
pub(crate) const STEPS: [Step; 17] = [
    step("guest-abi", StepKind::Host, &["guest-abi/"],
        "--profile=mutants --package=sun4v-guest-abi --lib --tests -- --skip=a_program_without_libc"),
    step("hv-core", StepKind::Host, &["hv-core/"],
        "--profile=mutants --package=sun4v-hv-core --lib --tests -- --skip=a_version_is_never_a_mixture"),
    step("platform", StepKind::Host, &["platform/"],
        "--profile=mutants --package=sun4v-platform --lib --tests"),
    step("perfctr-service", StepKind::Host, &["perfctr-service/"],
        "--profile=mutants --package=sun4v-perfctr-service --lib --tests -- --skip=a_program_in_c"),
    step("hypervisor", StepKind::Host, &["hypervisor/src/logger/", "hypervisor/src/services/", "hypervisor/src/lib.rs"],
        "--profile=mutants --package=hypervisor --lib --tests"),
    step("vfalls-refs", StepKind::Host, &["simulator/refs/"], "--profile=mutants --package=vfalls-refs --lib --tests"),
    step("conform", StepKind::Host, &["simulator/conform/"], "--profile=mutants --package=sun4v-conform --lib --tests"),
    step("simulator", StepKind::Host, &["simulator/"], "--profile=mutants --package=simulator-tests --test=units"),
    step("loom of the parts", StepKind::Loom, ORDERED,
        "--profile=quick --package=sun4v-hv-core --package=sun4v-perfctr-service --lib -- loom_"),
    step("loom of the whole", StepKind::Loom, ORDERED, "--profile=quick --package=tests --test=loom"),
    step("whole system", StepKind::Host, &["guest-abi/", "hv-core/", "platform/", "perfctr-service/", "simulator/"],
        "--profile=mutants --package=tests --tests -- --skip=ht_does_not_depend_on_the_version \
         --skip=no_call_is_served_beyond_the_version_in_force --skip=two_strands_negotiate --skip=another_unit_is_mended \
         --skip=nobody_reads_what_another_guest_has_written --skip=a_change_that_is_pending_all_the_time_is_seen_to_be"),
    step("vfalls", StepKind::Host, &["simulator/"], "--profile=mutants --package=vfalls --lib --bins --tests"),
    step(BOOT, StepKind::Image, SHIPPED,
        "--include-ignored --exact all_cpus_of_two_guests_run a_guest_takes_its_own_traps a_guest_ends_alone \
         the_operator_is_heard services::a_kernel_is_served"),
    step(BARRIERS, StepKind::Image, SHIPPED, "--include-ignored --exact barriers::each_barrier_has_a_verdict"),
    step("fast path", StepKind::FastPath, &["perfctr-service/src/sparc64/", "platform/src/sparc64/"],
        "--include-ignored --exact each_path_does_what_the_contract_says the_rows_of_the_image_are_as_assumed \
         handlers::each_handler_does_what_its_documentation_says \
         handlers::compiled_code_does_not_use_the_register_of_reports"),
    step("image serves", StepKind::Image, SHIPPED,
        "--include-ignored contract:: faults:: kernel:: transfers:: log:: lists:: late:: \
         two_calls_of_a_hub_in_every_order --skip=defect"),
    step("image fails", StepKind::Image, SHIPPED,
        "--include-ignored --skip=attacks:: --skip=defect --skip=contract:: --skip=faults:: --skip=kernel:: \
         --skip=barriers::each_ --skip=transfers:: --skip=log:: --skip=lists:: --skip=late:: --skip=two_calls_of_a_hub"),
];

/// The folders that an image is built from.
const SHIPPED: &[&str] =
    &["guest-abi/", "hv-core/", "platform/", "perfctr-service/", "hypervisor/"];

/// The first step that builds the image.
pub(crate) const BOOT: &str = "image boots";

/// The name of the step that gives a verdict on each memory barrier. Its test finds a barrier by the text of the source line.
const BARRIERS: &str = "barriers";

/// The files that use loom's atomics in a loom build.
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

/// Returns whether this file's code is built only for images.
pub(crate) fn is_image_only(file: &str) -> bool {
    ["/sparc64/", "hypervisor/src/image/", "hypervisor/image/", "/service/words.rs"]
        .iter()
        .any(|part| file.contains(part))
}

impl Step {
    pub(crate) fn judges(&self, mutant: &Mutant) -> bool {
        // The processor that runs the tests orders accesses so strongly that a weaker ordering shows only under loom and in the image's
        // instructions.
        let may = match self.kind {
            // A statement swap may change the text of a barrier's line although the barriers stay right.
            StepKind::Image => self.name != BARRIERS || mutant.edit.rule != SWAP,
            StepKind::FastPath => true,
            StepKind::Loom => !is_image_only(&mutant.file),
            StepKind::Host => !is_image_only(&mutant.file) && mutant.edit.rule != WEAKEN,
        };
        may && self.files.iter().any(|path| mutant.file.starts_with(path))
    }
}
