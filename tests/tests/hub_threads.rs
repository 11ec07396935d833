//! Tests heavy use of one hub through the whole service, by operating system threads that each act as a different strand. The board fails
//! the test if two accesses are in flight at the same time.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use hv_core::GuestId;
use perfctr_service::statistics::{Outcome, Refusal};
use tests::board::Board;
use tests::machine::MachineUnderTest;
use tests::oracle::{Action, Answer, Cell, Grant, Guest, Machine};

/// More calls than any strand can need. A strand that is still refused after this number of calls is starving.
const TRIES: usize = 1_000_000;

/// Repeats a call until it is served. Returns the number of refusals. The callers check the registers of refused calls.
fn until_done(mut call: impl FnMut() -> u64) -> u64 {
    for refusals in 0..TRIES {
        match call() {
            0 => return refusals as u64,
            9 => thread::yield_now(),
            other => panic!("status {other}"),
        }
    }
    panic!("refused {TRIES} times");
}

/// Each thread uses two registers: one of its own, and one that all threads share. A read of its own register returns the thread's last
/// write. A read of the shared register returns a write of any thread.
fn hammer(threads: u16, rounds: u64) {
    let board = Board::new(Machine::Batoka, 4, &[]).with_slow_hubs(50);
    // The strands are on all four nodes, and all use the same hub.
    let strands: Vec<u16> = (0..threads).map(|number| number % 4 * 64 + number / 4).collect();
    let guest = Guest::new(strands.clone(), Grant::GLOBAL);
    let machine = MachineUnderTest::ready(&board, &[guest]);
    let started: Vec<AtomicU64> = strands.iter().map(|_| AtomicU64::new(0)).collect();
    let barrier = Barrier::new(threads.into());
    let refusals: u64 = thread::scope(|scope| {
        let workers: Vec<_> = (0..strands.len())
            .map(|number| {
                let (machine, strands, started, barrier) = (&machine, &strands, &started, &barrier);
                scope.spawn(move || {
                    let strand = strands[number];
                    // All these registers belong to hub 2. Each thread has its own counter. The first counter is common to all threads.
                    let own = [56, 58, 59, 61, 62, 64, 65, 67, 68, 70, 71].get(number);
                    let common = 55;
                    let mut refusals = 0;
                    barrier.wait();
                    for round in 1..=rounds {
                        let pattern = (number as u64) << 32 | round;
                        started[number].store(round, Ordering::SeqCst);
                        refusals += until_done(|| machine.set(strand, common, pattern));
                        let mut seen = 0;
                        refusals += until_done(|| {
                            let (status, value) = machine.get(strand, common);
                            assert!(status == 0 || value == 0x0bad, "a refusal has effect");
                            seen = value;
                            status
                        });
                        let (writer, of_writer) = ((seen >> 32) as usize, seen & 0xffff_ffff);
                        assert!(of_writer >= 1, "never written: {seen:#x}");
                        assert!(of_writer <= started[writer].load(Ordering::SeqCst));
                        assert!(writer != number || of_writer == round, "an old value is back");
                        if let Some(&own) = own {
                            refusals += until_done(|| machine.set(strand, own, pattern));
                            refusals += until_done(|| {
                                let (status, value) = machine.get(strand, own);
                                assert!(status != 0 || value == pattern, "a lost update");
                                status
                            });
                        }
                    }
                    refusals
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    let owners = u64::from(threads.min(11));
    let done = rounds * (2 * u64::from(threads) + 2 * owners);
    let log = board.take_log();
    // Every served call makes one access, and every refused call makes none.
    assert_eq!(log.len() as u64, done);
    assert!(log.iter().all(|(_, access)| access.answer == Answer::Done));
    let statistics = machine.service().statistics(GuestId::new(0).unwrap());
    assert_eq!(statistics.outcome(Outcome::Ok), done);
    assert_eq!(statistics.outcome(Outcome::Refused(Refusal::WouldBlock)), refusals);
    // The common register holds the last value written to it.
    let common = tests::oracle::Target::Address(0xe9_3000_6008);
    let last = log.iter().rev().find_map(|(_, access)| match access.action {
        Action::Write(value) if access.target == common => Some(value),
        _ => None,
    });
    assert_eq!(last, Some(board.value_of(Cell::Register(55))));
    tests::print_line(format_args!("{threads} threads: {done} accesses, {refusals} refusals"));
}

#[test]
fn four_threads() {
    hammer(4, tests::rounds(8_000));
}

#[test]
fn sixteen_threads() {
    hammer(16, tests::rounds(1_000));
}

/// Each hub is arbitrated separately, so four threads on four hubs are never refused.
#[test]
fn each_hub_for_itself() {
    let board = Board::new(Machine::Batoka, 1, &[]).with_slow_hubs(50);
    let machine = MachineUnderTest::ready(&board, &[Guest::new(0..4, Grant::GLOBAL)]);
    tests::on_threads(0..4, |strand| {
        let id = 19 + 18 * u64::from(strand);
        for round in 0..tests::rounds(5_000) {
            assert_eq!(machine.set(strand, id, round), 0);
            assert_eq!(machine.get(strand, id), (0, round));
        }
    });
}

/// The chip is sometimes busy while a thread holds the hub, and every thread is still served.
#[test]
fn a_chip_that_is_busy_now_and_then() {
    let board = Board::new(Machine::Batoka, 1, &[]).with_slow_hubs(20);
    let machine = MachineUnderTest::ready(&board, &[Guest::new(0..6, Grant::GLOBAL)]);
    let rounds = tests::rounds(1_500);
    tests::on_threads(0..6, |strand| {
        for round in 0..rounds {
            if round % 5 == 0 {
                board.make_busy_once(0);
            }
            until_done(|| machine.set(strand, 19, round));
            until_done(|| machine.get(strand, 18).0);
        }
    });
    let log = board.take_log();
    let done = |access: &&tests::board::LoggedAccess| access.1.answer == Answer::Done;
    assert_eq!(log.iter().filter(done).count() as u64, 6 * rounds * 2);
    assert!(log.iter().any(|(_, access)| access.answer == Answer::Busy));
}

/// A hub breaks while threads use it. Each thread is served before the hub breaks, and never afterwards.
#[test]
fn a_hub_that_breaks_under_load() {
    let board = Board::new(Machine::Batoka, 1, &[]).with_slow_hubs(20);
    let machine = MachineUnderTest::ready(&board, &[Guest::new(0..6, Grant::GLOBAL)]);
    let accesses = AtomicU64::new(0);
    tests::on_threads(0..6, |strand| {
        let mut refused_after_fault = 0;
        while refused_after_fault < tests::rounds(200) {
            match machine.set(strand, 22, 1) {
                0 => {
                    assert_eq!(refused_after_fault, 0, "back without being returned");
                    if accesses.fetch_add(1, Ordering::SeqCst) == tests::rounds(2_000) {
                        board.break_cell(Cell::Register(22), tests::oracle::Fault::Always);
                    }
                }
                9 => thread::yield_now(),
                10 => refused_after_fault += 1,
                other => panic!("status {other}"),
            }
            assert_eq!(machine.get(strand, 2).0, 0, "the rest works on");
        }
    });
    let hub = perfctr_service::Unit::Hub(guest_abi::Hub::Zam0);
    assert!(!machine.unit(hub).in_service);
}
