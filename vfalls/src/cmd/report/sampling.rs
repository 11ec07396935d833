//! Sampling a program, as `report` and `annotate` do it.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, ensure};
use guest_abi::sampling::Period;
use simulator::analysis::profile::events::Rate;
use simulator::analysis::profile::functions::Functions;
use simulator::analysis::profile::report::ProfileReport;
use simulator::analysis::profile::{Job, SampledUnit};
use simulator::machine::configuration::Configuration;
use simulator::nearest::unknown;
use simulator::replay::placement::Placement;

use crate::cmd::machine::ConfiguredArgs;
use crate::cmd::source::{SourceArgs, line};
use crate::cmd::stat::progress_bar;
use crate::say::say;
use crate::symbols::Symbols;

/// What is sampled, and on which machine.
#[derive(clap::Args, Debug)]
pub(crate) struct SamplingArgs {
    /// The counters: sparc, those of a strand of an UltraSPARC T2 Plus, or r10000
    #[arg(long, value_name = "UNIT", default_value = "sparc", value_parser = unit)]
    pub(crate) unit: SampledUnit,

    /// The event to sample, or several apart by commas; may be repeated
    #[arg(short, long, value_name = "EVENT[,EVENT]", default_value = "instructions")]
    event: Vec<String>,

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

    #[command(flatten)]
    source: SourceArgs,
}

/// What sampling gave.
pub(crate) struct Sampled {
    /// The line that says which recording it was.
    pub(crate) line: String,
    pub(crate) report: ProfileReport,
    pub(crate) symbols: Option<Symbols>,
    pub(crate) is_bundled: bool,
}

fn unit(text: &str) -> anyhow::Result<SampledUnit> {
    let found = SampledUnit::ALL.into_iter().find(|unit| unit.name() == text);
    found
        .with_context(|| unknown("unit", text, SampledUnit::ALL.into_iter().map(SampledUnit::name)))
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

impl SamplingArgs {
    /// Samples the program, and prints notes.
    ///
    /// # Errors
    /// The recording cannot be read, or what the arguments ask for cannot be sampled.
    pub(crate) fn sample(&self, children: bool) -> anyhow::Result<Sampled> {
        ensure!(
            !self.exceptions || self.unit == SampledUnit::R10000,
            "--exceptions is for --unit r10000: the handlers of a strand are not counted"
        );
        let rate = Rate { period: self.count, seed: self.randomise.then_some(self.seed) };
        let source = self.source.resolve()?;
        let is_bundled = source.is_bundled();
        let program = source.open_one()?.read_ahead();
        let line = line(std::slice::from_ref(&program));
        let mapped = Symbols::mapped(program.mappings()).filter(|_| !is_bundled);
        let symbols = match (&self.symbols, mapped) {
            (Some(path), Some(mapped)) => Some(mapped.with(path)?),
            (Some(path), None) => Some(Symbols::open(path, self.load_address)?),
            (None, mapped) => mapped.or_else(|| is_bundled.then(Symbols::bundled)),
        };
        let is_dealt =
            matches!(self.place, Some(Placement::Deal(_))) && self.unit == SampledUnit::Sparc;
        ensure!(
            !children || program.has_flow() && !is_dealt,
            "{}: --children needs call stacks, which are rebuilt from the calls and returns of whole threads in a recording that record made",
            program.name()
        );
        let bar = progress_bar(std::slice::from_ref(&program))?;
        let Configuration { machine, memory } = self.machine.configuration()?;
        let job = Job {
            program,
            machine,
            memory,
            placement: self.place.clone(),
            rate,
            exceptions: self.exceptions,
            symbols: symbols.as_ref().map(|symbols| symbols as &dyn Functions),
            progress: &mut |bytes| bar.set_position(bytes),
        };
        let report = job.run(self.unit, &self.event.join(","))?;
        bar.finish_and_clear();
        for event in report.events() {
            if let Some(absence) = &event.absence {
                let name = &event.event;
                say(format_args!("note: {name} is not modelled, and reads 0: {absence}"));
            }
        }
        if let (Some(symbols), Some(path)) = (&symbols, &self.symbols) {
            note_unnamed(&report, symbols, path);
        }
        for note in &report.notes {
            say(format_args!("note: {note}"));
        }
        for line in symbols.iter().flat_map(Symbols::unusable) {
            say(format_args!("note: functions without names: {line}"));
        }
        Ok(Sampled { line, report, symbols, is_bundled })
    }
}

/// Prints a note if most samples are in no function of the file: it may be of another program, or loaded elsewhere.
fn note_unnamed(report: &ProfileReport, symbols: &Symbols, path: &Path) {
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
