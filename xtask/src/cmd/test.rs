//! `test`: everything, as CI runs it.

use std::env;
use std::fmt;
use std::io::{self, Write};
use std::process::Command;
use std::time::Instant;

use anyhow::{bail, ensure};

use crate::cargo::{add_components, cargo, passes, works};
use crate::cmd::Mismatch;
use crate::cmd::bench::instructions::{Counter, KINDS, Kind as CallKind, TRACER_OFF};
use crate::cmd::packages;
use crate::qemu::big_endian;
use crate::qemu::toolchain::Toolchain;
use crate::tools::{
    self, BABELTRACE, QEMU_SPARC, QEMU_SUN4V, QEMU_X86, SPARC_GCC, SPARC_LIBC, VALGRIND,
};

/// Check and test everything, as CI does
///
/// Formatting, clippy and rustdoc without warnings, all tests, models of concurrent strands (loom), the instructions that
/// a call may take, the packages to publish, and the service on SPARC V9. It stops at the first step that fails, with exit
/// status 1. The first step looks for all tools that the others need (components of the Rust toolchain, valgrind,
/// babeltrace2, a compiler and an emulator for SPARC), and installs what is missing where that can be done; the other steps
/// install nothing.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  cargo xtask test")]
pub struct Args {}

/// A step, and what is printed of it.
type Step = (&'static str, fn() -> anyhow::Result<()>);

const STEPS: [Step; 11] = [
    ("tools and dependencies that the steps need", prepare),
    ("cargo fmt --all --check", || {
        cargo_passes("fmt --all --check", None)
    }),
    (
        "cargo clippy --workspace --all-targets --all-features, without warnings",
        || {
            cargo_passes(
                "clippy --workspace --all-targets --all-features -- -Dwarnings",
                None,
            )
        },
    ),
    (
        "cargo doc --workspace --no-deps --all-features, without warnings",
        || {
            cargo_passes(
                "doc --workspace --no-deps --all-features",
                Some(("RUSTDOCFLAGS", "-Dwarnings")),
            )
        },
    ),
    ("cargo test --workspace", || {
        cargo_passes("test --workspace", None)
    }),
    (
        "models of what strands do at the same time, checked by loom",
        loom,
    ),
    ("instructions per call, within budget", budgets),
    ("recordings of programs, with the real emulator", || {
        cargo_passes("test --package=xtask --test=commands -- --ignored", None)
    }),
    (
        "packages of the crates that are published, and what they are built from",
        packages::check,
    ),
    (
        "tests of the library crates on SPARC V9, big-endian, emulated",
        big_endian::test,
    ),
    (
        "cargo xtask qemu: the four library crates without the standard library, and a guest, on SPARC V9 by real traps",
        || own(&["qemu"]),
    ),
];

/// Runs all steps.
///
/// # Errors
/// [`Mismatch`] if one fails; those after it are not run.
pub fn run(_: Args) -> anyhow::Result<()> {
    for (passed, (name, step)) in STEPS.into_iter().enumerate() {
        say(format_args!("[{}/{}] {name}", passed + 1, STEPS.len()));
        let start = Instant::now();
        let result = step();
        let seconds = start.elapsed().as_secs_f64();
        if let Err(error) = result {
            say(format_args!("failed after {seconds:.1} s\n"));
            say(format_args!("{passed} passed, 1 failed"));
            bail!(Mismatch(format!("{name}: {error:#}")));
        }
        say(format_args!("passed in {seconds:.1} s\n"));
    }
    say(format_args!("{} passed, 0 failed", STEPS.len()));
    Ok(())
}

/// Prints a line. An error is ignored: the steps run even if nobody reads what they print.
fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Runs cargo with these arguments, which have no spaces, and with flags added to those in an environment variable.
fn cargo_passes(arguments: &str, flags: Option<(&str, &str)>) -> anyhow::Result<()> {
    let mut command = cargo();
    if let Some((name, flags)) = flags {
        let before = env::var(name).unwrap_or_default();
        command.env(name, format!("{before} {flags}").trim());
    }
    passes(command.args(arguments.split(' ')))
}

/// Runs the models that loom checks: those of parts stand beside the code of a crate, those of the whole service in
/// `tests`. They have a target directory of their own, because the flag rebuilds everything.
fn loom() -> anyhow::Result<()> {
    for models in [
        "--package=hv-core --package=perfctr-service --lib loom_",
        "--package=tests --test=loom",
    ] {
        let test = format!("test --quiet --release --target-dir=target/loom {models}");
        cargo_passes(&test, Some(("RUSTFLAGS", "--cfg loom")))?;
    }
    Ok(())
}

/// Looks for what the other steps and the tests need, and installs what is missing.
fn prepare() -> anyhow::Result<()> {
    let mut needed = vec![
        VALGRIND, BABELTRACE, SPARC_GCC, SPARC_LIBC, QEMU_X86, QEMU_SPARC, QEMU_SUN4V,
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

/// Counts the instructions of every kind of call that has a budget. The budgets are for x86-64; on other hosts the counts
/// are printed and not checked.
fn budgets() -> anyhow::Result<()> {
    let counter = Counter::new()?;
    for kind in &KINDS {
        let Some(budget) = kind.budget else { continue };
        let count = counter.count(kind)?;
        say(format_args!(
            "{}: {count} instructions, at most {}",
            kind.name, budget.reach
        ));
        ensure!(
            count <= budget.reach || !cfg!(target_arch = "x86_64"),
            "{} takes {count} instructions, expected at most {}",
            kind.name,
            budget.reach
        );
    }
    let without = counter.count(CallKind::named("get_dram")?)?;
    let off = counter.count(CallKind::named("get_dram_tracer_off")?)?;
    ensure!(
        off <= without + TRACER_OFF,
        "a tracer that is off adds {} instructions to get_dram, expected at most {TRACER_OFF}",
        off - without
    );
    Ok(())
}

/// Runs a command of this program.
fn own(arguments: &[&str]) -> anyhow::Result<()> {
    passes(Command::new(env::current_exe()?).args(arguments))
}
