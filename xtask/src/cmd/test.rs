//! `test`: the checks that CI runs.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::process::Command;

use anyhow::{bail, ensure};
use guest_abi::PerfReg;
use serde::Deserialize;

use crate::budgets::{SPARC_BUDGETS, X86_BUDGETS};
use crate::cargo::{add_components, cargo, passes, root, run_cargo, with_flags, works};
use crate::cmd::bench::instructions::{CALLS, Counter};
use crate::cmd::packages;
use crate::cmd::prove::SKIPPED_BY_TEST;
use crate::figures::{self, Counted};
use crate::models::models;
use crate::qemu::toolchain::Toolchain;
use crate::steps::{CommandStep, StepOptions, Steps, say, step};
use crate::tools::{
    self, BABELTRACE, CHROMIUM, CXX, GDB, MAKE, QEMU_SPARC, QEMU_SUN4V, QEMU_X86, SPARC_GCC,
    SPARC_LIBC, TMUX, VALGRIND, Z3,
};

/// Check and test everything, as CI does
///
/// Checks formatting, clippy and rustdoc without warnings, listings of public items, all tests, models of concurrent strands (loom), the
/// instructions that a call may take, the packages to publish, the service on SPARC V9, and the figures in README files.
/// The first step that fails ends the command, with exit status 1. The first step looks for the tools that the other steps need
/// (components of the Rust toolchain, valgrind, babeltrace2, a C++ compiler, a browser, tmux, z3, and for SPARC a compiler, an emulator
/// and a debugger), and installs missing tools where it can. The other steps install nothing.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  cargo xtask test\n  cargo xtask test --only clippy --only loom\n  cargo xtask test --list"
)]
pub struct TestArgs {
    #[command(flatten)]
    chosen: StepOptions<Test>,
}

#[derive(Debug)]
struct Test;

impl Steps for Test {
    /// The instruction counts that earlier steps produce. A later step compares them with the README files.
    type Shared = Counted;
    const STEPS: &'static [CommandStep<Counted>] = &[
        step("tools", "tools and dependencies that the steps need", |_| prepare()),
        step("fmt", "cargo fmt --all --check", |_| run_cargo("fmt --all --check")),
        step("tests", "cargo test --workspace, in two parts", |_| {
            run_tests(&Part::Tool, "")?;
            run_tests(&Part::Apart, "")
        }),
        step("loom", "models of concurrent strands, checked by loom", |_| models("loom", &[], &[])),
        step("calls", "instructions per call, within budget", budgets),
        step("references", "instructions per reference that stat replays, within budget", |_| {
            run_cargo("xtask bench --budgets")
        }),
        step(
            "programs",
            "tests that need other programs: recordings with the real emulator; the interpreter compared with it; the production image, and a debugger there; top in a real terminal, a page in a real browser; blocks of README files; proofs for any number of strands, and of the fast path for all inputs; the C header as C++",
            |_| {
                let tests = "--test=commands --test=interpreter --test=production --test=browser --test=fast_path --test=c -- --ignored";
                let skips = SKIPPED_BY_TEST.map(|part| format!(" --skip {part}"));
                run_tests(&Part::Tool, &format!("{tests}{}", skips.concat()))?;
                run_tests(&Part::Apart, "--test=readme --test=any_number -- --ignored")
            },
        ),
        // These steps come late, because cargo lets only one process at a time compile for a profile, and the step `tests` compiles for
        // minutes. They use the profile `quick` for its build scripts and macros.
        step("doc", "cargo doc --workspace --no-deps --all-features, without warnings", |_| {
            documentation()
        }),
        step("api", "cargo xtask api --check: public items equal their listings", |_| {
            run_cargo("xtask api --check")
        }),
        step(
            "clippy",
            "cargo clippy --workspace --all-targets --all-features, without warnings",
            |_| {
                run_cargo(
                    "clippy --profile=quick --workspace --all-targets --all-features -- -Dwarnings",
                )
            },
        ),
        step(
            "packages",
            "packages of the crates that are published, compiled from their files alone",
            |_| packages::check(),
        ),
        step(
            "guests",
            "guests to copy, and an image that vfalls new-image writes, built and booted as their README files say",
            |_| run_tests(&Part::Tool, "--test=guests -- --ignored"),
        ),
        step(
            "qemu",
            "cargo xtask qemu: the four library crates without the standard library, and a guest, on SPARC V9 by real traps",
            qemu,
        ),
        CommandStep {
            needs: &["calls", "qemu"],
            ..step("figures", "figures in README files equal the counts", readme)
        },
    ];
    const PARALLEL: &'static [&'static [&'static str]] =
        &[&["loom", "calls", "references", "qemu", "figures"], &["programs", "guests"]];
}

pub fn run(args: TestArgs) -> anyhow::Result<()> {
    args.chosen.run()
}

/// A part of the workspace that is tested at once.
enum Part {
    /// All packages but those of [`APART`]. Cargo compiles the simulator and `vfalls` for them as it does for `cargo vfalls`, so it does not
    /// compile them again, and the tests are of what users run.
    Tool,
    Apart,
}

/// Packages that need other features of crates that the simulator depends on, for example `hv-core/steps`. If they were tested with the
/// others, cargo would compile the simulator with these features.
pub const APART: [&str; 7] =
    ["sun4v-hv-core", "sun4v-perfctr-service", "tests", "proof", "readme", "api", "header"];

/// Tests a part of the workspace, with the profile of `cargo vfalls`. `arguments` are separated by spaces.
fn run_tests(part: &Part, arguments: &str) -> anyhow::Result<()> {
    let mut cargo = cargo();
    cargo.args(["test", "--profile=quick"]);
    match part {
        Part::Tool => {
            cargo.arg("--workspace").args(APART.map(|package| format!("--exclude={package}")))
        }
        Part::Apart => cargo.args(APART.map(|package| format!("--package={package}"))),
    };
    passes(cargo.args(arguments.split_whitespace()))
}

fn documentation() -> anyhow::Result<()> {
    let mut command = cargo();
    with_flags(&mut command, "RUSTDOCFLAGS", "-Dwarnings");
    passes(command.args(["doc", "--profile=quick", "--workspace", "--no-deps", "--all-features"]))
}

/// Looks for the tools that the other steps need, and installs missing ones.
fn prepare() -> anyhow::Result<()> {
    let mut needed = vec![
        VALGRIND, BABELTRACE, CXX, SPARC_GCC, SPARC_LIBC, MAKE, QEMU_X86, QEMU_SPARC, QEMU_SUN4V,
        CHROMIUM, TMUX, Z3, GDB,
    ];
    needed.extend(Toolchain::tools());
    match (components(), tools::require(&needed)) {
        (Err(components), Err(tools)) => bail!("{components:#}; {tools:#}"),
        (components, tools) => components.and(tools)?,
    }
    run_cargo("fetch --quiet --locked")
}

/// Adds the rustfmt and clippy components to the toolchain if they are missing.
fn components() -> anyhow::Result<()> {
    let works = |subcommand: &str| works(cargo().args([subcommand, "--version"]));
    let mut missing = vec![("fmt", "rustfmt"), ("clippy", "clippy")];
    missing.retain(|(subcommand, _)| !works(subcommand));
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|(_, component)| *component).collect();
    let list = names.join(" ");
    let said = || say(format_args!("installing components of the toolchain: {list} ..."));
    let added = add_components(&names, said);
    ensure!(
        added && missing.iter().all(|(subcommand, _)| works(subcommand)),
        "components of the toolchain are missing; type: rustup component add {list}"
    );
    Ok(())
}

/// Counts the instructions of every kind of call. The counts are compared with budgets only on x86-64.
fn budgets(counted: &mut Counted) -> anyhow::Result<()> {
    let counter = Counter::new()?;
    let mut counts = BTreeMap::new();
    for kind in &CALLS {
        counts.insert(kind.name.to_owned(), counter.count(kind)?);
    }
    say(format_args!("{}", X86_BUDGETS.table(&counts)));
    let kept = X86_BUDGETS.check(&counts);
    counted.add(X86_BUDGETS.name, counts);
    if cfg!(target_arch = "x86_64") { kept } else { Ok(()) }
}

/// The fields of `qemu --json` that this step reads.
#[derive(Deserialize)]
struct OnSparc {
    instructions: BTreeMap<String, u64>,
}

/// Checks the images on SPARC V9, and compares the counts with their budgets.
fn qemu(counted: &mut Counted) -> anyhow::Result<()> {
    let file = root().join("target/qemu.json");
    passes(Command::new(env::current_exe()?).args(["qemu", "--force", "--json"]).arg(&file))?;
    let report: OnSparc = serde_json::from_slice(&fs::read(file)?)?;
    counted.add(SPARC_BUDGETS.name, report.instructions);
    let missing = figures::not_counted(&SPARC_BUDGETS, counted);
    ensure!(missing.is_empty(), "not counted: {}", missing.join(", "));
    Ok(())
}

/// Compares the figures in README files with the counts of earlier steps.
fn readme(counted: &mut Counted) -> anyhow::Result<()> {
    if !cfg!(target_arch = "x86_64") {
        say(format_args!("not compared: the figures are for x86-64"));
        return Ok(());
    }
    counted.add("", [("registers".to_owned(), PerfReg::COUNT as u64)]);
    let wrong = figures::differences(counted)?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
