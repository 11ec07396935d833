//! `report`: shows the functions that cause events.

pub(crate) mod annotate;
mod callgrind;
mod flame;
pub(crate) mod sampling;
pub(crate) mod text;

use crate::plain;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, ensure};
use simulator::run::Run;

use self::annotate::Annotator;
use self::sampling::{Sampled, SamplingArgs};
use crate::cmd::stat::complete_page;
use crate::output::{self, Force, OutputFile};
use crate::page::profile;

/// Replay a program on a simulated machine, sample it by time or with the counters of its processors, and show which functions or
/// pages cause the events
///
/// Without -e, samples are taken by time: one after every N cycles in which a strand executes a thread, or waits for the thread's memory
/// references. A sample names the instruction that executes or waits. The simulator's clock counts this event, cycles: a strand's
/// counters (%pic) cannot count it. For other events, each strand that executes a thread has a guest. The guest loads the counters so
/// that they overflow, and its interrupt handler takes the samples. The report also shows where the events really happened. The threads
/// of a program take turns on one R10000, unless --processors gives the program several.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Events: cycles are counted by the simulator's clock. SPARC events have the names of cpustat, such as Instr_cnt, \
                  Instr_ld, DC_miss, L2_dmiss_ld, or of PAPI; R10000 events have the numbers and names of perfex, such as 25, \
                  primary_data_cache_misses or 'Graduated loads'. The counters count two events at the same time; more events take turns, and \
                  their counts are estimates. A recording cannot cause all events: --list says which.\n\n\
                  Examples:\n  vfalls report\n  \
                  vfalls report --children --waits --svg flames.svg\n  \
                  vfalls report -e L2_dmiss_ld -e DC_miss -c 13 --svg misses.svg\n  \
                  vfalls annotate -e DC_miss look_up_price\n  \
                  vfalls report -e DC_miss --html page.html -- ./program\n  \
                  vfalls annotate -e DC_miss work -- ./program its arguments\n  \
                  vfalls report --unit r10000 --list\n  \
                  vfalls report --unit r10000 -e cycles,primary_data_cache_misses\n  \
                  vfalls report --unit r10000 --all --processors 4 --modes user,exception\n  \
                  vfalls report --place pack -e L2_dmiss_ld --json profile.json program.refs\n  \
                  vfalls report --symbols ./program --randomise program.lackey.gz"
)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    sampling: SamplingArgs,

    /// List the events of the unit instead, and say which of them a recording cannot cause, and why
    #[arg(long, conflicts_with_all = ["json", "svg", "folded", "callgrind", "html"])]
    list: bool,

    /// Count all 32 events of an R10000, as perfex -a does, and take no samples. The events of a counter take turns, so counts are
    /// estimates
    #[arg(long, conflicts_with_all = ["event", "list", "svg", "folded", "callgrind", "html", "children", "count", "randomise"])]
    all: bool,

    /// Show functions with all that they call, too, as perf report --children does. Call stacks are rebuilt from the calls and
    /// returns of a recording that `record` wrote
    #[arg(long)]
    children: bool,

    /// Also count the cycles in which threads wait: for a lock, condition, barrier, semaphore or thread, in a sleep, or for their strand
    /// while it executes another thread. The report shows a wait as a function such as [lock], which the waiting function calls. The
    /// cycles of a thread are then all cycles from its start to its end
    #[arg(long)]
    waits: bool,

    /// Look for moved source files in this directory: DIR/a/b.c, or else DIR/b.c, stands for /build/a/b.c
    #[arg(long, value_name = "DIR", requires = "html")]
    source: Option<PathBuf>,

    /// Write the true events by line and call, in callgrind's format, for KCachegrind and callgrind_annotate
    #[arg(long, value_name = "FILE")]
    callgrind: Option<PathBuf>,

    /// Write the samples as folded stacks, for flame graphs
    #[arg(long, value_name = "FILE")]
    folded: Option<PathBuf>,

    /// Draw a flame graph of the samples, with call stacks and inlined functions
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Write everything to a file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write a page for a browser: the sampled functions beside the true ones, a flame graph, and
    /// source lines of the hottest functions
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    force: Force,
}

/// For how many functions the page shows source lines, for each event.
const PAGE_FUNCTIONS: usize = 5;

pub(crate) fn run(args: ReportArgs) -> anyhow::Result<()> {
    if args.list {
        let mut output = plain::stdout();
        write!(output, "{}", text::list(args.sampling.unit))?;
        return Ok(output.flush()?);
    }
    let file = |path: &Option<PathBuf>| args.force.create_if_wanted(path.as_ref());
    let (folded, svg, callgrind) = (file(&args.folded)?, file(&args.svg)?, file(&args.callgrind)?);
    let (json, html) = (file(&args.json)?, file(&args.html)?);
    let sampled = args.sampling.sample(args.children, args.all, args.waits)?;
    let Sampled { line, report, symbols, is_bundled } = &sampled;
    let stdout = &mut plain::stdout();
    writeln!(stdout, "# {line}")?;
    match args.all {
        true => text::print_counts(stdout, report)?,
        false => text::print(stdout, report, args.children)?,
    }
    stdout.flush()?;
    let stacks = match (&folded, &svg, &html) {
        (None, None, None) => Vec::new(),
        _ => flame::folded(report, symbols.as_ref()),
    };
    ensure!(
        !stacks.is_empty() || folded.is_none() && svg.is_none(),
        "no sample was taken, so there is no flame graph"
    );
    if let Some(file) = html {
        let annotator = symbols.as_ref().map(|symbols| Annotator {
            report,
            symbols,
            is_bundled: *is_bundled,
            source: args.source.clone(),
            instructions: false,
        });
        let lines = annotator.map(|annotator| annotator.hottest(PAGE_FUNCTIONS));
        complete_page(file, &profile(report, &stacks, &lines.unwrap_or_default()))?;
    }
    complete(callgrind, args.callgrind, |file| {
        Ok(callgrind::write(file, report, symbols.as_ref())?)
    })?;
    complete(folded, args.folded, |file| {
        let mut lines = stacks.iter();
        Ok(lines.try_for_each(|line| writeln!(file, "{line}"))?)
    })?;
    complete(svg, args.svg, |file| flame::write_svg(file, report, &stacks))?;
    output::complete_run(json, &Run::from(sampled.report))
}

/// Writes and completes a file. Does nothing if the user names no file.
fn complete(
    file: Option<OutputFile>,
    path: Option<PathBuf>,
    write: impl FnOnce(&mut io::BufWriter<&mut OutputFile>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (Some(mut file), Some(path)) = (file, path) else {
        return Ok(());
    };
    let mut buffer = io::BufWriter::new(&mut file);
    let written = write(&mut buffer).and_then(|()| Ok(buffer.flush()?));
    drop(buffer);
    written.with_context(|| format!("{}: cannot be written", path.display()))?;
    file.complete()
}
