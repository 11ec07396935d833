//! Tests the C interface from C. The host's `cc` compiles programs with the header, and links them with the static library.
//! (`cargo xtask qemu` tests the interface on SPARC V9 with a guest in C.)

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

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

fn output_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Builds the static library, and returns its path.
fn library() -> PathBuf {
    let target = output_path("library");
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
    target.join("release/libvfperf.a")
}

/// Writes the README's example to a file, and returns its path.
fn readme() -> PathBuf {
    let text = fs::read_to_string(format!("{CRATE}/README.md")).unwrap();
    let (_, from) = text.split_once("```c\n").unwrap();
    let (program, _) = from.split_once("```\n").unwrap();
    let path = output_path("readme.c");
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
    let program = output_path("c-program");
    let mut compile = cc();
    for source in ["main.c", "values.c", "calls.c", "sampling.c"] {
        compile.arg(format!("{CRATE}/tests/c/{source}"));
    }
    run(compile.arg(readme()).arg(library()).arg("-o").arg(&program));
    assert_eq!(
        run(&mut Command::new(&program)),
        "values: 109 checks\ncalls: 126 checks\nsampling: 103 checks\n"
    );
}

#[test]
fn a_program_without_libc() {
    let mut compile = cc();
    compile
        .args(["-O2", "-nostdlib", "-nostartfiles", "-Wl,--entry=start,--gc-sections"])
        .arg(format!("{CRATE}/tests/c/alone.c"))
        .arg(library())
        .arg("-o")
        .arg(output_path("c-alone"));
    run(&mut compile);
}

/// Compiles C code that includes `vfperf.h`. `options` select the other header from which `vfperf.h` takes its integer types.
fn types(program: &str, options: &[&str]) -> Output {
    let path = output_path("types.c");
    let main = "uint64_t f(u64 *value);\nuint64_t f(u64 *value) { return vfperf_get(0, VFPERF_REG_SPARC_PCR, 0, value); }\n";
    fs::write(&path, format!("#include \"vfperf.h\"\n{program}{main}")).unwrap();
    let kernel = format!("-I{CRATE}/tests/c/kernel");
    let mut cc = cc();
    cc.args(["-nostdinc", "-S", "-o", "/dev/null", &kernel])
        .args(options)
        .arg(path)
        .output()
        .unwrap()
}

#[test]
fn a_kernel_has_types_of_its_own() {
    for options in [&["-D__KERNEL__"][..], &["-D_KERNEL"], &["-DVFPERF_TYPES=<linux/types.h>"]] {
        let output = types("", options);
        assert!(output.status.success(), "{options:?}: {output:?}");
    }
    // Without options, `vfperf.h` uses the compiler's own types. The program's `u64` may then be a different 64-bit type.
    let own = "typedef __UINT64_TYPE__ u64;\n";
    assert!(types(own, &[]).status.success());
    // Each line has one mistake: an ignored result, a unit in place of a register, or a strand event in place of a unit event.
    for wrong in [
        "vfperf_set(0, VFPERF_REG_SPARC_PCR, 0, 0);",
        "(void)!vfperf_get(0, VFPERF_UNIT_NODE0_MCU0, 0, 0);",
        "(void)!vfperf_unit_select(0, VFPERF_UNIT_NODE0_MCU0, VFPERF_PIC0, VFPERF_SPARC_ATOMICS);",
    ] {
        let program = format!("{own}void g(void);\nvoid g(void) {{ {wrong} }}\n");
        assert!(!types(&program, &[]).status.success(), "{wrong}");
    }
}

#[test]
#[ignore = "needs a C++ compiler; cargo xtask test runs it"]
fn the_header_is_cxx() {
    let cxx = env::var_os("CXX").unwrap_or_else(|| "c++".into());
    let mut cxx = Command::new(cxx);
    cxx.args(["-std=c++11", "-fsyntax-only", "-xc++"]).args(&STRICT[1..]);
    run(cxx.arg(format!("{CRATE}/include/vfperf.h")));
}
