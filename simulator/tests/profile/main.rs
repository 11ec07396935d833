//! Profiles beside what is known of the programs.

mod counts;
mod cycles;
mod r10000;
mod theory;
mod threads;

use std::fmt::Write;
use std::io::Cursor;

use guest_abi::sampling::Period;
use platform::{Machine, Model};
use simulator::memory::Config;
use simulator::profile::events::Rate;
use simulator::profile::report::Report;
use simulator::profile::{Job, ProfileError, Unit};
use simulator::recording::{Chunk, Flow, Kind, Recording, Reference};

/// Samples a recording in the text of lackey, by pages.
fn profile(unit: Unit, trace: &str, events: &str, rate: Rate) -> Result<Report, ProfileError> {
    let length = trace.len() as u64;
    let program = Recording::from_reader("test", Cursor::new(trace.to_owned()), Some(length))?;
    job(program, rate).run(unit, events)
}

/// Samples a recording with these references, which says how instructions pass control on.
fn profile_flow(
    unit: Unit,
    references: Vec<Reference>,
    events: &str,
    rate: Rate,
) -> Result<Report, ProfileError> {
    let chunk = Chunk::new(references, Vec::new());
    job(Recording::from_threads("test", vec![vec![chunk]]), rate).run(unit, events)
}

fn job(program: Recording, rate: Rate) -> Job<'static> {
    Job {
        program,
        machine: Machine::new(Model::Batoka, 4).unwrap(),
        memory: Config::T2_PLUS,
        placement: None,
        rate,
        exceptions: false,
        symbols: None,
        progress: Box::leak(Box::new(|_| {})),
    }
}

/// The fetch of an instruction of 4 bytes.
fn fetch(address: u64, kind: Kind, flow: Flow) -> Reference {
    Reference {
        flow,
        ..Reference::new(address, 4, kind)
    }
}

fn every(events: u32) -> Rate {
    Rate {
        period: Period::new(events),
        seed: None,
    }
}

fn randomised(events: u32, seed: u64) -> Rate {
    Rate {
        seed: Some(seed),
        ..every(events)
    }
}

/// Instructions of 4 bytes at these addresses.
fn fetches(addresses: impl Iterator<Item = u64>) -> String {
    addresses.fold(String::new(), |mut text, address| {
        let _ = writeln!(text, "I  {address:x},4");
        text
    })
}
