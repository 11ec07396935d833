//! Checks non-interference on two copies of a machine. One guest acts differently in the two copies, and the other guest must observe the
//! same results in both.
//!
//! **What differs.** In [`Product`], guest 0's calls differ: when they begin and end, and what they write. In [`Handover`], the previous
//! holder of `global` asks for a hub at different times.
//!
//! **What is the same.** Faults, deaths, resets, the operator's steps, and the time at which a strand takes a cross-call do not depend on
//! guest 0, so they are the same in both copies. (A strand's call ends before it takes the cross-call.)
//!
//! **What is observed.** In each state, guest 1 observes the status and value that each of its calls would return if the call ended in this
//! state. A call for a hub ends with EWOULDBLOCK only if another strand of the same guest has the hub or the turn, because no other guest
//! can ask for the hub.

use guest_abi::StrandId;
use perfctr_service::StrandRight;
use perfctr_service::decisions::turns::{Answer, HubEvent, Turns};
use stateright::{Model, Property};

use crate::explore::{Packed, To};
use crate::rights::world::{Call, Doing, Tenure, World};
use crate::rights::{Act, Action, Alike, Crossing, Rights, Steps};

/// Two copies of a machine. Guest 0 acts differently in the copies, and guest 1 observes.
#[derive(Clone, Copy, Debug)]
pub struct Product<const S: usize>(pub Rights<2, S>);

/// An action in both copies, or only in the copy with this index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum In<A> {
    Both(A),
    One(usize, A),
}

/// What a call for a register returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Observed {
    Refused,
    /// The status is EOK, and the value is 0.
    Zero,
    /// The status is EOK, and the guest itself wrote the value.
    Own(Tenure),
    /// The status is EOK, and the other guest wrote the value.
    OfTheOther,
}

const OTHER: usize = 0;
const OBSERVER: usize = 1;

impl<const S: usize> World<2, S> {
    /// Returns the observer's results: what one of its strands gets from calls for the unit and for %pcr. `None` if the strand cannot make
    /// a call.
    fn observed(&self, number: usize) -> Option<[Observed; 2]> {
        let strand = &self.strands[OBSERVER][number];
        let held = self.guests[OBSERVER].held;
        let unit = match self.unit.written {
            None => Observed::Zero,
            Some((OBSERVER, tenure)) => Observed::Own(tenure),
            Some(_) => Observed::OfTheOther,
        };
        let pcr = strand.pcr.map_or(Observed::Zero, Observed::Own);
        let if_allowed = |allowed, found| if allowed { found } else { Observed::Refused };
        match strand.doing {
            Doing::Guest => Some([
                if_allowed(held.global && !self.unit.out, unit),
                if_allowed(held.strand != StrandRight::None, pcr),
            ]),
            Doing::Call(Call::OfUnit(_)) => Some([unit, Observed::Refused]),
            Doing::Call(Call::Pcr(..)) => Some([Observed::Refused, pcr]),
            Doing::CrossCall(_) | Doing::Dead => None,
        }
    }

    /// Returns `true` if a strand of the other guest may take a cross-call. The strand's current call, if any, ends first.
    fn may_take_cross_call(&self, number: usize) -> bool {
        let strand = &self.strands[OTHER][number];
        strand.asked.is_asked() && matches!(strand.doing, Doing::Guest | Doing::Call(_))
    }

    fn act_in_both(&mut self, act: Act) {
        if let Act::TakesCrossCall(OTHER, number) = act
            && let Doing::Call(_) = self.strands[OTHER][number].doing
        {
            self.act(Act::EndsCall(OTHER, number));
        }
        self.act(act);
    }
}

fn is_call_of_the_other(act: Act) -> bool {
    matches!(act, Act::Calls(OTHER, ..) | Act::EndsCall(OTHER, _))
}

impl<const S: usize> Model for Product<S> {
    type State = [World<2, S>; 2];
    type Action = To<In<Action>, [World<2, S>; 2]>;

    fn init_states(&self) -> Vec<Self::State> {
        vec![[World::new(&self.0.configurations[0]); 2]]
    }

    fn actions(&self, copies: &Self::State, actions: &mut Vec<Self::Action>) {
        let mut both = |action, change: &dyn Fn(&mut World<2, S>)| {
            let mut state = *copies;
            state.iter_mut().for_each(change);
            let action = In::Both(action);
            actions.push(To { action, state });
        };
        copies[0].acts(&self.0, |act| {
            if !is_call_of_the_other(act) && !matches!(act, Act::TakesCrossCall(OTHER, _)) {
                both(Action::Act(act), &|world| world.act(act));
            }
        });
        for number in (0..S).filter(|number| copies[0].may_take_cross_call(*number)) {
            let act = Act::TakesCrossCall(OTHER, number);
            both(Action::Act(act), &|world| world.act_in_both(act));
        }
        if copies[0].unit.out {
            both(Action::UnitReturns, &World::unit_returns);
        }
        for (number, copy) in copies.iter().enumerate() {
            copy.acts(&self.0, |act| {
                if is_call_of_the_other(act) {
                    let (action, mut state) = (In::One(number, Action::Act(act)), *copies);
                    state[number].act(act);
                    actions.push(To { action, state });
                }
            });
        }
        copies[0].each_work(&self.0, |work, how| {
            let trails = [0, 1].map(|copy| copies[copy].worlds(&self.0, work, how).1);
            let steps = trails[0].len().max(trails[1].len());
            for made in 1..=steps {
                let state = [0, 1].map(|copy| {
                    let trail = &trails[copy];
                    *trail.get(made - 1).or(trail.last()).unwrap_or(&copies[copy])
                });
                let crossing = match made {
                    made if made == steps => Crossing::Nothing,
                    made => Crossing::Dies(made),
                };
                let action = In::Both(Action::Works(work, Steps { crossing, ..how }));
                actions.push(To { action, state });
            }
        });
    }

    fn next_state(&self, _: &Self::State, to: Self::Action) -> Option<Self::State> {
        Some(to.state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(
                "no status and no value depends on what the other guest has called or written",
                |_, [first, second]: &Self::State| {
                    (0..S).all(|number| first.observed(number) == second.observed(number))
                },
            ),
            Property::always(
                "no right depends on what the other guest has called or written",
                |_, [first, second]: &Self::State| first.guests == second.guests,
            ),
        ]
    }
}

impl<const S: usize> Packed<4> for Product<S> {
    /// Sorts a guest's strands in both copies together, so that a strand has the same index in both.
    fn pack(&self, copies: &Self::State) -> [u64; 4] {
        let mut copies = *copies;
        if self.0.alike != Alike::Nothing {
            let [first, second] = &mut copies;
            for (first, second) in first.strands.iter_mut().zip(&mut second.strands) {
                let mut number = 0;
                let mut both = first.map(|strand| {
                    number += 1;
                    (strand, second[number - 1])
                });
                both.sort_unstable_by_key(|(first, second)| (first.bits(), second.bits()));
                (*first, *second) = (both.map(|(first, _)| first), both.map(|(_, second)| second));
            }
        }
        let [[a, b], [c, d]] = copies.map(|copy| copy.pack(Alike::Nothing));
        [a, b, c, d]
    }

    fn unpack(&self, [a, b, c, d]: [u64; 4]) -> Self::State {
        [[a, b], [c, d]].map(World::unpack)
    }
}

/// A hub passes from one guest to another. In the two copies, the strands of the first guest ask for the hub at different times.
#[derive(Clone, Copy, Debug)]
pub struct Handover {
    /// The number of strands that each guest has.
    pub strands: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Hub {
    turns: Turns,
    in_flight: Option<StrandId>,
}

/// The hub, and whether the second guest has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HandedOver {
    hubs: [Hub; 2],
    passed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtHub {
    Asks(StrandId),
    Ends,
    ChipBusy,
    /// The hub is scrubbed and passes to the second guest.
    Passes,
}

impl Hub {
    fn event(&self, asks: StrandId) -> HubEvent {
        match self.in_flight {
            Some(_) => HubEvent::AsksTaken(asks),
            None => HubEvent::AsksFree(asks),
        }
    }

    fn happens(&mut self, action: AtHub) {
        let event = match (action, self.in_flight) {
            (AtHub::Asks(strand), _) => self.event(strand),
            (AtHub::ChipBusy, Some(holder)) => HubEvent::ChipBusy(holder),
            (AtHub::Passes, _) => HubEvent::Renewed,
            (AtHub::Ends | AtHub::ChipBusy, _) => HubEvent::Ended,
        };
        let (turns, answer) = self.turns.step(event);
        self.turns = turns;
        match action {
            AtHub::Asks(strand) if answer == Answer::Served => self.in_flight = Some(strand),
            AtHub::Asks(_) => {}
            _ => self.in_flight = None,
        }
    }

    fn actions(&self, strands: impl Iterator<Item = StrandId>) -> Vec<AtHub> {
        let asking = strands.filter(|strand| self.in_flight != Some(*strand));
        let mut actions: Vec<AtHub> = asking.map(AtHub::Asks).collect();
        if self.in_flight.is_some() {
            actions.extend([AtHub::Ends, AtHub::ChipBusy]);
        }
        actions
    }
}

impl Handover {
    /// Returns the strands of a guest. The strands of the two guests alternate.
    fn strands_of(&self, guest: usize) -> impl Iterator<Item = StrandId> {
        (0..self.strands).filter_map(move |strand| StrandId::new(60 + 2 * strand + guest))
    }
}

impl Model for Handover {
    type State = HandedOver;
    type Action = In<AtHub>;

    fn init_states(&self) -> Vec<HandedOver> {
        let hubs = [Hub { turns: Turns::NEW, in_flight: None }; 2];
        vec![HandedOver { hubs, passed: false }]
    }

    fn actions(&self, state: &HandedOver, actions: &mut Vec<In<AtHub>>) {
        if state.passed {
            let both = state.hubs[0].actions(self.strands_of(OBSERVER));
            actions.extend(both.into_iter().map(In::Both));
            return;
        }
        for (number, hub) in state.hubs.iter().enumerate() {
            let of_one = hub.actions(self.strands_of(OTHER));
            actions.extend(of_one.into_iter().map(|action| In::One(number, action)));
        }
        // When every strand of the first guest has acknowledged, no access is in flight.
        if state.hubs.iter().all(|hub| hub.in_flight.is_none()) {
            actions.push(In::Both(AtHub::Passes));
        }
    }

    fn next_state(&self, state: &HandedOver, action: In<AtHub>) -> Option<HandedOver> {
        let mut state = *state;
        match action {
            In::Both(action) => {
                state.hubs.iter_mut().for_each(|hub| hub.happens(action));
                state.passed |= action == AtHub::Passes;
            }
            In::One(number, action) => state.hubs[number].happens(action),
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(
            "no refusal at a hub depends on what the guest that had it before has called",
            |model: &Self, state: &HandedOver| {
                let [first, second] = state.hubs;
                let answer = |hub: &Hub, asks| hub.turns.step(hub.event(asks)).1;
                !state.passed
                    || first.in_flight == second.in_flight
                        && model
                            .strands_of(OBSERVER)
                            .all(|asks| answer(&first, asks) == answer(&second, asks))
            },
        )]
    }
}
