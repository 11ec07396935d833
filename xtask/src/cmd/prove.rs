//! `prove`: the checks that take too long for `test`.

use std::process::Command;

use anyhow::{Context, ensure};

use crate::cargo::{cargo, output, passes, root, run_cargo, works};
use crate::models::models;
use crate::qemu::big_endian;
use crate::steps::{CommandStep, StepOptions, Steps, step};
use crate::tools;

/// Check the concurrent code in far more states and orders than test does, and sweeps of many runs
///
/// Among other things, the steps explore larger models and more orders of strands; make faults, interrupts and changes of rights happen
/// between any two instructions of the hypervisor; check that vfalls conform finds each defect that it must find, and that each change of
/// an instruction of the fast path and of the trap handlers is found or changes nothing; replay up to 10,000 threads and 10,000,000,000
/// references; run tests in Miri and on an emulated SPARC V9; sweep 200 runs with GNU parallel and Slurm; and test 400 mutants of orders
/// and assembly, which takes hours. --list describes each step, and PROOF.md says what the steps show. The first step that fails ends the
/// command, with exit status 1.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  cargo xtask prove\n  cargo xtask prove --only shuttle\n  cargo xtask prove --list"
)]
pub struct ProveArgs {
    #[command(flatten)]
    chosen: StepOptions<Prove>,
}

#[derive(Debug)]
struct Prove;

impl Steps for Prove {
    type Shared = ();
    const STEPS: &'static [CommandStep<()>] = &[
        step("states", "every reachable state of the larger models", |()| {
            run_cargo("run --quiet --profile=quick --package=proof -- --all")?;
            run_cargo("test --quiet --profile=quick --package=proof --test=explored -- --ignored")
        }),
        step(
            "orders",
            "the steps of a hub, and of changes of rights, in more orders than test",
            |()| {
                let tests = "test --quiet --profile=quick --package=sun4v-perfctr-service";
                run_cargo(&format!("{tests} --lib -- --ignored tests::orders"))?;
                let more = format!("{tests} --test=orders");
                passes(cargo().env("PREEMPTIONS", "3").args(more.split(' ')))
            },
        ),
        step(
            "stores",
            "two calls of a hub in every order of their stores, also without the barriers that they do not need",
            |()| production("orders:: barriers::"),
        ),
        step(
            "loom",
            "loom's models without a limit on preemptions, where that ends in minutes",
            |()| {
                models("loom", &UNLIMITED, &[("PREEMPTIONS", "255")])?;
                models("loom", &PREEMPTIONS_3, &[("PREEMPTIONS", "3")])?;
                models("loom", &PREEMPTIONS_4, &[("PREEMPTIONS", "4")])
            },
        ),
        step(
            "shuttle",
            "a million random schedules of shuttle, and a million of PCT",
            // `SCHEDULES` multiplies the number of schedules. By default, all tests together run 10,000 schedules of each kind.
            |()| models("shuttle", &[], &[("SCHEDULES", "100")]),
        ),
        step(
            "failures",
            "stores that fail after each number of cycles, units that fail in 100,000 random runs, and a trap at each instruction of the hypervisor",
            |()| production("late:: failures:: broken::"),
        ),
        step(
            "boundaries",
            "faults, interrupts, cross-calls and traps before each instruction of the hypervisor, with its own spills of windows",
            |()| production("boundaries::"),
        ),
        step(
            "pairs",
            "what a guest observes, in 100,000 pairs of executions that differ in what its neighbour does",
            |()| production("neighbour::"),
        ),
        step(
            "attacks",
            "all attacks of a guest, more calls of two guests, hubs and rights with up to 256 strands, and each defect that vfalls conform must find",
            |()| production("attacks:: contract:: lists:: transfers:: conform::"),
        ),
        step("directories", "the hypervisor is the same, byte for byte, in any directory", |()| {
            let test = "test --profile=quick --package=vfalls --test=commands -- --ignored --exact";
            run_cargo(&format!("{test} boot::bundled::{REPRODUCIBLE_BUILD}"))
        }),
        step(
            "fast-path",
            "every change of an opcode, register, immediate or annul bit of the fast path and of the handlers of traps is found, or changes nothing",
            |()| {
                let tests =
                    "test --profile=quick --package=fast-path --test=fast_path -- --ignored";
                passes(cargo().env("ALL", "1").args(tests.split(' ')))
            },
        ),
        step(
            "growth",
            "nothing that vfalls stat does grows faster than its input: up to 10,000 threads, 256 strands, 10,000,000,000 references",
            |()| run_cargo("xtask bench --growth target/growth.svg --force"),
        ),
        step(
            "overflow",
            "the tests of cargo xtask test with checks of overflow in all crates, not just in those that an image is built from",
            |()| run_cargo("test --workspace"),
        ),
        step("miri", "tests with threads in Miri, with many seeds", |()| miri()),
        step("big-endian", "tests of the library crates on SPARC V9, big-endian, emulated", |()| {
            big_endian::test()
        }),
        step(
            "parallel",
            "the guide's sweep of 200 runs with GNU parallel, one of which is killed",
            |()| sweep("parallel"),
        ),
        step(
            "slurm",
            "the guide's sweep of 200 runs with Slurm on four nodes, one of which is killed",
            |()| sweep("slurm"),
        ),
        step("mutants", "400 changes of orders and assembly, each of which a test notices", |()| {
            run_cargo("run --quiet --profile=quick --package=mutants -- order")
        }),
    ];
}

/// The test that builds the hypervisor a second time. Only a change to the hypervisor's sources or build can make it fail, so `test` just
/// compares one build with the bundled image, and leaves the second build to this command.
const REPRODUCIBLE_BUILD: &str = "the_hypervisor_is_the_same_in_any_directory";

/// Parts of the names of the tests that `test` leaves to this command. `defect` is for tests of the checks of the production image: they
/// break the image in many ways, and the checks must find each defect.
pub(crate) const SKIPPED_BY_TEST: [&str; 2] = [REPRODUCIBLE_BUILD, "defect"];

/// Runs the tests of the production image whose names contain one of `names`. Runs each test in full (`ALL`).
fn production(names: &str) -> anyhow::Result<()> {
    let tests =
        format!("test --profile=quick --package=vfalls --test=production -- --ignored {names}");
    passes(cargo().env("ALL", "1").args(tests.split(' ')))
}

/// Runs a test of a sweep.
fn sweep(name: &str) -> anyhow::Result<()> {
    let test = "test --profile=quick --package=vfalls --test=sweep -- --ignored --exact";
    run_cargo(&format!("{test} {name}"))
}

/// Parts of the names of loom models that end within minutes without a limit on preemptions.
const UNLIMITED: [&str; 9] = [
    "loom_owned_lock",
    "loom_gate::a_strand_that_has_gone_costs_r_refusals",
    "loom_gate::an_end_is_counted_before_the_next_strand_is_served",
    "faults::a_channel_faults_at_the_first_negotiation",
    "faults::a_hub_faults_at_a_negotiation",
    "faults::a_unit_faults_while_it_returns",
    "faults::a_unit_returns_at_a_negotiation",
    "negotiation::calls_while_another_strand_negotiates",
    "negotiation::two_strands_negotiate",
];

/// Parts of the names of models that take minutes with up to 3 preemptions. The models in `PREEMPTIONS_4` take minutes with up to 4.
const PREEMPTIONS_3: [&str; 5] = [
    "the_strand_that_stays",
    "one_access_in_flight",
    "a_busy_chip",
    "the_loser_starts_again",
    "a_guest_that_starts_again",
];
const PREEMPTIONS_4: [&str; 3] =
    ["three_asks", "a_refused_strand_is_served", "the_loser_calls_and_acknowledges"];

pub fn run(args: ProveArgs) -> anyhow::Result<()> {
    args.chosen.run()
}

/// The arguments of `cargo test` that select the tests with threads.
const WITH_THREADS: [&str; 3] = [
    "--package=sun4v-hv-core --test=trace threads",
    "--package=sun4v-perfctr-service --lib guest::tests",
    "--package=tests --test=whole threads::",
];

/// Runs the tests with threads in Miri. Each seed chooses a different order of threads, and different values for loads from weak memory.
fn miri() -> anyhow::Result<()> {
    const MISSING: &str = "Miri is missing; type: \
         rustup toolchain install nightly --component miri --component rust-src";
    let rustup = tools::find("rustup").context(MISSING)?;
    let nightly = |arguments: &str| {
        let mut command = Command::new(&rustup);
        command.current_dir(root()).args(["run", "nightly"]);
        command.args(arguments.split(' '));
        command
    };
    ensure!(works(&mut nightly("cargo miri --version")), MISSING);
    let sysroot = output(&mut nightly("rustc --print sysroot"), "rustc")?;
    let source = String::from_utf8_lossy(&sysroot).trim().to_owned() + "/lib/rustlib/src/rust";
    ensure!(std::path::Path::new(&source).exists(), MISSING);
    for tests in WITH_THREADS {
        let mut command =
            nightly(&format!("cargo miri test --quiet --target-dir=target/miri {tests}"));
        command.env("MIRIFLAGS", "-Zmiri-many-seeds=0..16 -Zmiri-disable-isolation");
        passes(&mut command)?;
    }
    Ok(())
}
