//! Builds the guests in C, and the static library that they are linked with.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;

use super::build;
use super::toolchain::Toolchain;
use crate::cargo::{passes, root};
use crate::tools::SPARC_GCC;

const SOURCES: [&str; 9] = [
    "guest.c",
    "preserved.c",
    "contract.c",
    "report.c",
    "../assembly/entry.s",
    "../assembly/around.s",
    "../assembly/deep.s",
    "../assembly/left.s",
    "../assembly/level.s",
];

/// Options as for a kernel: no FPU, and no addresses beyond 32 bits.
const FLAGS: [&str; 18] = [
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-pedantic",
    "-O2",
    "-ffreestanding",
    "-fno-pie",
    "-fno-pic",
    "-mcpu=v9",
    "-mcmodel=medlow",
    "-mno-fpu",
    "-Wa,-Av9b",
    "-nostdlib",
    "-static",
    "-no-pie",
    "-Wl,--build-id=none,--gc-sections",
    // The assembly files do not declare that they need no executable stack.
    "-Wl,-z,noexecstack",
];

/// Builds guest-abi's C interface as a static library for SPARC V9 without an operating system.
///
/// # Errors
/// The library does not compile.
pub fn library(toolchain: &Toolchain) -> anyhow::Result<PathBuf> {
    let mut command = toolchain.cargo();
    command.current_dir(root().join("guest-abi"));
    command
        .args(["rustc", "--quiet", "--profile", "image"])
        .args(["--features", "capi", "--crate-type", "staticlib"])
        .args(build::bare_metal());
    passes(&mut command).context("guest-abi's C interface does not build")?;
    Ok(build::directory()
        .join(build::TARGET)
        .join("image/libguest_abi.a"))
}

/// Builds the guest that checks the service.
///
/// # Errors
/// The compiler is missing and cannot be installed, or something does not compile.
pub fn guest(toolchain: &Toolchain) -> anyhow::Result<PathBuf> {
    link(toolchain, "c-guest", &SOURCES, "guest-c.elf")
}

/// Builds the guest that is there to be copied.
///
/// # Errors
/// As [`guest`].
pub fn template(toolchain: &Toolchain) -> anyhow::Result<PathBuf> {
    link(
        toolchain,
        "template",
        &["main.c", "start.s"],
        "template-c.elf",
    )
}

fn link(
    toolchain: &Toolchain,
    folder: &str,
    sources: &[&str],
    name: &str,
) -> anyhow::Result<PathBuf> {
    let gcc = SPARC_GCC.require()?;
    let library = library(toolchain)?;
    let images = root().join("tests/images");
    let image = build::directory().join(name);
    let mut command = Command::new(gcc);
    command
        .current_dir(images.join(folder))
        .args(FLAGS)
        .arg("-I")
        .arg(root().join("guest-abi/include"))
        .arg("-T")
        .arg(images.join("guest/image.ld"))
        .args(sources)
        .arg(library)
        .arg("-o")
        .arg(&image);
    passes(&mut command).with_context(|| format!("{folder} in C does not build"))?;
    Ok(image)
}
