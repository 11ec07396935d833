//! Tests the library crates on a big-endian processor: SPARC V9, which `qemu-sparc64` emulates.

use std::process::Command;

use anyhow::Context;

use super::build::directory;
use super::toolchain::Toolchain;
use crate::cargo::{passes, root};
use crate::tools::{self, QEMU_SPARC, SPARC_GCC, SPARC_LIBC};

const TARGET: &str = "sparc64-unknown-linux-gnu";

/// The directory of Debian's C library for the target architecture.
const LIBRARY: &str = "/usr/sparc64-linux-gnu";

/// The arguments that make [`cargo`] compile for SPARC V9.
pub const ARGUMENTS: [&str; 3] = ["-Zbuild-std=std,panic_unwind,test", "--target", TARGET];

/// Returns a cargo command that can compile for SPARC V9, and run the compiled program.
pub fn cargo() -> anyhow::Result<Command> {
    tools::require(&[SPARC_GCC, SPARC_LIBC, QEMU_SPARC])?;
    let (linker, emulator) = (SPARC_GCC.find()?, QEMU_SPARC.find()?);
    let runner = format!("{} -L {LIBRARY}", emulator.display());
    let mut cargo = Toolchain::find()?.cargo();
    cargo
        .env("CARGO_TARGET_SPARC64_UNKNOWN_LINUX_GNU_LINKER", linker)
        .env("CARGO_TARGET_SPARC64_UNKNOWN_LINUX_GNU_RUNNER", runner)
        // A backtrace would take a minute on the emulated processor.
        .env("RUST_BACKTRACE", "0")
        .env("CARGO_PROFILE_TEST_DEBUG", "0");
    Ok(cargo)
}

/// Runs the tests of `guest-abi`, `hv-core`, `platform` and `perfctr-service`, compiled for SPARC V9.
pub fn test() -> anyhow::Result<()> {
    let mut cargo = cargo()?;
    cargo
        .current_dir(root())
        // Without optimisation, an emulated test takes a minute instead of a second. A crate compiles faster in 4 codegen units than in 16.
        .env("CARGO_PROFILE_TEST_OPT_LEVEL", "2")
        .env("CARGO_PROFILE_TEST_CODEGEN_UNITS", "4")
        .args(["test", "--quiet", "--lib", "--tests"])
        .args(["--package", "sun4v-guest-abi", "--package", "sun4v-hv-core"])
        .args(["--package", "sun4v-platform"])
        .args(["--features", "sun4v-platform/models"])
        .args(["--package", "sun4v-perfctr-service"])
        .args(ARGUMENTS)
        .arg("--target-dir")
        .arg(directory());
    passes(&mut cargo).with_context(|| format!("tests of {TARGET}"))
}
