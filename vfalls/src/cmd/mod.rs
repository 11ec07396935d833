//! The commands. Each is a module with an argument struct and a function `run`.

mod annotate;
pub mod boot;
mod c2c;
mod call;
mod clocks;
mod completions;
mod conform;
mod diff;
mod events;
mod events_out;
pub mod machine;
mod man;
mod md;
pub mod new_image;
mod page;
mod record;
mod region;
mod regs;
mod report;
mod source;
mod stat;
mod table;
pub mod top;

use anyhow::Context;
use clap::Parser;
use simulator::nearest::unknown;

use crate::budget;

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

    /// End with an error if the command takes more than this number of MB of memory (Linux only). The default is 1000 MB, plus 100 MB for
    /// each MB by which a recording exceeds 10 MB, plus the memory of booted guests
    #[arg(long, global = true, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    memory_limit: Option<u64>,
}

/// Returns the item named `name`. If there is no such item, the error suggests similar names.
fn by_name<T: Copy>(
    what: &str,
    name: &str,
    items: &[T],
    name_of: fn(T) -> &'static str,
) -> anyhow::Result<T> {
    let names = items.iter().map(|item| name_of(*item));
    let found = names.clone().position(|one| one == name);
    found.map(|place| items[place]).with_context(|| unknown(what, name, names))
}

/// Defines the command line, and runs the commands. Each command is a module with an argument struct and a function `run`.
#[macro_export]
macro_rules! commands {
    ($($name:ident: $module:ident::$args:ident),* $(,)?) => {
        #[derive(clap::Subcommand, Debug)]
        #[allow(clippy::large_enum_variant, reason = "there is one value")]
        enum Command {
            $($name($module::$args),)*
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

impl Cli {
    /// Executes the command. [`exit::main`](crate::exit::main) converts its errors to exit
    /// statuses.
    pub fn run(self) -> anyhow::Result<()> {
        budget::enforce(self.memory_limit)?;
        self.command.run()
    }
}

commands! {
    Record: record::RecordArgs, Stat: stat::StatArgs, Report: report::ReportArgs, Annotate: annotate::AnnotateArgs,
    C2c: c2c::C2cArgs, Top: top::TopArgs, Diff: diff::DiffArgs, Table: table::TableArgs, Boot: boot::BootArgs, Conform: conform::ConformArgs,
    NewImage: new_image::NewImageArgs, Page: page::PageArgs, Call: call::CallArgs, Regs: regs::RegsArgs, Md: md::MdArgs,
    Events: events::EventsArgs, Clocks: clocks::ClocksArgs,
    Completions: completions::CompletionsArgs, Man: man::ManArgs,
}
