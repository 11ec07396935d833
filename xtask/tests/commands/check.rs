//! Runs `test` with scripts in place of cargo and valgrind. The scripts only log their calls.

use std::fs;

use crate::program::{ProgramOutput, command, listed, place, run_with_input, script, xtask};

/// Runs `test` with scripts. The script for cargo fails if its arguments match the shell pattern `fails`. If `fails` is the name of a tool,
/// that tool is missing. The script for valgrind reports `collected` instructions. Returns how `test` ended, and the logged calls.
fn check(
    name: &str,
    fails: &str,
    collected: u64,
    rustup: Option<&str>,
) -> (ProgramOutput, Vec<String>) {
    let steps: Vec<&str> = STEPS.split(' ').flat_map(|step| ["--only", step]).collect();
    check_only(&steps, name, fails, collected, rustup)
}

/// Like [`check`], but gives `arguments` to `test`.
fn check_only(
    arguments: &[&str],
    name: &str,
    fails: &str,
    collected: u64,
    rustup: Option<&str>,
) -> (ProgramOutput, Vec<String>) {
    let place = place(name);
    let log = place.path().join("log");
    let (log, home) = (log.display(), place.path().display());
    let cargo = script(
        &place,
        "cargo",
        &format!(
            "echo \"cargo $* [$RUSTDOCFLAGS$RUSTFLAGS]\" >> {log}\n\
             case \"$*\" in {fails}) [ -e {home}/mended ] || exit 101;; esac\n\
             case $1 in build) echo '{{\"executable\":\"{home}/call-cost\"}}';; esac"
        ),
    );
    let valgrind = VALGRIND.replace("LOG", &log.to_string());
    script(&place, "valgrind", &valgrind.replace("COLLECTED", &collected.to_string()));
    script(&place, "sh", "");
    script(&place, "tar", &format!("echo \"tar $*\" >> {log}"));
    for name in TOOLS.split(' ').filter(|name| *name != fails) {
        script(&place, &format!("bin/{name}"), "exit 1");
    }
    // Makes a toolchain with the source of the standard library, and with a cargo that is new enough but fails to build.
    let toolchain = |file: &str| format!("rustup-home/toolchains/nightly/{file}");
    place.file(&toolchain("lib/rustlib/src/rust/library/Cargo.lock"), "");
    let is_new = "case $* in '-Z help') echo json-target-spec;; *) exit 1;; esac";
    script(&place, &toolchain("bin/cargo"), is_new);
    if let Some(text) = rustup {
        let text = format!("echo \"rustup $*\" >> {log}\ncd {home}\n{text}");
        script(&place, "rustup", &text);
    }
    let mut command = command(&["test"]);
    command
        .args(arguments)
        .env("CARGO", cargo)
        .env("PATH", format!("{home}:{home}/bin"))
        .env("CARGO_TARGET_DIR", place.path())
        .env("RUSTUP_HOME", place.path().join("rustup-home"))
        .env_remove("RUSTDOCFLAGS")
        .env_remove("RUSTFLAGS");
    let ended = run_with_input(command, b"");
    let log = fs::read_to_string(place.path().join("log")).unwrap();
    let asked = |line: &&str| !line.contains("--version");
    (ended, log.lines().filter(asked).map(str::to_owned).collect())
}

/// Tools that `test` looks for but does not run.
const TOOLS: &str = "babeltrace2 c++ sparc64-linux-gnu-gcc sparc64-linux-gnu-ld ../sparc64-linux-gnu/lib/crt1.o make qemu-x86_64 \
                     qemu-sparc64 qemu-system-sparc64 chromium tmux z3 gdb-multiarch";

/// A script for valgrind, whose callgrind reports COLLECTED instructions.
const VALGRIND: &str = "\
echo \"valgrind $*\" >> LOG
case \"$*\" in
*' record_event') echo '==1== Collected : 25000' >&2;;
*--tool=callgrind*) echo '==1== Collected : COLLECTED' >&2;;
esac";

const NOTHING: &str = "nothing";

const STEPS: &str =
    "tools fmt tests loom calls references programs doc api clippy packages guests qemu figures";

/// How cargo tests the packages whose crates are compiled as `cargo vfalls` compiles them, and the others.
const TOOL: &str = "cargo test --profile=quick --workspace --exclude=sun4v-hv-core --exclude=sun4v-perfctr-service --exclude=tests \
                    --exclude=proof --exclude=readme --exclude=api --exclude=header";
const APART: &str = "cargo test --profile=quick --package=sun4v-hv-core --package=sun4v-perfctr-service --package=tests \
                     --package=proof --package=readme --package=api --package=header";

#[test]
fn every_step_is_taken() {
    let (ended, log) = check("steps", NOTHING, 20_000, None);
    // One step fails, because it needs the compiler for SPARC.
    assert_eq!(ended.status, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("the image guest (checks) does not build"), "{}", ended.stderr);
    let stdout = ended.stdout;
    assert_eq!(stdout.lines().last(), Some("12 passed, 1 failed"));
    assert_eq!(stdout.lines().filter(|line| line.starts_with("passed in ")).count(), 12);
    let fixed = [
        "cargo fetch --quiet --locked []",
        "cargo fmt --all --check []",
        &format!("{TOOL} []"),
        &format!("{APART} []"),
        "cargo test --quiet --profile=quick --target-dir=target/loom --package=sun4v-hv-core --package=sun4v-perfctr-service --lib -- loom_ [--cfg loom]",
        "cargo test --quiet --profile=quick --target-dir=target/loom --package=tests --test=loom -- [--cfg loom]",
    ];
    let (first, log) = log.split_at(fixed.len());
    assert_eq!(first, fixed);
    for (build, program) in log[..2].iter().zip(["call-cost", "sample-cost"]) {
        assert!(build.starts_with("cargo build "), "{log:?}");
        for part in ["--profile image", &format!("--bin {program} ")] {
            assert!(build.contains(part), "{log:?}");
        }
    }
    let counted = "get_dram set_dram get_pcr set_pcr get_zambezi set_zambezi get_bad_trap set_bad_trap \
                   get_invalid set_invalid get_not_supported set_not_supported get_no_access set_no_access \
                   get_dram_tracer_off get_dram_traced record_event rustsbi_fw_read sample sample_randomised sample_both";
    let counted: Vec<_> = counted.split(' ').collect();
    let (runs, log) = log[2..].split_at(counted.len());
    for (run, kind) in runs.iter().zip(counted) {
        let wanted = format!("/call-cost {kind}");
        assert!(run.starts_with("valgrind ") && run.ends_with(&wanted), "{log:?}");
    }
    assert_eq!(log[0], "cargo xtask bench --budgets []");
    let with_programs = "--test=commands --test=interpreter --test=production --test=browser --test=fast_path --test=c -- --ignored \
                         --skip the_hypervisor_is_the_same_in_any_directory --skip defect";
    assert_eq!(log[1], format!("{TOOL} {with_programs} []"));
    assert_eq!(log[2], format!("{APART} --test=readme --test=any_number -- --ignored []"));
    let log = &log[1..];
    assert_eq!(
        log[2],
        "cargo doc --profile=quick --workspace --no-deps --all-features [-Dwarnings]"
    );
    assert_eq!(log[3], "cargo xtask api --check []");
    let clippy =
        "cargo clippy --profile=quick --workspace --all-targets --all-features -- -Dwarnings []";
    assert_eq!(log[4], clippy);
    let package = "cargo package --quiet --locked --allow-dirty --no-verify --package sun4v-guest-abi --package guest-abi-c --package sun4v-hv-core \
                   --package sun4v-platform --package sun4v-perfctr-service --package sun4v-conform --package vfalls-refs --package sun4v-simulator []";
    assert_eq!(log[5], package);
    for unpacked in &log[6..14] {
        assert!(unpacked.starts_with("tar --touch -xzf "), "{log:?}");
    }
    assert!(log[14].starts_with("cargo check --workspace --all-features "), "{log:?}");
    assert_eq!(log[15], format!("{TOOL} --test=guests -- --ignored []"));
    assert_eq!(log.len(), 16);
}

#[test]
fn the_first_failure_ends_it() {
    for (number, (fails, step, calls)) in [
        ("'fmt --all'*", "cargo fmt --all --check", 2),
        ("'test --profile=quick --w'*", "cargo test --workspace, in two parts", 3),
        ("*loom*", "models of concurrent strands, checked by loom", 5),
    ]
    .into_iter()
    .enumerate()
    {
        let (ended, log) = check(&format!("failure-{number}"), fails, 20_000, None);
        assert_eq!(ended.status, 1);
        assert_eq!(ended.stderr, format!("error: {step}: exit status: 101\n"));
        let passed = number + 1; // the step that looks for the tools passes, too
        let summary = format!("{passed} passed, 1 failed");
        assert_eq!(ended.stdout.lines().last(), Some(&*summary));
        assert_eq!(log.len(), calls);
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_call_beyond_its_budget_fails() {
    let (ended, _) = check("budget", NOTHING, 26_001, None);
    assert_eq!(ended.status, 1);
    let said = "error: instructions per call, within budget: get_dram takes 27 instructions on x86-64, the budget is 26\n";
    assert_eq!(ended.stderr, said);
    assert_eq!(ended.stdout.lines().last(), Some("4 passed, 1 failed"));
}

#[test]
fn a_missing_tool_ends_it_before_anything_else() {
    let (ended, log) = check("no-tool", "qemu-sparc64", 20_000, None);
    assert_eq!(
        (ended.status, &*ended.stderr),
        (
            1,
            "error: tools and dependencies that the steps need: qemu-sparc64 is not installed; \
             install these packages of your system: qemu-user\n"
        )
    );
    assert_eq!(log, [""; 0]);
}

#[test]
fn missing_components_are_installed_or_named() {
    let missing = "tools and dependencies that the steps need: components of the toolchain are missing; \
                   type: rustup component add clippy\n";
    for (name, rustup) in
        [("no-rustup", None), ("no-network", Some("exit 1")), ("no-use", Some("exit 0"))]
    {
        let (ended, _) = check(name, "clippy*", 20_000, rustup);
        assert_eq!((ended.status, ended.stderr), (1, format!("error: {missing}")), "{name}");
    }
    let (ended, log) = check("mended", "clippy*", 20_000, Some("echo > mended"));
    let passed = ended.stdout.contains("[3/14] cargo test");
    assert!(passed, "{}", ended.stderr);
    assert!(log.contains(&"rustup component add clippy".to_owned()), "{log:?}");
}

/// Some steps run in further processes. The command fails if a step of any process fails.
#[test]
fn steps_run_beside_each_other() {
    let (ended, log) = check_only(&[], "beside", NOTHING, 20_000, None);
    // One step fails, because it needs the compiler for SPARC.
    assert_eq!(ended.status, 1, "{}", ended.stderr);
    for name in ["fmt", "clippy", "doc", "xtask api", "test --profile", "package", "xtask bench"] {
        let called = |line: &String| line.starts_with(&format!("cargo {name}"));
        assert!(log.iter().any(called), "{name}: {log:?}");
    }
    let failed = "loom, calls, references, qemu, figures";
    assert_eq!(ended.stderr, format!("error: one of these steps has failed: {failed}\n"));
    let shown: Vec<&str> = ended.stdout.lines().filter(|line| line.contains(" passed, ")).collect();
    assert_eq!(shown, ["7 passed, 0 failed", "3 passed, 1 failed", "2 passed, 0 failed"]);
    assert!(ended.stdout.contains("the image guest (checks) does not build"), "{}", ended.stdout);

    let (ended, _) = check_only(&[], "beside-failed", "'test --profile=quick --w'*", 20_000, None);
    assert_eq!(ended.status, 1);
    let shown: Vec<&str> = ended.stdout.lines().filter(|line| line.contains(" passed, ")).collect();
    assert_eq!(shown, ["2 passed, 1 failed", "3 passed, 1 failed", "0 passed, 1 failed"]);
    // Without the tools, no other step begins.
    let (ended, log) = check_only(&[], "beside-no-tool", "qemu-sparc64", 20_000, None);
    assert_eq!((ended.status, log.len()), (1, 0));
}

#[test]
fn steps_are_listed() {
    assert_eq!(listed(&["test", "--list"]).join(" "), STEPS);
    assert_eq!(
        xtask(&["test", "--only", "tests", "--only", "fmt", "--list"]).assert_success(),
        "fmt         cargo fmt --all --check\ntests       cargo test --workspace, in two parts\n"
    );
}

#[test]
fn the_nearest_step_is_named() {
    xtask(&["test", "--only", "clipy"]).assert_failure("'clipy'");
    xtask(&["test", "--only", "clipy"]).assert_failure("tip: a similar value exists: 'clippy'");
}

#[test]
fn one_step_is_run() {
    let (ended, log) = check_only(&["--only", "loom"], "only", NOTHING, 20_000, None);
    assert_eq!((ended.status, &*ended.stderr), (0, ""));
    assert_eq!(ended.stdout.lines().last(), Some("1 passed, 0 failed"));
    assert_eq!(log.len(), 2);
}

#[test]
fn steps_whose_results_are_used_run_too() {
    let names = listed(&["test", "--list", "--only", "figures"]);
    assert_eq!(names, ["calls", "qemu", "figures"]);
    let (ended, _) = check_only(&["--only", "figures"], "figures", NOTHING, 20_000, None);
    let first = ended.stdout.lines().next();
    assert_eq!(first, Some("[1/3] instructions per call, within budget"));
}
