//! The protocol in every order of events, for two guests with a strand each and one unit: from each state that can be reached,
//! every event that is possible there is made. Strands die and come back at any moment, and steps under the lock are cut short.
//! `global` and the right to a strand are independent of each other, so each is explored alone.

extern crate std;

use std::collections::HashSet;
use std::vec::Vec;

use super::*;

/// A machine as the protocol sees it. Strand 0 runs guest 0, and strand 1 guest 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct World {
    guests: [Holding; 2],
    /// Guests that were reset, and nothing was done about that yet.
    reset: [bool; 2],
    global: Global,
    strands: [Strand; 2],
    /// Who has written to the unit that `global` covers since it was scrubbed.
    unit: Option<Mark>,
}

/// The guest that has written a value, and whether it did so in a call that it began before its last reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Mark {
    guest: usize,
    old: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Strand {
    asked: Asked,
    doing: Doing,
    dead: bool,
    pcr: StrandRight,
}

/// What a strand is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Doing {
    /// It executes guest code.
    Guest,
    /// It is in a call that has read this, before its guest's last reset or after.
    Call { held: Grant, old: bool },
    /// It is in a cross-call, has read this and has scrubbed that.
    CrossCall(Asked),
}

/// What the operator grants, two guests each time. The machine begins with the first of them.
type Configurations = &'static [[Grant; 2]];

const NONE: Grant = Grant::NONE;
const GLOBAL: Grant = Grant {
    strand: StrandRight::None,
    global: true,
};
const STRAND: Grant = Grant {
    strand: StrandRight::Strand,
    global: false,
};
const HTSTRAND: Grant = Grant {
    strand: StrandRight::HtStrand,
    global: false,
};

fn id(guest: usize) -> GuestId {
    GuestId::new(guest).unwrap()
}

impl World {
    /// The guests hold what they are granted, and nobody has written anything.
    fn new(grants: [Grant; 2]) -> Self {
        let holding = |granted| Holding {
            granted,
            held: granted,
            starting: false,
        };
        let strand = Strand {
            asked: Asked::default(),
            doing: Doing::Guest,
            dead: false,
            pcr: StrandRight::None,
        };
        Self {
            guests: grants.map(holding),
            reset: [false; 2],
            global: (0..2)
                .find(|guest| grants[*guest].global)
                .map_or(Global::Free, |guest| Global::Held(id(guest))),
            strands: [strand; 2],
            unit: None,
        }
    }

    /// Makes a step of a guest.
    fn step(&mut self, guest: usize, event: GuestEvent) -> Answer {
        let (next, answer) = self.guests[guest].step(event);
        self.guests[guest] = next;
        answer
    }

    /// Does what follows if a guest has lost something. Returns `false` if that was cut short.
    fn lost(&mut self, guest: usize, answer: Answer, cut: bool) -> bool {
        let Answer::Lost { scrub, global } = answer else {
            return true;
        };
        let asked = &mut self.strands[guest].asked;
        *asked = asked.step(StrandEvent::Asks(scrub));
        if global && self.global.user() == Some(id(guest)) {
            self.global = self.global.step(GlobalEvent::Revoke);
            if cut {
                return false;
            }
            self.global = self.global.step(GlobalEvent::ListIsWhole);
        }
        true
    }

    /// The operator grants this. If it is cut short, no more was done than to begin the list of what a guest leaves behind.
    fn configure(mut self, grants: [Grant; 2], cut: bool) -> Self {
        for (guest, grant) in grants.into_iter().enumerate() {
            let granted = self.guests[guest].granted;
            let answer = self.step(guest, GuestEvent::Revoke(grant));
            if !self.lost(guest, answer, cut) {
                self.guests[guest].granted = granted;
                return self;
            }
        }
        for (guest, grant) in grants.into_iter().enumerate() {
            self.step(guest, GuestEvent::Grant(grant));
        }
        self
    }

    /// A guest starts again.
    fn reset(mut self, guest: usize) -> Self {
        self.reset[guest] = true;
        self.step(guest, GuestEvent::Reset);
        if let Some(mark) = self.unit.as_mut().filter(|mark| mark.guest == guest) {
            mark.old = true;
        }
        if let Doing::Call { old, .. } = &mut self.strands[guest].doing {
            *old = true;
        }
        self
    }

    /// What the owner of the lock does about a reset. If it is cut short, the guest is known to be reset still.
    fn take_up_reset(mut self, guest: usize, cut: bool) -> Self {
        if self.reset[guest] {
            let answer = self.step(guest, GuestEvent::Reset);
            self.reset[guest] = !self.lost(guest, answer, cut);
        }
        self
    }

    /// The owner of the lock makes the list whole that another has begun.
    fn finish(mut self) -> Self {
        if let Global::Listed(_) = self.global {
            self.global = self.global.step(GlobalEvent::ListIsWhole);
        }
        self
    }

    /// The owner of the lock scrubs the unit, if `global` is revoked and the loser's strand is not awaited.
    fn scrub(mut self) -> Self {
        if let Global::Revoked(loser) = self.global
            && !self.strands[loser.index()].asked.is_awaited()
        {
            self.unit = None;
            self.global = self.global.step(GlobalEvent::Scrubbed);
        }
        self
    }

    /// The owner of the lock looks what a guest can be given.
    fn complete(mut self, guest: usize) -> Self {
        let circumstances = Circumstances {
            guest: id(guest),
            awaited: self.strands[guest].asked.is_awaited(),
            reset: self.reset[guest],
            global: self.global,
        };
        let answer = self.step(guest, GuestEvent::Complete(circumstances));
        if answer == Answer::Given && self.guests[guest].held.global {
            self.global = self.global.step(GlobalEvent::Grant(id(guest)));
        }
        self
    }

    /// A strand goes on with what it does, or begins a call.
    fn go_on(mut self, number: usize) -> Self {
        let held = self.guests[number].held;
        let strand = &mut self.strands[number];
        strand.doing = match strand.doing {
            Doing::Guest => Doing::Call { held, old: false },
            Doing::Call { held, old } => {
                if held.global {
                    let own = Mark { guest: number, old };
                    let found = self.unit;
                    assert!(
                        found.is_none_or(|mark| mark == own || old && mark.guest == number),
                        "guest {number} finds {found:?}"
                    );
                    self.unit = Some(own);
                }
                if held.strand != StrandRight::None {
                    strand.pcr = held.strand;
                }
                Doing::Guest
            }
            Doing::CrossCall(read) => {
                strand.asked = strand.asked.step(StrandEvent::Acknowledges(read));
                Doing::Guest
            }
        };
        self
    }

    /// A strand takes its cross-call, which it does between two calls.
    fn take_cross_call(mut self, number: usize) -> Self {
        let strand = &mut self.strands[number];
        strand.asked = strand.asked.step(StrandEvent::Takes);
        match (strand.asked.scrub(), strand.pcr) {
            (Scrub::Pcr, _) => strand.pcr = StrandRight::None,
            (Scrub::Ht, StrandRight::HtStrand) => strand.pcr = StrandRight::Strand,
            _ => {}
        }
        strand.doing = Doing::CrossCall(strand.asked);
        self
    }

    /// A strand dies, and its death is reported. It does not go on in a call.
    fn die(mut self, number: usize) -> Self {
        let strand = &mut self.strands[number];
        strand.dead = true;
        strand.asked = strand.asked.step(StrandEvent::Dies);
        strand.doing = Doing::Guest;
        self
    }

    /// A dead strand comes back, and takes its cross-call before anything else.
    fn come_back(mut self, number: usize) -> Self {
        self.strands[number].dead = false;
        self.take_cross_call(number)
    }

    /// Returns all states that can come next.
    fn next(self, configurations: Configurations) -> Vec<Self> {
        let mut all = Vec::new();
        for grants in configurations {
            all.extend([false, true].map(|cut| self.configure(*grants, cut)));
        }
        all.extend([self.finish(), self.scrub()]);
        for number in 0..2 {
            all.extend([self.reset(number), self.complete(number)]);
            all.extend([false, true].map(|cut| self.take_up_reset(number, cut)));
            let Strand {
                asked, doing, dead, ..
            } = self.strands[number];
            if dead {
                all.push(self.come_back(number));
                continue;
            }
            all.extend([self.go_on(number), self.die(number)]);
            if asked.is_asked() && doing == Doing::Guest {
                all.push(self.take_cross_call(number));
            }
        }
        all
    }

    /// If nothing else happens: every strand that lives ends its call and takes its cross-calls, and the owner of the lock does
    /// what there is to do.
    fn settle(mut self) -> Self {
        for _ in 0..4 {
            for number in 0..2 {
                let strand = |world: &Self| world.strands[number];
                if strand(&self).dead {
                    continue;
                }
                if strand(&self).doing != Doing::Guest {
                    self = self.go_on(number);
                }
                if strand(&self).asked.is_asked() {
                    self = self.take_cross_call(number).go_on(number);
                }
            }
            self = self.take_up_reset(0, false).take_up_reset(1, false);
            self = self.finish().scrub().complete(0).complete(1);
        }
        self
    }

    /// A change is complete.
    fn is_settled(&self) {
        for guest in 0..2 {
            let Holding { granted, held, .. } = self.guests[guest];
            assert_eq!(held, granted, "{self:?}");
            assert!(!self.guests[guest].starting && !self.reset[guest]);
            let strand = self.strands[guest];
            let scrubbed = held.strand >= strand.pcr;
            assert!(
                strand.dead || !strand.asked.is_asked() && scrubbed,
                "{self:?}"
            );
            assert_eq!(held.global, self.global == Global::Held(id(guest)));
        }
        let user = self.global.user().map(GuestId::index);
        assert!(
            self.unit
                .is_none_or(|mark| Some(mark.guest) == user && !mark.old),
            "{self:?}"
        );
    }
}

/// Makes every event in every state that can be reached. Returns the number of states.
fn explore(configurations: Configurations) -> usize {
    let first = World::new(configurations[0]);
    let mut seen = HashSet::from([first]);
    let mut open = Vec::from([first]);
    while let Some(world) = open.pop() {
        assert!(!world.guests.iter().all(|guest| guest.held.global));
        world.settle().is_settled();
        let next = world.next(configurations);
        open.extend(next.into_iter().filter(|next| seen.insert(*next)));
    }
    std::println!("{} states", seen.len());
    seen.len()
}

#[test]
fn global_in_every_order_of_events() {
    assert!(explore(&[[GLOBAL, NONE], [NONE, GLOBAL]]) > 1_000);
}

#[test]
fn the_right_to_a_strand_in_every_order_of_events() {
    assert!(explore(&[[HTSTRAND, NONE], [STRAND, NONE], [NONE, STRAND]]) > 1_000);
}

/// 0 is nobody. Two lower bits say how, those above who.
#[test]
fn the_word_of_global() {
    for guest in [0, 1, 255] {
        let user = id(guest);
        let number = guest as u32 * 4;
        for (state, bits) in [
            (Global::Free, 0),
            (Global::Held(user), number + 1),
            (Global::Listed(user), number + 2),
            (Global::Revoked(user), number + 3),
        ] {
            assert_eq!((state.bits(), Global::from_bits(bits)), (bits, state));
        }
    }
}

/// What every event does in every state of `global`.
#[test]
fn every_step_of_global() {
    use Global::{Free, Held, Listed, Revoked};
    let (user, other) = (id(0), id(1));
    let events = [
        GlobalEvent::Grant(user),
        GlobalEvent::Grant(other),
        GlobalEvent::Revoke,
        GlobalEvent::ListIsWhole,
        GlobalEvent::Scrubbed,
    ];
    let (held, listed, revoked) = (Held(user), Listed(user), Revoked(user));
    for (state, next) in [
        (Free, [held, Held(other), Free, Free, Free]),
        (held, [held, held, listed, held, held]),
        (listed, [listed, listed, listed, revoked, listed]),
        (revoked, [revoked, revoked, listed, revoked, Free]),
    ] {
        assert_eq!(events.map(|event| state.step(event)), next, "{state:?}");
    }
}
