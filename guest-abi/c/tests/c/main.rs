//! Tests of the C interface from C. The host's `cc` compiles programs with the header, and links them with
//! the static library. (`cargo xtask qemu` tests the interface on SPARC V9 with a guest in C.)

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// Compiler options at least as strict as those of a kernel build.
const STRICT: [&str; 6] =
    ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffreestanding"];

/// Runs a command that must succeed. Returns its output.
fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let [printed, problem] =
        [output.stdout, output.stderr].map(|of| String::from_utf8(of).unwrap());
    assert!(output.status.success(), "{command:?}: {}\n{problem}{printed}", output.status);
    printed
}

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Builds the static library, and returns its path.
fn library() -> PathBuf {
    let target = place("library");
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
    run(&mut cargo);
    target.join("release/libsun4v_perf.a")
}

/// Writes the README's example to a file, and returns its path.
fn readme() -> PathBuf {
    let text = fs::read_to_string(format!("{CRATE}/README.md")).unwrap();
    let (_, from) = text.split_once("```c\n").unwrap();
    let (program, _) = from.split_once("```\n").unwrap();
    let path = place("readme.c");
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
    let program = place("c-program");
    let mut compile = cc();
    for source in ["main.c", "values.c", "calls.c"] {
        compile.arg(format!("{CRATE}/tests/c/{source}"));
    }
    run(compile.arg(readme()).arg(library()).arg("-o").arg(&program));
    assert_eq!(run(&mut Command::new(&program)), "values: 91 checks\ncalls: 87 checks\n");
}

#[test]
fn a_program_without_libc() {
    let mut compile = cc();
    compile
        .args(["-O2", "-nostdlib", "-nostartfiles", "-Wl,--entry=start"])
        .arg(format!("{CRATE}/tests/c/alone.c"))
        .arg(library())
        .arg("-o")
        .arg(place("c-alone"));
    run(&mut compile);
}

#[test]
fn the_header_is_a_program_of_its_own() {
    // The compiler's own headers; the test needs no C library.
    let headers = run(cc().arg("-print-file-name=include"));
    run(cc()
        .args(["-nostdinc", "-isystem", headers.trim(), "-fsyntax-only", "-xc"])
        .arg(format!("{CRATE}/include/sun4v_perf.h")));
}
