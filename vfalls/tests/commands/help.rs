use crate::program::{command, end, vfalls};

#[test]
fn every_command_has_help_with_examples() {
    let whole = vfalls(&["--help"]).well();
    let names = "record stat report annotate c2c top diff boot page call regs md events clocks completions man";
    for name in names.split(' ') {
        assert!(whole.contains(&format!("\n  {name} ")), "{name}");
        for flag in ["-h", "--help"] {
            let help = vfalls(&[name, flag]).well();
            assert!(help.contains(&format!("Usage: vfalls {name}")), "{help}");
            assert!(help.contains(&format!("  vfalls {name}")), "{help}");
            assert!(help.contains("Example"), "{help}");
            // Without a terminal, the help has the default width.
            let long = help.lines().find(|line| line.chars().count() > 100);
            assert_eq!(long, None, "{name} {flag}");
        }
    }
}

#[test]
fn examples_are_commands() {
    for name in ["clocks", "report", "top"] {
        let help = vfalls(&[name, "--help"]).well();
        assert!(help.contains(&format!("Usage: vfalls {name} [OPTIONS]")), "{help}");
        assert!(help.contains(&format!("Examples:\n  vfalls {name}")), "{help}");
    }
}

#[test]
fn no_command_is_shown_the_help() {
    let ended = end(command(&[]), b"");
    assert_eq!((ended.status, &*ended.stdout), (2, ""));
    assert!(ended.stderr.contains("Usage: vfalls"));
}
