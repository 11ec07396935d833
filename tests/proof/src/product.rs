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

use crate::explore::{Packed, Transition};
use crate::rights::world::{Activity, Call, Tenure, World};
use crate::rights::{Action, GuestAction, Interruption, Rights, Schedule, Symmetry};

/// Two copies of a machine. Guest 0 acts differently in the copies, and guest 1 observes.
#[derive(Clone, Copy, Debug)]
pub struct Product<const S: usize>(pub Rights<2, S>);

/// An action in both copies, or only in the copy with this index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyAction<A> {
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
    Foreign,
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
            Some(_) => Observed::Foreign,
        };
        let pcr = strand.pcr.map_or(Observed::Zero, Observed::Own);
        let if_allowed = |allowed, found| if allowed { found } else { Observed::Refused };
        match strand.doing {
            Activity::Guest => Some([
                if_allowed(held.global && !self.unit.out, unit),
                if_allowed(held.strand != StrandRight::None, pcr),
            ]),
            Activity::Call(Call::Unit(_)) => Some([unit, Observed::Refused]),
            Activity::Call(Call::Pcr(..)) => Some([Observed::Refused, pcr]),
            Activity::CrossCall(_) | Activity::Dead => None,
        }
    }

    /// Returns `true` if a strand of the other guest may take a cross-call. The strand's current call, if any, ends first.
    fn may_take_cross_call(&self, number: usize) -> bool {
        let strand = &self.strands[OTHER][number];
        strand.asked.is_asked() && matches!(strand.doing, Activity::Guest | Activity::Call(_))
    }

    fn act_in_both(&mut self, act: GuestAction) {
        if let GuestAction::TakesCrossCall(OTHER, number) = act
            && let Activity::Call(_) = self.strands[OTHER][number].doing
        {
            self.act(GuestAction::EndsCall(OTHER, number));
        }
        self.act(act);
    }
}

fn is_call_of_the_other(act: GuestAction) -> bool {
    matches!(act, GuestAction::Calls(OTHER, ..) | GuestAction::EndsCall(OTHER, _))
}

impl<const S: usize> Model for Product<S> {
    type State = [World<2, S>; 2];
    type Action = Transition<CopyAction<Action>, [World<2, S>; 2]>;

    fn init_states(&self) -> Vec<Self::State> {
        vec![[World::new(&self.0.configurations[0]); 2]]
    }

    fn actions(&self, copies: &Self::State, actions: &mut Vec<Self::Action>) {
        let mut both = |action, change: &dyn Fn(&mut World<2, S>)| {
            let mut state = *copies;
            state.iter_mut().for_each(change);
            let action = CopyAction::Both(action);
            actions.push(Transition { action, state });
        };
        copies[0].for_each_guest_action(&self.0, |act| {
            if !is_call_of_the_other(act) && !matches!(act, GuestAction::TakesCrossCall(OTHER, _)) {
                both(Action::Guest(act), &|world| world.act(act));
            }
        });
        for number in (0..S).filter(|number| copies[0].may_take_cross_call(*number)) {
            let act = GuestAction::TakesCrossCall(OTHER, number);
            both(Action::Guest(act), &|world| world.act_in_both(act));
        }
        if copies[0].unit.out {
            both(Action::UnitReturns, &World::unit_returns);
        }
        for (number, copy) in copies.iter().enumerate() {
            copy.for_each_guest_action(&self.0, |act| {
                if is_call_of_the_other(act) {
                    let (action, mut state) =
                        (CopyAction::One(number, Action::Guest(act)), *copies);
                    state[number].act(act);
                    actions.push(Transition { action, state });
                }
            });
        }
        copies[0].for_each_change(&self.0, |work, schedule| {
            let trails = [0, 1].map(|copy| copies[copy].trace_change(&self.0, work, schedule).1);
            let steps = trails[0].len().max(trails[1].len());
            for made in 1..=steps {
                let state = [0, 1].map(|copy| {
                    let trail = &trails[copy];
                    *trail.get(made - 1).or(trail.last()).unwrap_or(&copies[copy])
                });
                let interruption = match made {
                    made if made == steps => Interruption::None,
                    made => Interruption::Dies(made),
                };
                let action =
                    CopyAction::Both(Action::Change(work, Schedule { interruption, ..schedule }));
                actions.push(Transition { action, state });
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
        if self.0.alike != Symmetry::None {
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
        let [[a, b], [c, d]] = copies.map(|copy| copy.pack(Symmetry::None));
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
pub struct HandoverState {
    hubs: [Hub; 2],
    passed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HubAction {
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

    fn apply(&mut self, action: HubAction) {
        let event = match (action, self.in_flight) {
            (HubAction::Asks(strand), _) => self.event(strand),
            (HubAction::ChipBusy, Some(holder)) => HubEvent::ChipBusy(holder),
            (HubAction::Passes, _) => HubEvent::Reset,
            (HubAction::Ends | HubAction::ChipBusy, _) => HubEvent::Ended,
        };
        let (turns, answer) = self.turns.step(event);
        self.turns = turns;
        match action {
            HubAction::Asks(strand) if answer == Answer::Served => self.in_flight = Some(strand),
            HubAction::Asks(_) => {}
            _ => self.in_flight = None,
        }
    }

    fn actions(&self, strands: impl Iterator<Item = StrandId>) -> Vec<HubAction> {
        let asking = strands.filter(|strand| self.in_flight != Some(*strand));
        let mut actions: Vec<HubAction> = asking.map(HubAction::Asks).collect();
        if self.in_flight.is_some() {
            actions.extend([HubAction::Ends, HubAction::ChipBusy]);
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
    type State = HandoverState;
    type Action = CopyAction<HubAction>;

    fn init_states(&self) -> Vec<HandoverState> {
        let hubs = [Hub { turns: Turns::NEW, in_flight: None }; 2];
        vec![HandoverState { hubs, passed: false }]
    }

    fn actions(&self, state: &HandoverState, actions: &mut Vec<CopyAction<HubAction>>) {
        if state.passed {
            let both = state.hubs[0].actions(self.strands_of(OBSERVER));
            actions.extend(both.into_iter().map(CopyAction::Both));
            return;
        }
        for (number, hub) in state.hubs.iter().enumerate() {
            let of_one = hub.actions(self.strands_of(OTHER));
            actions.extend(of_one.into_iter().map(|action| CopyAction::One(number, action)));
        }
        // When every strand of the first guest has acknowledged, no access is in flight.
        if state.hubs.iter().all(|hub| hub.in_flight.is_none()) {
            actions.push(CopyAction::Both(HubAction::Passes));
        }
    }

    fn next_state(
        &self,
        state: &HandoverState,
        action: CopyAction<HubAction>,
    ) -> Option<HandoverState> {
        let mut state = *state;
        match action {
            CopyAction::Both(action) => {
                state.hubs.iter_mut().for_each(|hub| hub.apply(action));
                state.passed |= action == HubAction::Passes;
            }
            CopyAction::One(number, action) => state.hubs[number].apply(action),
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(
            "no refusal at a hub depends on what the guest that had it before has called",
            |model: &Self, state: &HandoverState| {
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
