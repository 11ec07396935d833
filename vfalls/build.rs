//! Builds the recorder, a plug-in for QEMU's user-mode emulator. The module `recorder` embeds the
//! built plug-in in this program.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(recorder)");
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    println!("cargo::rustc-cfg=recorder");
    let own = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let format = own.join("../simulator/refs/src");
    let plugin = own.join("recorder/src");
    for source in [&format, &plugin] {
        println!("cargo::rerun-if-changed={}", source.display());
    }
    let out = PathBuf::from(variable("OUT_DIR"));
    let format = compile("refs", "rlib", &format, &out.join("librefs.rlib"), &[]);
    let mut linked = OsString::from("refs=");
    linked.push(&format);
    let output = out.join("librecorder.so");
    let plugin = compile("recorder", "cdylib", &plugin, &output, &["--extern".into(), linked]);
    println!("cargo::rustc-env=RECORDER={}", plugin.display());
}

fn variable(name: &str) -> OsString {
    env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"))
}

/// Compiles a crate by calling `rustc` directly, without Cargo. The crate is optimised in every
/// profile, because every instruction of a recorded program calls the recorder.
fn compile(name: &str, kind: &str, source: &Path, output: &Path, linked: &[OsString]) -> PathBuf {
    let status = Command::new(variable("RUSTC"))
        .args(["--edition=2024", "-Copt-level=3", "-Ccodegen-units=1", "-Cstrip=symbols"])
        .args(["--cap-lints=allow", "--crate-name", name, "--crate-type", kind, "--target"])
        .arg(variable("TARGET"))
        .args(linked)
        .arg("-o")
        .arg(output)
        .arg(source.join("lib.rs"))
        .status();
    assert!(status.is_ok_and(|status| status.success()), "{name} cannot be compiled");
    output.to_owned()
}
