//! Builds images and guests.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use clap::ValueEnum;
use nix::fcntl::{Flock, FlockArg};
use vfalls::cmd::new_image;

use super::toolchain::Toolchain;
use crate::cargo::{passes, root};

/// The devices that the service in an image uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Devices {
    /// Models of the devices.
    Models,
    /// Physical addresses, as in the shipped image. QEMU has no devices there, so reads return 0.
    Mmio,
    /// Like `mmio`, but channel 1 of node 0 and hub 3 fault.
    Faults,
    /// Like `mmio`, but calls leak: they leave the hypervisor's values in registers.
    Leaks,
    /// Like `models`, but the guest may change the machine, and may choose which strand it is.
    Control,
    /// Like `mmio`, but words of memory replace the registers. The guest may change the machine,
    /// and may choose which strand it is.
    Memory,
}

impl Devices {
    /// Returns the name on the command line. If the image has a feature for these devices, it has the same name.
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

const TARGET: &str = "sparc64-unknown-none-sun4v";

/// The folder of the Rust example guest. Other images use its target file, too.
const GUEST_TO_COPY: &str = "guest-abi/guests/rust";

/// Returns the directory for built images, and for the files that QEMU needs to boot them.
pub fn directory() -> PathBuf {
    root().join("target/images")
}

pub fn hypervisor(toolchain: &Toolchain, devices: Devices) -> anyhow::Result<PathBuf> {
    let name = devices.name();
    let features = match devices {
        Devices::Mmio => "pcr-in-memory",
        Devices::Control => "models,control",
        _ => &name,
    };
    build(toolchain, "board", &name, &["--features", features])
}

/// A form in which the production image is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Production {
    Shipped,
    /// For QEMU, which lacks %pcr and %pic: words in memory replace these registers.
    PcrInMemory,
    /// The event rings hold only a few events, so that they overflow.
    SmallRings,
    /// Nothing stops a guest's accesses beyond the end of its memory.
    Unbounded,
}

/// Builds the hypervisor for the guests of a machine description.
pub fn production(toolchain: &Toolchain, form: Production) -> anyhow::Result<PathBuf> {
    let (name, features) = match form {
        Production::Shipped => ("shipped", &[][..]),
        Production::PcrInMemory => ("pcr-in-memory", &["--features", "pcr-in-memory"][..]),
        Production::SmallRings => ("small-rings", &["--features", "small-rings"][..]),
        Production::Unbounded => {
            return build(toolchain, "board", "unbounded", &["--features", "unbounded"]);
        }
    };
    build_in(HYPERVISOR, toolchain, "hypervisor-image", name, features)
}

/// Builds the shipped form of the hypervisor in another checkout. Returns the path of the image.
pub fn hypervisor_of(checkout: &Path, toolchain: &Toolchain) -> anyhow::Result<PathBuf> {
    let target = checkout.join("target/images");
    let mut cargo = cargo(toolchain, checkout, HYPERVISOR);
    passes(cargo.args(bare_metal(checkout, &target)))
        .with_context(|| format!("the image in {} does not build", checkout.display()))?;
    Ok(target.join(TARGET).join("release/hypervisor-image"))
}

/// Builds the hypervisor that `vfalls new-image` writes.
pub fn smallest(toolchain: &Toolchain) -> anyhow::Result<PathBuf> {
    let project = directory().join("smallest");
    let checkout = format!("\"{}/", root().display());
    for (path, content) in new_image::FILES {
        let file = project.join(path);
        file.parent().map_or(Ok(()), fs::create_dir_all)?;
        let is_manifest = path == "Cargo.toml";
        let content = if is_manifest { &content.replace("\"../../", &checkout) } else { content };
        // Does not write files that have not changed, because cargo rebuilds after any write.
        if fs::read(&file).ok().as_deref() != Some(content.as_bytes()) {
            fs::write(file, content)?;
        }
    }
    let mut cargo = cargo(toolchain, root(), "");
    cargo.current_dir(project).args(["--locked", "--target-dir"]).arg(directory());
    complete(&mut cargo, "hypervisor", "smallest")
}

/// Builds the image with defects. A word in its memory chooses the defect.
pub fn defects(toolchain: &Toolchain) -> anyhow::Result<PathBuf> {
    build(toolchain, "defects", "slow", &[])
}

/// Builds the guest that checks the service.
pub fn guest(toolchain: &Toolchain) -> anyhow::Result<PathBuf> {
    build(toolchain, "guest", "checks", &[])
}

/// Builds the example guest in Rust.
pub fn guest_to_copy(toolchain: &Toolchain) -> anyhow::Result<PathBuf> {
    let mut cargo = cargo(toolchain, root(), GUEST_TO_COPY);
    cargo.args(["--locked", "--target-dir"]).arg(directory());
    complete(&mut cargo, "sun4v-guest", "rust")
}

/// Builds the guest that prints what it finds on the production image.
pub fn kernel(toolchain: &Toolchain) -> anyhow::Result<PathBuf> {
    build(toolchain, "kernel", "tests", &[])
}

/// Returns the cargo arguments that select SPARC V9 without an operating system.
fn bare_metal(checkout: &Path, directory: &Path) -> [OsString; 7] {
    let target = checkout.join(GUEST_TO_COPY).join(format!("{TARGET}.json"));
    [
        "-Zjson-target-spec".into(),
        "-Zbuild-std=core,compiler_builtins".into(),
        "-Zbuild-std-features=compiler-builtins-mem".into(),
        "--target".into(),
        target.into(),
        "--target-dir".into(),
        directory.into(),
    ]
}

const HYPERVISOR: &str = "hypervisor/image";

/// Returns a cargo command that builds the images of the workspace in `folder`, a directory of the checkout. An image is the same, byte for
/// byte, wherever the checkout, the toolchain and the downloaded crates are.
fn cargo(toolchain: &Toolchain, checkout: &Path, folder: &str) -> Command {
    let mut cargo = toolchain.cargo();
    let sysroot = toolchain.rustc.ancestors().nth(2).unwrap_or(Path::new("/"));
    let remapped = [
        (checkout.to_owned(), "."),
        (sysroot.join("lib/rustlib/src/rust"), "rust"),
        (cargo_home(), "cargo"),
    ];
    let flags =
        remapped.map(|(path, name)| format!("--remap-path-prefix={}={name}", path.display()));
    cargo
        .current_dir(checkout.join(folder))
        .env("RUSTC_WRAPPER", checkout.join(HYPERVISOR).join("rustc.sh"))
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .args(["build", "--quiet", "--release"]);
    cargo
}

fn cargo_home() -> PathBuf {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let default = || env::home_dir().unwrap_or_default().join(".cargo");
    home.unwrap_or_else(default)
}

fn build(
    toolchain: &Toolchain,
    package: &str,
    variant: &str,
    features: &[&str],
) -> anyhow::Result<PathBuf> {
    build_in("tests/images", toolchain, package, variant, features)
}

/// Builds a package of the workspace in `folder`. Each `variant` gets an image of its own.
fn build_in(
    folder: &str,
    toolchain: &Toolchain,
    package: &str,
    variant: &str,
    features: &[&str],
) -> anyhow::Result<PathBuf> {
    let mut cargo = cargo(toolchain, root(), folder);
    cargo.args(bare_metal(root(), &directory())).args(["--package", package]).args(features);
    complete(&mut cargo, package, variant)
}

/// Runs a cargo command that builds a package. Returns the path of the image for this variant.
fn complete(cargo: &mut Command, package: &str, variant: &str) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(directory())?;
    // Cargo gives all variants of a package the same file name, and other threads and processes may be building at the same time.
    let lock = File::create(directory().join("lock"))?;
    let _lock = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, error)| error)?;
    passes(cargo).with_context(|| format!("the image {package} ({variant}) does not build"))?;
    let built = directory().join(TARGET).join("release").join(package);
    let image = directory().join(format!("{package}-{variant}.elf"));
    // The image is replaced as a whole, because other processes may be reading it.
    let copy = image.with_extension("copy");
    fs::copy(&built, &copy)
        .and_then(|_| fs::rename(copy, &image))
        .with_context(|| format!("{}", image.display()))?;
    Ok(image)
}
