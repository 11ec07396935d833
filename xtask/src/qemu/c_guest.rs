//! Builds the guest in C that checks the service, and the static library of the C interface.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;

use super::build;
use super::toolchain::Toolchain;
use crate::cargo::{passes, root};
use crate::tools::{self, SPARC_GCC};

const SOURCES: &str = "guest.c preserved.c contract.c report.c ../assembly/entry.s ../assembly/around.s ../assembly/deep.s \
                       ../assembly/left.s ../assembly/level.s";

/// Options for a kernel: no FPU, and no addresses beyond 32 bits. The assembly files do not declare
/// that they need no executable stack, so a linker option does (`noexecstack`).
const FLAGS: &str = "-std=c99 -Wall -Wextra -Werror -pedantic -O2 -ffreestanding -fno-pie -fno-pic -mcpu=v9 -mcmodel=medlow -mno-fpu \
                     -Wa,-Av9b -nostdlib -static -no-pie -Wl,--build-id=none,--gc-sections -Wl,-z,noexecstack";

/// Builds the C interface as a static library for SPARC V9 kernels.
///
/// # Errors
/// The library does not compile.
pub fn library(toolchain: &Toolchain) -> anyhow::Result<PathBuf> {
    let mut command = toolchain.cargo();
    command.current_dir(root().join("guest-abi/c"));
    command.args("build --quiet --release --config kernel/config.toml --target-dir".split(' '));
    passes(command.arg(build::directory())).context("the C interface does not build")?;
    Ok(build::directory().join("sparc64-unknown-none-kernel/release/libvfperf.a"))
}

/// Builds the guest in C that checks the service.
pub fn guest(toolchain: &Toolchain) -> anyhow::Result<PathBuf> {
    let gcc = tools::path(&SPARC_GCC)?;
    let library = library(toolchain)?;
    let image = build::directory().join("guest-c.elf");
    let mut command = Command::new(gcc);
    command
        .current_dir(root().join("tests/images/c-guest"))
        .args(FLAGS.split(' '))
        .arg("-I")
        .arg(root().join("guest-abi/c/include"))
        .arg("-T")
        .arg(root().join("guest-abi/guests/c/image.ld"))
        .args(SOURCES.split(' '))
        .arg(library)
        .arg("-o")
        .arg(&image);
    passes(&mut command).context("the guest in C does not build")?;
    Ok(image)
}
