//! The commands. Each is a module with its arguments, `Args`, and a function `run`.

mod annotate;
pub mod boot;
pub mod c2c;
mod call;
mod clocks;
mod completions;
pub mod diff;
mod events;
mod events_out;
pub mod machine;
mod man;
mod md;
pub mod page;
mod record;
mod regs;
pub mod report;
mod source;
pub mod stat;
pub mod top;

use clap::{Parser, Subcommand};

/// Measure programs and boot guests on a simulated four-socket UltraSPARC T2 Plus machine
#[derive(Parser, Debug)]
#[command(
    name = "vfalls",
    version,
    disable_help_subcommand = true,
    after_help = "Examples:\n  vfalls record -- ./program its arguments   # once; then look at it:\n  \
                  vfalls stat\n  vfalls report -e L2_dmiss_ld\n  vfalls annotate work\n  vfalls c2c\n  vfalls top\n  \
                  vfalls boot guest.elf\n\nWithout a recording of your own, these commands replay a bundled one."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Defines the command line.
macro_rules! commands {
    ($($name:ident: $module:ident),* $(,)?) => {
        #[derive(Subcommand, Debug)]
        #[allow(clippy::large_enum_variant, reason = "there is one value")]
        enum Command {
            $($name($module::Args),)*
        }

        impl Cli {
            /// Executes the command.
            ///
            /// # Errors
            /// Depend on the command; [`exit::main`](crate::exit::main) maps them to exit statuses.
            pub fn run(self) -> anyhow::Result<()> {
                match self.command {
                    $(Command::$name(args) => $module::run(args),)*
                }
            }
        }
    };
}

commands! {
    Record: record, Stat: stat, Report: report, Annotate: annotate, C2c: c2c, Top: top, Diff: diff,
    Boot: boot, Page: page, Call: call, Regs: regs, Md: md, Events: events, Clocks: clocks,
    Completions: completions, Man: man,
}
