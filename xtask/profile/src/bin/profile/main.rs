//! Shows which code causes events. Run it by `cargo xtask profile`.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod annotate;
mod callgrind;
mod flame;
mod text;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail, ensure};
use clap::{ArgGroup, Parser};
use guest_abi::sampling::Period;

use annotate::Annotator;
use profile::symbols::Symbols;
use simulator::configuration::Configuration;
use simulator::nearest::unknown;
use simulator::placement::Placement;
use simulator::profile::events::Rate;
use simulator::profile::report::Report;
use simulator::profile::rows::Functions;
use simulator::profile::{Job, Unit};
use simulator::recording::{Recording, bundled};
use xtask::cargo::root;
use xtask::cmd::machine::ConfiguredArgs;
use xtask::cmd::sim::{complete_page, progress_bar, record};
use xtask::exit;
use xtask::output::{Force, OutputFile};
use xtask::say::say;
use xtask::tools::{OBJDUMP, SPARC_OBJDUMP};

/// Replay a program on a simulated machine, sample it with the counters of its processors, and show which functions or pages
/// cause the events
///
/// Guests of the simulated machine, one on each strand that executes a thread, load the counters so that they overflow, and
/// their interrupt handlers take the samples. The report also has where the events really happened. An R10000 is one
/// processor, on which the threads take turns.
#[derive(Parser, Debug)]
#[command(
    name = "cargo xtask profile",
    bin_name = "cargo xtask profile",
    group = ArgGroup::new("lines").args(["annotate", "html"]).multiple(true),
    after_help = "Events: those of the SPARC counters by the names of cpustat, such as Instr_cnt, Instr_ld, DC_miss, L2_dmiss_ld, \
                  or of PAPI; those of the R10000 by the numbers and names of perfex, such as 25, primary_data_cache_misses or \
                  'Graduated loads'. Two are counted at once; more take turns, and their counts are estimates. \
                  A recording cannot cause all of them: --list says which.\n\n\
                  Examples:\n  cargo xtask profile\n  \
                  cargo xtask profile -e L2_dmiss_ld -e DC_miss -c 13 --svg misses.svg\n  \
                  cargo xtask profile -e DC_miss --annotate look_up_price\n  \
                  cargo xtask profile -e DC_miss --html page.html -- ./program\n  \
                  cargo xtask profile -e DC_miss --annotate work -- ./program its arguments\n  \
                  cargo xtask profile --unit r10000 --list\n  \
                  cargo xtask profile --unit r10000 -e cycles,primary_data_cache_misses\n  \
                  cargo xtask profile --place pack -e L2_dmiss_ld --json profile.json program.refs\n  \
                  cargo xtask profile --symbols ./program --randomise program.lackey.gz"
)]
struct Args {
    /// The counters: sparc, those of a strand of an UltraSPARC T2 Plus, or r10000
    #[arg(long, value_name = "UNIT", default_value = "sparc", value_parser = unit)]
    unit: Unit,

    /// The event to sample, or several apart by commas; may be repeated
    #[arg(
        short,
        long,
        value_name = "EVENT[,EVENT]",
        default_value = "instructions"
    )]
    event: Vec<String>,

    /// List the events of the unit instead, and say which of them a recording cannot cause, and why
    #[arg(long, conflicts_with_all = ["json", "svg", "folded", "callgrind", "html"])]
    list: bool,

    #[command(flatten)]
    machine: ConfiguredArgs,

    /// Which strand executes which thread: spread (the next thread on the next node, then the next core), pack (strand after
    /// strand), one-per-core (core after core), a list such as 0,8,64-71, or deal:LIST (artificial: the references of one
    /// thread, dealt) [default: spread, or as the recording says]
    #[arg(long, value_name = "PLACEMENT")]
    place: Option<Placement>,

    /// Count in exception mode, too: what the handler of the R10000's TLB misses does
    #[arg(long)]
    exceptions: bool,

    /// How many events make a sample, 1 to 2147483648 [default: a prime number that suits the event]
    #[arg(short = 'c', long, value_name = "PERIOD", value_parser = period)]
    count: Option<Period>,

    /// Vary the periods at random, by up to an eighth, so that no loop is in step with them
    #[arg(long)]
    randomise: bool,

    /// The seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1, requires = "randomise")]
    seed: u64,

    /// The program that was recorded, an ELF file, for the names of its functions; if the recording says which files these are:
    /// a copy of one of them
    #[arg(long, value_name = "ELF")]
    symbols: Option<PathBuf>,

    /// Where the program was loaded, if its file can be loaded anywhere [default: where valgrind loads it]
    #[arg(long, value_name = "ADDRESS", value_parser = address, requires = "symbols")]
    load_address: Option<u64>,

    /// The recording to replay, plain, gzip or zstd, `-` for standard input [default: a recording that comes with the program]
    #[arg(value_name = "FILE", conflicts_with = "command")]
    recording: Option<PathBuf>,

    /// A program to run and record first, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,

    /// Show functions with all that they call, too, as perf report --children does. Call stacks are rebuilt from the calls and
    /// returns of a recording that `record` made
    #[arg(long)]
    children: bool,

    /// Show a function's lines of source with their counts instead of the table of functions; may be repeated. Lines of functions
    /// that are inlined in it are in their own files
    #[arg(long, value_name = "FUNCTION", conflicts_with = "children")]
    annotate: Vec<String>,

    /// Show the instructions of the functions of --annotate, too
    #[arg(long, requires = "annotate")]
    asm: bool,

    /// Where sources are that are not where they were compiled: DIR/a/b.c, or else DIR/b.c, is taken for /build/a/b.c
    #[arg(long, value_name = "DIR", requires = "lines")]
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

/// The page shows source lines of so many functions of each event.
const PAGE_FUNCTIONS: usize = 5;

fn unit(text: &str) -> anyhow::Result<Unit> {
    let found = Unit::ALL.into_iter().find(|unit| unit.name() == text);
    found.with_context(|| unknown("unit", text, Unit::ALL.into_iter().map(Unit::name)))
}

fn period(text: &str) -> anyhow::Result<Period> {
    let period = text.parse().ok().and_then(Period::new);
    period.with_context(|| format!("found '{text}', expected a period of 1 to 2147483648 events"))
}

fn address(text: &str) -> anyhow::Result<u64> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16)
        .map_err(|_| anyhow!("found '{text}', expected an address in hexadecimal"))
}

fn main() -> ExitCode {
    exit::main(run)
}

fn run(args: Args) -> anyhow::Result<()> {
    if args.list {
        write!(io::stdout().lock(), "{}", text::list(args.unit))?;
        return Ok(());
    }
    ensure!(
        !args.exceptions || args.unit == Unit::R10000,
        "--exceptions is for --unit r10000: the handlers of a strand are not counted"
    );
    let rate = Rate {
        period: args.count,
        seed: args.randomise.then_some(args.seed),
    };
    let file = |path: &Option<PathBuf>| {
        path.as_ref()
            .map(|path| anyhow::Ok((args.force.create(path)?, path.display().to_string())))
            .transpose()
    };
    let [json, folded, svg] = [file(&args.json)?, file(&args.folded)?, file(&args.svg)?];
    let callgrind = file(&args.callgrind)?;
    let html = args.force.create_if_wanted(args.html.as_ref())?;
    let is_bundled = args.recording.is_none() && args.command.is_empty();
    let program = match &args.recording {
        Some(path) => Recording::open(path)?,
        None if is_bundled => bundled(),
        None => record(&args.command)?,
    }
    .read_ahead();
    let mapped = Symbols::mapped(program.mappings()).filter(|_| !is_bundled);
    let symbols = match (&args.symbols, mapped) {
        (Some(path), Some(mapped)) => Some(mapped.with(path)?),
        (Some(path), None) => Some(Symbols::open(path, args.load_address)?),
        (None, mapped) => mapped.or_else(|| is_bundled.then(Symbols::bundled)),
    };
    let is_dealt = matches!(args.place, Some(Placement::Deal(_))) && args.unit == Unit::Sparc;
    ensure!(
        !args.children || program.has_flow() && !is_dealt,
        "{}: --children needs call stacks, which are rebuilt from the calls and returns of whole threads in a recording that record made",
        program.name()
    );
    let bar = progress_bar(std::slice::from_ref(&program))?;
    let Configuration { machine, memory } = args.machine.configuration()?;
    let objdump = match program.target() {
        Some("sparc64") => SPARC_OBJDUMP,
        _ => OBJDUMP,
    };
    let job = Job {
        program,
        machine,
        memory,
        placement: args.place,
        rate,
        exceptions: args.exceptions,
        symbols: symbols.as_ref().map(|symbols| symbols as &dyn Functions),
        progress: &mut |bytes| bar.set_position(bytes),
    };
    let report = job.run(args.unit, &args.event.join(","))?;
    bar.finish_and_clear();
    for event in report.events() {
        if let Some(absence) = event.absence {
            let name = event.event;
            say(format_args!(
                "note: {name} is not modelled, and reads 0: {absence}"
            ));
        }
    }
    if let (Some(symbols), Some(path)) = (&symbols, &args.symbols) {
        note_unnamed(&report, symbols, path);
    }
    for note in &report.notes {
        say(format_args!("note: {note}"));
    }
    for line in symbols.iter().flat_map(Symbols::unusable) {
        say(format_args!("note: functions without names: {line}"));
    }
    let output = &mut io::BufWriter::new(io::stdout().lock());
    let annotator = symbols.as_ref().map(|symbols| Annotator {
        report: &report,
        symbols,
        // The source of the bundled program is here.
        source: args
            .source
            .or_else(|| is_bundled.then(|| root().to_owned())),
        objdump: args.asm.then_some(objdump),
    });
    match (&annotator, &args.annotate[..]) {
        (_, []) => text::print(output, &report, args.children)?,
        (None, _) => {
            bail!("--annotate needs the program's functions: --symbols says where they are")
        }
        (Some(annotator), names) => {
            text::print_header(output, &report)?;
            names
                .iter()
                .try_for_each(|name| annotator.print(output, name))?;
        }
    }
    let lines = match (&html, &annotator) {
        (Some(_), Some(annotator)) => annotator.hottest(PAGE_FUNCTIONS),
        _ => Vec::new(),
    };
    output.flush()?;
    let stacks = match (&folded, &svg, &html) {
        (None, None, None) => Vec::new(),
        _ => flame::folded(&report, symbols.as_ref()),
    };
    ensure!(
        !stacks.is_empty() || folded.is_none() && svg.is_none(),
        "no sample was taken, and a flame graph needs some"
    );
    if let Some(file) = html {
        let mut details = serde_json::to_value(&report)?;
        details["stacks"] = stacks.clone().into();
        details["lines"] = lines.into();
        complete_page(file, &details)?;
    }
    complete(json, |file| {
        serde_json::to_writer_pretty(&mut *file, &report)?;
        Ok(writeln!(file)?)
    })?;
    complete(callgrind, |file| {
        Ok(callgrind::write(file, &report, symbols.as_ref())?)
    })?;
    complete(folded, |file| {
        let mut lines = stacks.iter();
        Ok(lines.try_for_each(|line| writeln!(file, "{line}"))?)
    })?;
    complete(svg, |file| flame::write_svg(file, &report, &stacks))
}

/// Prints a note if most samples are in no function of the file: it may be of another program, or loaded elsewhere.
fn note_unnamed(report: &Report, symbols: &Symbols, path: &Path) {
    let Some(loaded_at) = symbols.loaded_at() else {
        return;
    };
    let all = report.first.samples;
    let named = (report.first.rows.iter()).filter(|row| symbols.function(row.address).is_some());
    let named: u64 = named.map(|row| row.samples).sum();
    if named < all / 2 {
        say(format_args!(
            "note: {}, loaded at {loaded_at:#x}, has functions for {named} of {all} samples",
            path.display()
        ));
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
