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
//! **Symmetry.** The strands of a guest are alike, and the guests are, where each can be granted what the others can: of all machines that
//! are alike, one is visited (`packed.rs` says why that is enough). The functions go through guests and strands in any order.
//!
//! **Properties.** See [`Rights::properties`](Model::properties): each has the sentence of the contract that it states.

mod owner;
mod packed;
mod properties;
pub(crate) mod world;

use hv_core::GuestId;
use perfctr_service::decisions::protocol::{Global, Ledger, Scrub, StrandEvent};
use perfctr_service::{Grant, StrandRight};
use stateright::{Model, Property};

use crate::explore::{Packed, To};
use owner::Owner;
pub use world::World;
use world::{Call, Doing, Tenure, held_by};

/// A machine with `G` guests, three at most, each with `S` strands, two at most.
#[derive(Clone, Copy, Debug)]
pub struct Rights<const G: usize, const S: usize> {
    /// What the operator grants: any of these, at any time. The machine begins with the first.
    pub configurations: &'static [[Grant; G]],
    /// Something may happen between any two steps of the operator's, and of a strand that does what is to be done.
    pub crossings: bool,
    /// Strands are asked to scrub what the protocol says. Otherwise they are only asked to acknowledge, and any acknowledgement may
    /// be one that does not count, as it is if more was asked since: whatever a machine does whose strands scrub, this one
    /// does. It has far fewer states, and serves where no guest has a right to strands.
    pub strands_scrub: bool,
    /// One is visited of all machines that are alike.
    pub alike: Alike,
}

/// Which machines are taken for alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alike {
    /// None.
    Nothing,
    /// Those that have the strands of a guest in another order.
    Strands,
    /// And those that have the guests in another order. Whatever one can be granted, each can.
    Guests,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A guest or a strand does something.
    Act(Act),
    /// The operator, or a strand, owns the lock.
    Works(Work, Steps),
    /// The operator returns the unit to service.
    UnitReturns,
}

/// What the owner of the lock does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The operator grants the guests this configuration, by its number.
    Configures(usize),
    /// A strand does what is to be done.
    Turns(Scrubbing),
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
    /// The strand acknowledges, and has been asked for more meanwhile.
    AcknowledgesInVain(usize, usize),
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
    /// The order of the guests.
    pub guests: [usize; 3],
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

/// The orders of one guest, of two and of three: each begins with those of fewer.
const ORDERS: [[usize; 3]; 6] = [
    [0, 1, 2],
    [1, 0, 2],
    [0, 2, 1],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];

impl Steps {
    const ALL: Self = Self {
        guests: ORDERS[0],
        reversed: false,
        crossing: Crossing::Nothing,
    };
}

/// Returns the number of a guest.
fn guest(number: usize) -> GuestId {
    GuestId::new(number).expect("a machine has it")
}

impl<const G: usize, const S: usize> World<G, S> {
    /// The owner of the lock does this. Adds the worlds after each of its steps to `trail`.
    pub(crate) fn works(
        &mut self,
        model: &Rights<G, S>,
        work: Work,
        how: Steps,
        trail: Option<&mut Vec<Self>>,
    ) {
        let mut owner = Owner::new(self, how, model.strands_scrub, trail);
        match work {
            Work::Configures(number) => {
                let grants = &model.configurations[number];
                owner.configure(|guest| grants[guest.index()], |_, _| ());
            }
            Work::Turns(scrubbing) => {
                owner.turn(|owner, loser| owner.scrub(loser, scrubbing), |_, _| ());
            }
        }
    }

    /// The operator returns the unit to service.
    pub(crate) fn unit_returns(&mut self) {
        // While `global` is revoked from a guest, the unit is scrubbed before the next one has it.
        if self.unit.unclean && !matches!(self.global, Global::Revoked(_)) {
            (self.unit.written, self.unit.unclean) = (None, false);
        }
        self.unit.out = false;
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
            Act::AcknowledgesInVain(guest, strand) => {
                self.strands[guest][strand].doing = Doing::Guest;
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

    /// Calls `each` with what guests and strands can do.
    pub(crate) fn acts(&self, model: &Rights<G, S>, mut each: impl FnMut(Act)) {
        for (guest, strands) in self.strands.iter().enumerate() {
            let held = self.guests[guest].held;
            each(Act::Resets(guest));
            for (number, strand) in strands.iter().enumerate() {
                match strand.doing {
                    Doing::Dead => {
                        each(Act::ComesBack(guest, number));
                        continue;
                    }
                    Doing::Call(_) => each(Act::EndsCall(guest, number)),
                    Doing::CrossCall(_) => {
                        each(Act::Acknowledges(guest, number));
                        if !model.strands_scrub {
                            each(Act::AcknowledgesInVain(guest, number));
                        }
                    }
                    Doing::Guest => {
                        let may = [
                            (Register::OfUnit, held.global && !self.unit.out),
                            (Register::Pcr, held.strand != StrandRight::None),
                            (Register::PcrWithHt, held.strand == StrandRight::HtStrand),
                        ];
                        for (register, _) in may.into_iter().filter(|(_, may)| *may) {
                            each(Act::Calls(guest, number, register));
                        }
                        if strand.asked.is_asked() {
                            each(Act::TakesCrossCall(guest, number));
                        }
                    }
                }
                each(Act::IsDeclaredDead(guest, number));
            }
        }
        if !self.unit.out && held_by(&self.guests, |held| held.global).next().is_some() {
            each(Act::UnitFaults);
        }
    }

    /// Returns `true` if the owner of the lock does nothing to this guest at this work, whatever comes of the others.
    fn is_idle(&self, model: &Rights<G, S>, work: Work, number: usize) -> bool {
        let own = self.guests[number];
        let starts = self.reset[number] || self.resetting == Some(guest(number));
        let mut strands = self.strands[number].iter();
        !starts
            && match work {
                Work::Configures(to) => own.granted == model.configurations[to][number],
                Work::Turns(_) => {
                    strands.any(|strand| strand.asked.is_awaited())
                        || own.held == own.granted && !own.granted.global && !own.starting
                }
            }
    }

    /// Calls `each` with what an owner of the lock can do, and the orders in which it can do it, as far as they make a difference.
    pub(crate) fn each_work(&self, model: &Rights<G, S>, mut each: impl FnMut(Work, Steps)) {
        // If nothing is scrubbed, it does not matter how that comes out.
        let scrubs = matches!(self.global, Global::Listed(_) | Global::Revoked(_))
            || self.reset.contains(&true)
            || self.resetting.is_some();
        let scrubbing = [
            Scrubbing::Succeeds,
            Scrubbing::Busy,
            Scrubbing::Faults,
            Scrubbing::Elsewhere,
        ];
        let turns = scrubbing.into_iter().take(if scrubs { 4 } else { 1 });
        let configures = (0..model.configurations.len()).map(Work::Configures);
        for work in configures.chain(turns.map(Work::Turns)) {
            let mut idle = [true; 3];
            let mut strands_differ = false;
            for (number, strands) in self.strands.iter().enumerate() {
                // What crosses its steps can give the owner more to do.
                idle[number] = !model.crossings && self.is_idle(model, work, number);
                let asked = !idle[number] || self.global.user() == Some(guest(number));
                strands_differ |= asked && strands.iter().any(|strand| *strand != strands[0]);
            }
            // Idle guests come last, in order.
            let matters = |order: &&[usize; 3]| {
                let pairs = [(0, 1), (1, 2), (0, 2)];
                pairs.iter().all(|(one, next)| {
                    let (one, next) = (order[*one], order[*next]);
                    !idle[one] || idle[next] && one < next
                })
            };
            for guests in ORDERS.iter().filter(matters) {
                for reversed in [false, true]
                    .into_iter()
                    .take(1 + usize::from(strands_differ))
                {
                    let crossing = Crossing::Nothing;
                    let guests = *guests;
                    each(
                        work,
                        Steps {
                            guests,
                            reversed,
                            crossing,
                        },
                    );
                }
            }
        }
    }
}

impl<const G: usize, const S: usize> Rights<G, S> {
    /// Returns what an owner of the lock makes of a world, in this way. Adds the worlds after each of its steps to `trail`.
    fn work(
        &self,
        world: &World<G, S>,
        work: Work,
        how: Steps,
        trail: Option<&mut Vec<World<G, S>>>,
    ) -> To<Action, World<G, S>> {
        let (action, mut state) = (Action::Works(work, how), *world);
        state.works(self, work, how, trail);
        To { action, state }
    }
}

impl<const G: usize, const S: usize> Model for Rights<G, S> {
    type State = World<G, S>;
    type Action = To<Action, World<G, S>>;

    fn init_states(&self) -> Vec<World<G, S>> {
        vec![World::new(&self.configurations[0])]
    }

    fn actions(&self, world: &World<G, S>, actions: &mut Vec<Self::Action>) {
        world.acts(self, |act| {
            let (action, mut state) = (Action::Act(act), *world);
            state.act(act);
            actions.push(To { action, state });
        });
        if world.unit.out {
            let (action, mut state) = (Action::UnitReturns, *world);
            state.unit_returns();
            actions.push(To { action, state });
        }
        let mut trail = vec![];
        world.each_work(self, |work, how| {
            trail.clear();
            actions.push(self.work(world, work, how, Some(&mut trail)));
            for made in 0..trail.len() {
                let with = |crossing| Steps { crossing, ..how };
                let before = if made == 0 { *world } else { trail[made - 1] };
                if made > 0 {
                    let (action, state) = (Action::Works(work, with(Crossing::Dies(made))), before);
                    actions.push(To { action, state });
                }
                if self.crossings {
                    before.acts(self, |act| {
                        let crossed = with(Crossing::Meets(made, act));
                        actions.push(self.work(world, work, crossed, None));
                    });
                }
            }
        });
    }

    fn next_state(&self, _: &World<G, S>, to: Self::Action) -> Option<World<G, S>> {
        Some(to.state)
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

impl<const G: usize, const S: usize> Packed<2> for Rights<G, S> {
    fn pack(&self, world: &World<G, S>) -> [u64; 2] {
        world.pack(self.alike)
    }

    fn unpack(&self, words: [u64; 2]) -> World<G, S> {
        World::unpack(words)
    }
}
