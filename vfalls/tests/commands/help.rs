use clap::CommandFactory;
use tests::program::{has_help, shows_help_without_arguments};
use vfalls::cmd::Cli;

use crate::program::{PROGRAM, TestDirectory, vfalls};

#[test]
fn every_command_has_help_with_examples() {
    let whole = vfalls(&["--help"]).assert_success();
    for command in Cli::command().get_subcommands() {
        let name = command.get_name();
        assert!(whole.contains(&format!("\n  {name} ")), "{name}");
        has_help(PROGRAM, "vfalls", name);
    }
}

#[test]
fn examples_are_commands() {
    for name in ["clocks", "report", "top"] {
        let help = vfalls(&[name, "--help"]).assert_success();
        assert!(help.contains(&format!("Usage: vfalls {name} [OPTIONS]")), "{help}");
        assert!(help.contains(&format!("Examples:\n  vfalls {name}")), "{help}");
    }
}

#[test]
fn no_command_is_shown_the_help() {
    shows_help_without_arguments(PROGRAM, "vfalls");
}

/// Returns the keys that a table of an input file can have, as the message about an unknown key names them.
fn keys(table: &str, command: &str) -> Vec<String> {
    let place = TestDirectory::new(&format!("help-{table}"));
    place.file("input.toml", format!("[[{table}]]\nno_key = 1\n"));
    let said = place.run(&format!("{command} input.toml")).stderr;
    let keys = said.split_once("expected one of ").expect("the keys").1;
    keys.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The help of `stat` and `boot` names all keys that a step of a scenario can have.
#[test]
fn the_help_names_the_keys_of_a_step() {
    let keys = keys("step", "boot --scenario");
    assert!(keys.contains(&"lose".to_owned()), "{keys:?}");
    let help =
        ["stat", "boot"].map(|command| vfalls(&[command, "--help"]).assert_success()).concat();
    for key in keys {
        let named = [format!("{key}:"), format!(" {key} "), format!(", {key}")];
        assert!(named.iter().any(|named| help.contains(named)), "no {key}");
    }
}

/// The help of `--guests` names all keys that a guest file can have.
#[test]
fn the_help_names_the_keys_of_a_guest() {
    let keys = keys("guest", "stat --guests");
    assert!(keys.contains(&"strands".to_owned()), "{keys:?}");
    let help = vfalls(&["stat", "--help"]).assert_success();
    let help = help.split_once("--guests <FILE>").unwrap().1;
    let help = help.split("\n\n").next().unwrap();
    for key in keys {
        assert!(help.contains(&key), "the help of --guests (vfalls/src/cmd/stat/mod.rs): no {key}");
    }
}
