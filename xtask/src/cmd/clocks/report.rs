//! What `clocks` measured and found, as tables and as JSON.

use std::io::Write;

use hv_core::time::Finding;
use serde::Serialize;

use crate::clocks::Name;
use crate::table::Table;

/// The content of the file.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) architecture: &'static str,
    pub(super) processors: usize,
    pub(super) kernel_clock: Option<String>,
    pub(super) clocks: Vec<Row>,
    pub(super) drift: Vec<Drift>,
    pub(super) chosen: Option<&'static str>,
    pub(super) watchdog: Option<Watched>,
}

/// A clock, as the table and the file show it.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) present: bool,
    pub(super) hz: Option<u64>,
    /// In nanoseconds, as `read` and `jitter` are.
    pub(super) resolution: Option<f64>,
    pub(super) read: Option<f64>,
    pub(super) jitter: Option<f64>,
    pub(super) rating: Option<u16>,
    pub(super) usable: bool,
    pub(super) verdict: String,
}

/// How much faster one clock is than another.
#[derive(Serialize)]
pub(super) struct Drift {
    pub(super) clock: &'static str,
    pub(super) than: &'static str,
    pub(super) parts_per_million: f64,
    pub(super) error: f64,
}

/// What the watchdog found.
#[derive(Serialize, Default)]
pub(super) struct Watched {
    pub(super) checks: u32,
    pub(super) agreed: u32,
    pub(super) skipped: u32,
    pub(super) demoted: Vec<String>,
}

impl Report {
    /// Prints the report as tables.
    pub(super) fn print(&self, output: &mut impl Write) -> anyhow::Result<()> {
        let kernel = self.kernel_clock.as_deref().unwrap_or("unknown");
        let Report {
            architecture,
            processors,
            ..
        } = self;
        writeln!(
            output,
            "{architecture}, processors: {processors}, the kernel's own clock: {kernel}\n"
        )?;

        let mut table = Table::new("clock|>Hz|>step ns|>read ns|>jitter ns|>rating|verdict");
        let number =
            |number: Option<f64>| number.map_or("-".to_owned(), |number| format!("{number:.1}"));
        let whole =
            |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
        for row in &self.clocks {
            table.row([
                row.name.to_owned(),
                whole(row.hz),
                number(row.resolution),
                number(row.read),
                number(row.jitter),
                whole(row.rating.map(u64::from)),
                row.verdict.clone(),
            ]);
        }
        writeln!(output, "{table}")?;

        let present = || self.clocks.iter().filter(|row| row.present);
        let names: String = present().map(|row| format!("|>{}", row.name)).collect();
        let mut table = Table::new(&format!("faster by ppm than{names}"));
        for row in present() {
            let cell = |than: &str| {
                let mut all = self.drift.iter();
                let drift = all.find(|drift| drift.clock == row.name && drift.than == than);
                drift.map_or("-".to_owned(), |drift| {
                    let digits = if drift.error < 1.0 { 3 } else { 0 };
                    format!(
                        "{:.digits$} ±{:.digits$}",
                        drift.parts_per_million, drift.error
                    )
                })
            };
            let cells = present().map(|than| cell(than.name));
            table.row([row.name.to_owned()].into_iter().chain(cells));
        }
        if !table.is_empty() {
            writeln!(output, "{table}")?;
        }

        if let Some(chosen) = self.chosen {
            writeln!(output, "chosen: {chosen}")?;
        }
        if let Some(Watched {
            checks,
            agreed,
            skipped,
            demoted,
        }) = &self.watchdog
        {
            writeln!(
                output,
                "watchdog: {checks} checks, {agreed} agreed, {skipped} skipped"
            )?;
            for demoted in demoted {
                writeln!(output, "demoted: {demoted}")?;
            }
        }
        Ok(())
    }
}

impl Watched {
    /// Adds the result of a check.
    pub(super) fn note(&mut self, finding: Finding) {
        self.checks += 1;
        match finding {
            // These compare nothing.
            Finding::Begun | Finding::NoReference => self.checks -= 1,
            Finding::Agrees => self.agreed += 1,
            Finding::Skipped(_) => self.skipped += 1,
            Finding::Demoted { source, fault, .. } | Finding::BadReference { source, fault } => {
                self.demoted
                    .push(format!("{}: {fault}", Name::ALL[source].text()));
            }
        }
    }
}
