//! Help.

use crate::program::{command, end, xtask};

#[test]
fn every_command_has_help_with_examples() {
    let whole = xtask(&["--help"]).well();
    for name in [
        "sim", "regs", "call", "record", "test", "bench", "md", "events", "fuzz", "coverage",
        "diff", "prove",
    ] {
        assert!(whole.contains(&format!("\n  {name} ")), "{name}");
        for flag in ["-h", "--help"] {
            let help = xtask(&[name, flag]).well();
            assert!(
                help.contains(&format!("Usage: cargo xtask {name}")),
                "{help}"
            );
            assert!(help.contains(&format!("  cargo xtask {name}")), "{help}");
            assert!(help.contains("Example"), "{help}");
        }
    }
}

#[test]
fn no_command_is_shown_the_help() {
    let ended = end(command(&[]), b"");
    assert_eq!((ended.status, &*ended.stdout), (2, ""));
    assert!(ended.stderr.contains("Usage: cargo xtask"));
}

/// Where the width of the terminal is not known, lines have 100 characters at most.
#[test]
fn lines_are_wrapped() {
    for name in ["sim", "call", "record", "test", "qemu", "md"] {
        let help = xtask(&[name, "--help"]).well();
        let long = help.lines().find(|line| line.chars().count() > 100);
        assert_eq!(long, None, "{name}");
    }
}
