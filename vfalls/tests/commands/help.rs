//! Help.

use crate::program::{command, end, vfalls};

#[test]
fn every_command_has_help_with_examples() {
    let whole = vfalls(&["--help"]).well();
    for name in [
        "record",
        "stat",
        "report",
        "annotate",
        "c2c",
        "top",
        "diff",
        "boot",
        "page",
        "call",
        "regs",
        "md",
        "events",
        "clocks",
        "completions",
        "man",
    ] {
        assert!(whole.contains(&format!("\n  {name} ")), "{name}");
        for flag in ["-h", "--help"] {
            let help = vfalls(&[name, flag]).well();
            assert!(help.contains(&format!("Usage: vfalls {name}")), "{help}");
            assert!(help.contains(&format!("  vfalls {name}")), "{help}");
            assert!(help.contains("Example"), "{help}");
        }
    }
}

#[test]
fn no_command_is_shown_the_help() {
    let ended = end(command(&[]), b"");
    assert_eq!((ended.status, &*ended.stdout), (2, ""));
    assert!(ended.stderr.contains("Usage: vfalls"));
}

/// Without a known terminal width, lines have at most 100 characters.
#[test]
fn lines_are_wrapped() {
    for name in ["stat", "report", "call", "record", "boot", "md"] {
        let help = vfalls(&[name, "--help"]).well();
        let long = help.lines().find(|line| line.chars().count() > 100);
        assert_eq!(long, None, "{name}");
    }
}
