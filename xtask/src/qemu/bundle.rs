//! The hypervisor and the guest that `vfalls` contains, and the toolchain that builds exactly these bytes.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};

use super::build::{self, Production};
use super::toolchain::Toolchain;
use crate::cargo::{output, root};
use crate::tools::{self, SPARC_LD, SPARC_OBJCOPY};

/// The folder of the bundled files, in the checkout.
const FOLDER: &str = "vfalls/bundled";

/// The file that names the toolchain of the bundled files, in the lines that [`versions`] returns.
const TOOLCHAIN: &str = "toolchain.txt";

/// The names of the bundled files, without `.elf.gz`.
pub const NAMES: [&str; 2] = ["hypervisor", "guest"];

pub fn path(name: &str) -> PathBuf {
    root().join(FOLDER).join(format!("{name}.elf.gz"))
}

pub fn bundled(name: &str) -> anyhow::Result<Vec<u8>> {
    let compressed = fs::read(path(name))?;
    let mut elf = Vec::new();
    GzDecoder::new(&compressed[..]).read_to_end(&mut elf)?;
    Ok(elf)
}

/// Returns two lines that name a toolchain: the compiler with its commit, and the linker.
pub fn versions(toolchain: &Toolchain) -> anyhow::Result<String> {
    let first_line = |command: &mut Command| -> anyhow::Result<String> {
        let said = output(command.arg("--version"), "a version")?;
        let said = String::from_utf8_lossy(&said).into_owned();
        Ok(said.lines().next().unwrap_or_default().to_owned())
    };
    let rustc = first_line(&mut Command::new(&toolchain.rustc))?;
    let linker = first_line(&mut Command::new(tools::path(&SPARC_LD)?))?;
    Ok(format!("{rustc}\n{linker}\n"))
}

/// Returns the lines that name the bundled files' toolchain.
pub fn pinned() -> anyhow::Result<String> {
    let path = root().join(FOLDER).join(TOOLCHAIN);
    fs::read_to_string(&path).with_context(|| path.display().to_string())
}

/// Builds the images. Returns them in the bundled form, in the order of [`NAMES`].
pub fn build(toolchain: &Toolchain) -> anyhow::Result<[Vec<u8>; 2]> {
    let hypervisor = build::production(toolchain, Production::Shipped)?;
    let guest = build::guest_to_copy(toolchain)?;
    Ok([stripped(&hypervisor)?, stripped(&guest)?])
}

/// Returns an image without debugging information. The symbols stay, because messages about traps name functions.
pub fn stripped(image: &Path) -> anyhow::Result<Vec<u8>> {
    let stripped = image.with_extension("stripped");
    let mut objcopy = Command::new(tools::path(&SPARC_OBJCOPY)?);
    objcopy.arg("--strip-debug").args([image, &stripped]);
    output(&mut objcopy, "objcopy")?;
    Ok(fs::read(&stripped)?)
}

/// Rebuilds the bundled files. If `pins` is `true`, first pins the installed toolchain. Fails if the installed toolchain is not the pinned
/// one.
pub fn make(pins: bool) -> anyhow::Result<()> {
    let toolchain = Toolchain::find()?;
    let found = versions(&toolchain)?;
    if pins {
        fs::write(root().join(FOLDER).join(TOOLCHAIN), &found)?;
    }
    let pinned = pinned()?;
    ensure!(
        found == pinned,
        "the bundled files are built by\n{pinned}this machine has\n{found}(rustup toolchain install, or --pin to build them by this one)"
    );
    for (name, elf) in NAMES.into_iter().zip(build(&toolchain)?) {
        // The compressed file contains neither a name nor a time, so that it is always the same.
        let mut gz = GzBuilder::new().write(Vec::new(), Compression::best());
        gz.write_all(&elf)?;
        fs::write(path(name), gz.finish()?)?;
    }
    Ok(())
}
