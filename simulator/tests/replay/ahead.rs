//! Tests replays of recordings that a separate thread reads ahead.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, channel};

use simulator::recording::{Recording, bundled};
use simulator::replay::{Setup, Stage};

use crate::{machine, program, recording, run};

#[test]
fn results_are_the_same() {
    let lackey = || program(70_000);
    let results = |recordings: Vec<Recording>| {
        let setup = Setup::new(machine(), lackey()).programs(recordings);
        serde_json::to_string(&run(setup).unwrap()).unwrap()
    };
    let inline = results(vec![bundled(), lackey()]);
    let ahead = [bundled(), lackey()].map(Recording::read_ahead);
    assert!(inline == results(ahead.into()));
}

#[test]
fn progress_is_the_same() {
    let progress = |recording| {
        let mut told = Vec::new();
        let prepared = Setup::new(machine(), recording).check().unwrap();
        let result = prepared.run(|progress| {
            if let Stage::Progress(progress) = progress {
                told.push(progress);
            }
            ControlFlow::Continue(())
        });
        result.unwrap();
        told
    };
    let inline = progress(program(150_000));
    assert!(inline[0].bytes.read < inline.last().unwrap().bytes.read);
    assert_eq!(inline, progress(program(150_000).read_ahead()));
}

#[test]
fn a_damaged_line_ends_the_replay_with_its_error() {
    let text = "I  04001090,3\n".repeat(100_000) + "I  0400109g,3\n";
    let expected = "test:100001: found \"I  0400109g,3\", expected an address of 1 to 16 hexadecimal digits and a comma";
    for recording in [recording(text.clone()), recording(text).read_ahead()] {
        let error = run(Setup::new(machine(), recording)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

/// A reader that reaches the end of its text and then waits until the channel's sender is dropped.
struct Waits(io::Cursor<String>, Receiver<()>);

impl Read for Waits {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        if count == 0 {
            let _ = self.1.recv();
        }
        Ok(count)
    }
}

#[test]
fn a_replay_ends_while_its_input_waits() {
    let text = io::Cursor::new("I  04001090,3\n".repeat(100_000));
    let (end, waits) = channel::<()>();
    let recording = Recording::from_reader("waits", Waits(text, waits), None).unwrap();
    let prepared = (Setup::new(machine(), recording.read_ahead()).check()).unwrap();
    let result = prepared.run(|progress| match progress {
        Stage::Progress(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    assert!(result.unwrap().stopped);
    drop(end);
}
