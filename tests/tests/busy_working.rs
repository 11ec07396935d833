//! Tests that working units stay in service, whatever a strand does when it finds a unit busy, and whatever its clock shows.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use guest_abi::Hub;
use hv_core::sync::steps;
use perfctr_service::{BUSY_LIMIT_TICKS as LIMIT, BUSY_PAUSE_TICKS as PAUSE, Unit};
use tests::board::{Board, Stop};
use tests::leak;
use tests::machine::MachineUnderTest;
use tests::oracle::{self, Grant, Guest, HubCondition, Machine};

const UNIT: Unit = Unit::Hub(Hub::Zam1);

type Shared = &'static MachineUnderTest<'static>;

/// Returns a machine with one guest, which has the right `global` and runs on strands 0 to 2 and 64.
fn machine() -> Shared {
    let board = leak(Board::new(Machine::Batoka, 2, &[]));
    let holder = Guest::new([0, 1, 2, 64], Grant::GLOBAL);
    leak(MachineUnderTest::ready(board, &[holder]))
}

/// Sets strand 0's clock to `ticks`, and reads a register of hub 1 on this strand. Returns the call's status.
fn asks_at(machine: Shared, ticks: u64) -> u64 {
    machine.board().set_ticks(0, ticks);
    machine.get(0, 36).0
}

/// Begins an access to hub 1, which lasts until the test ends it.
fn in_flight(machine: Shared, strand: u16, id: u64) -> (Stop, JoinHandle<()>) {
    let stop = machine.board().stop_at(oracle::Cell::Register(id));
    let call = thread::spawn(move || while machine.set(strand, id, 1) == 9 {});
    stop.wait_until_reached();
    (stop, call)
}

fn end((stop, call): (Stop, JoinHandle<()>)) {
    stop.resume();
    call.join().unwrap();
}

/// A strand asks for a hub and is refused, because another strand's access is in flight. In one case, the strand has already been refused
/// 40 times. The access ends at each step of the refused call in turn, or after it. When the strand asks again, it finds another access in
/// flight. Both accesses are shorter than the limit.
#[test]
fn an_access_ends_at_each_step_of_an_ask() {
    for (asks_before, silence) in [(0, 2 * LIMIT), (0, PAUSE), (40, PAUSE)] {
        let mut refused = 0;
        for step in 0.. {
            let machine = machine();
            let first = Rc::new(Cell::new(Some(in_flight(machine, 1, 40))));
            // The access lasts for at most two thirds of the limit.
            let mut ticks = 0;
            for _ in 0..asks_before {
                assert_eq!(asks_at(machine, ticks), 9);
                ticks += PAUSE / 2;
            }
            let ends = {
                let first = Rc::clone(&first);
                move || first.take().into_iter().for_each(end)
            };
            let (status, within) =
                steps::interleave_at(step, ends.clone(), || asks_at(machine, ticks));
            if status == 0 {
                // The access ended before the strand reached the hub, so the strand was served.
                continue;
            }
            assert_eq!(status, 9);
            ends();
            ticks += silence;
            let second = in_flight(machine, 2, 41);
            for _ in 0..40 {
                assert_eq!(asks_at(machine, ticks), 9, "step {step}");
                ticks += PAUSE / 2;
            }
            end(second);
            while machine.get(0, 36).0 == 9 {}
            assert_eq!(machine.unit(UNIT).stuck, 0);
            refused += 1;
            if !within {
                break;
            }
        }
        assert!(refused >= 10, "{refused} steps");
    }
}

#[test]
fn a_chip_that_is_busy_once_an_hour() {
    let machine = machine();
    for hour in 0..5 {
        machine.board().make_busy_once(1);
        assert_eq!(asks_at(machine, hour * 3600 * LIMIT), 9, "hour {hour}");
    }
    assert_eq!(asks_at(machine, 5 * 3600 * LIMIT), 0);
}

/// Between two calls, the strand's clock steps back by a little or by a lot.
#[test]
fn a_clock_that_steps_back() {
    for back in [1, PAUSE, LIMIT, 5000 * LIMIT] {
        let machine = machine();
        for ticks in [5000 * LIMIT, 5000 * LIMIT - back, 5000 * LIMIT + 1 - back] {
            machine.board().make_busy_once(1);
            assert_eq!(asks_at(machine, ticks), 9, "{back} ticks back");
        }
        assert_eq!(asks_at(machine, 5000 * LIMIT), 0);
    }
}

/// Three times, an hour apart, a strand finds L2 control held by another strand. Later, it finds L2 control held twice in a row, each time
/// for 2/3 of the limit.
#[test]
fn l2_control_that_is_given_back() {
    let machine = machine();
    let held = || {
        let stop = machine.board().stop_at(oracle::Cell::L2 { node: 0, bank: 5 });
        let call = thread::spawn(move || assert_eq!(machine.set(1, 1, 1), 0));
        stop.wait_until_reached();
        (stop, call)
    };
    let asks_at = |ticks| {
        machine.board().set_ticks(0, ticks);
        machine.set(0, 1, 1)
    };
    for hour in 0..3 {
        let other = held();
        assert_eq!(asks_at(hour * 3600 * LIMIT), 9, "hour {hour}");
        end(other);
    }
    let mut ticks = 5 * 3600 * LIMIT;
    for _ in 0..2 {
        let other = held();
        for _ in 0..20 {
            assert_eq!(asks_at(ticks), 9);
            ticks += PAUSE;
        }
        end(other);
    }
    assert_eq!(asks_at(ticks), 0);
}

/// Threads use a hub and L2 control. Their clocks advance by a tick each nanosecond, but sometimes a clock steps back, or forward by more
/// than a pause. Sometimes the chip is busy.
#[test]
fn threads_whose_clocks_step() {
    let machine = machine();
    let started = Instant::now();
    tests::on_threads(0..3, |strand| {
        let mut step = 0_u64;
        for round in 0..2_000_u64 {
            match round.wrapping_mul(0x9e37_79b9) % 64 {
                0 => step = step.wrapping_sub(round * 0x10_0001),
                1 => step = step.wrapping_add(PAUSE + round * LIMIT),
                2 => machine.board().make_busy_once(1),
                _ => {}
            }
            let time = started.elapsed().as_nanos() as u64;
            machine.board().set_ticks(strand, time.wrapping_add(step));
            let statuses = [machine.get(strand, 36).0, machine.set(strand, 1, round % 4)];
            assert!(statuses.iter().all(|status| [0, 9].contains(status)), "{statuses:?}");
        }
    });
    for unit in Unit::ALL.iter().copied() {
        let state = machine.unit(unit);
        assert!(state.in_service && state.stuck == 0, "{unit}");
    }
}

/// Threads ask for a hub whose chip stays busy. A thread's clock advances by a 64th of a pause between two calls. As each thread's clock
/// measures the time, the hub goes out of service after at most twice the limit. From then on, every thread gets ENOACCESS (10).
#[test]
fn threads_at_a_dead_hub() {
    let machine = machine();
    machine.board().set_hub(1, HubCondition::Busy);
    let longest = AtomicU64::new(0);
    tests::on_threads(0..3, |strand| {
        let times = (0..=2 * LIMIT).step_by(PAUSE as usize / 64);
        let mut answers = times.map(|ticks| {
            machine.board().set_ticks(strand, ticks);
            (ticks, machine.get(strand, 36).0)
        });
        let (ticks, status) = answers.find(|answer| answer.1 != 9).unwrap();
        assert_eq!(status, 10);
        longest.fetch_max(ticks, Ordering::SeqCst);
    });
    assert_eq!(machine.unit(UNIT).stuck, 1);
    assert!(longest.into_inner() >= LIMIT);
}
