//! The page of a run or a profile, which the package `page` makes of its report.

use std::io::BufWriter;
use std::process::Stdio;

use anyhow::{Context, bail, ensure};
use serde::Serialize;

use crate::cargo::package;
use crate::output::OutputFile;

/// Makes the page of a report, and gives the file its name.
///
/// # Errors
/// The package cannot be built, or the page cannot be written.
pub fn complete_page(file: OutputFile, report: &impl Serialize) -> anyhow::Result<()> {
    let mut page = package("page", &["--release"], ["-"]);
    page.stdin(Stdio::piped()).stdout(file.stdio()?);
    let mut page = page.spawn().context("cargo cannot be run")?;
    let input = page.stdin.take().map(BufWriter::new);
    let sent = input.map(|input| serde_json::to_writer(input, report));
    let status = page.wait()?;
    ensure!(status.success(), "the page cannot be made: {status}");
    match sent {
        Some(Ok(())) => file.complete(),
        _ => bail!("the page cannot be made: it does not read the report"),
    }
}
