//! Builds the images under `tests/images`.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use anyhow::Context;

use super::toolchain::Toolchain;
use crate::cargo::{passes, root};

/// What the service reaches in an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Devices {
    /// Models of the devices.
    Models,
    /// Physical addresses: the image as it is shipped, whose devices QEMU does not have. Reads give 0.
    Mmio,
    /// As `mmio`, but channel 1 of node 0 and hub 3 fault, and the guest can ask for late faults.
    Faults,
    /// As `mmio`, but calls leave the hypervisor's values in registers.
    Leaks,
    /// As `models`, but the guest may change the machine, and which strand it is.
    Control,
    /// As `mmio`, but words of memory are in place of the registers, and the guest may change the machine, and which strand it is.
    Memory,
}

impl Devices {
    /// Returns the name of the variant, which is that of its feature, if it has one.
    const fn name(self) -> &'static str {
        match self {
            Self::Models => "models",
            Self::Mmio => "mmio",
            Self::Faults => "faults",
            Self::Leaks => "leaks",
            Self::Control => "control",
            Self::Memory => "memory",
        }
    }
}

pub(super) const TARGET: &str = "sparc64-unknown-none-sun4v";

/// Returns the directory in which images are built and the files for booting them are written.
#[must_use]
pub fn directory() -> PathBuf {
    root().join("target/images")
}

/// Builds the hypervisor.
///
/// # Errors
/// It does not compile, or a file cannot be written.
pub fn hypervisor(toolchain: &Toolchain, devices: Devices) -> anyhow::Result<PathBuf> {
    let features = match devices {
        Devices::Mmio => &[][..],
        Devices::Control => &["--features", "models,control"],
        _ => &["--features", devices.name()],
    };
    build(toolchain, "hypervisor", devices.name(), features)
}

/// The forms of the image for the machine that executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Production {
    /// As it is shipped.
    Shipped,
    /// For QEMU: words of memory are in place of %pcr and %pic.
    PcrInMemory,
    /// The memory of guests has no end.
    Unbounded,
}

/// Builds the hypervisor for the guests of a machine description.
///
/// # Errors
/// As [`hypervisor`].
pub fn production(toolchain: &Toolchain, form: Production) -> anyhow::Result<PathBuf> {
    let (name, features) = match form {
        Production::Shipped => ("shipped", &[][..]),
        Production::PcrInMemory => ("pcr-in-memory", &["--features", "pcr-in-memory"][..]),
        Production::Unbounded => ("unbounded", &["--features", "unbounded"][..]),
    };
    build(toolchain, "production", name, features)
}

/// Builds the image in the documentation of `perfctr_service::sparc64`.
///
/// # Errors
/// As [`hypervisor`].
pub fn example(toolchain: &Toolchain) -> anyhow::Result<PathBuf> {
    build(toolchain, "example", "documented", &[])
}

/// Builds the guest that checks the service.
///
/// # Errors
/// As [`hypervisor`].
pub fn guest(toolchain: &Toolchain) -> anyhow::Result<PathBuf> {
    build(toolchain, "guest", "checks", &[])
}

/// Builds the guest in Rust that is there to be copied.
///
/// # Errors
/// As [`hypervisor`].
pub fn template(toolchain: &Toolchain) -> anyhow::Result<PathBuf> {
    build(toolchain, "template", "rust", &[])
}

/// Builds the guest that says what it finds on the production image.
///
/// # Errors
/// As [`hypervisor`].
pub fn kernel(toolchain: &Toolchain) -> anyhow::Result<PathBuf> {
    build(toolchain, "kernel", "tests", &[])
}

/// Returns the arguments with which cargo builds for SPARC V9 without an operating system.
pub(super) fn bare_metal() -> [OsString; 7] {
    let target = root().join("tests/images").join(format!("{TARGET}.json"));
    [
        "-Zjson-target-spec".into(),
        "-Zbuild-std=core,compiler_builtins".into(),
        "-Zbuild-std-features=compiler-builtins-mem".into(),
        "--target".into(),
        target.into(),
        "--target-dir".into(),
        directory().into(),
    ]
}

fn build(
    toolchain: &Toolchain,
    package: &str,
    variant: &str,
    features: &[&str],
) -> anyhow::Result<PathBuf> {
    let mut cargo = toolchain.cargo();
    cargo
        .current_dir(root().join("tests/images"))
        .args(["build", "--quiet", "--release", "--package", package])
        .args(bare_metal())
        .args(features);
    passes(&mut cargo)
        .with_context(|| format!("the image {package} ({variant}) does not build"))?;
    let built = directory().join(TARGET).join("release").join(package);
    let image = directory().join(format!("{package}-{variant}.elf"));
    fs::copy(&built, &image).with_context(|| format!("{}", image.display()))?;
    Ok(image)
}
