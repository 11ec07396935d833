//! `report`: which code causes events.

pub(crate) mod annotate;
mod callgrind;
mod flame;
pub(crate) mod sampling;
pub(crate) mod text;

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, ensure};
use simulator::run::Run;

use self::annotate::Annotator;
use self::sampling::{Sampled, SamplingArgs};
use crate::cmd::stat::complete_page;
use crate::output::{Force, OutputFile};
use crate::page::profile;

/// Replay a program on a simulated machine, sample it with the counters of its processors, and show which functions or pages
/// cause the events
///
/// Guests of the simulated machine, one on each strand that executes a thread, load the counters so that they overflow, and
/// their interrupt handlers take the samples. The report also has where the events really happened. An R10000 is one
/// processor, on which the threads take turns.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Events: those of the SPARC counters by the names of cpustat, such as Instr_cnt, Instr_ld, DC_miss, L2_dmiss_ld, \
                  or of PAPI; those of the R10000 by the numbers and names of perfex, such as 25, primary_data_cache_misses or \
                  'Graduated loads'. Two are counted at once; more take turns, and their counts are estimates. \
                  A recording cannot cause all of them: --list says which.\n\n\
                  Examples:\n  vfalls report\n  \
                  vfalls report -e L2_dmiss_ld -e DC_miss -c 13 --svg misses.svg\n  \
                  vfalls annotate -e DC_miss look_up_price\n  \
                  vfalls report -e DC_miss --html page.html -- ./program\n  \
                  vfalls annotate -e DC_miss work -- ./program its arguments\n  \
                  vfalls report --unit r10000 --list\n  \
                  vfalls report --unit r10000 -e cycles,primary_data_cache_misses\n  \
                  vfalls report --place pack -e L2_dmiss_ld --json profile.json program.refs\n  \
                  vfalls report --symbols ./program --randomise program.lackey.gz"
)]
pub struct Args {
    #[command(flatten)]
    sampling: SamplingArgs,

    /// List the events of the unit instead, and say which of them a recording cannot cause, and why
    #[arg(long, conflicts_with_all = ["json", "svg", "folded", "callgrind", "html"])]
    list: bool,

    /// Show functions with all that they call, too, as perf report --children does. Call stacks are rebuilt from the calls and
    /// returns of a recording that `record` made
    #[arg(long)]
    children: bool,

    /// Where sources are that are not where they were compiled: DIR/a/b.c, or else DIR/b.c, is taken for /build/a/b.c
    #[arg(long, value_name = "DIR", requires = "html")]
    source: Option<PathBuf>,

    /// Write what really happened, by line and call, in callgrind's format, for KCachegrind and callgrind_annotate
    #[arg(long, value_name = "FILE")]
    callgrind: Option<PathBuf>,

    /// Write the samples as folded stacks, for flame graphs
    #[arg(long, value_name = "FILE")]
    folded: Option<PathBuf>,

    /// Draw a flame graph of the samples, with call stacks and inlined functions
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Write everything to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Make one page of it, for a browser: functions beside the truth, a flame graph, and source lines of the hottest functions
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    force: Force,
}

/// The number of functions of each event whose source lines the page shows.
const PAGE_FUNCTIONS: usize = 5;

/// Samples a program and writes the report.
///
/// # Errors
/// Sampling fails, or a file cannot be written.
pub fn run(args: Args) -> anyhow::Result<()> {
    if args.list {
        write!(io::stdout().lock(), "{}", text::list(args.sampling.unit))?;
        return Ok(());
    }
    let file = |path: &Option<PathBuf>| {
        path.as_ref()
            .map(|path| anyhow::Ok((args.force.create(path)?, path.display().to_string())))
            .transpose()
    };
    let [folded, svg] = [file(&args.folded)?, file(&args.svg)?];
    let callgrind = file(&args.callgrind)?;
    let json = args.force.create_if_wanted(args.json.as_ref())?;
    let html = args.force.create_if_wanted(args.html.as_ref())?;
    let sampled = args.sampling.sample(args.children)?;
    let Sampled { line, report, symbols, is_bundled } = &sampled;
    let output = &mut io::BufWriter::new(io::stdout().lock());
    writeln!(output, "# {line}")?;
    text::print(output, report, args.children)?;
    output.flush()?;
    let stacks = match (&folded, &svg, &html) {
        (None, None, None) => Vec::new(),
        _ => flame::folded(report, symbols.as_ref()),
    };
    ensure!(
        !stacks.is_empty() || folded.is_none() && svg.is_none(),
        "no sample was taken, and a flame graph needs some"
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
    complete(callgrind, |file| Ok(callgrind::write(file, report, symbols.as_ref())?))?;
    complete(folded, |file| {
        let mut lines = stacks.iter();
        Ok(lines.try_for_each(|line| writeln!(file, "{line}"))?)
    })?;
    complete(svg, |file| flame::write_svg(file, report, &stacks))?;
    match json {
        Some(json) => json.complete_json(&Run::from(sampled.report)),
        None => Ok(()),
    }
}

/// Writes a file, if it is wanted.
fn complete(
    file: Option<(OutputFile, String)>,
    write: impl FnOnce(&mut io::BufWriter<&mut OutputFile>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let Some((mut file, name)) = file else {
        return Ok(());
    };
    let mut buffer = io::BufWriter::new(&mut file);
    let written = write(&mut buffer).and_then(|()| Ok(buffer.flush()?));
    drop(buffer);
    written.with_context(|| format!("{name}: cannot be written"))?;
    file.complete()
}
