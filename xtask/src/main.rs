//! `cargo xtask`: see `cargo xtask --help`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::cmd::{
    bench, call, clocks, coverage, events, fuzz, header, md, mutants, profile, qemu, record, regs,
    sim, test,
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

#[derive(Subcommand, Debug)]
enum Command {
    Sim(sim::Args),
    Events(events::Args),
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

fn main() -> ExitCode {
    exit::main(|cli: Cli| match cli.command {
        Command::Sim(args) => sim::run(args),
        Command::Events(args) => events::run(args),
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
    })
}
