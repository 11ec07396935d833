//! Strands ask for a hub, access it, find its chip busy, die and are reported dead, and their steps are taken in every order. The tests use
//! the real service's arbiter, gate, counts and stopwatches.
//!
//! `cargo xtask prove` also runs the tests that are ignored here.

use std::boxed::Box;
use std::cell::{Cell, RefCell};
use std::vec::Vec;

use guest_abi::StrandId;
use hv_core::sync::steps::{self, orders};
use hv_core::sync::{AtomicU32, Ordering};
use orders::{Strand, explore};

use crate::hubs::{Blocked, HubArbiter};
use crate::progress::{BUSY_LIMIT_TICKS as LIMIT, BUSY_PAUSE_TICKS as PAUSE, Stopwatch};

const STRANDS: usize = 3;

/// Returns the strand that a number in the model stands for. Only the preparation of a hub uses strand 9. Strand 0 is the last in the order
/// of turns, so the other strands are served before strand 0.
fn strand(number: usize) -> StrandId {
    super::strand(if number == 0 { 200 } else { number })
}

/// The maximum number of refusals of a strand that asks alone after two strands have gone: first r = 2w = 6, while w = 3 strands are
/// remembered, and then r = 4, while w = 2 are.
const ALONE: usize = 6 + 4;

#[derive(Clone, Copy)]
enum Path {
    Fast,
    Slow,
}

/// A hub, and counts of its accesses. The model changes each count in a separate step, after the step of the hub.
struct Hub {
    arbiter: HubArbiter,
    watches: [Stopwatch; STRANDS],
    /// The number of accesses in flight.
    in_flight: AtomicU32,
    /// The number of accesses that the hub has granted to strands.
    granted: AtomicU32,
    /// The number of accesses that are over.
    ended: AtomicU32,
}

fn add(word: &AtomicU32) -> u32 {
    word.fetch_add(1, Ordering::SeqCst)
}

fn read(word: &AtomicU32) -> u32 {
    word.load(Ordering::SeqCst)
}

impl Hub {
    fn new() -> Self {
        Self {
            arbiter: HubArbiter::new(),
            watches: core::array::from_fn(|_| Stopwatch::new()),
            in_flight: AtomicU32::new(0),
            granted: AtomicU32::new(0),
            ended: AtomicU32::new(0),
        }
    }

    /// Asks for the hub as the service does in a call: on the fast path, then on the slow path. Returns the path on which the strand got
    /// the hub.
    fn asks(&self, number: usize, now: impl Fn() -> u64) -> Result<Path, Blocked> {
        if self.arbiter.try_take_fast(strand(number)) {
            return Ok(Path::Fast);
        }
        let asked = self.arbiter.ask(strand(number), &self.watches[number], now);
        asked.map(core::mem::forget).map(|()| Path::Slow)
    }

    fn ends(&self, number: usize, path: Path) {
        match path {
            Path::Fast => self.arbiter.release_fast(),
            Path::Slow => self.arbiter.guard(strand(number)).complete(),
        }
    }

    /// Makes a call. Returns `true` if the call was served.
    fn call(&self, number: usize) -> bool {
        let path = self.asks(number, || 0);
        path.map(|path| self.ends(number, path)).is_ok()
    }

    /// Makes the strand take the hub in its turn, and find the chip busy.
    fn finds_busy(&self, number: usize, now: u64) {
        let path = self.asks(number, || now);
        assert!(path.is_ok(), "strand {number} has the turn");
        let guard = self.arbiter.guard(strand(number));
        let _ = guard.device_busy(&self.watches[number], || now);
    }

    /// Checks that no strand is lost: each strand that asks alone is served in the end, and then no strand is remembered.
    fn settles(&self, strands: &[usize]) {
        for number in strands {
            let refused = (0..=ALONE).take_while(|_| !self.call(*number)).count();
            assert!(refused <= ALONE, "strand {number} is not served");
        }
        for number in strands {
            assert!(self.call(*number), "strand {number} is refused");
        }
    }
}

type Code = Box<dyn Fn(&Hub, u64) -> Option<u64>>;

/// Returns the code of a strand that makes this number of calls. Each round of the code is an ask or an access.
fn calls(number: usize, times: u64) -> Code {
    Box::new(move |hub, round| {
        let (call, step) = (round / 3, round % 3);
        let path = match step {
            0 => match hub.asks(number, || 0) {
                Ok(Path::Fast) => return Some(round + 1),
                Ok(Path::Slow) => return Some(round + 2),
                Err(_) => None,
            },
            1 => Some(Path::Fast),
            _ => Some(Path::Slow),
        };
        if let Some(path) = path {
            assert_eq!(add(&hub.in_flight), 0, "two accesses in flight");
            hub.in_flight.fetch_sub(1, Ordering::SeqCst);
            hub.ends(number, path);
        }
        (call + 1 < times).then_some(3 * (call + 1))
    })
}

fn meet(hub: &Hub, times: &[u64]) {
    let parts: Vec<_> = times.iter().enumerate().map(|(n, times)| calls(n, *times)).collect();
    let strands: Vec<_> = parts.iter().map(|part| Strand::new(&**part)).collect();
    explore(hub, &strands, |hub| hub.settles(&[0, 1, 2]));
}

/// Returns a hub at which these strands were refused.
fn refused(numbers: &[usize]) -> Hub {
    let hub = Hub::new();
    assert!(hub.arbiter.try_take_fast(strand(9)));
    for number in numbers {
        assert!(!hub.call(*number));
    }
    hub.arbiter.release_fast();
    hub
}

#[test]
fn two_strands_call() {
    meet(&Hub::new(), &[2, 1]);
    meet(&refused(&[1]), &[1, 1]);
    meet(&refused(&[0, 2]), &[1, 1]);
}

#[test]
#[ignore = "two minutes: cargo xtask prove runs it"]
fn three_strands_call() {
    meet(&Hub::new(), &[2, 2]);
    meet(&Hub::new(), &[1, 1, 1]);
}

/// One of two strands dies before each possible step of its call, and a third strand reports the death. No strand is lost, and no access
/// begins while another is in flight. After the report, the access in which the strand died is no longer in flight.
fn a_death(hub: &Hub) {
    let (dies, lives) = (calls(0, 1), calls(1, 1));
    let reports: Code = Box::new(|hub, _| {
        orders::wait_until_dead(0);
        hub.in_flight.store(0, Ordering::SeqCst);
        hub.arbiter.abandon(strand(0));
        None
    });
    let strands = [Strand::new(&dies).mortal(), Strand::new(&lives), Strand::new(&reports)];
    explore(hub, &strands, |hub| hub.settles(&[1, 2]));
}

#[test]
fn a_strand_dies() {
    a_death(&Hub::new());
}

#[test]
#[ignore = "half a minute: cargo xtask prove runs it"]
fn a_strand_dies_that_was_refused_or_has_refused() {
    a_death(&refused(&[0]));
    a_death(&refused(&[1]));
}

/// Strand 0 has found the hub busy for nearly the whole limit. Now that the limit has passed, strand 0 asks once more, while the other
/// strands act. The hub works if an access ended before this ask, or if the hub granted a further access before strand 0 read its clock.
/// Checks that a hub that works is never judged broken. Returns `true` if strand 0 judges the hub broken in some order.
fn is_judged_broken(hub: &Hub, others: &[Code]) -> bool {
    let broken = Cell::new(false);
    let asks: StrandCode = &|hub: &Hub, _| {
        let ended = read(&hub.ended);
        let clock = RefCell::new(Vec::new());
        let asked = hub.asks(0, || {
            clock.borrow_mut().push(read(&hub.granted));
            LIMIT
        });
        let clock = clock.into_inner();
        if let Err(Blocked::Stuck) = asked {
            broken.set(true);
            // The arbiter reads the clock up to three times. Of three reads, the second belongs to the look; of two reads, the first may
            // belong to it.
            let granted = clock[usize::from(clock.len() == 3)];
            let works = ended != 0 || granted.cast_signed() > 0;
            assert!(!works, "a hub that works is taken for broken");
        }
        None
    };
    let mut strands: Vec<_> = others.iter().map(|code| Strand::new(&**code)).collect();
    strands.insert(0, Strand::new(asks));
    explore(hub, &strands, |_| ());
    broken.get()
}

type StrandCode<'a> = orders::StrandCode<'a, Hub>;

/// Returns a hub that strand 0 has found busy for nearly the whole limit. Calls `begin` with the new hub, and `look` each time before
/// strand 0 asks.
fn busy(begin: impl FnOnce(&Hub), look: impl Fn(&Hub, u64)) -> Hub {
    let hub = Hub::new();
    begin(&hub);
    for number in 0..32 {
        let now = number * PAUSE;
        look(&hub, now);
        assert!(matches!(hub.asks(0, || now), Err(Blocked::Taken | Blocked::Turn)));
    }
    hub
}

/// Returns the code of a strand that ends its access, and then makes `then` calls.
fn ends(number: usize, path: Path, then: u64) -> Code {
    Box::new(move |hub, round| {
        if round == 0 {
            hub.ends(number, path);
            add(&hub.ended);
        } else if hub
            .asks(number, || 0)
            .map(|path| (add(&hub.granted), hub.ends(number, path)))
            .is_ok()
        {
            add(&hub.ended);
        }
        (round < then).then_some(round + 1)
    })
}

/// Returns the code of a strand that calls once.
fn call(number: usize) -> Code {
    Box::new(move |hub, _| {
        if let Ok(path) = hub.asks(number, || 0) {
            add(&hub.granted);
            hub.ends(number, path);
            add(&hub.ended);
        }
        None
    })
}

/// An access on either path lasts for nearly the whole limit, and ends while strand 0 looks. After it, another strand or the same strand
/// calls.
#[test]
fn a_hub_whose_access_ends_is_not_broken() {
    for path in [Path::Fast, Path::Slow] {
        let takes = |hub: &Hub| match path {
            Path::Fast => assert!(hub.arbiter.try_take_fast(strand(1))),
            Path::Slow => {
                assert!(hub.arbiter.try_take_fast(strand(9)));
                assert!(!hub.call(1));
                hub.arbiter.release_fast();
                assert!(hub.asks(1, || 0).is_ok());
                // Strand 2 waits, and has the turn after strand 1.
                assert!(!hub.call(2));
            }
        };
        let hub = busy(takes, |_, _| ());
        assert!(is_judged_broken(&hub, &[ends(1, path, 0), call(2)]));
        assert!(is_judged_broken(&hub, &[ends(1, path, 1)]));
    }
}

/// Returns a hub that strand 0 finds busy because strand 1 has died: while it owned the gate's lock if `in_the_lock`, otherwise in its
/// access.
fn died(in_the_lock: bool) -> Hub {
    let begin = |hub: &Hub| {
        assert!(hub.arbiter.try_take_fast(strand(if in_the_lock { 9 } else { 1 })));
        if in_the_lock {
            assert!(!hub.call(2));
            hub.arbiter.release_fast();
            assert!(steps::die_at(6, || hub.call(1)).is_none());
        }
    };
    busy(begin, |_, _| ())
}

fn reports() -> Code {
    Box::new(|hub, _| {
        hub.arbiter.abandon(strand(1));
        add(&hub.ended);
        None
    })
}

/// The death of strand 1 is reported while strand 0 looks and strand 2 calls.
#[test]
fn a_hub_of_a_strand_that_died_in_the_gate_is_not_broken() {
    assert!(is_judged_broken(&died(true), &[reports(), call(2)]));
}

#[test]
#[ignore = "two minutes: cargo xtask prove runs it"]
fn a_hub_of_a_strand_that_died_in_its_access_is_not_broken() {
    assert!(is_judged_broken(&died(false), &[reports(), call(2)]));
}

/// Strand 1 has found the chip busy before each of strand 0's looks. Now `others` call.
fn the_chip_answers(others: &[Code]) {
    let hub = busy(|_| (), |hub, now| hub.finds_busy(1, now));
    // The count leaves out the first granted access, which does not show that an earlier access has ended.
    hub.granted.store(u32::MAX, Ordering::SeqCst);
    assert!(is_judged_broken(&hub, others));
}

#[test]
fn a_hub_whose_chip_answers_is_not_broken() {
    the_chip_answers(&[call(1)]);
}

#[test]
#[ignore = "half a minute: cargo xtask prove runs it"]
fn a_hub_whose_chip_answers_two_strands_is_not_broken() {
    the_chip_answers(&[call(1), call(2)]);
}
