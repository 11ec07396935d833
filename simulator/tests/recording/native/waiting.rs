//! Tests recordings with more threads than a machine has strands.

use std::process::Command;
use std::{env, fs};

use refs::{Encoder, Exit, Frame, Log, Stored};
use simulator::recording::{Chunk, Recording};

use super::Recorder;
use crate::open;

/// Returns a recording of `threads` threads. Each thread has 3 frames of `blocks` executions, and uses its own data.
fn recording(threads: u32, blocks: u64) -> Vec<u8> {
    let mut recorder = Recorder::new(Stored::Plain);
    let block = recorder.block(0x1000, &[4], Exit::None);
    let mut encoders: Vec<_> =
        (0..threads).map(|thread| (Encoder::new(thread), Log::default())).collect();
    for part in 0..3 {
        for (thread, (encoder, log)) in (0_u64..).zip(&mut encoders) {
            for number in 0..blocks {
                log.block(block);
                log.access(0, false, 3, address(thread, part * blocks + number));
            }
            recorder.encode(encoder, log, part == 2);
        }
    }
    recorder.end()
}

/// Returns the address of a data reference. In even threads, the addresses have strides and jumps. In odd threads, two addresses
/// alternate, so a predictor that knows only strides never expects them.
fn address(thread: u64, number: u64) -> u64 {
    let jump = if number % 7 == 3 { (number * number) << 20 } else { 0 };
    let offset = if thread.is_multiple_of(2) { 8 * number + jump } else { number % 2 * 0x10_0010 };
    (thread << 30) + offset
}

/// Reads one chunk of each thread in turn. Returns the data addresses of each thread.
fn in_turn(mut recording: Recording) -> Vec<Vec<u64>> {
    let mut data = vec![Vec::new(); recording.threads()];
    let mut chunks: Vec<_> = data.iter().map(|_| Chunk::default()).collect();
    let mut goes_on = true;
    while goes_on {
        goes_on = false;
        for (thread, chunk) in chunks.iter_mut().enumerate() {
            goes_on |= recording.next_chunk(thread, chunk).unwrap();
            let references = chunk.references().iter().filter(|one| !one.kind.is_fetch());
            data[thread].extend(references.map(|one| one.address));
        }
    }
    data
}

#[test]
fn threads_that_wait_go_on_as_they_were() {
    for threads in [2, 256, 257, 600] {
        let found = in_turn(open(recording(threads, 3000)).unwrap());
        assert_eq!(found.len(), threads as usize);
        for (thread, found) in (0..).zip(found) {
            let expected: Vec<_> = (0..9000).map(|number| address(thread, number)).collect();
            let differs = found.iter().zip(&expected).position(|(a, b)| a != b);
            assert_eq!((found.len(), differs), (9000, None), "thread {thread} of {threads}");
        }
    }
}

/// This test must be alone in its process, because tests that run at the same time would take memory too.
#[test]
fn a_thread_that_waits_takes_less_than_6_kb() {
    let test = env::current_exe().unwrap();
    let measured = ["--ignored", "--exact", "native::waiting::many_threads_wait"];
    let ended = Command::new(test).args(measured).output().unwrap();
    let said = String::from_utf8(ended.stdout).unwrap();
    assert!(said.contains("1 passed"), "{said}");
}

/// 4,096 threads have begun, and none has ended. The predictors of 256 threads are unpacked, with 320 KB each. If each of the other
/// threads takes less than 6 KB, 65,536 threads (the maximum) fit into 512 MB.
#[test]
#[ignore = "needs a process of its own"]
fn many_threads_wait() {
    let mut recorder = Recorder::new(Stored::Plain);
    let block = recorder.block(0x1000, &[4], Exit::None);
    for thread in 0..1 << 12 {
        let mut log = Log::default();
        for number in 0..2 {
            log.block(block);
            log.access(0, false, 3, 0x9000 + 8 * number);
        }
        recorder.encode(&mut Encoder::new(thread), &mut log, true);
    }
    recorder.write(&Frame::note("They wait"));
    let file = recorder.end();
    let resident = || -> u64 {
        let text = fs::read_to_string("/proc/self/statm").unwrap();
        4096 * text.split(' ').nth(1).unwrap().parse::<u64>().unwrap()
    };
    let mut recording = open(file).unwrap();
    let mut awake = 0;
    let mut chunks: Vec<_> = (0..recording.threads()).map(|_| Chunk::default()).collect();
    for (thread, chunk) in chunks.iter_mut().enumerate() {
        assert!(recording.next_chunk(thread, chunk).unwrap());
        assert_eq!(chunk.len(), 4);
        if thread == 511 {
            awake = resident();
        }
    }
    let taken = resident().saturating_sub(awake);
    assert!(taken < 20 << 20, "{taken} bytes");
}
