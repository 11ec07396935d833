//! Profiles beside what is known of the programs.

mod counts;
mod cycles;
mod theory;

use std::fmt::Write;
use std::io::Cursor;

use guest_abi::sampling::Period;
use simulator::profile::events::Rate;
use simulator::profile::report::Report;
use simulator::profile::{Job, ProfileError, Unit};
use simulator::recording::Recording;

/// Samples a recording, by pages.
fn profile(unit: Unit, trace: &str, events: &str, rate: Rate) -> Result<Report, ProfileError> {
    let length = trace.len() as u64;
    let job = Job {
        program: Recording::from_reader("test", Cursor::new(trace.to_owned()), Some(length))?,
        rate,
        symbols: None,
        progress: &mut |_| {},
    };
    job.run(unit, events)
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
