//! Tests the memory budget.

use std::process::{Command, Stdio};
use std::sync::Mutex;

use refs::{
    BlockDefinition, Cause, Definitions, Encoder, Exit, FILE_HEADER, Frame, Log, Order, Stored,
};

use made::{Data, GeneratedProgram};
use xtask::memory;

use crate::program::{PROGRAM, TestDirectory};

#[test]
fn a_command_that_takes_too_much_memory_ends() {
    let place = TestDirectory::new("hostile-memory");
    for line in [
        "stat --memory-limit 12 --bundled --details --json j.json --html h.html",
        "report --memory-limit 12 --bundled --html h.html",
        "boot --memory-limit 12 --json j.json",
    ] {
        let ended = place.run(line);
        assert_eq!(
            (ended.status, ended.stderr.lines().last().unwrap_or_default()),
            (2, "error: the command takes more than 12 MB of memory; --memory-limit allows more"),
            "{line}"
        );
        let left = std::fs::read_dir(place.path()).unwrap().count();
        assert_eq!(left, 0, "{line}");
    }
    place.run("regs --memory-limit 100").assert_success();
    place.run("regs --memory-limit 0").assert_failure("0 is not in 1..=16777216");
}

/// Returns a recording in which all threads wait for the last thread. Each thread's frame has at least `bytes` bytes.
fn waiting(threads: u32, bytes: usize) -> Vec<u8> {
    let definitions = Mutex::new(Definitions::default());
    let (sizes, exit, classes) = (vec![4], Exit::None, vec![]);
    let block = BlockDefinition { address: 0x1000, sizes, exit, classes };
    let block = definitions.lock().unwrap().block(block).unwrap();
    let [mut waits, mut last] = [Some(Order::Wait(Cause::Wake, 1)), None].map(|order| {
        let (mut log, mut frame) = (Log::default(), Frame::default());
        order.into_iter().for_each(|order| log.order(order));
        log.block(block);
        log.access(0, false, 3, 0x9000);
        log.order(if order.is_some() { Order::Wait(Cause::Wake, 1) } else { Order::Signal(1) });
        Encoder::new(0).encode(&mut log, true, &definitions, &mut frame).unwrap();
        frame
    });
    let mut defined = Frame::default();
    definitions.lock().unwrap().take(&mut defined);
    let end = Frame::end(waits.references * u64::from(threads), Some(0));
    let mut file = FILE_HEADER.to_vec();
    let mut put = |frame: &Frame, stored, data: &[u8]| {
        file.extend(frame.header(stored, data));
        file.extend(data);
    };
    put(&defined, Stored::Plain, &defined.content);
    waits.content.resize(waits.content.len().max(bytes), 0);
    let compressed = zstd::bulk::compress(&waits.content, 1).unwrap();
    for thread in 0..threads - 1 {
        waits.thread = thread;
        put(&waits, Stored::Zstd, &compressed);
    }
    last.thread = threads - 1;
    put(&last, Stored::Plain, &last.content);
    put(&end, Stored::Plain, &end.content);
    file
}

/// A small recording takes at most 1 GB, whatever its threads keep in memory while they wait.
#[test]
fn threads_that_wait_stay_within_the_budget() {
    let place = TestDirectory::new("hostile-threads");
    place.file("many", waiting(65_536, 0));
    let ended = place.run("stat --json many.json many");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert_eq!(place.json("many.json")["threads"].as_array().unwrap().len(), 65_536);

    let large = waiting(200, 15 << 20);
    assert!(large.len() < 10_000_000, "{}", large.len());
    place.file("large", large);
    let ended = place.run("stat large");
    assert_eq!(
        (ended.status, ended.stderr.lines().last().unwrap_or_default()),
        (2, "error: the command takes more than 1000 MB of memory; --memory-limit allows more")
    );
}

/// The number of cache lines that a node's caches hold. The L2 cache has 4 MB in 64-byte lines. In each of the eight cores, the L1 caches
/// have 8 KB in 16-byte lines, and 16 KB in 32-byte lines.
const LINES: u64 = (4 << 20) / 64 + 8 * ((8 << 10) / 16 + (16 << 10) / 32);

/// A replay takes at most 200 bytes of memory for each line that the caches hold, however long the recording is.
#[test]
fn a_long_recording_takes_no_more_memory_than_a_short_one() {
    let place = TestDirectory::new("hostile-long");
    let peak = |threads, data, references| {
        let made = GeneratedProgram { threads, data, references };
        made.write(place.at("made.refs").as_ref()).unwrap();
        let mut stat = Command::new(PROGRAM);
        stat.arg("stat").arg(place.at("made.refs")).stdout(Stdio::null());
        let (status, peak) = memory::peak_of(&mut stat).unwrap();
        assert!(status.success(), "{made:?}: {status}");
        peak
    };
    // On average, each reference takes two new bytes of data. The L2 cache is therefore full after two million references.
    let few = peak(1, Data::Stream, 20_000);
    let [full, long] = [5_000_000, 50_000_000].map(|all| peak(1, Data::Stream, all));
    let most = 200 * LINES / 1024;
    assert!(full <= few + most, "{few} KB and {most} KB for lines, found {full} KB");
    assert!(long <= full + full / 20, "{full} KB, ten times longer {long} KB");
    let [short, long] = [1_000_000, 10_000_000].map(|all| peak(8, Data::Own, all));
    assert!(long <= short + short / 10, "{short} KB, ten times longer {long} KB");
}
