//! Three strands compete for a hub ([`Gate`]). Only one access is in flight at a time, and a
//! refused strand is served within the two bounds that `turns` states.
//!
//! With N = 3 strands, the bound b = N - 1 is 2 accesses. The strands meet in every order. Before
//! and after the meeting, one strand asks alone, step by step.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Mutex;
use std::vec::Vec;

use hv_core::sync::model::{StrandCode, explore};
use hv_core::sync::{AtomicU32, Ordering, steps};
use loom::cell::UnsafeCell;

use super::super::gate::{Gate, Refused};
use super::{Release, ask, strand};

const STRANDS: usize = 3;

/// The bound b: a strand that keeps asking waits for at most this number of accesses of other strands.
const B: usize = STRANDS - 1;
/// The bound r = 2w for w = 2 remembered strands: the number of refusals after which an absent strand loses its turn.
const R_OF_TWO: usize = 4;
/// The bound r = 2w for w = 3 remembered strands.
const R_OF_THREE: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AskEvent {
    Asks(usize),
    Granted(usize),
    Refused(usize),
}

/// A hub and its past events. The model checker executes one strand at a time, so the events are in their true order.
struct Hub {
    gate: Gate,
    /// The chip. Loom reports an error if two accesses are not ordered.
    chip: UnsafeCell<()>,
    /// The value that ends the access in flight.
    release: Cell<Option<Release>>,
    events: Mutex<Vec<AskEvent>>,
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

    /// Returns a hub on which `holder` has an access in flight and `refused` was refused.
    fn taken(holder: usize, refused: usize) -> Self {
        let hub = Self::new();
        assert!(hub.ask(holder));
        assert!(!hub.ask(refused));
        hub
    }

    fn happened(&self, event: AskEvent) {
        self.events.lock().unwrap().push(event);
    }

    fn ask(&self, number: usize) -> bool {
        self.happened(AskEvent::Asks(number));
        let asked = ask(&self.gate, number).ok();
        let granted = asked.is_some();
        if granted {
            self.release.set(asked);
        }
        self.happened(if granted { AskEvent::Granted(number) } else { AskEvent::Refused(number) });
        granted
    }

    fn access(&self) {
        self.chip.with_mut(|_| ());
    }

    fn end(&self) {
        self.access();
        self.release.take().unwrap().end(&self.gate);
    }

    /// Makes one call, from the ask to the release of the hub. Returns `true` if the call was served.
    fn call(&self, number: usize) -> bool {
        let granted = self.ask(number);
        if granted {
            self.end();
        }
        granted
    }

    /// Returns the strands whose latest ask was refused.
    fn waiting(&self) -> Vec<usize> {
        let events = self.events.lock().unwrap();
        let mut waiting = [false; STRANDS];
        for event in events.iter() {
            match event {
                AskEvent::Granted(number) => waiting[*number] = false,
                AskEvent::Refused(number) => waiting[*number] = true,
                AskEvent::Asks(_) => {}
            }
        }
        (0..STRANDS).filter(|number| waiting[*number]).collect()
    }

    /// Returns the number of accesses that other strands were granted between the strand's first refusal and its access. Only accesses that
    /// were asked for after that refusal are counted.
    fn accesses_before(&self, number: usize) -> usize {
        let events = self.events.lock().unwrap();
        let mut begun = [false; STRANDS];
        let mut accesses = 0;
        let since = events
            .iter()
            .skip_while(|event| **event != AskEvent::Refused(number))
            .take_while(|event| **event != AskEvent::Granted(number));
        for event in since {
            match event {
                AskEvent::Asks(other) => begun[*other] = true,
                AskEvent::Granted(other) => accesses += usize::from(begun[*other]),
                AskEvent::Refused(_) => {}
            }
        }
        accesses
    }

    /// Checks, between calls, that the fast path is closed while a refused strand waits. Also checks that each waiting strand is served
    /// when it asks again. Afterwards, the hub is in the same state as a new hub.
    fn settle(&self) {
        for _ in 0..=B {
            let waiting = self.waiting();
            for number in 0..STRANDS {
                let open = self.gate.try_take_fast(strand(number));
                let events = self.events.lock().unwrap();
                assert_eq!(open, waiting.is_empty(), "{waiting:?} wait: {events:?}");
                if open {
                    self.gate.release_fast();
                }
            }
            for number in waiting {
                self.call(number);
                assert!(self.accesses_before(number) <= B);
            }
        }
        assert_eq!(self.waiting(), []);
    }

    /// Lets only this strand ask, after all others have gone. Returns the number of refusals until this strand is always served.
    fn alone(&self, number: usize) -> usize {
        let refusals = (0..40).filter(|_| !self.call(number)).count();
        assert!(self.gate.try_take_fast(strand(number)), "not all are forgotten");
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

fn meet<const N: usize>(hub: Hub, strands: [StrandCode<Hub>; N]) -> Rc<Hub> {
    let hub = Rc::new(hub);
    hv_core::sync::model::run_concurrently(&hub, strands);
    hub
}

/// Three strands ask twice each, with at most 2 preemptions (3 with `cargo xtask prove`).
#[test]
fn one_access_in_flight_and_nobody_is_lost() {
    explore(2, 1_000, || {
        let hub = meet(Hub::new(), [twice::<0>, twice::<1>, twice::<2>]);
        hub.settle();
    });
}

/// Three strands ask once each, with at most 3 preemptions (4 with `cargo xtask prove`; 5 take minutes).
#[test]
fn three_asks() {
    explore(3, 1_000, || {
        let hub = meet(Hub::new(), [once::<0>, once::<1>, once::<2>]);
        hub.settle();
    });
}

/// After a refusal of strand 1, other strands are served at most 2 times (the bound b) in their next 4 asks (r). There are at most 3
/// preemptions (4 with `cargo xtask prove`).
#[test]
fn a_refused_strand_is_served_after_b_accesses() {
    explore(3, 1_000, || {
        let ends: StrandCode<Hub> = |hub| {
            hub.end();
            twice::<0>(hub);
        };
        let hub = meet(Hub::taken(0, 1), [ends, twice::<2>]);
        assert!(hub.accesses_before(1) <= B);
        // The other strands asked 4 times (r), so strand 1 has not lost its turn: it has the turn now, or will get it.
        hub.settle();
    });
}

/// Strand 1 asks once, while strands 0 and 2 ask twice each. There are at most 2 preemptions.
#[test]
fn a_refused_strand_that_asks_among_others() {
    explore(2, 1_000, || {
        let hub = Hub::taken(0, 1);
        hub.end();
        let hub = meet(hub, [twice::<0>, once::<1>, twice::<2>]);
        assert!(hub.accesses_before(1) <= B);
        hub.settle();
    });
}

/// Strand 0 goes away after a refusal, and strand 1 is refused at most 6 times in all (the bound r). There are at most 6 preemptions.
#[test]
fn a_strand_that_has_gone_costs_r_refusals() {
    const BEFORE: usize = 3;
    explore(6, 1_000, || {
        let hub = Hub::taken(1, 0);
        hub.end();
        for _ in 0..BEFORE {
            assert!(!hub.call(1));
        }
        let hub = meet(hub, [once::<1>, twice::<2>]);
        let first_served = (0..40).take_while(|_| !hub.call(1)).count();
        assert!(BEFORE + first_served <= R_OF_THREE, "{first_served}");
    });
}

/// The gate forgets the strands that have gone, one by one. The strand that stays is refused at most 6 times while three strands are
/// remembered, and 4 times while two are. There are at most 2 preemptions.
#[test]
fn the_strand_that_stays_is_always_served_in_the_end() {
    explore(2, 1_000, || {
        let ends: StrandCode<Hub> = |hub| {
            hub.end();
            hub.call(2);
        };
        let hub = meet(Hub::taken(2, 1), [once::<0>, once::<1>, ends]);
        assert!(hub.alone(0) <= R_OF_THREE + R_OF_TWO);
    });
}

/// Strand 1 finds the chip busy while others ask, and has the next turn. There are at most 2 preemptions (3 with `cargo xtask prove`).
#[test]
fn a_busy_chip_keeps_the_turn() {
    explore(2, 1_000, || {
        let hub = Hub::new();
        assert!(hub.ask(1));
        let finds_busy: StrandCode<Hub> = |hub| {
            hub.access();
            hub.release.take();
            hub.gate.release_and_keep_turn(strand(1));
        };
        let hub = meet(hub, [twice::<0>, twice::<2>, finds_busy]);
        let events = hub.events.lock().unwrap().clone();
        let mut others = events.iter().skip(2);
        let granted = others.any(|event| matches!(event, AskEvent::Granted(_)));
        assert!(!granted, "{events:?}");
        assert!(hub.call(1));
        hub.settle();
    });
}

/// Strand 0 dies at some step of a call while strand 1 calls twice. Once the death is reported, strand 1 is served. There are at most 3
/// preemptions.
#[test]
fn a_strand_dies_at_each_step_beside_another() {
    let first = (0..12).map(|step| (step, false));
    for (step, refused_before) in first.chain((0..40).map(|step| (step, true))) {
        explore(3, 3, move || {
            let hub = Rc::new(if refused_before { Hub::taken(1, 0) } else { Hub::new() });
            if refused_before {
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

/// A fast-path access of strand 0 ends, and then strand 2 asks. Meanwhile strand 1 asks twice. The first ask of strand 1 may be refused
/// because of strand 0's access. The second ask may then be served, or be refused because of strand 2. In both cases, the end of strand 0's
/// access must have been counted between the two results. There are at most 5 preemptions.
#[test]
fn an_end_is_counted_before_the_next_strand_is_served() {
    /// The gate; the count of ends; whether the first access has ended; whether strand 2 has been served.
    type Shared = (Gate, AtomicU32, Cell<bool>, Cell<bool>);
    fn ask(hub: &Shared, number: usize) -> Result<(), Refused> {
        if hub.0.try_take_fast(strand(number)) {
            return Ok(());
        }
        let ended = || {
            hub.1.fetch_add(1, Ordering::SeqCst);
        };
        hub.0.ask(strand(number), ended)
    }
    explore(5, 1_000, || {
        let hub: Rc<Shared> = Rc::new((Gate::new(), AtomicU32::new(0), false.into(), false.into()));
        assert!(hub.0.try_take_fast(strand(0)));
        let ends = {
            let hub = Rc::clone(&hub);
            loom::thread::spawn(move || {
                hub.0.release_fast();
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

/// A fast-path access of strand 0 ends, and strand 1 learns of the end. Strand 0 asks again on the fast path, and strand 2 asks. No matter
/// what strand 1 finds when it asks again, the end of the first access has been counted. There are at most 4 preemptions.
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
        assert!(hub.0.try_take_fast(strand(0)));
        assert_eq!(ask_slowly(&hub, 1), Err(Refused::Taken));
        let counted = hub.1.load(Ordering::SeqCst);
        let ends = {
            let hub = Rc::clone(&hub);
            loom::thread::spawn(move || {
                hub.0.release_fast();
                hub.2.store(1, Ordering::Release);
                assert!(!hub.0.try_take_fast(strand(0)));
            })
        };
        let asks = {
            let hub = Rc::clone(&hub);
            loom::thread::spawn(move || {
                if !hub.0.try_take_fast(strand(2)) {
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
