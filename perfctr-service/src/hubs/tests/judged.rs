//! Tests the decision that a hub is broken. Whatever the strands do, a hub that works stays in service, and a hub that never works again
//! goes out of service.

use std::cell::Cell;
use std::rc::Rc;
use std::vec::Vec;

use hv_core::sync::steps;
use proptest::prelude::*;

use super::strand;
use crate::hubs::{Blocked, HubArbiter, HubGuard};
use crate::progress::{BUSY_LIMIT_TICKS as LIMIT, BUSY_PAUSE_TICKS as PAUSE, Stopwatch};

const STRANDS: usize = 4;

/// How a strand asks for the hub. Times are in ticks.
#[derive(Clone, Copy, Debug)]
struct Ask {
    strand: usize,
    /// The time since the previous ask.
    after: u64,
    /// Whether the chip is busy. The test ignores this value if the chip has already been busy for too long.
    busy: bool,
    /// The duration of the access that follows.
    lasts: u64,
    /// The jump of the strand's clock: none, back, or forward by more than `PAUSE`.
    step: u64,
}

fn asks() -> impl Strategy<Value = Vec<Ask>> {
    let after = prop_oneof![8 => 0..=PAUSE / 8, 2 => 0..LIMIT / 2, 1 => 0..10_000 * LIMIT];
    let step = prop_oneof![
        20 => Just(0),
        1 => (0..LIMIT).prop_map(u64::wrapping_neg),
        1 => PAUSE + 1..10_000 * LIMIT,
    ];
    let lasts = prop_oneof![3 => 0..PAUSE, 2 => 0..LIMIT / 3];
    let ask = (0..STRANDS, after, any::<bool>(), lasts, step);
    let ask =
        ask.prop_map(|(strand, after, busy, lasts, step)| Ask { strand, after, busy, lasts, step });
    prop::collection::vec(ask, 1..400)
}

/// Asks for a working hub as `asks` says: each time, the hub is busy for less than a third of the limit.
/// Returns `true` if the hub is judged stuck.
fn is_judged_stuck(asks: &[Ask]) -> bool {
    let hub = HubArbiter::new();
    let watches: [Stopwatch; STRANDS] = core::array::from_fn(|_| Stopwatch::new());
    let mut clocks = [0_u64; STRANDS];
    let mut now = 0;
    let mut in_flight: Option<(u64, Option<HubGuard<'_>>, usize)> = None;
    let mut busy_since = None;
    for ask in asks {
        now += ask.after;
        clocks = clocks.map(|clock| clock.wrapping_add(ask.after));
        clocks[ask.strand] = clocks[ask.strand].wrapping_add(ask.step);
        if let Some((_, guard, _)) = in_flight.take_if(|flight| flight.0 <= now) {
            match guard {
                Some(guard) => guard.complete(),
                None => hub.release_fast(),
            }
            busy_since = None;
        }
        if matches!(in_flight, Some((_, _, strand)) if strand == ask.strand) {
            continue;
        }
        let (watch, clock) = (&watches[ask.strand], clocks[ask.strand]);
        let fast = hub.try_take_fast(strand(ask.strand));
        let asked = match fast {
            true => Ok(hub.guard(strand(ask.strand))),
            false => hub.ask(strand(ask.strand), watch, || clock),
        };
        let blocked = match asked {
            Ok(guard) if ask.busy && now - *busy_since.get_or_insert(now) < LIMIT / 3 => {
                guard.device_busy(watch, || clock)
            }
            Ok(guard) => {
                let guard = match fast {
                    true => {
                        core::mem::forget(guard);
                        None
                    }
                    false => Some(guard),
                };
                in_flight = Some((now + ask.lasts, guard, ask.strand));
                continue;
            }
            Err(blocked) => blocked,
        };
        if blocked == Blocked::Stuck {
            return true;
        }
    }
    false
}

#[derive(Clone, Copy, Debug)]
enum Dead {
    /// The chip stays busy.
    Chip,
    /// A strand has stopped at this step of an access, while others ask.
    Stopped(usize),
}

/// Returns the number of ticks until the hub is judged stuck; 0 if the hub works, and `None` if it is not judged in time. Each element of
/// `gaps` is a strand that asks, and the number of ticks since the previous ask.
fn time_until_stuck(dead: Dead, gaps: &[(usize, u64)]) -> Option<u64> {
    let hub = HubArbiter::new();
    let watches: [Stopwatch; STRANDS] = core::array::from_fn(|_| Stopwatch::new());
    if let Dead::Stopped(step) = dead {
        assert!(hub.try_take_fast(strand(1)));
        assert!(hub.ask(strand(9), &watches[0], || 0).is_err());
        hub.release_fast();
        let ask = || hub.ask(strand(9), &watches[0], || 0);
        let call = || (0..9).any(|_| ask().map(HubGuard::complete).is_ok());
        if steps::die_at(step, call).is_some() {
            return Some(0);
        }
    }
    let mut now = 0;
    for (asks, gap) in gaps.iter().cycle() {
        now += gap;
        let clock = move || now;
        let watch = &watches[*asks];
        let blocked = match hub.ask(strand(*asks), watch, clock) {
            Ok(guard) if matches!(dead, Dead::Chip) => guard.device_busy(watch, clock),
            // The hub works, although a strand has stopped.
            Ok(_) => return Some(0),
            Err(blocked) => blocked,
        };
        if blocked == Blocked::Stuck {
            return Some(now);
        }
        if now > 4 * LIMIT {
            return None;
        }
    }
    None
}

fn gaps() -> impl Strategy<Value = Vec<(usize, u64)>> {
    prop::collection::vec((0..STRANDS, PAUSE / 64..PAUSE / 32), 1..100)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_hub_that_works_stays_in_service(asks in asks()) {
        prop_assert!(!is_judged_stuck(&asks));
    }

    /// Strands ask in any order. There is never a pause in which no strand asks.
    #[test]
    fn a_chip_that_is_busy_for_ever_is_stuck_within_twice_the_limit(gaps in gaps()) {
        let time = time_until_stuck(Dead::Chip, &gaps);
        prop_assert!(time.is_some_and(|time| (LIMIT..2 * LIMIT).contains(&time)), "{:?}", time);
    }
}

/// A strand has stopped in an access or in the gate. One strand asks for the hub, or four strands ask in turn.
#[test]
fn a_hub_that_a_stopped_strand_has_is_stuck_within_twice_the_limit() {
    let four = [0, 1, 2, 3].map(|strand| (strand, PAUSE / 8));
    let mut stuck = 0;
    for gaps in [&[(0, PAUSE / 2)][..], &four] {
        for step in 0..30 {
            let time = time_until_stuck(Dead::Stopped(step), gaps);
            let time = time.unwrap_or_else(|| panic!("step {step}: never"));
            assert!(time < 2 * LIMIT, "step {step}: {time}");
            stuck += usize::from(time >= LIMIT);
        }
    }
    assert!(stuck >= 20, "{stuck}");
}

struct Watched(HubArbiter, Stopwatch);

impl Watched {
    /// Asks as strand 0 at this time. Returns `true` if the hub is stuck.
    fn is_stuck(&self, ticks: u64) -> bool {
        let asked = self.0.ask(strand(0), &self.1, || ticks);
        matches!(asked, Err(Blocked::Stuck))
    }

    fn calls(&self, number: usize) {
        if self.0.try_take_fast(strand(number)) {
            self.0.release_fast();
        } else if let Ok(guard) = self.0.ask(strand(number), &Stopwatch::new(), || 0) {
            guard.complete();
        }
    }
}

/// Strand 1 occupies a hub for nearly the whole limit, with an access in flight or by holding the gate's lock, while strand 0 keeps asking.
/// After the access has ended, or the death of strand 1 is reported, strand 1 or 2 makes a call. At some step of this call, the limit
/// passes and strand 0 asks.
#[test]
fn a_hub_that_works_again_before_the_last_ask_is_not_stuck() {
    type Act = fn(&Watched);
    let accesses: Act = |hub| assert!(hub.0.try_take_fast(strand(1)));
    let dies: Act = |hub| hub.0.abandon(strand(1));
    let dies_in_the_lock: Act = |hub| {
        let asks = || hub.0.ask(strand(1), &Stopwatch::new(), || 0);
        assert!(steps::die_at(3, asks).is_none());
    };
    let ends: Act = |hub| hub.0.release_fast();
    let mut asked = 0;
    for (number, (keeps, ends, other)) in
        [(accesses, ends, 1), (accesses, ends, 2), (accesses, dies, 2), (dies_in_the_lock, dies, 2)]
            .into_iter()
            .enumerate()
    {
        for step in 0.. {
            let hub = Rc::new(Watched(HubArbiter::new(), Stopwatch::new()));
            keeps(&hub);
            for look in 0..32 {
                assert!(!hub.is_stuck(look * PAUSE));
            }
            ends(&hub);
            let stuck = Rc::new(Cell::new(false));
            let asks = {
                let (hub, stuck) = (Rc::clone(&hub), Rc::clone(&stuck));
                move || stuck.set(hub.is_stuck(LIMIT))
            };
            let came = steps::interleave_at(step, asks, || hub.calls(other)).1;
            assert!(!stuck.get(), "{number}, step {step}");
            if !came {
                break;
            }
            asked += 1;
        }
    }
    assert!(asked > 100, "{asked}");
}
