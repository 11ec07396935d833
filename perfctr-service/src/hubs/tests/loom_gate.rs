//! Arbitration of a hub by three strands ([`Gate`]): one access in flight, and both bounds.
//!
//! N = 3, so b = 2. Refusals on behalf of a strand that has gone: at most 2w, at most 6 while all three are remembered.
//! The strands meet in every order; before and after it one of them goes on alone, step by step.

extern crate std;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Mutex;
use std::vec::Vec;

use hv_core::sync::model::{Part, explore};
use hv_core::sync::{AtomicU32, Ordering, steps};
use loom::cell::UnsafeCell;

use super::super::gate::{Gate, Refused};
use super::{Release, ask, strand};

const STRANDS: usize = 3;

/// b: the most accesses of others that a strand that keeps asking waits for.
const B: usize = STRANDS - 1;

/// r while two strands are remembered.
const R_OF_TWO: usize = 4;

/// r while all three are.
const R_OF_THREE: usize = 6;

/// What a strand sees of its asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Asks(usize),
    Granted(usize),
    Refused(usize),
}

/// A hub, and what happened to it so far. The model checker runs one strand at a time, so the order is the true one.
struct Hub {
    gate: Gate,
    /// Stands for the chip: loom stops at two accesses that are not one after the other for certain.
    chip: UnsafeCell<()>,
    /// How the access in flight is to end.
    release: Cell<Option<Release>>,
    events: Mutex<Vec<Event>>,
}

impl Hub {
    fn new() -> Self {
        Self {
            gate: Gate::new(),
            chip: UnsafeCell::new(()),
            release: Cell::new(None),
            events: Mutex::default(),
        }
    }

    fn happened(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }

    fn ask(&self, number: usize) -> bool {
        self.happened(Event::Asks(number));
        let asked = ask(&self.gate, number).ok();
        let granted = asked.is_some();
        if granted {
            self.release.set(asked);
        }
        self.happened(if granted {
            Event::Granted(number)
        } else {
            Event::Refused(number)
        });
        granted
    }

    fn access(&self) {
        self.chip.with_mut(|_| ());
    }

    /// The access in flight is made, and ends.
    fn end(&self) {
        self.access();
        self.release.take().unwrap()(&self.gate);
    }

    /// A whole call. Returns `true` if it was served.
    fn call(&self, number: usize) -> bool {
        let granted = self.ask(number);
        if granted {
            self.end();
        }
        granted
    }

    /// Strands whose last ask was refused.
    fn waiting(&self) -> Vec<usize> {
        let events = self.events.lock().unwrap();
        let last = |number: usize| {
            events.iter().rev().find(
                |event| matches!(event, Event::Granted(n) | Event::Refused(n) if *n == number),
            )
        };
        (0..STRANDS)
            .filter(|number| matches!(last(*number), Some(Event::Refused(_))))
            .collect()
    }

    /// Accesses of others, asked for after the first refusal of this strand and granted before it was served.
    fn accesses_before(&self, number: usize) -> usize {
        let events = self.events.lock().unwrap();
        let mut begun = [false; STRANDS];
        let mut accesses = 0;
        let since = events
            .iter()
            .skip_while(|event| **event != Event::Refused(number))
            .take_while(|event| **event != Event::Granted(number));
        for event in since {
            match event {
                Event::Asks(other) => begun[*other] = true,
                Event::Granted(other) => accesses += usize::from(begun[*other]),
                Event::Refused(_) => {}
            }
        }
        accesses
    }

    /// Everyone is done for now. Who was refused has not been lost: the fast path is closed to the others, and each one
    /// is served if those who wait go on asking in turn. Then the hub is as new.
    fn settle(&self) {
        for _ in 0..=B {
            let waiting = self.waiting();
            for number in 0..STRANDS {
                let open = self.gate.take_free(strand(number));
                assert_eq!(
                    open,
                    waiting.is_empty(),
                    "{waiting:?} wait, after {:?}",
                    self.events.lock().unwrap()
                );
                if open {
                    self.gate.release_free();
                }
            }
            for number in waiting {
                self.call(number);
                assert!(self.accesses_before(number) <= B);
            }
        }
        assert_eq!(self.waiting(), []);
    }

    /// All but this strand have gone: how often it is refused before it is served for good.
    fn alone(&self, number: usize) -> usize {
        let refusals = (0..40).filter(|_| !self.call(number)).count();
        assert!(self.gate.take_free(strand(number)), "not all are forgotten");
        refusals
    }
}

fn once<const NUMBER: usize>(hub: &Hub) {
    hub.call(NUMBER);
}

fn twice<const NUMBER: usize>(hub: &Hub) {
    once::<NUMBER>(hub);
    once::<NUMBER>(hub);
}

/// Runs what each strand does, at the same time, on a hub that has been prepared.
fn meet<const N: usize>(hub: Hub, strands: [Part<Hub>; N]) -> Rc<Hub> {
    let hub = Rc::new(hub);
    hv_core::sync::model::meet(&hub, strands);
    hub
}

/// Three strands ask twice each; at most 3 preemptions.
#[test]
fn one_access_in_flight_and_nobody_is_lost() {
    explore(3, 1_000, || {
        let hub = meet(Hub::new(), [twice::<0>, twice::<1>, twice::<2>]);
        hub.settle();
    });
}

/// Three strands ask once each; at most 4 preemptions. (With 5 it takes minutes.)
#[test]
fn three_asks() {
    explore(4, 1_000, || {
        let hub = meet(Hub::new(), [once::<0>, once::<1>, once::<2>]);
        hub.settle();
    });
}

/// The first bound. Strand 1 was refused while strand 0 had the hub. While the others ask r = 4 times, at most b = 2
/// accesses are theirs; then the turn is strand 1's. At most 4 preemptions.
#[test]
fn a_refused_strand_is_served_after_b_accesses() {
    explore(4, 1_000, || {
        let hub = Hub::new();
        assert!(hub.ask(0));
        assert!(!hub.ask(1));
        let hub = meet(
            hub,
            [
                |hub| {
                    hub.end();
                    hub.call(0);
                    hub.call(0);
                },
                twice::<2>,
            ],
        );
        assert!(hub.accesses_before(1) <= B);
        // What has been refused to the others on its behalf: at most 4. The turn is still its own, or comes to it.
        hub.settle();
    });
}

/// The same while strand 1 asks too, once; at most 2 preemptions.
#[test]
fn a_refused_strand_that_asks_among_others() {
    explore(2, 1_000, || {
        let hub = Hub::new();
        assert!(hub.ask(0));
        assert!(!hub.ask(1));
        hub.end();
        let hub = meet(hub, [twice::<0>, once::<1>, twice::<2>]);
        assert!(hub.accesses_before(1) <= B);
        hub.settle();
    });
}

/// The second bound. Strand 0 was refused and has gone; strand 1 has been refused 3 times on its behalf when strand 2
/// comes. Together it is not more than 6 times. At most 6 preemptions.
#[test]
fn a_strand_that_has_gone_costs_r_refusals() {
    const BEFORE: usize = 3;
    explore(6, 1_000, || {
        let hub = Hub::new();
        assert!(hub.ask(1));
        assert!(!hub.ask(0));
        hub.end();
        for _ in 0..BEFORE {
            assert!(!hub.call(1));
        }
        let hub = meet(hub, [once::<1>, twice::<2>]);
        let first_served = (0..40).take_while(|_| !hub.call(1)).count();
        assert!(BEFORE + first_served <= R_OF_THREE, "{first_served}");
    });
}

/// Strands that have gone are forgotten one by one, in whatever state they left the hub: whoever stays is refused r times
/// for each, and then never again. At most 3 preemptions.
#[test]
fn who_stays_is_served_for_good() {
    explore(3, 1_000, || {
        let hub = Hub::new();
        assert!(hub.ask(2));
        assert!(!hub.ask(1));
        let hub = meet(
            hub,
            [once::<0>, once::<1>, |hub| {
                hub.end();
                hub.call(2);
            }],
        );
        assert!(hub.alone(0) <= R_OF_THREE + R_OF_TWO);
    });
}

/// The chip turned out to be busy, while others ask: the strand keeps its turn. At most 3 preemptions.
#[test]
fn a_busy_chip_keeps_the_turn() {
    explore(3, 1_000, || {
        let hub = Hub::new();
        assert!(hub.ask(1));
        let hub = meet(
            hub,
            [twice::<0>, twice::<2>, |hub| {
                hub.access();
                hub.release.take();
                hub.gate.give_back(strand(1));
            }],
        );
        let events = hub.events.lock().unwrap().clone();
        assert!(
            events
                .iter()
                .skip(2)
                .all(|event| !matches!(event, Event::Granted(_))),
            "{events:?}"
        );
        assert!(hub.call(1));
        hub.settle();
    });
}

/// Strand 0 dies at some step of a call while strand 1 calls twice, and its death is reported. Strand 0 was refused before, or it was
/// not. Strand 1 is served, and nobody is left behind. At most 3 preemptions.
#[test]
fn a_strand_dies_at_each_step_beside_another() {
    for (step, refused_before) in (0..12)
        .map(|n| (n, false))
        .chain((0..40).map(|n| (n, true)))
    {
        explore(3, 3, move || {
            let hub = Rc::new(Hub::new());
            if refused_before {
                assert!(hub.ask(1));
                assert!(!hub.ask(0));
                hub.end();
            }
            let dies = {
                let hub = Rc::clone(&hub);
                loom::thread::spawn(move || {
                    if steps::die_at(step, || hub.call(0)).is_none() {
                        hub.gate.abandon(strand(0));
                    }
                })
            };
            twice::<1>(&hub);
            dies.join().unwrap();
            assert!(hub.alone(1) <= R_OF_TWO, "step {step}");
        });
    }
}

/// The access of strand 0, which is on the fast path, ends, and strand 2 asks, while strand 1 asks twice. If strand 1 is refused
/// because of the first access, and later served, or refused because strand 2 has been, the end has been counted in between.
/// At most 5 preemptions.
#[test]
fn an_end_is_counted_before_the_next_strand_is_served() {
    /// The gate, the count, and in true order: the first access has ended, strand 2 has been served.
    type Shared = (Gate, AtomicU32, Cell<bool>, Cell<bool>);
    fn ask(hub: &Shared, number: usize) -> Result<(), Refused> {
        if hub.0.take_free(strand(number)) {
            return Ok(());
        }
        let ended = || {
            hub.1.fetch_add(1, Ordering::SeqCst);
        };
        hub.0.ask(strand(number), ended)
    }
    explore(5, 1_000, || {
        let hub: Rc<Shared> = Rc::new((Gate::new(), AtomicU32::new(0), false.into(), false.into()));
        assert!(hub.0.take_free(strand(0)));
        let ends = {
            let hub = Rc::clone(&hub);
            loom::thread::spawn(move || {
                hub.0.release_free();
                hub.2.set(true);
                hub.3.set(ask(&hub, 2).is_ok());
            })
        };
        let first = ask(&hub, 1);
        let (counted, ended) = (hub.1.load(Ordering::SeqCst), hub.2.get());
        if first == Err(Refused::Taken) && !ended {
            let other_served = hub.3.get();
            let second = ask(&hub, 1);
            if second.is_ok() || second == Err(Refused::Taken) && other_served {
                assert!(hub.1.load(Ordering::SeqCst) > counted);
            }
        }
        ends.join().unwrap();
    });
}

/// The access of strand 0, on the fast path, ends, and strand 1 learns of that. Strand 0 asks again, on the fast path, and strand 2
/// asks. Whatever strand 1 finds when it asks again, the end has been counted. At most 4 preemptions.
#[test]
fn an_end_is_counted_before_a_strand_that_knows_of_it_is_refused() {
    explore(4, 1_000, || {
        let hub = Rc::new((Gate::new(), AtomicU32::new(0), AtomicU32::new(0)));
        let ask_slowly = |hub: &(Gate, AtomicU32, AtomicU32), number| {
            let ended = || {
                hub.1.fetch_add(1, Ordering::SeqCst);
            };
            hub.0.ask(strand(number), ended)
        };
        assert!(hub.0.take_free(strand(0)));
        assert_eq!(ask_slowly(&hub, 1), Err(Refused::Taken));
        let counted = hub.1.load(Ordering::SeqCst);
        let ends = {
            let hub = Rc::clone(&hub);
            loom::thread::spawn(move || {
                hub.0.release_free();
                hub.2.store(1, Ordering::Release);
                assert!(!hub.0.take_free(strand(0)));
            })
        };
        let asks = {
            let hub = Rc::clone(&hub);
            loom::thread::spawn(move || {
                if !hub.0.take_free(strand(2)) {
                    let _ = ask_slowly(&hub, 2);
                }
            })
        };
        if hub.2.load(Ordering::Acquire) == 1 {
            let _ = ask_slowly(&hub, 1);
            assert!(hub.1.load(Ordering::SeqCst) > counted);
        }
        ends.join().unwrap();
        asks.join().unwrap();
    });
}
