//! Tests the budget of memory.

use std::sync::Mutex;

use refs::{
    BlockDefinition, Cause, Definitions, Encoder, Exit, FILE_HEADER, Frame, Log, Order, Stored,
};

use crate::program::Place;

#[test]
fn a_command_that_takes_too_much_memory_ends() {
    let place = Place::new("hostile-memory");
    for line in [
        "stat --memory-limit 12 --bundled --details --json j.json --html h.html",
        "report --memory-limit 12 --bundled --html h.html",
        "boot --memory-limit 12 --json j.json",
    ] {
        let ended = place.run(line);
        assert_eq!(
            (ended.status, ended.stderr.lines().last().unwrap_or_default()),
            (2, "error: takes more than 12 MB of memory; --memory-limit allows more"),
            "{line}"
        );
        let left = std::fs::read_dir(place.path()).unwrap().count();
        assert_eq!(left, 0, "{line}");
    }
    place.run("regs --memory-limit 100").well();
    place.run("regs --memory-limit 0").badly("0 is not in 1..=16777216");
}

/// Returns a recording in which all threads wait for the last thread. Each thread has at least
/// `bytes` bytes in its frame.
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
    let place = Place::new("hostile-threads");
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
        (2, "error: takes more than 1000 MB of memory; --memory-limit allows more")
    );
}
