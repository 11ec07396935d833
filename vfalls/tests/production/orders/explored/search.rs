//! The search through all orders of events.

use std::hash::{DefaultHasher, Hash, Hasher};

use simulator::execute::buffers::Target;

use super::super::specified::{Call, Outcome};
use super::super::{A, B, C, WRITTEN};
use super::{Allowed, CLOSED, Event, LOCK, Orders, RESERVED, SHUT, STATE, State, token};

/// The result of an exploration.
#[derive(Debug)]
pub(in super::super::super) struct Explored {
    pub(in super::super) orders: u128,
    pub(in super::super) states: usize,
    /// A wrong order, and what is wrong with it; `None` if all orders are right.
    pub(in super::super::super) wrong: Option<String>,
}

/// A state from which some orders have been explored.
struct PartlyExplored {
    key: [u64; 2],
    state: State,
    /// The events that have not been explored.
    events: std::vec::IntoIter<Event>,
    /// The number of orders that have been explored.
    orders: u128,
}

impl Orders {
    /// Explores all orders from the current state, in which both calls are about to begin.
    pub(in super::super) fn explore(&mut self, functions: [u64; 2], allowed: &Allowed) -> Explored {
        self.functions = functions;
        self.allowed.clone_from(allowed);
        self.known.clear();
        self.path.clear();
        (self.loaded, self.stored) = Default::default();
        self.begin(A, functions[A], WRITTEN);
        self.begin(B, functions[B], WRITTEN);
        let state = self.state([Call::Waits; 2], None);
        let (orders, wrong) = match self.explore_from(state) {
            Ok(orders) => (orders, None),
            Err(wrong) => (0, Some(format!("{wrong}, after {:?}", self.path))),
        };
        for (number, other) in [(A, B), (B, A)] {
            let stored = &self.stored[number];
            assert!(stored.is_disjoint(&self.loaded[other]), "strands share more than the arbiter");
            assert!(stored.is_disjoint(&self.stored[other]), "strands share more than the arbiter");
        }
        Explored { orders, states: self.known.len(), wrong }
    }

    /// Explores all orders from a state. Returns the number of orders. An order has too many events for a recursive search.
    fn explore_from(&mut self, state: State) -> Result<u128, String> {
        let mut begun = Vec::new();
        let mut found = self.explore_state(state, &mut begun)?;
        while let Some(partial) = begun.last_mut() {
            if let Some(orders) = found.take() {
                partial.orders += orders;
                self.path.pop();
            }
            if let Some(event) = partial.events.next() {
                self.path.push(event);
                let next = self.next(&partial.state, event)?;
                found = self.explore_state(next, &mut begun)?;
            } else {
                self.known.insert(partial.key, partial.orders);
                found = Some(partial.orders);
                begun.pop();
            }
        }
        Ok(found.unwrap_or(0))
    }

    /// Returns the number of orders from a state, if the state is known or nothing can happen in it. Otherwise, adds the state to `begun`.
    fn explore_state(
        &mut self,
        state: State,
        begun: &mut Vec<PartlyExplored>,
    ) -> Result<Option<u128>, String> {
        let key = state.key();
        if let Some(orders) = self.known.get(&key) {
            return Ok(Some(*orders));
        }
        self.enter(&state);
        let mut events = Vec::new();
        for number in [A, B] {
            if !matches!(state.calls[number], Call::Done(..)) && !self.is_blocked(number) {
                events.push(Event::Continues(number));
            }
            let buffer = &state.buffers[number];
            for (waiting, target) in
                [(&buffer.memory, Target::Memory), (&buffer.devices, Target::Device)]
            {
                if !waiting.is_empty() {
                    events.push(Event::Completes(number, target));
                }
            }
        }
        if events.is_empty() {
            self.end(&state)?;
            self.known.insert(key, 1);
            return Ok(Some(1));
        }
        begun.push(PartlyExplored { key, state, events: events.into_iter(), orders: 0 });
        Ok(None)
    }

    /// Checks a state in which both calls have returned and all stores are complete.
    fn end(&mut self, state: &State) -> Result<(), String> {
        let turns = self.turns();
        let holder = self.holder();
        let [word, closed, lock] = [STATE, CLOSED, LOCK].map(|at| self.arbiter_word(at));
        let open = turns.remembered.is_empty();
        // While the SHUT bit is set, the word at CLOSED is not 0. Only strand C may still hold the hub. A free hub is reserved for the
        // strand whose turn it is.
        let turn = turns.turn.map_or(0, |turn| (turn.index() as u32 + 1) << 1 | SHUT);
        let consistent = lock == 0
            && (closed == 0) == open
            && word & SHUT <= closed
            && [0, token(C)].contains(&holder)
            && (word & RESERVED == 0 || word & !RESERVED == turn);
        if !consistent {
            return Err(format!("the gate is left as {word:#x} {closed:#x} {lock} {turns:?}"));
        }
        let (calls, device) = (state.calls, state.device);
        let outcome = Outcome { calls, device, turns };
        if !self.allowed[&state.first].contains(&outcome) {
            return Err(format!("not allowed, first {:?}: {outcome:?}", state.first));
        }
        Ok(())
    }
}

impl State {
    /// Returns two hashes as a key. Two different states have the same key with a probability of
    /// 2^-128.
    fn key(&self) -> [u64; 2] {
        [0, 1].map(|salt| {
            let mut hasher = DefaultHasher::new();
            hasher.write_u8(salt);
            self.calls.hash(&mut hasher);
            for (strand, call) in self.strands.iter().zip(self.calls) {
                if call == Call::Within {
                    strand.hash(&mut hasher);
                }
            }
            (self.first, self.device, &self.buffers, &self.memory).hash(&mut hasher);
            hasher.finish()
        })
    }
}
