use crate::program::{command, end, xtask};

#[test]
fn every_command_has_help_with_examples() {
    let whole = xtask(&["--help"]).well();
    for name in ["test", "prove", "bench", "coverage", "fuzz", "header", "mutants", "qemu"] {
        assert!(whole.contains(&format!("\n  {name} ")), "{name}");
    }
    for name in ["test", "prove", "bench", "coverage", "fuzz", "mutants", "qemu"] {
        for flag in ["-h", "--help"] {
            let help = xtask(&[name, flag]).well();
            assert!(help.contains(&format!("Usage: cargo xtask {name}")), "{help}");
            assert!(help.contains(&format!("  cargo xtask {name}")), "{help}");
            assert!(help.contains("Example"), "{help}");
            let long = help.lines().find(|line| line.chars().count() > 100);
            assert_eq!(long, None, "{name}");
        }
    }
}

#[test]
fn no_command_is_shown_the_help() {
    let ended = end(command(&[]), b"");
    assert_eq!((ended.status, &*ended.stdout), (2, ""));
    assert!(ended.stderr.contains("Usage: cargo xtask"));
}

#[test]
fn mutants_without_cargo_mutants_says_what_to_type() {
    let mut command = command(&["mutants"]);
    command.env("CARGO", "/bin/false");
    end(command, b"").badly(
        "cargo mutants is missing; install it with: cargo install --locked cargo-mutants@27.1.0",
    );
}
