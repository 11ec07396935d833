//! `completions`: prints shell scripts that complete commands and options.

use crate::plain;
use std::io::Write;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use super::Cli;

/// Print a shell's completion script for the commands and their options
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  vfalls completions bash >~/.local/share/bash-completion/completions/vfalls\n  \
                        vfalls completions zsh >~/.zfunc/_vfalls\n  \
                        vfalls completions fish >~/.config/fish/completions/vfalls.fish"
)]
pub(crate) struct CompletionsArgs {
    /// The shell that the script is for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(crate) fn run(args: CompletionsArgs) -> anyhow::Result<()> {
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "vfalls", &mut script);
    let mut output = plain::stdout();
    output.write_all(&script)?;
    Ok(output.flush()?)
}
