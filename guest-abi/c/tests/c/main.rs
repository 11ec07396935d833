//! Tests of the C interface from C: the host's `cc` compiles programs with the header and links them with the static library.
//! (`cargo xtask qemu` tests it on SPARC V9, with a guest in C.)

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// Compiler options, at least as strict as the options of a kernel.
const STRICT: [&str; 6] =
    ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffreestanding"];

fn run(command: &mut Command, what: &str) -> Output {
    command
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("cannot run {what}: {error}"))
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

/// Builds the static library, and returns its path.
fn library() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("library");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(CRATE)
        .env_remove("CARGO_BUILD_TARGET")
        .args(["build", "--quiet", "--release"])
        .args([
            "--config",
            "profile.release.panic=\"abort\"",
            "--config",
            "profile.release.lto=true",
        ])
        .arg("--target-dir")
        .arg(&target);
    succeeds(&mut cargo, "cargo");
    target.join("release/libsun4v_perf.a")
}

/// Writes the README's example in C to a file, and returns its path.
fn readme() -> PathBuf {
    let text = fs::read_to_string(format!("{CRATE}/README.md")).unwrap();
    let (_, from) = text.split_once("```c\n").unwrap();
    let (program, _) = from.split_once("```\n").unwrap();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme.c");
    fs::write(&path, program).unwrap();
    path
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
    compile.arg(readme());
    succeeds(compile.arg(library).arg("-o").arg(&program), "cc");
    let output = run(&mut Command::new(&program), "the program");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}\n{said}", output.status);
    // All checks were made.
    assert_eq!(said, "values: 91 checks\ncalls: 87 checks\n");
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

/// Returns the folder of the compiler's own headers, which are no C library.
fn compiler_headers() -> String {
    let output = run(cc().arg("-print-file-name=include"), "cc");
    String::from_utf8_lossy(&output.stdout).trim().into()
}
