//! Samples a program for `report` and `annotate`.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, ensure};
use guest_abi::sampling::{ModeSet, Period};
use platform::models::r10000::{R10000Event, R10000Mode};
use simulator::analysis::profile::events::{CYCLES, Rate};
use simulator::analysis::profile::functions::{Functions, waiting_state};
use simulator::analysis::profile::report::ProfileReport;
use simulator::analysis::profile::{Job, SampledUnit};
use simulator::machine::configuration::Configuration;
use simulator::recording::Recording;
use simulator::replay::placement::Placement;

use crate::cmd::by_name;
use crate::cmd::machine::ReplayMachineArgs;
use crate::cmd::region::RegionArgs;
use crate::cmd::source::{SourceArgs, counted, line};
use crate::progress::{advance, progress_bar};
use crate::say::say;
use crate::symbols::Symbols;

#[derive(clap::Args, Debug)]
pub(crate) struct SamplingArgs {
    /// The counters: sparc (of a strand of an UltraSPARC T2 Plus) or r10000
    #[arg(long, value_name = "UNIT", default_value = "sparc", value_parser = unit)]
    pub(crate) unit: SampledUnit,

    /// The event to sample, or several separated by commas (may be repeated) [default: cycles; instructions on an R10000]
    #[arg(short, long, value_name = "EVENT[,EVENT]")]
    event: Vec<String>,

    #[command(flatten)]
    machine: ReplayMachineArgs,

    /// Which strand executes which thread: spread (the next thread on the next node, then the next core), pack (strand after
    /// strand), one-per-core (core after core), a list such as 0,8,64-71, or deal:LIST (artificial: the references of one
    /// thread, dealt to these strands) [default: spread, or as the recording says]
    #[arg(long, value_name = "PLACEMENT")]
    place: Option<Placement>,

    /// The modes in which an R10000 counts, separated by commas: user, supervisor, kernel, exception. A recorded program executes in user
    /// mode. In exception mode, the R10000 handles TLB misses. In supervisor and kernel mode, nothing executes [default: user]
    #[arg(long, value_name = "MODE[,MODE]", value_parser = mode, value_delimiter = ',')]
    modes: Vec<R10000Mode>,

    /// The number of R10000s on one bus, 1 to 4; each snoops the requests of the others; thread n executes on processor n [default: 1]
    #[arg(long, value_name = "N")]
    processors: Option<usize>,

    /// The number of events for each sample, 1 to 2147483648 [default: a prime number that suits the event]
    #[arg(short = 'c', long, value_name = "PERIOD", value_parser = period)]
    count: Option<Period>,

    /// Vary the periods at random by up to an eighth, so that no loop stays in step with the samples
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
    region: RegionArgs,

    #[command(flatten)]
    source: SourceArgs,
}

/// The result of sampling: the report, and the symbols that its output needs.
pub(crate) struct Sampled {
    /// The report's line that names the recording.
    pub(crate) line: String,
    pub(crate) report: ProfileReport,
    pub(crate) symbols: Option<Symbols>,
    pub(crate) is_bundled: bool,
}

fn unit(text: &str) -> anyhow::Result<SampledUnit> {
    by_name("unit", text, &SampledUnit::ALL, SampledUnit::name)
}

const MODES: [R10000Mode; 4] =
    [R10000Mode::User, R10000Mode::Supervisor, R10000Mode::Kernel, R10000Mode::Exception];

const fn mode_name(mode: R10000Mode) -> &'static str {
    match mode {
        R10000Mode::User => "user",
        R10000Mode::Supervisor => "supervisor",
        R10000Mode::Kernel => "kernel",
        R10000Mode::Exception => "exception",
    }
}

fn mode(text: &str) -> anyhow::Result<R10000Mode> {
    by_name("mode", text, &MODES, mode_name)
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
    fn modes(&self) -> ModeSet<R10000Mode> {
        match &*self.modes {
            [] => R10000Mode::User.into(),
            modes => modes.iter().copied().collect(),
        }
    }

    fn events(&self) -> String {
        match (&self.event[..], self.unit) {
            ([], SampledUnit::Sparc) => CYCLES.to_owned(),
            ([], SampledUnit::R10000) => "instructions".to_owned(),
            (named, _) => named.join(","),
        }
    }

    /// Samples the program, and prints notes. With `children`, also collects call stacks. With `all`, counts all events of an R10000,
    /// and takes no samples. With `waits`, cycles include the waits of threads.
    pub(crate) fn sample(&self, children: bool, all: bool, waits: bool) -> anyhow::Result<Sampled> {
        let is_r10000 = self.unit == SampledUnit::R10000;
        ensure!(
            !(waits && is_r10000),
            "--waits is for --unit sparc: the threads of an R10000 take turns"
        );
        ensure!(
            is_r10000 || self.modes.is_empty(),
            "--modes is for --unit r10000: the handlers of a strand are not counted"
        );
        ensure!(
            is_r10000 || self.processors.is_none(),
            "--processors is for --unit r10000: --place says which strands execute"
        );
        ensure!(
            is_r10000 || !all,
            "--all is for --unit r10000: the counters of a strand have more events than can take turns"
        );
        ensure!(
            !self.machine.places_pages() || self.unit == SampledUnit::Sparc,
            "--memory is for --unit sparc: an R10000's memory is in one place"
        );
        let rate = Rate { period: self.count, seed: self.randomise.then_some(self.seed) };
        let source = self.source.resolve()?;
        let is_bundled = source.is_bundled();
        let programs = counted(source.open_one()?).into_iter().map(Recording::read_ahead);
        let programs: Vec<_> = programs.collect();
        let line = line(&programs);
        let symbols = Symbols::of_recordings(
            &programs,
            is_bundled,
            self.symbols.as_deref(),
            self.load_address,
        )?;
        let is_dealt =
            matches!(self.place, Some(Placement::Deal(_))) && self.unit == SampledUnit::Sparc;
        ensure!(
            !children || programs.iter().all(Recording::has_flow) && !is_dealt,
            "{}: --children needs call stacks, which are rebuilt from the calls and returns of whole threads in a recording that record made",
            programs[0].name()
        );
        let bar = progress_bar(&programs)?;
        let Configuration { machine, memory } = self.machine.configuration()?;
        let place = self.place.as_ref();
        let region = self.region.region(&source, &programs, symbols.as_ref(), machine, place)?;
        let job = Job::new(machine, programs, rate)
            .memory(memory)
            .placement(self.place.clone())
            .modes(self.modes())
            .processors(self.processors.unwrap_or(1))
            .counting(all)
            .waits(waits)
            .region(region)
            .symbols(symbols.as_ref().map(|symbols| symbols as &dyn Functions));
        let events = match all {
            true => all_events(),
            false => self.events(),
        };
        let report = job.run(self.unit, &events, |progress| advance(&bar, progress))?;
        bar.finish_and_clear();
        if self
            .modes()
            .iter()
            .all(|mode| matches!(mode, R10000Mode::Supervisor | R10000Mode::Kernel))
        {
            say(
                "note: all counts are 0: a recorded program executes in user mode, and nothing executes in supervisor or kernel mode",
            );
        }
        for event in report.events().filter(|_| !all) {
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

/// Returns a list of the numbers of all R10000 events.
fn all_events() -> String {
    let numbers = R10000Event::ALL.iter().map(|event| (*event as u8).to_string());
    numbers.collect::<Vec<_>>().join(",")
}

/// Prints a note if most sampled instructions are outside the file's functions. The recording may then be of another program, or the
/// program may have been loaded at another address.
fn note_unnamed(report: &ProfileReport, symbols: &Symbols, path: &Path) {
    let Some(loaded_at) = symbols.loaded_at() else {
        return;
    };
    let samples = |is_counted: &dyn Fn(u64) -> bool| -> u64 {
        let rows = report.first.rows.iter().filter(|row| is_counted(row.address));
        rows.map(|row| row.samples).sum()
    };
    let all = samples(&|address| waiting_state(address).is_none());
    let named = samples(&|address| symbols.function(address).is_some());
    if named < all / 2 {
        say(format_args!(
            "note: {}, loaded at {loaded_at:#x}, has functions for {named} of {all} samples",
            path.display()
        ));
    }
}
