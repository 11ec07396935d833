//! Recordings are replayed through the public interface of the library.

mod ahead;
mod clock;
mod details;
mod setup;
mod stacks;
mod theory;
mod threads;
mod usage;

use std::fmt::Write;
use std::io::Cursor;
use std::ops::ControlFlow;

use platform::{Machine, Model};
use simulator::recording::Recording;
use simulator::replay::{Progress, RunError, Setup};
use simulator::run::Replayed;

pub(crate) fn recording(text: impl Into<Vec<u8>>) -> Recording {
    Recording::from_reader("test", Cursor::new(text.into()), None).unwrap()
}

/// Returns a program that stores to and loads from a few lines of each node.
pub(crate) fn program(references: u64) -> Recording {
    let mut text = String::new();
    for number in 0..references / 2 {
        let _ = writeln!(text, "I  {:x},4", 0x40_0000 + number % 100 * 4);
        let kind = if number % 3 == 0 { 'S' } else { 'L' };
        let _ = writeln!(text, " {kind} {:x},8", 0x1000_0000 + number * 0x940 % 0x2_0000);
    }
    recording(text)
}

pub(crate) fn machine() -> Machine {
    Machine::new(Model::Batoka, 4).unwrap()
}

/// Replays to the end, without an observer.
pub(crate) fn run(setup: Setup) -> Result<Replayed, RunError> {
    let prepared = setup.check().unwrap();
    prepared.run(&mut |_| ControlFlow::Continue(()))
}

#[test]
fn the_same_again() {
    let setups = [|| details::setup(program(20_000)), || Setup::new(machine(), threads::threads())];
    for setup in setups {
        let all = || serde_json::to_string(&run(setup()).unwrap()).unwrap();
        assert_eq!(all(), all());
    }
}

#[test]
fn progress_is_told_and_can_end_a_replay() {
    let setup = |interval| Setup { interval, ..Setup::new(machine(), program(1_000)) };
    let sampled = |interval| {
        let mut samples = Vec::new();
        let outcome = (setup(interval).check().unwrap()).run(&mut |progress| {
            if let Progress::Sample { references, counters, .. } = progress {
                samples.push((references, counters.len()));
            }
            ControlFlow::Continue(())
        });
        assert_eq!(outcome.unwrap().references, 1_000);
        samples
    };
    // The counters belong to 8 channels, 16 link port units, 4 address serialization units, and the thread's strand.
    assert_eq!(sampled(Some(300)), [(300, 29), (600, 29), (900, 29), (1_000, 29)]);
    assert_eq!(sampled(None), [(1_000, 29)]);
    let mut first = None;
    let stopped = (setup(Some(100)).check().unwrap()).run(&mut |progress| match progress {
        Progress::Sample { references, .. } => {
            first = Some(references);
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    assert!(matches!(stopped, Err(RunError::Stopped)));
    assert_eq!(first, Some(100));
}

/// At each sample, an observer sees what has happened so far. At the last sample, the observer sees the final result.
#[test]
fn a_sample_shows_what_has_happened() {
    let setup = Setup { interval: Some(400), ..Setup::new(machine(), program(1_000)) };
    let mut seen = Vec::new();
    let outcome = (setup.check().unwrap()).run(&mut |progress| {
        if let Progress::Sample { now, .. } = progress {
            let run = now.run();
            let calls: Vec<u64> = (run.guests.iter()).map(|guest| guest.hypercalls.total).collect();
            assert!(run.counters.iter().all(|one| one.measured == one.truth));
            seen.push((run.threads, run.counters, now.truth().cycles(), calls, now.bytes_read()));
        }
        ControlFlow::Continue(())
    });
    let outcome = outcome.unwrap();
    // Each instruction has one data reference.
    let instructions: Vec<u64> =
        (seen.iter()).map(|(threads, ..)| threads[0].instructions).collect();
    assert_eq!(instructions, [200, 400, 500]);
    for pair in seen.windows(2) {
        let [(.., before, calls, read), (.., after, more, on)] = pair else {
            unreachable!();
        };
        assert!(before < after && calls[0] < more[0] && read <= on);
    }
    let (threads, counters, cycles, calls, _) = seen.pop().unwrap();
    assert_eq!((threads, cycles), (outcome.threads, outcome.cycles));
    assert_eq!(counters, outcome.counters);
    let guests = outcome.guests.iter();
    assert!(guests.map(|guest| guest.hypercalls.total).eq(calls));
}
