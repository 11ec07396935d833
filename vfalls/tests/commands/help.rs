use clap::CommandFactory;
use tests::program::{has_help, shows_help_without_arguments};
use vfalls::cmd::Cli;

use crate::program::{PROGRAM, vfalls};

#[test]
fn every_command_has_help_with_examples() {
    let whole = vfalls(&["--help"]).well();
    for command in Cli::command().get_subcommands() {
        let name = command.get_name();
        assert!(whole.contains(&format!("\n  {name} ")), "{name}");
        has_help(PROGRAM, "vfalls", name);
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
    shows_help_without_arguments(PROGRAM, "vfalls");
}
