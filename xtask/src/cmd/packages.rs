//! Checks that the published crates can be built from their packages alone.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;

use crate::cargo::{cargo, passes, root};

pub const PUBLISHED: [&str; 8] = [
    "sun4v-guest-abi",
    "guest-abi-c",
    "sun4v-hv-core",
    "sun4v-platform",
    "sun4v-perfctr-service",
    "sun4v-conform",
    "vfalls-refs",
    "sun4v-simulator",
];

/// Creates the packages, unpacks them side by side, and compiles them there.
///
/// Does not let `cargo package` compile them, because cargo assumes that a package version never changes once it has been compiled.
pub fn check() -> anyhow::Result<()> {
    let mut package = cargo();
    package.args("package --quiet --locked --allow-dirty --no-verify".split(' '));
    package.args(PUBLISHED.iter().flat_map(|name| ["--package", name]));
    passes(&mut package)?;

    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let place = target.join("package/unpacked");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).with_context(|| place.display().to_string())?;
    let mut workspace =
        String::from("[workspace]\nmembers = [\"*\"]\nresolver = \"3\"\n[patch.crates-io]\n");
    for name in PUBLISHED {
        let package = format!("{name}-{}", env!("CARGO_PKG_VERSION"));
        let mut tar = Command::new("tar");
        // The files in a package always have the same modification times. Cargo compares these times, so `--touch` sets new ones.
        tar.arg("--touch").arg("-xzf").arg(target.join(format!("package/{package}.crate")));
        tar.arg("-C").arg(&place);
        passes(&mut tar)?;
        workspace += &format!("{name} = {{ path = \"{package}\" }}\n");
    }
    fs::write(place.join("Cargo.toml"), workspace)?;
    fs::copy(root().join("Cargo.lock"), place.join("Cargo.lock"))?;
    let mut check = cargo();
    check.args(["check", "--workspace", "--all-features"]).current_dir(&place);
    check.arg("--target-dir").arg(&target);
    passes(&mut check)
}
