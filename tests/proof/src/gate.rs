//! Models a hub's gate. The gate determines which strands are served, which are refused, and how often.
//!
//! **State.** The [`Turns`], and the strand whose access is in flight. The shipped function computes each next state of the turns. The
//! turns remember refused strands until these are served or forgotten.
//!
//! **Actions.** Any strand takes any [`Action`] at any time. A strand that has stopped or died takes no further action, even during its
//! access. A strand that comes back asks again. An access that faults ends. No strand asks while the hub is out of service.
//!
//! **Symmetry.** The function depends only on the cyclic order of strands. It is therefore enough to watch strand 0, as long as any strand
//! may have had the last turn before the first step. The model's strands lie on both sides of word boundaries.

use guest_abi::StrandId;
use perfctr_service::decisions::turns::{Answer, HubEvent, Turns};
use stateright::{Model, Property};

#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// The number N of strands, which is at least 2.
    pub strands: u8,
    pub bound: Bound,
}

/// The bound that a model checks for strand 0. Two models, one for each bound, are smaller than one model for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// How many accesses by other strands are served while strand 0 keeps asking: at most b.
    Wait,
    /// How often other strands are refused in strand 0's turn after strand 0 has stopped asking: at most r.
    Absence,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    turns: Turns,
    in_flight: Option<u8>,
    history: History,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum History {
    /// The history since strand 0 was refused; `None` if it was not refused or does not keep asking.
    Wait(Option<Wait>),
    /// The number of times that other strands were refused in strand 0's turn since strand 0's last action at the hub.
    Absence(u32),
}

/// The history since a strand was refused. The strand "keeps asking", that is, it always asks again before other strands have asked r
/// times, where r is twice the number of remembered strands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Wait {
    accesses: u32,
    /// Whether another strand's access is in flight.
    in_flight: bool,
    /// The number of requests by other strands since the strand last asked.
    asks: u32,
    /// The smallest number of strands that were remembered since the strand last asked. The bound r is twice this number.
    min_remembered: u32,
}

/// An action of a strand or the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Asks(u8),
    /// The strand asks but cannot enter the gate, because another strand is inside or has died there.
    CannotEnter(u8),
    Ends,
    /// The access in flight ends without passing the turn on, because its strand does not see that another strand is remembered. Either the
    /// access was on the fast path, or the other strand was refused just then.
    EndsUnseen,
    /// The access in flight does not happen, because the chip is busy.
    ChipBusy,
    /// The strand is declared dead. It may have an access in flight.
    IsDeclaredDead(u8),
    /// The hub is scrubbed for another guest. No strand can ask during the scrub.
    Renewed,
}

impl Gate {
    /// Returns the machine's strand for one of the model's strand numbers. The model's strands are spread over the machine.
    fn strand(&self, number: u8) -> StrandId {
        let last = StrandId::COUNT - 1;
        let number = usize::from(number) * last / usize::from(self.strands - 1);
        StrandId::new(number).expect("a machine has it")
    }

    fn ask(&self, state: &State, strand: u8) -> HubEvent {
        match state.in_flight {
            Some(_) => HubEvent::AsksTaken(self.strand(strand)),
            None => HubEvent::AsksFree(self.strand(strand)),
        }
    }

    /// Returns the strands that can ask, the turns after each request, and the answers.
    fn asks(&self, state: &State) -> impl Iterator<Item = (u8, Turns, Answer)> {
        let asking = (0..self.strands).filter(|strand| state.in_flight != Some(*strand));
        asking.map(|strand| {
            let (after, answer) = state.turns.step(self.ask(state, strand));
            (strand, after, answer)
        })
    }

    /// Only one access is in flight at a time. Meanwhile every strand that asks is refused.
    fn one_access_in_flight(&self, state: &State) -> bool {
        state.in_flight.is_none() || self.asks(state).all(|(.., answer)| answer == Answer::Refused)
    }

    fn the_refused_are_remembered(&self, state: &State) -> bool {
        self.asks(state).all(|(asks, after, answer)| {
            answer == Answer::Served || after.remembered.contains(self.strand(asks))
        })
    }

    fn refused_on_behalf_of_another(&self, state: &State) -> bool {
        state.in_flight.is_some()
            || self.asks(state).all(|(asks, after, answer)| {
                let another =
                    |turn| turn != self.strand(asks) && state.turns.remembered.contains(turn);
                answer == Answer::Served || after.turn.is_some_and(another)
            })
    }

    /// Let r be 2w while w strands are remembered. A strand that always asks again before other strands have asked r times is served after
    /// at most b = N - 1 accesses of other strands.
    fn served_after_b_accesses(&self, state: &State) -> bool {
        match state.history {
            History::Wait(Some(wait)) => wait.accesses < u32::from(self.strands),
            _ => true,
        }
    }

    /// If a strand does not come back, other strands are refused in its turn at most r = 2N times in total.
    fn the_absent_cost_r_refusals(&self, state: &State) -> bool {
        match state.history {
            History::Absence(refusals) => refusals <= 2 * u32::from(self.strands),
            History::Wait(_) => true,
        }
    }

    fn the_dead_are_forgotten(&self, state: &State) -> bool {
        (0..self.strands).map(|number| self.strand(number)).all(|dead| {
            let (after, _) = state.turns.step(HubEvent::Died(dead));
            !after.remembered.contains(dead) && after.turn != Some(dead)
        })
    }

    /// If a strand's access does not happen because the chip is busy, this strand keeps its turn. No other strand is served until this
    /// strand asks again, or loses the turn because the others were refused too often.
    fn a_busy_chip_keeps_the_turn(&self, state: &State) -> bool {
        let Some(holder) = state.in_flight.map(|holder| self.strand(holder)) else {
            return true;
        };
        let (after, _) = state.turns.step(HubEvent::ChipBusy(holder));
        after.turn == Some(holder)
            && after.refusals == 0
            && after.step(HubEvent::AsksFree(holder)).1 == Answer::Served
    }

    /// If only one strand still asks, it is refused at most 2w times in each remembered strand's turn. Here w is the number of strands that
    /// are remembered at that time. After these turns, the strand is always served.
    fn who_is_alone_is_served(&self, state: &State) -> bool {
        (0..self.strands).map(|number| self.strand(number)).all(|alone| {
            let mut turns = state.turns;
            turns.remembered.insert(alone);
            let remembered = turns.remembered.len() as u32;
            // The sum of 2w for w from 2 to the number of remembered strands.
            let most = remembered * (remembered + 1) - 2;
            let mut refused = 0;
            // Between two refusals, the strand is served at most once.
            for _ in 0..=2 * most + 2 {
                let (after, answer) = turns.step(HubEvent::AsksFree(alone));
                turns = after;
                refused += u32::from(answer == Answer::Refused);
            }
            refused <= most && turns.remembered.is_empty()
        })
    }

    fn watch(&self, before: &State, action: Action, after: &Turns, answer: Answer) -> History {
        match before.history {
            History::Wait(wait) => History::Wait(self.wait(before, wait, action, after, answer)),
            History::Absence(refusals) => History::Absence(match action {
                Action::Asks(0) | Action::CannotEnter(0) => 0,
                Action::ChipBusy if before.in_flight == Some(0) => 0,
                Action::Asks(_) if before.in_flight.is_none() && answer == Answer::Refused => {
                    refusals + u32::from(after.turn == Some(self.strand(0)))
                }
                _ => refusals,
            }),
        }
    }

    /// Returns the history after an action. A request that cannot enter the gate does not change the history, no matter which strand makes
    /// the request.
    fn wait(
        &self,
        before: &State,
        wait: Option<Wait>,
        action: Action,
        after: &Turns,
        answer: Answer,
    ) -> Option<Wait> {
        let served = answer == Answer::Served;
        // w is at least 2: the refused strand and the strand that has the turn. If the refused strand is not remembered, its next request
        // is refused too.
        let w = (after.remembered.len() as u32).max(2);
        let refused = Wait { accesses: 0, in_flight: false, asks: 0, min_remembered: w };
        match (action, wait) {
            (Action::IsDeclaredDead(0) | Action::Renewed, _) => None,
            (Action::Asks(0), _) if served => None,
            (Action::Asks(0), None) => Some(refused),
            (Action::ChipBusy, _) if before.in_flight == Some(0) => Some(refused),
            (_, None) => None,
            (Action::Asks(0), Some(wait)) => Some(Wait { asks: 0, min_remembered: w, ..wait }),
            (Action::Asks(_), Some(mut wait)) => {
                wait.asks += 1;
                wait.min_remembered = wait.min_remembered.min(w);
                wait.accesses += u32::from(served);
                wait.in_flight |= served;
                (wait.asks <= 2 * wait.min_remembered).then_some(wait)
            }
            // The access is not counted, because it did not happen.
            (Action::ChipBusy, Some(wait)) => Some(Wait {
                accesses: wait.accesses - u32::from(wait.in_flight),
                in_flight: false,
                ..wait
            }),
            (Action::Ends | Action::EndsUnseen, Some(wait)) => {
                Some(Wait { in_flight: false, ..wait })
            }
            (Action::IsDeclaredDead(dead), Some(wait)) => {
                Some(Wait { in_flight: wait.in_flight && before.in_flight != Some(dead), ..wait })
            }
            (Action::CannotEnter(_), wait) => wait,
        }
    }
}

impl Model for Gate {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let history = match self.bound {
            Bound::Wait => History::Wait(None),
            Bound::Absence => History::Absence(0),
        };
        let first = |last| State {
            turns: Turns { last: self.strand(last).index() as u32, ..Turns::NEW },
            in_flight: None,
            history,
        };
        (0..self.strands).map(first).collect()
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for strand in 0..self.strands {
            if state.in_flight != Some(strand) {
                actions.extend([Action::Asks(strand), Action::CannotEnter(strand)]);
            }
            actions.push(Action::IsDeclaredDead(strand));
        }
        actions.extend(match state.in_flight {
            Some(_) => [Action::Ends, Action::EndsUnseen, Action::ChipBusy].as_slice(),
            None => &[Action::Renewed],
        });
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let event = match action {
            Action::Asks(strand) => Some(self.ask(state, strand)),
            // A strand that cannot enter the gate is still remembered as refused.
            Action::CannotEnter(strand) => Some(HubEvent::AsksTaken(self.strand(strand))),
            Action::Ends => Some(HubEvent::Ended),
            Action::EndsUnseen => None,
            Action::ChipBusy => Some(HubEvent::ChipBusy(self.strand(state.in_flight?))),
            Action::IsDeclaredDead(dead) => Some(HubEvent::Died(self.strand(dead))),
            Action::Renewed => Some(HubEvent::Reset),
        };
        let unchanged = (state.turns, Answer::Refused);
        let (turns, answer) = event.map_or(unchanged, |event| state.turns.step(event));
        let in_flight = match action {
            Action::Asks(strand) if answer == Answer::Served => Some(strand),
            Action::Ends | Action::EndsUnseen | Action::ChipBusy => None,
            Action::IsDeclaredDead(dead) => state.in_flight.filter(|holder| *holder != dead),
            _ => state.in_flight,
        };
        let history = self.watch(state, action, &turns, answer);
        Some(State { turns, in_flight, history })
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("one access is in flight", Self::one_access_in_flight),
            Property::always("a refused strand is remembered", Self::the_refused_are_remembered),
            Property::always(
                "at a free hub a strand is refused only on behalf of another that is remembered",
                Self::refused_on_behalf_of_another,
            ),
            Property::always(
                "a strand that keeps asking is served after at most N - 1 accesses of others",
                Self::served_after_b_accesses,
            ),
            Property::always(
                "a strand that has gone costs the others at most r refusals, once",
                Self::the_absent_cost_r_refusals,
            ),
            Property::always(
                "a strand that is declared dead is forgotten",
                Self::the_dead_are_forgotten,
            ),
            Property::always(
                "a strand that found the chip busy keeps its turn",
                Self::a_busy_chip_keeps_the_turn,
            ),
            Property::always(
                "a strand that is alone is refused r times for each that has gone, and then served",
                Self::who_is_alone_is_served,
            ),
        ]
    }
}
