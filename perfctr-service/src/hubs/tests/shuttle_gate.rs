//! 8 strands, then 64, compete for a hub ([`Gate`]), and take their steps in random order. Only one access is in flight at a time, and a
//! refused strand is served within the two bounds that `turns` states.

use std::sync::Mutex;
use std::vec;
use std::vec::Vec;

use hv_core::sync::schedules::{explore, pause, random_below, run_concurrently};
use hv_core::sync::{spin_loop, steps};

use super::super::gate::{Gate, Refused};
use super::{ask, strand};

/// A gate and the true state of its strands. The state is exact because shuttle executes one strand at a time.
struct Hub {
    gate: Gate,
    seen: Mutex<TrueState>,
}

#[derive(Default)]
struct TrueState {
    /// The strand whose access is in flight.
    in_flight: Option<usize>,
    /// The dead strands, including those whose death nobody has reported yet.
    dead: Vec<usize>,
}

impl Hub {
    fn new() -> Self {
        Self { gate: Gate::new(), seen: Mutex::default() }
    }

    fn seen<R>(&self, look: impl FnOnce(&mut TrueState) -> R) -> R {
        look(&mut self.seen.lock().unwrap())
    }

    fn access(&self, number: usize) {
        let before = self.seen(|seen| seen.in_flight.replace(number));
        assert_eq!(before, None, "a second access while one is in flight");
        steps::step();
        pause();
        let after = self.seen(|seen| seen.in_flight.take());
        assert_eq!(after, Some(number), "a second access came");
    }

    /// Makes one call, from the ask to the release of the hub. If `is_busy`, the chip is busy in one of eight accesses, and refuses the
    /// strand.
    fn call(&self, number: usize, is_busy: bool) -> Result<(), Refused> {
        let release = ask(&self.gate, number)?;
        self.access(number);
        if is_busy && random_below(8) == 0 {
            self.gate.release_and_keep_turn(strand(number));
            return Err(Refused::Taken);
        }
        release.end(&self.gate);
        Ok(())
    }

    /// Makes an access on strand 0, during which the strands in `numbers` ask and are refused.
    fn refuse(&self, numbers: impl Iterator<Item = usize>) {
        let release = ask(&self.gate, 0).unwrap();
        for number in numbers {
            assert_eq!(ask(&self.gate, number).err(), Some(Refused::Taken));
        }
        release.end(&self.gate);
    }

    fn report_deaths(&self) {
        for dead in self.seen(|seen| seen.dead.clone()) {
            self.seen(|seen| seen.in_flight = seen.in_flight.filter(|number| *number != dead));
            self.gate.abandon(strand(dead));
        }
    }

    /// Lets only this strand ask, after all others have gone; the gate still remembers at most `gone` of them. While w strands are
    /// remembered, this strand may be refused at most 2w times.
    fn alone(&self, number: usize, gone: usize) {
        let most: usize = (2..=gone + 1).map(|w| 2 * w).sum();
        let refused = |_: &usize| self.call(number, false).is_err();
        // The turn may come to this strand before the gate has forgotten all the others.
        let refusals = (0..most + gone + 1).filter(refused).count();
        assert!(refusals <= most, "{refusals} refusals, not {most}");
        assert!(self.gate.try_take_fast(strand(number)), "not all are forgotten");
        self.gate.release_fast();
    }
}

/// The first `gone` strands are refused and never ask again. Each of the others asks until it has been served `calls` times or has asked
/// `asks` times; the chip is sometimes busy. At the end, each strand that asks again is served. While w strands are remembered, this strand
/// is refused at most 2w times.
fn everyone_asks(schedules: usize, [strands, gone]: [usize; 2], calls: usize, asks: usize) {
    explore(schedules, move || {
        let hub = Hub::new();
        hub.refuse(1..=gone);
        let unserved = Mutex::new(gone);
        run_concurrently(strands - gone, |number| {
            let served = (0..asks).filter(|_| {
                let answer = hub.call(1 + gone + number, true);
                if answer.is_err() {
                    spin_loop();
                }
                answer.is_ok()
            });
            if served.take(calls).count() < calls {
                *unserved.lock().unwrap() += 1;
            }
        });
        let unserved = *unserved.lock().unwrap();
        assert!(asks < usize::MAX || unserved == gone);
        hub.alone(1 + random_below(strands), unserved);
    });
}

#[test]
fn eight_strands_until_each_is_served() {
    everyone_asks(1_300, [8, 0], 2, usize::MAX);
}

#[test]
fn eight_strands_of_which_three_have_gone() {
    everyone_asks(1_300, [8, 3], 2, usize::MAX);
}

#[test]
fn sixty_four_strands() {
    everyone_asks(100, [64, 0], 2, 3);
}

#[test]
fn sixty_four_strands_of_which_a_third_has_gone() {
    everyone_asks(100, [64, 21], 2, 3);
}

/// One strand always asks again before the others have asked 4 times (r). Checks that no other strand gets more than one access before this
/// strand is served, which is the bound b = N - 1.
///
/// Two threads play all other strands. The threads never play the same strand at the same time.
fn one_keeps_asking(schedules: usize, strands: usize) {
    /// What the other strands have done since the strand was refused.
    struct Others {
        /// How many more times other strands may ask before the strand asks again.
        tickets: usize,
        /// The strand that each of the two threads is asking for now.
        asking: [Option<usize>; 2],
        /// How many accesses each strand has made.
        served: Vec<usize>,
        last: usize,
        over: bool,
    }
    explore(schedules, move || {
        let hub = Hub::new();
        let patient = 1 + random_below(strands - 1);
        let refused: Vec<bool> = (0..strands).map(|_| random_below(4) != 0).collect();
        hub.refuse((1..strands).filter(|number| *number == patient || refused[*number]));
        let others = Mutex::new(Others {
            tickets: 2,
            asking: [None; 2],
            served: vec![0; strands],
            last: 0,
            over: false,
        });
        let others = |look: &mut dyn FnMut(&mut Others)| look(&mut others.lock().unwrap());
        run_concurrently(3, |part| {
            if part == 2 {
                while let Err(why) = hub.call(patient, false) {
                    // A request that did not get the lock does not count.
                    if why != Refused::Locked {
                        others(&mut |others| {
                            others.tickets = 2 - others.asking.iter().flatten().count();
                        });
                    }
                    spin_loop();
                }
                others(&mut |others| others.over = true);
                return;
            }
            loop {
                let (mut number, mut over) = (None, false);
                others(&mut |others| {
                    over = others.over;
                    // Usually the next strand in order asks next, so that turns go round.
                    let step = match random_below(4) {
                        0 => random_below(strands),
                        _ => 1,
                    };
                    let next = (others.last + step) % strands;
                    let free = next != patient && others.asking[1 - part] != Some(next);
                    if others.tickets > 0 && free {
                        others.tickets -= 1;
                        others.asking[part] = Some(next);
                        number = Some(next);
                    }
                    if next == patient {
                        others.last = patient;
                    }
                });
                if over {
                    return;
                }
                if let Some(number) = number {
                    let is_served = hub.call(number, false).is_ok();
                    others(&mut |others| {
                        others.asking[part] = None;
                        if is_served && !others.over {
                            others.last = number;
                            others.served[number] += 1;
                            assert!(others.served[number] <= 1, "strand {number} twice");
                        }
                    });
                }
                spin_loop();
            }
        });
    });
}

#[test]
fn eight_strands_of_which_one_keeps_asking() {
    one_keeps_asking(1_300, 8);
}

#[test]
fn sixty_four_strands_of_which_one_keeps_asking() {
    one_keeps_asking(100, 64);
}

/// Strands make calls; some die in the middle of a call, and others report the deaths. All living strands are served, one at a time.
#[test]
fn eight_strands_of_which_some_die() {
    const STRANDS: usize = 8;
    explore(1_300, || {
        let hub = Hub::new();
        run_concurrently(STRANDS, |number| {
            let mut calls = 0;
            while calls < 2 {
                hub.report_deaths();
                let step = match random_below(4) {
                    0 => random_below(30),
                    _ => usize::MAX,
                };
                match steps::die_at(step, || hub.call(number, true)) {
                    Some(Ok(())) => calls += 1,
                    Some(Err(_)) => spin_loop(),
                    None => return hub.seen(|seen| seen.dead.push(number)),
                }
            }
        });
        hub.report_deaths();
        hub.alone(STRANDS, 0);
    });
}
