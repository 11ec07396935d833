//! The C interface, from C: a program is compiled by the host's `cc` against the header and linked with the static library.
//! (What it does on SPARC V9 a guest in C shows, which `cargo xtask qemu` boots.)
#![cfg(not(target_arch = "sparc64"))]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use guest_abi::event::{AsuEvent, DramEvent, GpdEvent, LpuEvent, SparcEvent};
use guest_abi::register::{PerfReg, Unit};
use guest_abi::status::HvError;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// What a kernel may compile with, and then some.
const STRICT: [&str; 6] = [
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-pedantic",
    "-ffreestanding",
];

fn run(command: &mut Command, what: &str) -> Output {
    command
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{what} cannot be run: {error}"))
}

fn succeeds(command: &mut Command, what: &str) {
    let output = run(command, what);
    assert!(
        output.status.success(),
        "{what}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The static library, built beside this test.
fn library() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(CRATE)
        .env_remove("CARGO_BUILD_TARGET")
        .args(["rustc", "--quiet", "--features", "capi"])
        .args(["--crate-type", "staticlib", "--profile", "image"])
        .arg("--target-dir")
        .arg(&target);
    succeeds(&mut cargo, "cargo");
    target.join("image/libguest_abi.a")
}

fn cc() -> Command {
    let mut cc = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(STRICT).arg(format!("-I{CRATE}/include"));
    cc
}

#[test]
fn a_program_in_c() {
    let library = library();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-program");
    let mut compile = cc();
    for source in ["main.c", "values.c", "calls.c"] {
        compile.arg(format!("{CRATE}/tests/c/{source}"));
    }
    succeeds(compile.arg(library).arg("-o").arg(&program), "cc");
    let output = run(&mut Command::new(&program), "the program");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}\n{said}", output.status);
    // So many checks were made, none was skipped.
    assert_eq!(said, "values: 78 checks\ncalls: 73 checks\n");
}

#[test]
fn a_program_without_libc() {
    let mut compile = cc();
    compile
        .args(["-O2", "-nostdlib", "-nostartfiles", "-Wl,--entry=start"])
        .arg(format!("{CRATE}/tests/c/alone.c"))
        .arg(library())
        .arg("-o")
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-alone"));
    succeeds(&mut compile, "cc");
}

#[test]
fn the_header_is_a_program_of_its_own() {
    let mut compile = cc();
    compile
        .args(["-nostdinc", "-isystem"])
        .arg(compiler_headers())
        .args(["-fsyntax-only", "-xc"])
        .arg(format!("{CRATE}/include/sun4v_perf.h"));
    succeeds(&mut compile, "cc");
}

/// The headers that come with the compiler, without those of a C library.
fn compiler_headers() -> String {
    let output = run(cc().arg("-print-file-name=include"), "cc");
    String::from_utf8_lossy(&output.stdout).trim().into()
}

/// A name as it is in a constant of C.
fn in_c(name: &str) -> String {
    name.to_uppercase()
        .replace(|letter: char| !letter.is_ascii_alphanumeric(), "_")
}

#[test]
fn the_header_has_every_name_of_the_contract() {
    let header = fs::read_to_string(format!("{CRATE}/include/sun4v_perf.h")).unwrap();
    let mut expected = Vec::new();
    for register in PerfReg::all() {
        expected.push(format!("SUN4V_REG_{} = {}", register.name(), register.id()));
    }
    for (number, unit) in Unit::ALL.into_iter().enumerate() {
        expected.push(format!("SUN4V_UNIT_{unit} = {number}"));
    }
    for error in HvError::NAMED {
        expected.push(format!("SUN4V_{} = {}", error, error.number()));
    }
    let mut events = |prefix: &str, name: &str, code: u16| {
        let name = in_c(name);
        let name = name.strip_prefix(&format!("{prefix}_")).unwrap_or(&name);
        expected.push(format!("SUN4V_{prefix}_{name} = {code:#x}"));
    };
    for event in SparcEvent::ALL {
        events("SPARC", event.name(), event.code());
    }
    for event in DramEvent::ALL {
        events("DRAM", event.name(), event.code().into());
    }
    for event in LpuEvent::ALL {
        events("LPU", event.name(), event.code().into());
    }
    for event in GpdEvent::ALL {
        events("GPD", event.name(), event.code().into());
    }
    for event in AsuEvent::ALL {
        events("ASU", event.name(), event.code().into());
    }
    let lines = header
        .lines()
        .filter_map(|line| line.trim().strip_suffix(','));
    // PERF_CONFIG and success have no names in those lists.
    let found = lines
        .filter(|line| line.starts_with("SUN4V_"))
        .filter(|line| !line.starts_with("SUN4V_PERF_CONFIG_") && *line != "SUN4V_EOK = 0")
        .collect::<Vec<_>>();
    let mut missing = expected.clone();
    missing.retain(|name| !found.contains(&&**name));
    assert_eq!(missing, Vec::<String>::new());
    assert_eq!(found.len(), expected.len());
}
