//! Compares profiles with the known behaviour of the profiled programs.

mod clock;
mod counts;
mod cycles;
mod r10000;
mod theory;
mod threads;

use std::io::Cursor;
use std::ops::ControlFlow;

use guest_abi::sampling::Period;
use platform::{Machine, Model};
use simulator::analysis::profile::events::Rate;
use simulator::analysis::profile::report::ProfileReport;
use simulator::analysis::profile::{Job, ProfileError, SampledUnit};
use simulator::recording::{Chunk, Flow, Kind, Recording, Reference};
use simulator::replay::Progress;

/// Samples a recording in lackey's text form. Returns the profile, in which pages take the place of
/// functions.
fn profile(
    unit: SampledUnit,
    text: &str,
    events: &str,
    rate: Rate,
) -> Result<ProfileReport, ProfileError> {
    let length = text.len() as u64;
    let program = Recording::from_reader("test", Cursor::new(text.to_owned()), Some(length))?;
    job(program, rate).run(unit, events, continue_always).inspect(read_back)
}

/// Writes a report as JSON and reads it back. Asserts that writing it again gives the same JSON.
fn read_back(report: &ProfileReport) {
    let json = serde_json::to_string(report).unwrap();
    let read: ProfileReport = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), json);
}

/// Samples a recording of these references, which, unlike lackey's text, say how control flows.
fn profile_flow(
    unit: SampledUnit,
    references: Vec<Reference>,
    events: &str,
    rate: Rate,
) -> Result<ProfileReport, ProfileError> {
    let chunk = Chunk::new(references, Vec::new());
    job(Recording::from_threads("test", vec![vec![chunk]]), rate).run(unit, events, continue_always)
}

pub(crate) fn continue_always(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn job(program: Recording, rate: Rate) -> Job<'static> {
    Job::new(Machine::new(Model::Batoka, 4).unwrap(), program, rate)
}

fn fetch(address: u64, kind: Kind, flow: Flow) -> Reference {
    Reference { flow, ..Reference::new(address, 4, kind) }
}

fn every(events: u32) -> Rate {
    Rate { period: Period::new(events), seed: None }
}

fn randomised(events: u32, seed: u64) -> Rate {
    Rate { seed: Some(seed), ..every(events) }
}

/// Returns 4-byte fetches at these addresses.
fn fetches(addresses: impl Iterator<Item = u64>) -> String {
    addresses.map(|address| format!("I  {address:x},4\n")).collect()
}
