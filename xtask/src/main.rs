//! `cargo xtask`: see `cargo xtask --help`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::cmd::{
    bench, c2c, call, clocks, coverage, diff, events, fuzz, header, md, mutants, profile, prove,
    qemu, record, regs, run, sim, test, top,
};
use xtask::exit;

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

/// Defines the command line and runs the commands: each is a module with `Args` and `run`.
macro_rules! commands {
    ($($name:ident: $module:ident),* $(,)?) => {
        #[derive(Subcommand, Debug)]
        #[allow(clippy::large_enum_variant, reason = "there is one value")]
        enum Command {
            $($name($module::Args),)*
        }

        impl Command {
            fn run(self) -> anyhow::Result<()> {
                match self {
                    $(Self::$name(args) => $module::run(args),)*
                }
            }
        }
    };
}

commands! {
    Sim: sim, Diff: diff, Events: events, Regs: regs, Call: call, Record: record,
    Test: test, C2c: c2c, Bench: bench, Clocks: clocks, Coverage: coverage, Qemu: qemu,
    Fuzz: fuzz, Header: header, Md: md, Mutants: mutants, Profile: profile, Prove: prove, Run: run,
    Top: top,
}

fn main() -> ExitCode {
    exit::main(|cli: Cli| cli.command.run())
}
