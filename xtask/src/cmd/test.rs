//! `test`: everything, as CI runs it.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::process::Command;

use anyhow::{bail, ensure};
use guest_abi::PerfReg;
use serde::Deserialize;

use crate::budgets::{OF_SPARC, OF_X86};
use crate::cargo::{add_components, cargo, passes, root, works};
use crate::cmd::bench::instructions::{Counter, KINDS};
use crate::cmd::packages;
use crate::figures::{self, Counted};
use crate::qemu::big_endian;
use crate::qemu::toolchain::Toolchain;
use crate::steps::{self, Step, say};
use crate::tools::{
    self, BABELTRACE, CHROMIUM, GDB, QEMU_SPARC, QEMU_SUN4V, QEMU_X86, SPARC_GCC, SPARC_LIBC, TMUX,
    VALGRIND, Z3,
};

/// Check and test everything, as CI does
///
/// Formatting, clippy and rustdoc without warnings, all tests, models of concurrent strands (loom, shuttle), the instructions that
/// a call may take, the packages to publish, the service on SPARC V9, and the figures in README files. It stops at the first step that fails, with exit
/// status 1. The first step looks for all tools that the others need (components of the Rust toolchain, valgrind,
/// babeltrace2, a compiler, an emulator and a debugger for SPARC, a browser, tmux, z3), and installs what is missing where that can be done; the other steps
/// install nothing.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  cargo xtask test")]
pub struct Args {}

/// The steps. They add what they count.
const STEPS: [Step<'static, Counted>; 14] = [
    ("tools and dependencies that the steps need", |_| prepare()),
    ("cargo fmt --all --check", |_| {
        cargo_passes("fmt --all --check", None)
    }),
    (
        "cargo clippy --workspace --all-targets --all-features, without warnings",
        |_| {
            cargo_passes(
                "clippy --workspace --all-targets --all-features -- -Dwarnings",
                None,
            )
        },
    ),
    (
        "cargo doc --workspace --no-deps --all-features, without warnings",
        |_| {
            cargo_passes(
                "doc --workspace --no-deps --all-features",
                Some(("RUSTDOCFLAGS", "-Dwarnings")),
            )
        },
    ),
    ("cargo test --workspace", |_| {
        cargo_passes("test --workspace", None)
    }),
    (
        "models of what strands do at the same time, checked by loom",
        |_| models("loom", &[], &[]),
    ),
    (
        "dozens of strands, in random orders chosen by shuttle",
        |_| models("shuttle", &[], &[]),
    ),
    ("instructions per call, within budget", budgets),
    (
        "instructions per reference that sim replays, within budget",
        |_| cargo_passes("xtask bench --budgets", None),
    ),
    (
        "recordings of programs, with the real emulator, and programs that the interpreter executes beside it; the production image on the machine that executes, and a debugger there; top in a real terminal, a page in a real browser; proofs for any number of strands",
        |_| {
            // Of the whole workspace: with other packages selected, cargo builds them anew, with fewer features.
            cargo_passes(
                "test --workspace --test=commands --test=interpreter --test=production --test=templates --test=browser --test=any_number -- --ignored",
                None,
            )
        },
    ),
    (
        "packages of the crates that are published, and what they are built from",
        |_| packages::check(),
    ),
    (
        "tests of the library crates on SPARC V9, big-endian, emulated",
        |_| big_endian::test(),
    ),
    (
        "cargo xtask qemu: the four library crates without the standard library, and a guest, on SPARC V9 by real traps",
        qemu,
    ),
    (
        "figures in README files are those counted and printed",
        readme,
    ),
];

/// Runs all steps.
///
/// # Errors
/// [`Mismatch`](super::Mismatch) if one fails; those after it are not run.
pub fn run(_: Args) -> anyhow::Result<()> {
    steps::run(&STEPS, &mut Counted::default())
}

/// Runs cargo with these arguments, which have no spaces, and with flags added to those in an environment variable.
///
/// # Errors
/// cargo cannot be run, or fails.
pub fn cargo_passes(arguments: &str, flags: Option<(&str, &str)>) -> anyhow::Result<()> {
    let mut command = cargo();
    if let Some((name, flags)) = flags {
        with_flags(&mut command, name, flags);
    }
    passes(command.args(arguments.split(' ')))
}

fn with_flags(command: &mut Command, name: &str, flags: &str) {
    let before = env::var(name).unwrap_or_default();
    command.env(name, format!("{before} {flags}").trim());
}

/// Runs the models that loom or shuttle checks: those of parts stand beside the code of a crate, those of the whole service in
/// `tests`. They have a target directory of their own, because the flag rebuilds everything. Of all models, those run whose name
/// contains one of `names`, if there are any.
///
/// # Errors
/// A model fails.
pub fn models(checker: &str, names: &[&str], variables: &[(&str, &str)]) -> anyhow::Result<()> {
    let parts = format!("{checker}_");
    let parts = if names.is_empty() { &[&*parts] } else { names };
    let part = ["--package=hv-core", "--package=perfctr-service", "--lib"];
    let whole = ["--package=tests", &format!("--test={checker}")];
    for (packages, names) in [(&part[..], parts), (&whole, names)] {
        let mut command = cargo();
        command.envs(variables.iter().copied());
        with_flags(&mut command, "RUSTFLAGS", &format!("--cfg {checker}"));
        command.args(["test", "--quiet", "--release"]);
        command.arg(format!("--target-dir=target/{checker}"));
        passes(command.args(packages).arg("--").args(names))?;
    }
    Ok(())
}

/// Looks for what the other steps and the tests need, and installs what is missing.
fn prepare() -> anyhow::Result<()> {
    let mut needed = vec![
        VALGRIND, BABELTRACE, SPARC_GCC, SPARC_LIBC, QEMU_X86, QEMU_SPARC, QEMU_SUN4V, CHROMIUM,
        TMUX, Z3, GDB,
    ];
    needed.extend(Toolchain::tools());
    match (components(), tools::require(&needed)) {
        (Err(components), Err(tools)) => bail!("{components:#}; {tools:#}"),
        (components, tools) => components.and(tools)?,
    }
    cargo_passes("fetch --quiet --locked", None)
}

/// Makes sure that the toolchain has the components with cargo fmt and cargo clippy.
fn components() -> anyhow::Result<()> {
    let works = |subcommand: &str| works(cargo().args([subcommand, "--version"]));
    let mut missing = vec![("fmt", "rustfmt"), ("clippy", "clippy")];
    missing.retain(|(subcommand, _)| !works(subcommand));
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|(_, component)| *component).collect();
    let list = names.join(" ");
    let said = || {
        say(format_args!(
            "installing components of the toolchain: {list} ..."
        ))
    };
    let added = add_components(&names, said);
    ensure!(
        added && missing.iter().all(|(subcommand, _)| works(subcommand)),
        "components of the toolchain are missing; type: rustup component add {list}"
    );
    Ok(())
}

/// Counts the instructions of every kind of call. The budgets are for x86-64; on other hosts the counts are printed and not checked.
fn budgets(counted: &mut Counted) -> anyhow::Result<()> {
    let counter = Counter::new()?;
    let mut counts = BTreeMap::new();
    for kind in &KINDS {
        counts.insert(kind.name.to_owned(), counter.count(kind)?);
    }
    say(format_args!("{}", OF_X86.table(&counts)));
    let kept = OF_X86.keep(&counts);
    counted.add(OF_X86.name, counts);
    if cfg!(target_arch = "x86_64") {
        kept
    } else {
        Ok(())
    }
}

/// What the file of `qemu --json` says of instructions.
#[derive(Deserialize)]
struct OnSparc {
    instructions: BTreeMap<String, u64>,
}

/// Checks the images on SPARC V9, budgets among the rest.
fn qemu(counted: &mut Counted) -> anyhow::Result<()> {
    let file = root().join("target/qemu.json");
    passes(
        Command::new(env::current_exe()?)
            .args(["qemu", "--force", "--json"])
            .arg(&file),
    )?;
    let report: OnSparc = serde_json::from_slice(&fs::read(file)?)?;
    counted.add(OF_SPARC.name, report.instructions);
    let missing = figures::not_counted(&OF_SPARC, counted);
    ensure!(missing.is_empty(), "not counted: {}", missing.join(", "));
    Ok(())
}

/// Compares the figures in README files with what was counted.
fn readme(counted: &mut Counted) -> anyhow::Result<()> {
    if !cfg!(target_arch = "x86_64") {
        say(format_args!("not compared: they are of x86-64"));
        return Ok(());
    }
    counted.add("", [("registers".to_owned(), PerfReg::COUNT as u64)]);
    let wrong = figures::differ(counted)?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
