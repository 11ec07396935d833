//! The report of `clocks`, as tables and as JSON.

use std::fmt;
use std::io::Write;

use hv_core::time::{Finding, Frequency};
use serde::Serialize;

use crate::cmd::clocks::day::TimeOfDayStats;
use crate::cmd::clocks::hardware_clocks::DeviceComparison;
use crate::cmd::clocks::host::ClockName;
use crate::cmd::clocks::witness::{Witness, Witnesses};
use crate::table;

/// All measurements. The JSON file has the form of this struct.
#[derive(Serialize)]
pub(super) struct ClockReport {
    pub(super) architecture: &'static str,
    pub(super) processors: usize,
    pub(super) kernel_clock: Option<String>,
    pub(super) clocks: Vec<ClockRow>,
    pub(super) drift: Vec<Drift>,
    pub(super) chosen: Option<&'static str>,
    pub(super) watchdog: Option<WatchdogStats>,
    pub(super) time_of_day: Option<TimeOfDayStats>,
    pub(super) witnesses: Witnesses,
    pub(super) compared: Vec<DeviceComparison>,
    /// The names of the devices whose clock this process cannot read.
    pub(super) unreadable: Vec<String>,
    /// What the report concludes from the number of witnesses, as text.
    pub(super) verdict: String,
}

#[derive(Serialize)]
pub(super) struct ClockRow {
    pub(super) name: &'static str,
    pub(super) present: bool,
    pub(super) hz: Option<u64>,
    pub(super) measured: Option<Measured>,
    /// The smallest step of the clock. `resolution`, `read` (the duration of a read) and `jitter`
    /// are in nanoseconds.
    pub(super) resolution: Option<f64>,
    pub(super) read: Option<f64>,
    pub(super) jitter: Option<f64>,
    pub(super) rating: Option<u16>,
    pub(super) usable: bool,
    pub(super) verdict: String,
}

/// A measured frequency and its uncertainty, in Hz.
#[derive(Serialize)]
pub(super) struct Measured {
    hz: f64,
    uncertainty: f64,
    /// The name of the reference clock, which is assumed to be right.
    pub(super) by: &'static str,
}

impl Measured {
    pub(super) fn new((by, frequency): (&'static str, Frequency)) -> Self {
        Self {
            hz: frequency.millihertz() as f64 / 1000.0,
            uncertainty: frequency.uncertainty() as f64 / 1000.0,
            by,
        }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = usize::from(self.uncertainty < 10.0);
        write!(f, "{:.digits$} ±{:.digits$}", self.hz, self.uncertainty)
    }
}

/// The drift of `clock` relative to the clock `than`.
#[derive(Serialize)]
pub(super) struct Drift {
    pub(super) clock: &'static str,
    pub(super) than: &'static str,
    pub(super) parts_per_million: f64,
    pub(super) error: f64,
}

/// What the watchdog's checks found.
#[derive(Serialize, Default)]
pub(super) struct WatchdogStats {
    pub(super) checks: u32,
    pub(super) agreed: u32,
    pub(super) skipped: u32,
    /// How many checks found that two clocks differ, but not which of them is wrong.
    pub(super) undecided: u32,
    pub(super) demoted: Vec<String>,
    /// The measured frequency of the chosen clock.
    pub(super) frequency: Option<Measured>,
    /// Whether the chosen clock and its reference clock are derived from the same counter.
    pub(super) one_witness: bool,
}

impl ClockReport {
    pub(super) fn print(&self, output: &mut impl Write) -> anyhow::Result<()> {
        let kernel = self.kernel_clock.as_deref().unwrap_or("unknown");
        let ClockReport { architecture, processors, .. } = self;
        writeln!(
            output,
            "{architecture}, processors: {processors}, the kernel's own clock: {kernel}\n"
        )?;

        let mut table = table::with_header(
            "clock|>Hz|>measured Hz|>step ns|>read ns|>jitter ns|>rating|verdict",
        );
        let text = |text: Option<String>| text.unwrap_or("-".to_owned());
        let number = |number: Option<f64>| text(number.map(|number| format!("{number:.1}")));
        let whole = |number: Option<u64>| text(number.map(|number| number.to_string()));
        for row in &self.clocks {
            table.add_row([
                row.name.to_owned(),
                whole(row.hz),
                text(row.measured.as_ref().map(ToString::to_string)),
                number(row.resolution),
                number(row.read),
                number(row.jitter),
                whole(row.rating.map(u64::from)),
                row.verdict.clone(),
            ]);
        }
        writeln!(output, "{}", table::text(&table))?;

        let present = || self.clocks.iter().filter(|row| row.present);
        let names: String = present().map(|row| format!("|>{}", row.name)).collect();
        let mut table = table::with_header(&format!("faster by ppm than{names}"));
        for row in present() {
            let cell = |than: &str| {
                let mut all = self.drift.iter();
                let drift = all.find(|drift| drift.clock == row.name && drift.than == than);
                text(drift.map(|drift| {
                    let digits = if drift.error < 1.0 { 3 } else { 0 };
                    format!("{:.digits$} ±{:.digits$}", drift.parts_per_million, drift.error)
                }))
            };
            let cells = present().map(|than| cell(than.name));
            table.add_row([row.name.to_owned()].into_iter().chain(cells));
        }
        if !table.is_empty() {
            writeln!(output, "{}", table::text(&table))?;
        }

        if let Some(chosen) = self.chosen {
            writeln!(output, "chosen: {chosen}")?;
        }
        if let Some(WatchdogStats {
            checks,
            agreed,
            skipped,
            undecided,
            demoted,
            frequency,
            one_witness,
        }) = &self.watchdog
        {
            let same = if *one_witness { "; one counter, compared with itself" } else { "" };
            writeln!(
                output,
                "watchdog: {checks} checks, {agreed} agreed, {undecided} undecided, {skipped} skipped{same}"
            )?;
            if let (Some(frequency), Some(chosen)) = (frequency, self.chosen) {
                writeln!(output, "{chosen} by {}: {frequency} Hz", frequency.by)?;
            }
            for demoted in demoted {
                writeln!(output, "demoted: {demoted}")?;
            }
        }
        if let Some(day) = &self.time_of_day {
            writeln!(output, "time of day: {day}")?;
        }

        writeln!(output)?;
        for Witness { name, known, .. } in &self.witnesses.0 {
            writeln!(output, "{name}: {known}")?;
        }
        if !self.unreadable.is_empty() {
            writeln!(output, "cannot be read here: {}", self.unreadable.join(", "))?;
        }
        for line in table::wrap(&format!("verdict: {}", self.verdict), table::WIDTH) {
            writeln!(output, "{line}")?;
        }
        Ok(())
    }
}

impl WatchdogStats {
    /// Counts one of the watchdog's checks under its finding.
    pub(super) fn note(&mut self, finding: Finding) {
        self.checks += 1;
        match finding {
            // These checks compared nothing, so they are not counted.
            Finding::Begun | Finding::NoReference => self.checks -= 1,
            Finding::Agrees | Finding::Restored { .. } => self.agreed += 1,
            Finding::Skipped(_) => self.skipped += 1,
            Finding::Undecided { .. } => self.undecided += 1,
            Finding::Demoted { source, fault, .. } => {
                self.demoted.push(format!("{}: {fault}", ClockName::ALL[source].text()));
            }
        }
    }
}
