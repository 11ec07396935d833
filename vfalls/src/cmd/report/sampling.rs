//! Samples a program for `report` and `annotate`.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, ensure};
use guest_abi::sampling::Period;
use simulator::analysis::profile::events::Rate;
use simulator::analysis::profile::functions::Functions;
use simulator::analysis::profile::report::ProfileReport;
use simulator::analysis::profile::{Job, SampledUnit};
use simulator::machine::configuration::Configuration;
use simulator::replay::placement::Placement;

use crate::cmd::by_name;
use crate::cmd::machine::ConfiguredArgs;
use crate::cmd::source::{SourceArgs, line};
use crate::cmd::stat::{advance, progress_bar};
use crate::say::say;
use crate::symbols::Symbols;

#[derive(clap::Args, Debug)]
pub(crate) struct SamplingArgs {
    /// The counters: sparc (of a strand of an UltraSPARC T2 Plus) or r10000
    #[arg(long, value_name = "UNIT", default_value = "sparc", value_parser = unit)]
    pub(crate) unit: SampledUnit,

    /// The event to sample, or several separated by commas (may be repeated)
    #[arg(short, long, value_name = "EVENT[,EVENT]", default_value = "instructions")]
    event: Vec<String>,

    #[command(flatten)]
    machine: ConfiguredArgs,

    /// Which strand executes which thread: spread (the next thread on the next node, then the next core), pack (strand after
    /// strand), one-per-core (core after core), a list such as 0,8,64-71, or deal:LIST (artificial: the references of one
    /// thread, dealt to these strands) [default: spread, or as the recording says]
    #[arg(long, value_name = "PLACEMENT")]
    place: Option<Placement>,

    /// Count in exception mode, too, in which the R10000 handles TLB misses
    #[arg(long)]
    exceptions: bool,

    /// The number of events for each sample, 1 to 2147483648 [default: a prime number that suits the event]
    #[arg(short = 'c', long, value_name = "PERIOD", value_parser = period)]
    count: Option<Period>,

    /// Vary the periods at random by up to an eighth, so that no loop keeps step with them
    #[arg(long)]
    randomise: bool,

    /// The seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1, requires = "randomise")]
    seed: u64,

    /// The recorded program, an ELF file, for the names of its functions; or a copy of a file that the recording names
    #[arg(long, value_name = "ELF")]
    symbols: Option<PathBuf>,

    /// The address at which the program was loaded, if its file can be loaded anywhere [default: valgrind's]
    #[arg(long, value_name = "ADDRESS", value_parser = address, requires = "symbols")]
    load_address: Option<u64>,

    #[command(flatten)]
    source: SourceArgs,
}

/// The result of sampling: the report, and the symbols that its output needs.
pub(crate) struct Sampled {
    /// The line of the report that names the recording.
    pub(crate) line: String,
    pub(crate) report: ProfileReport,
    pub(crate) symbols: Option<Symbols>,
    pub(crate) is_bundled: bool,
}

fn unit(text: &str) -> anyhow::Result<SampledUnit> {
    by_name("unit", text, &SampledUnit::ALL, SampledUnit::name)
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
    /// Samples the program, and prints notes about the result. If `children` is `true`, also
    /// collects call stacks.
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
        let symbols = Symbols::of_recording(
            &program,
            is_bundled,
            self.symbols.as_deref(),
            self.load_address,
        )?;
        let is_dealt =
            matches!(self.place, Some(Placement::Deal(_))) && self.unit == SampledUnit::Sparc;
        ensure!(
            !children || program.has_flow() && !is_dealt,
            "{}: --children needs call stacks, which are rebuilt from the calls and returns of whole threads in a recording that record made",
            program.name()
        );
        let bar = progress_bar(std::slice::from_ref(&program))?;
        let Configuration { machine, memory } = self.machine.configuration()?;
        let job = Job::new(machine, program, rate)
            .memory(memory)
            .placement(self.place.clone())
            .exceptions(self.exceptions)
            .symbols(symbols.as_ref().map(|symbols| symbols as &dyn Functions));
        let report =
            job.run(self.unit, &self.event.join(","), |progress| advance(&bar, progress))?;
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
        symbols.iter().for_each(Symbols::note_unusable);
        Ok(Sampled { line, report, symbols, is_bundled })
    }
}

/// Prints a note if most samples are outside the functions of the file. Then the recording may be
/// of another program, or the program may have been loaded at another address.
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
