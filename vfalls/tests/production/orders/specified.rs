//! The outcomes that [`Turns::step`] allows for two calls for a hub.

use std::collections::HashSet;

use perfctr_service::decisions::turns::{Answer, HubEvent, Turns};

use super::super::lists::{EWOULDBLOCK, GET, SET};
use super::{A, B, WRITTEN, strand};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Call {
    /// The call has not begun.
    Waits,
    Within,
    /// The call has returned this status, and the value that it read.
    Done(u64, u64),
}

/// The two calls, the hub's register, and the gate's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Outcome {
    pub(super) calls: [Call; 2],
    pub(super) device: u64,
    pub(super) turns: Turns,
}

/// The state of a hub and of the two calls, which changes as [`Turns::step`] determines.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Specified {
    pub(super) outcome: Outcome,
    pub(super) holder: Option<usize>,
    pub(super) marked: [bool; 2],
    /// For each strand, whether it was refused so recently that another refusal is not counted.
    pub(super) recent: [bool; 3],
}

impl Specified {
    pub(super) fn step(&mut self, event: HubEvent) -> Answer {
        let (turns, answer) = self.outcome.turns.step(event);
        self.outcome.turns = turns;
        answer
    }

    /// Returns `true` if another refusal of the strand does not change the gate's state.
    fn repeats(&self, number: usize) -> bool {
        let other = |turn| turn != strand(number);
        self.recent[number] && (self.holder.is_some() || self.outcome.turns.turn.is_some_and(other))
    }

    /// Lets a strand ask for the hub. Returns `true` if the strand gets the hub and begins its access.
    pub(super) fn asks(&mut self, number: usize) -> bool {
        if self.repeats(number) {
            return false;
        }
        let event = match self.holder {
            Some(_) => HubEvent::AsksTaken(strand(number)),
            None => HubEvent::AsksFree(strand(number)),
        };
        let served = self.step(event) == Answer::Served;
        if served {
            self.holder = Some(number);
        }
        self.recent[number] = !served;
        served
    }

    /// Adds to `all` the outcomes that are possible from this state. If `overlap` is `false`, call `first` returns before the other call
    /// begins.
    pub(super) fn outcomes(
        self,
        functions: [u64; 2],
        overlap: bool,
        first: usize,
        all: &mut HashSet<Self>,
    ) {
        if !all.insert(self) {
            return;
        }
        for number in [A, B] {
            let mut after = self;
            let call = &mut after.outcome.calls[number];
            match *call {
                Call::Done(..) => continue,
                _ if !overlap
                    && number != first
                    && !matches!(self.outcome.calls[first], Call::Done(..)) =>
                {
                    continue;
                }
                Call::Within => {
                    let read = match functions[number] {
                        GET => self.outcome.device,
                        _ => 0,
                    };
                    *call = Call::Done(0, read);
                    if functions[number] == SET {
                        after.outcome.device = WRITTEN;
                    }
                    after.holder = None;
                    // A slow-path call usually passes the turn on when it ends. Two kinds of calls do not: a call on the fast path, and a
                    // call that ends just as the other strand is remembered. Both outcomes are therefore possible.
                    let mut passed = after;
                    passed.step(HubEvent::Ended);
                    passed.outcomes(functions, overlap, first, all);
                }
                Call::Waits => {
                    after.outcome.calls[number] = match after.asks(number) {
                        true => Call::Within,
                        false => Call::Done(EWOULDBLOCK, 0),
                    };
                    if overlap {
                        let mut marked = self;
                        marked.step(HubEvent::AsksTaken(strand(number)));
                        let mut refused = marked;
                        refused.outcome.calls[number] = Call::Done(EWOULDBLOCK, 0);
                        refused.outcomes(functions, overlap, first, all);
                        if !std::mem::replace(&mut marked.marked[number], true) {
                            marked.outcomes(functions, overlap, first, all);
                        }
                    }
                }
            }
            after.outcomes(functions, overlap, first, all);
        }
    }
}
