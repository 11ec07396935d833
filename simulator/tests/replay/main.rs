//! Tests replays of recordings through the library's public interface.

mod ahead;
mod clock;
mod details;
mod region;
mod setup;
mod stacks;
mod theory;
mod threads;
mod usage;

use std::fmt::Write as _;
use std::fs;
use std::io::{Cursor, Write as _};
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use platform::{Machine, Model};
use simulator::recording::{Recording, bundled};
use simulator::replay::scenario::ScenarioStage;
use simulator::replay::{Progress, RunError, Setup, Stage};
use simulator::run::Replayed;

pub(crate) fn recording(text: impl Into<Vec<u8>>) -> Recording {
    Recording::from_reader("test", Cursor::new(text.into()), None).unwrap()
}

/// Returns a program that stores to, and loads from, a few lines of each node.
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
    prepared.run(|_| ControlFlow::Continue(()))
}

#[test]
fn replays_are_deterministic() {
    let setups = [|| details::setup(program(20_000)), || Setup::new(machine(), threads::threads())];
    for setup in setups {
        let all = || serde_json::to_string(&run(setup()).unwrap()).unwrap();
        assert_eq!(all(), all());
    }
}

#[test]
fn progress_is_reported_and_can_end_a_replay() {
    let setup = |interval| Setup::new(machine(), program(1_000)).interval(interval);
    let sampled = |interval| {
        let mut samples = Vec::new();
        let outcome = (setup(interval).check().unwrap()).run(|progress| {
            if let Stage::Sample { references, counters, .. } = progress {
                samples.push((references, counters.len()));
            }
            ControlFlow::Continue(())
        });
        assert_eq!(outcome.unwrap().references, 1_000);
        samples
    };
    // The counters are those of 8 channels, 16 link port units, 4 address serialization units, and the thread's strand.
    assert_eq!(sampled(Some(300)), [(300, 29), (600, 29), (900, 29), (1_000, 29)]);
    assert_eq!(sampled(None), [(1_000, 29)]);
    let mut first = None;
    let stopped = (setup(Some(100)).check().unwrap()).run(|progress| match progress {
        Stage::Sample { references, .. } => {
            first = Some(references);
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    assert_eq!(first, Some(100));
    // What happened before the stop is known: 50 instructions, each with one data reference.
    let stopped = stopped.unwrap();
    assert!(stopped.stopped && stopped.truth_matches);
    assert_eq!((stopped.references, stopped.threads[0].instructions), (100, 50));
    let note = "the replay was stopped after 100 references, before the end of its programs";
    assert_eq!(stopped.notes, [note]);
}

/// Returns the progress that a replay reports.
fn reported_progress(recording: Recording) -> Vec<Progress> {
    let mut reported_progress = Vec::new();
    let outcome = (Setup::new(machine(), recording).check().unwrap()).run(|stage| {
        if let Stage::Progress(progress) = stage {
            reported_progress.push(progress);
        }
        ControlFlow::Continue(())
    });
    assert_eq!(reported_progress.last().unwrap().references, outcome.unwrap().references);
    reported_progress
}

#[test]
fn progress_has_a_total() {
    // The number of references is known for native and handwritten recordings.
    let native = reported_progress(bundled());
    let fractions: Vec<_> = native.iter().map(|one| one.fraction().unwrap()).collect();
    assert!(fractions[0] < 0.01 && fractions.is_sorted() && fractions.last() == Some(&1.0));
    assert!(native.iter().all(|one| one.total == bundled().references()));
    let by_hand = reported_progress(recording("0 w 0x1000\n64 r 0x1000\n"));
    assert_eq!((by_hand[0].references, by_hand[0].total), (2, Some(2)));
    // The number of references is unknown for a stream of lackey's text.
    let text = "I  04001090,3\n".repeat(100_000);
    let (length, text) = (text.len() as u64, || Cursor::new(text.clone()));
    let file = reported_progress(
        Recording::from_reader("file", text(), Some(length)).unwrap().count_ahead(),
    );
    assert_eq!((file[0].fraction(), file[0].bytes.total), (None, Some(length)));
    assert!(file.last().unwrap().bytes.read == length);
    let pipe =
        reported_progress(Recording::from_reader("pipe", text(), None).unwrap().count_ahead());
    assert_eq!(pipe[0].fraction(), None);
}

/// Returns a program as text: 200,000 references to varied addresses, and then a loop with 2,000,000 references. The loop has most of the
/// references, but in the compressed text it takes fewer bytes than the rest.
fn looping() -> String {
    let mut text = String::from("==7== Lackey, an example Valgrind tool\n");
    for number in 0..100_000_u64 {
        let address = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let _ = writeln!(text, "I  {:x},4\n L {address:x},8", 0x40_0000 + 4 * number);
    }
    text + &"I  401000,3\nI  401003,2\n S 5000,8\nI  401005,2\n".repeat(500_000)
}

/// For a file of lackey's text, the reported progress is always within 2 percentage points of the true fraction of references.
#[test]
fn progress_is_right_in_references() {
    let text = looping();
    let all = 2_200_000;
    let folder = tempfile::tempdir().unwrap();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    for (name, bytes) in [("plain", text.into_bytes()), ("gzip", gzip.finish().unwrap())] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let recording = Recording::open(&path).unwrap().count_ahead().read_ahead();
        let since = Instant::now();
        while recording.expected().is_none() {
            assert!(since.elapsed() < Duration::from_secs(60), "{name} is not counted");
            thread::yield_now();
        }
        for progress in reported_progress(recording) {
            let right = progress.references as f64 / f64::from(all);
            let fraction = progress.fraction().unwrap();
            assert!((fraction - right).abs() < 0.02, "{name}: {fraction}, expected {right}");
        }
    }
    // Dropping a recording does not wait until its references are counted.
    drop(Recording::open(folder.path().join("gzip")).unwrap().count_ahead());
}

#[test]
fn a_scenario_that_is_stopped_keeps_its_phases() {
    let step =
        "[[step]]\nat = 20_000\ndo = \"revoke\"\nright = \"global\"\nguest = \"measuring\"\n";
    let prepared = Setup::new(machine(), program(60_000)).check().unwrap();
    let wrong = step.replace("revoke", "take").parse().unwrap();
    let error = prepared.check_scenario(wrong).unwrap_err().to_string();
    assert_eq!(error, "text:3: there is no action 'take'; did you mean transfer?");
    let scenario = prepared.check_scenario(step.parse().unwrap()).unwrap();
    let part = prepared.play(scenario, |stage| match stage {
        ScenarioStage::Progress(progress) if progress.references >= 30_000 => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    let part = part.unwrap();
    assert!(part.stopped && part.truth_matches && part.references < 60_000);
    let [first, second] = &part.phases[..] else { panic!("{:?}", part.phases) };
    assert_eq!((first.to, second.from, second.to), (20_000, 20_000, part.references));
    assert_eq!((part.steps.len(), part.notes.len()), (1, 1));
}

/// At each sample, an observer sees what has happened so far. At the last sample, it sees the final result.
#[test]
fn a_sample_shows_what_has_happened() {
    let setup = Setup::new(machine(), program(1_000)).interval(Some(400));
    let mut seen = Vec::new();
    let outcome = (setup.check().unwrap()).run(|progress| {
        if let Stage::Sample { now, .. } = progress {
            let run = now.run();
            let calls: Vec<u64> = (run.guests.iter()).map(|guest| guest.hypercalls.total).collect();
            assert!(run.counters.iter().all(|one| one.measured == one.truth));
            seen.push((
                run.threads,
                run.counters,
                now.truth().cycles(),
                calls,
                now.progress().bytes.read,
            ));
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
