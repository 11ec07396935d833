//! `cargo xtask`: see `cargo xtask --help`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::cmd::{
    Mismatch, bench, call, clocks, coverage, fuzz, header, md, mutants, profile, qemu, record,
    regs, sim, test, trace,
};
use xtask::interrupt::{self, Interrupted};

/// The sun4v performance counter service: simulate it, look at it, call it, test it, measure it
#[derive(Parser, Debug)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    disable_help_subcommand = true,
    after_help = "Examples:\n  cargo xtask sim\n  \
                  cargo xtask sim --machine maramba --nodes 2 -e dram:mem_reads,pic:Instr_cnt\n  \
                  cargo xtask regs --machine batoka --format csv\n  \
                  echo '0 core 0 0x205 1 1' | cargo xtask call\n  \
                  cargo xtask profile -e L2_dmiss_ld\n  \
                  cargo xtask test\n  cargo xtask qemu"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Sim(sim::Args),
    Trace(trace::Args),
    Regs(regs::Args),
    Call(call::Args),
    Record(record::Args),
    Test(test::Args),
    Bench(bench::Args),
    Clocks(clocks::Args),
    Coverage(coverage::Args),
    Qemu(qemu::Args),
    Fuzz(fuzz::Args),
    Header(header::Args),
    Md(md::Args),
    Mutants(mutants::Args),
    Profile(profile::Args),
}

/// Bad input, and whatever else a command cannot do.
const CANNOT: u8 = 2;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let result = match cli.command {
        Command::Sim(args) => sim::run(args),
        Command::Trace(args) => trace::run(args),
        Command::Regs(args) => regs::run(args),
        Command::Call(args) => call::run(args),
        Command::Record(args) => record::run(args),
        Command::Test(args) => test::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Clocks(args) => clocks::run(args),
        Command::Coverage(args) => coverage::run(args),
        Command::Qemu(args) => qemu::run(args),
        Command::Fuzz(args) => fuzz::run(args),
        Command::Header(args) => header::run(args),
        Command::Md(args) => md::run(args),
        Command::Mutants(args) => mutants::run(args),
        Command::Profile(args) => profile::run(args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure(&error),
    }
}

/// One line on standard error for a failure, but for a reader of the output that has gone.
fn failure(error: &anyhow::Error) -> ExitCode {
    let gone = |cause: &&(dyn std::error::Error + 'static)| {
        let kind = match cause.downcast_ref::<io::Error>() {
            Some(error) => Some(error.kind()),
            None => cause
                .downcast_ref::<serde_json::Error>()
                .and_then(serde_json::Error::io_error_kind),
        };
        kind == Some(io::ErrorKind::BrokenPipe)
    };
    if error.chain().find(gone).is_some() {
        return ExitCode::SUCCESS;
    }
    eprintln!("error: {error:#}");
    if error.is::<Mismatch>() {
        ExitCode::FAILURE
    } else if error.is::<Interrupted>() {
        ExitCode::from(interrupt::EXIT_STATUS as u8)
    } else {
        ExitCode::from(CANNOT)
    }
}

/// Help as clap prints it; what is wrong with the arguments on one line.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // Nothing is lost if nobody reads the help.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if matches!(
        error.kind(),
        clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        let _ = error.print();
        return ExitCode::from(CANNOT);
    }
    let text = error.render().to_string();
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .collect::<Vec<_>>();
    let _ = writeln!(io::stderr(), "{}", lines.join(" "));
    ExitCode::from(CANNOT)
}
