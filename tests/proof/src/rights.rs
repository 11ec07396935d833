//! Rights that pass from guest to guest while strands are in calls, die and come back, guests start again, and units fault.
//!
//! **State.** A [`World`]: what is known of rights, of which each part makes its steps by the functions that ship
//! (`Holding::step`, `Global::step`, `Asked::step`), in the orders that ship (`Ledger`); what each strand is doing; and what
//! guests have written, in terms of whose it is.
//!
//! **Actions.** Guests, strands and the operator do anything at any time: see [`Action`]. The strand that makes the steps of a change
//! may die after any of them, and then another one begins again; or something else may happen there. A strand that has died
//! and is not declared dead is one that does nothing any more.
//!
//! **Symmetry.** The strands of a guest are alike: after each action they are sorted. The function that asks them all does so in either
//! order.
//!
//! **Properties.** See [`Rights::properties`]: each has the sentence of the contract that it states.

pub(crate) mod world;

use hv_core::GuestId;
use perfctr_service::decisions::protocol::{Global, Ledger, Scrub, StrandEvent, is_settled};
use perfctr_service::{Grant, StrandRight};
use stateright::{Model, Property};

pub use world::World;
use world::{Call, Doing, Owner, Tenure, held_by};

/// A machine with `G` guests, each with `S` strands, two at most.
#[derive(Clone, Copy, Debug)]
pub struct Rights<const G: usize, const S: usize> {
    /// What the operator grants: any of these, at any time. The machine begins with the first.
    pub configurations: &'static [[Grant; G]],
    /// Something may happen between any two steps of the operator's, and of a strand that does what is to be done.
    pub crossings: bool,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A guest or a strand does something.
    Act(Act),
    /// The operator grants the guests this configuration, by its number.
    Configures(usize, Steps),
    /// A strand does what is to be done, under the lock.
    Turns(Scrubbing, Steps),
    /// The operator returns the unit to service.
    UnitReturns,
}

/// What a guest or a strand does. A strand is named by its guest and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// The strand begins a call, which finds that its guest may make it.
    Calls(usize, usize, Register),
    /// The strand's call makes its access, and ends.
    EndsCall(usize, usize),
    /// The strand takes its cross-call, and scrubs what it is asked to.
    TakesCrossCall(usize, usize),
    /// The strand acknowledges.
    Acknowledges(usize, usize),
    /// The strand is declared dead, or excused by the operator.
    IsDeclaredDead(usize, usize),
    /// The strand is back, and takes its cross-call before anything else.
    ComesBack(usize, usize),
    /// The guest starts again.
    Resets(usize),
    /// The unit faults.
    UnitFaults,
}

/// The register that a call writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// One that `global` covers.
    OfUnit,
    /// %pcr of the calling strand.
    Pcr,
    /// %pcr, with HT.
    PcrWithHt,
}

/// How the scrub of a unit comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scrubbing {
    /// The unit is scrubbed.
    Succeeds,
    /// The unit is busy.
    Busy,
    /// The unit faults.
    Faults,
    /// The unit is on another node, where a strand of the guest is asked for it.
    Elsewhere,
}

/// How the steps of the owner of the lock are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The strands of a guest are asked from the last to the first.
    pub reversed: bool,
    /// What comes in between.
    pub crossing: Crossing,
}

/// What comes between the steps of the owner of the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// Nothing.
    Nothing,
    /// Its death, after so many steps.
    Dies(usize),
    /// Something else, after so many steps.
    Meets(usize, Act),
}

impl Steps {
    const ALL: Self = Self {
        reversed: false,
        crossing: Crossing::Nothing,
    };
}

/// Returns the number of a guest.
fn guest(number: usize) -> GuestId {
    GuestId::new(number).expect("a machine has it")
}

impl<const G: usize, const S: usize> World<G, S> {
    /// Does what follows from an action.
    pub(crate) fn happens(&mut self, model: &Rights<G, S>, action: Action) {
        match action {
            Action::Act(act) => self.act(act),
            Action::Configures(number, steps) => {
                self.configures(&model.configurations[number], steps);
            }
            Action::Turns(scrubbing, steps) => {
                self.turns(scrubbing, steps);
            }
            // While `global` is revoked from a guest, the unit is scrubbed before the next one has it.
            Action::UnitReturns => {
                if self.unit.unclean && !matches!(self.global, Global::Revoked(_)) {
                    (self.unit.written, self.unit.unclean) = (None, false);
                }
                self.unit.out = false;
            }
        }
    }

    /// The operator grants this. Returns how many steps that takes.
    fn configures(&mut self, grants: &[Grant; G], steps: Steps) -> usize {
        let mut owner = Owner::new(self, steps);
        owner.configure(|guest| grants[guest.index()], |_, _| ());
        owner.steps()
    }

    /// A strand does what is to be done. Returns how many steps that takes.
    fn turns(&mut self, scrubbing: Scrubbing, steps: Steps) -> usize {
        let mut owner = Owner::new(self, steps);
        owner.turn(|owner, loser| owner.scrub(loser, scrubbing), |_, _| ());
        owner.steps()
    }

    /// A guest or a strand does something.
    pub(crate) fn act(&mut self, act: Act) {
        match act {
            Act::Calls(guest, strand, register) => {
                let call = match register {
                    Register::OfUnit => Call::OfUnit(Tenure::Current),
                    Register::Pcr => Call::Pcr(Tenure::Current, None),
                    Register::PcrWithHt => Call::Pcr(Tenure::Current, Some(Tenure::Current)),
                };
                self.strands[guest][strand].doing = Doing::Call(call);
            }
            Act::EndsCall(guest, strand) => {
                let strand = &mut self.strands[guest][strand];
                match strand.doing {
                    Doing::Call(Call::OfUnit(tenure)) => self.unit.written = Some((guest, tenure)),
                    Doing::Call(Call::Pcr(pcr, ht)) => (strand.pcr, strand.ht) = (Some(pcr), ht),
                    _ => {}
                }
                strand.doing = Doing::Guest;
            }
            Act::TakesCrossCall(guest, strand) | Act::ComesBack(guest, strand) => {
                let strand = &mut self.strands[guest][strand];
                strand.asked = strand.asked.step(StrandEvent::Takes);
                match strand.asked.scrub() {
                    Scrub::Pcr => (strand.pcr, strand.ht) = (None, None),
                    Scrub::Ht => strand.ht = None,
                    Scrub::Nothing => {}
                }
                strand.doing = Doing::CrossCall(strand.asked);
            }
            Act::Acknowledges(guest, strand) => {
                let strand = &mut self.strands[guest][strand];
                if let Doing::CrossCall(taken) = strand.doing {
                    strand.asked = strand.asked.step(StrandEvent::Acknowledges(taken));
                    strand.doing = Doing::Guest;
                }
            }
            Act::IsDeclaredDead(guest, strand) => {
                let strand = &mut self.strands[guest][strand];
                strand.asked = strand.asked.step(StrandEvent::Dies);
                strand.doing = Doing::Dead;
            }
            Act::Resets(number) => {
                self.reset[number] = true;
                self.start(number);
            }
            Act::UnitFaults => self.unit.out = true,
        }
    }

    /// Returns what guests and strands can do.
    pub(crate) fn acts(&self) -> Vec<Act> {
        let mut acts = vec![];
        for (guest, strands) in self.strands.iter().enumerate() {
            let held = self.guests[guest].held;
            acts.push(Act::Resets(guest));
            for (number, strand) in strands.iter().enumerate() {
                match strand.doing {
                    Doing::Dead => {
                        acts.push(Act::ComesBack(guest, number));
                        continue;
                    }
                    Doing::Call(_) => acts.push(Act::EndsCall(guest, number)),
                    Doing::CrossCall(_) => acts.push(Act::Acknowledges(guest, number)),
                    Doing::Guest => {
                        let may = [
                            (Register::OfUnit, held.global && !self.unit.out),
                            (Register::Pcr, held.strand != StrandRight::None),
                            (Register::PcrWithHt, held.strand == StrandRight::HtStrand),
                        ];
                        let may = may.into_iter().filter(|(_, may)| *may);
                        acts.extend(may.map(|(register, _)| Act::Calls(guest, number, register)));
                        if strand.asked.is_asked() {
                            acts.push(Act::TakesCrossCall(guest, number));
                        }
                    }
                }
                acts.push(Act::IsDeclaredDead(guest, number));
            }
        }
        if !self.unit.out && held_by(&self.guests, |held| held.global).next().is_some() {
            acts.push(Act::UnitFaults);
        }
        acts
    }

    /// Returns the ways in which an owner of the lock makes its steps. `steps` returns how many there are.
    fn ways(&self, crossings: bool, steps: impl Fn(&mut Self, Steps) -> usize) -> Vec<Steps> {
        let mut ways = vec![];
        for reversed in [false, true].into_iter().take(S) {
            let with = |crossing| Steps { reversed, crossing };
            let count = steps(&mut { *self }, with(Crossing::Nothing));
            ways.extend((0..count).map(|after| with(Crossing::Dies(after))));
            if crossings {
                let acts = self.acts().into_iter();
                let meets = |act| (0..count).map(move |after| Crossing::Meets(after, act));
                ways.extend(acts.flat_map(meets).map(with));
            }
        }
        ways.push(Steps::ALL);
        ways
    }

    /// Returns what a change is waiting for, as [`pending`](perfctr_service::PerfCounterService::pending) says: `None` if no change is
    /// pending.
    fn is_pending(&self) -> bool {
        let mut strands = self.strands.iter().flatten();
        strands.any(|strand| strand.asked.is_awaited())
            || !is_settled(self.global, self.next_reset(), self.guests.into_iter())
    }

    /// Returns `true` if the guests hold what they are granted, and nothing is left of what they have lost. What is in a unit that
    /// is out of service, or in a strand that is dead, is scrubbed when it comes back.
    fn is_complete(&self) -> bool {
        let holder = held_by(&self.guests, |held| held.global).next();
        let global = match holder {
            Some(holder) => Global::Held(guest(holder)),
            None => Global::Free,
        };
        let left = |tenure: Option<Tenure>| tenure == Some(Tenure::Ended);
        let unit = self.unit.written.is_none_or(|(writer, tenure)| {
            Some(writer) == holder && tenure == Tenure::Current
                || self.unit.out && self.unit.unclean
        });
        let strands = self.strands.iter().flatten();
        let mut living = strands.filter(|strand| strand.doing != Doing::Dead);
        unit && self.global == global
            && self.next_reset().is_none()
            && self.guests.iter().all(|guest| guest.held == guest.granted)
            && living.all(|strand| {
                let call = match strand.doing {
                    Doing::Call(Call::OfUnit(tenure)) => left(Some(tenure)),
                    Doing::Call(Call::Pcr(pcr, ht)) => left(Some(pcr)) || left(ht),
                    _ => false,
                };
                !call && !left(strand.pcr) && !left(strand.ht)
            })
    }
}

impl<const G: usize, const S: usize> Rights<G, S> {
    /// One guest of a machine has `global`.
    fn one_holder_of_global(&self, world: &World<G, S>) -> bool {
        held_by(&world.guests, |held| held.global).count() <= 1
    }

    /// A guest holds no more than it is granted.
    fn held_is_granted(&self, world: &World<G, S>) -> bool {
        let mut guests = world.guests.iter();
        guests.all(|guest| {
            guest.held.strand <= guest.granted.strand && guest.held.global <= guest.granted.global
        })
    }

    /// Whoever holds `global` finds nothing in the unit but what its own calls have written since it got the right, and no
    /// call of another guest, or of before, can still write to it.
    fn holders_of_global_find_nothing(&self, world: &World<G, S>) -> bool {
        held_by(&world.guests, |held| held.global).all(|holder| {
            let own = |writer: usize, tenure| writer == holder && tenure == Tenure::Current;
            let strands = world.strands.iter().enumerate();
            let mut calls = strands.flat_map(|(guest, strands)| {
                strands.iter().map(move |strand| (guest, strand.doing))
            });
            let written = world.unit.written;
            (world.unit.out || written.is_none_or(|(writer, tenure)| own(writer, tenure)))
                && calls.all(|(guest, doing)| match doing {
                    Doing::Call(Call::OfUnit(tenure)) => own(guest, tenure),
                    _ => true,
                })
        })
    }

    /// Whoever holds `strand` or `htstrand` finds nothing in %pcr and %pic but what it has written since it got the right.
    fn holders_of_strands_find_nothing(&self, world: &World<G, S>) -> bool {
        let left = |tenure| tenure == Some(Tenure::Ended);
        held_by(&world.guests, |held| held.strand != StrandRight::None).all(|holder| {
            let ht = world.guests[holder].held.strand == StrandRight::HtStrand;
            let strands = world.strands[holder].iter();
            let mut living = strands.filter(|strand| strand.doing != Doing::Dead);
            living.all(|strand| {
                let call = match strand.doing {
                    Doing::Call(Call::Pcr(pcr, set)) => left(Some(pcr)) || ht && left(set),
                    _ => false,
                };
                !(call || left(strand.pcr) || ht && left(strand.ht))
            })
        })
    }

    /// `pending` says that no change is pending only when that is so.
    fn pending_is_true(&self, world: &World<G, S>) -> bool {
        world.is_pending() || world.is_complete()
    }

    /// A change ends when each strand has acknowledged or is declared dead: after that, three times what is to be done is
    /// enough.
    fn a_change_ends(&self, world: &World<G, S>) -> bool {
        let mut world = *world;
        for _ in 0..3 {
            for number in 0..G * S {
                let (guest, strand) = (number / S, number % S);
                for act in [
                    Act::Acknowledges(guest, strand),
                    Act::EndsCall(guest, strand),
                    Act::TakesCrossCall(guest, strand),
                    Act::Acknowledges(guest, strand),
                ] {
                    if world.strands[guest][strand].doing != Doing::Dead {
                        world.act(act);
                    }
                }
            }
            world.turns(Scrubbing::Succeeds, Steps::ALL);
        }
        !world.is_pending() && world.is_complete()
    }
}

impl<const G: usize, const S: usize> Model for Rights<G, S> {
    type State = World<G, S>;
    type Action = Action;

    fn init_states(&self) -> Vec<World<G, S>> {
        vec![World::new(&self.configurations[0])]
    }

    fn actions(&self, world: &World<G, S>, actions: &mut Vec<Action>) {
        actions.extend(world.acts().into_iter().map(Action::Act));
        for (number, grants) in self.configurations.iter().enumerate() {
            let steps = |world: &mut World<G, S>, steps| world.configures(grants, steps);
            let ways = world.ways(self.crossings, steps).into_iter();
            actions.extend(ways.map(|steps| Action::Configures(number, steps)));
        }
        let scrubbing = [
            Scrubbing::Succeeds,
            Scrubbing::Busy,
            Scrubbing::Faults,
            Scrubbing::Elsewhere,
        ];
        // If nothing is scrubbed, they are all the same.
        let scrubs = matches!(world.global, Global::Listed(_) | Global::Revoked(_))
            || world.next_reset().is_some();
        for scrubbing in scrubbing.into_iter().take(if scrubs { 4 } else { 1 }) {
            let steps = |world: &mut World<G, S>, steps| world.turns(scrubbing, steps);
            let ways = world.ways(self.crossings, steps).into_iter();
            actions.extend(ways.map(|steps| Action::Turns(scrubbing, steps)));
        }
        if world.unit.out {
            actions.push(Action::UnitReturns);
        }
    }

    fn next_state(&self, world: &World<G, S>, action: Action) -> Option<World<G, S>> {
        let mut world = *world;
        world.happens(self, action);
        world.sort();
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("one guest at most has global", Self::one_holder_of_global),
            Property::always(
                "a guest holds no more than it is granted",
                Self::held_is_granted,
            ),
            Property::always(
                "whoever has global finds a unit that is scrubbed",
                Self::holders_of_global_find_nothing,
            ),
            Property::always(
                "whoever has the right to strands finds them scrubbed",
                Self::holders_of_strands_find_nothing,
            ),
            Property::always(
                "pending says none only when no change is pending",
                Self::pending_is_true,
            ),
            Property::always(
                "a change ends when each strand has acknowledged or is declared dead",
                Self::a_change_ends,
            ),
        ]
    }
}
