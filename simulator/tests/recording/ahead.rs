//! Tests recordings that a separate thread reads ahead.

use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Cursor, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use simulator::recording::{BLOCK, BytesRead, Chunk, Order, Recording, RecordingError};

use crate::gzip;

/// A call of `next_chunk` and its results: the thread, whether there was a chunk, a hash of the references, the orders, and the progress.
type Step = (usize, Result<bool, RecordingError>, u64, Vec<(usize, Order)>, BytesRead);

/// Reads all threads chunk by chunk, in random order.
fn steps(mut recording: Recording) -> Vec<Step> {
    let mut left: Vec<usize> = (0..recording.threads()).collect();
    let (mut chunk, mut steps) = (Chunk::default(), Vec::new());
    let mut random = 1_u32;
    while !left.is_empty() {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let at = (random >> 16) as usize % left.len();
        let result = recording.next_chunk(left[at], &mut chunk);
        let mut hasher = DefaultHasher::new();
        for reference in chunk.references().iter() {
            reference.hash(&mut hasher);
        }
        let (references, order) = (hasher.finish(), chunk.order.clone());
        let goes_on = result == Ok(true);
        assert_eq!(chunk.is_empty(), !goes_on);
        steps.push((left[at], result, references, order, recording.progress()));
        if !goes_on {
            let ended = left.swap_remove(at);
            assert_eq!(recording.next_chunk(ended, &mut chunk), Ok(false));
        }
    }
    assert_eq!(recording.next_chunk(recording.threads(), &mut chunk), Ok(false));
    steps
}

fn text(lines: usize) -> String {
    let mut text = String::new();
    for number in 0..lines {
        let _ = match number % 3 {
            0 => writeln!(text, " L {:08x},8", 0x1fff_0000 + number * 24),
            _ => writeln!(text, "I  {:08x},4", 0x40_0000 + number % 5000 * 4),
        };
    }
    text
}

#[test]
fn each_chunk_is_the_same() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../bundled/workload.refs");
    let bundled = fs::read(path).unwrap();
    let mut damaged = bundled.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x10;
    let lackey = text(5 * BLOCK);
    let wrong = format!("{lackey}I  0400109x,3\n{lackey}");
    let mut cut_off = gzip(lackey.as_bytes());
    cut_off.truncate(cut_off.len() - 100);
    let files = [
        ("bundled", bundled),
        ("damaged", damaged),
        ("lackey", lackey.into_bytes()),
        ("wrong", wrong.into_bytes()),
        ("cut off", cut_off),
        ("empty", Vec::new()),
        ("text", b"0 w 1000\n9 r 1000\n".to_vec()),
    ];
    for (name, file) in files {
        let open = || Recording::from_reader(name, Cursor::new(file.clone()), None).unwrap();
        let (inline, ahead) = (steps(open()), steps(open().read_ahead()));
        let failed = |step: &&Step| step.1.is_err();
        let fails = ["damaged", "wrong", "cut off", "empty"].contains(&name);
        assert_eq!(inline.iter().filter(failed).count(), usize::from(fails), "{name}");
        assert!(inline == ahead, "{name}");
    }
}

#[test]
fn what_is_known_of_a_recording_stays_known() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../bundled/workload.refs");
    let known = |recording: &Recording| {
        let program = (recording.target(), recording.command(), recording.mappings());
        let reading = (recording.threads(), recording.has_flow(), recording.progress());
        format!("{:?}", (recording.name(), recording.notes(), program, reading))
    };
    let inline = Recording::open(path).unwrap();
    assert_eq!(known(&inline), known(&Recording::open(path).unwrap().read_ahead()));
}

#[test]
fn a_slow_pipe_is_read_to_its_end() {
    let lackey = text(2 * BLOCK + 100);
    let (pipe, mut end) = io::pipe().unwrap();
    let bytes = lackey.clone().into_bytes();
    let writer = thread::spawn(move || {
        for piece in bytes.chunks(40_000) {
            thread::sleep(Duration::from_millis(1));
            end.write_all(piece).unwrap();
        }
    });
    let whole = Recording::from_reader("lackey", Cursor::new(lackey), None).unwrap();
    let piped = Recording::from_reader("lackey", pipe, None).unwrap();
    let contents = |steps: Vec<Step>| -> Vec<_> {
        steps.into_iter().map(|(_, result, references, ..)| (result, references)).collect()
    };
    assert_eq!(contents(steps(whole)), contents(steps(piped.read_ahead())));
    writer.join().unwrap();
}

/// A reader that reaches the end of its text and then waits until the sender of `goes_on` is dropped.
struct Waits {
    text: Cursor<Vec<u8>>,
    goes_on: Receiver<()>,
    /// Is dropped together with the reader, so that the test notices when the reader is dropped.
    _lives: Sender<()>,
}

impl Read for Waits {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.text.read(buffer)?;
        if count == 0 {
            let _ = self.goes_on.recv();
        }
        Ok(count)
    }
}

#[test]
fn nobody_waits_for_the_thread_and_it_ends() {
    for lines in [BLOCK + 1, 10 * BLOCK] {
        let (goes_on, waits) = channel();
        let (lives, is_there) = channel();
        let reader =
            Waits { text: Cursor::new(text(lines).into_bytes()), goes_on: waits, _lives: lives };
        let recording = Recording::from_reader("waits", reader, None).unwrap();
        let mut recording = recording.read_ahead();
        assert_eq!(recording.next_chunk(0, &mut Chunk::default()), Ok(true));
        drop(recording);
        drop(goes_on);
        let gone = is_there.recv_timeout(Duration::from_secs(60));
        assert_eq!(gone, Err(RecvTimeoutError::Disconnected), "{lines} lines");
    }
}
