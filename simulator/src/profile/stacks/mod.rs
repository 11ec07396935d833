//! Call stacks. A recording has none: they are rebuilt from how its instructions pass control on.
//!
//! A stack is a list of calls that are under way, the outermost first. A call that is under way already does not become part of it
//! once more: so recursion has as many stacks as there are orders in which it enters its calls first, and each call is
//! in a stack at most once.

#[cfg(test)]
mod tests;
mod unwinder;

use std::collections::HashMap;

use super::rows::Functions;
pub(super) use unwinder::Unwinder;

/// A call: where from, and where to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    /// The address of the instruction that calls, or that a signal interrupted.
    pub site: u64,
    /// The address where the callee, or the handler of the signal, begins.
    pub entry: u64,
}

/// A stack among [`Stacks`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(u32);

/// An instruction, and the stack on which it executes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// The stack.
    pub stack: StackId,
    /// The address of the instruction.
    pub address: u64,
}

/// So many stacks are told apart. Beyond that, a call is not part of the stack.
const MOST_STACKS: usize = 1 << 20;

/// All stacks that occur.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// What each stack but the empty one adds to which other.
    added: Vec<(StackId, Call)>,
    known: HashMap<(StackId, Call), StackId>,
    counts: HashMap<Call, u64>,
}

impl Stacks {
    /// The stack without a call.
    pub const EMPTY: StackId = StackId(0);

    /// Returns the calls of a stack, the outermost first.
    #[must_use]
    pub fn calls(&self, stack: StackId) -> Vec<Call> {
        let mut calls: Vec<Call> = self.inward(stack).collect();
        calls.reverse();
        calls
    }

    /// Returns the calls of a stack, the innermost first.
    fn inward(&self, mut stack: StackId) -> impl Iterator<Item = Call> {
        std::iter::from_fn(move || {
            let (below, call) = self.added[stack.0.checked_sub(1)? as usize];
            stack = below;
            Some(call)
        })
    }

    /// Returns how often each call happened.
    #[must_use]
    pub fn counts(&self) -> &HashMap<Call, u64> {
        &self.counts
    }

    /// Returns the addresses that a stack shows for an instruction, the outermost first: where each function is that is under way,
    /// and at last the instruction. A function that has passed control on for good (a tail call) is under way
    /// still, at its beginning.
    #[must_use]
    pub fn addresses(&self, point: Point, symbols: Option<&dyn Functions>) -> Vec<u64> {
        let calls = self.calls(point.stack);
        let inner = calls.iter().skip(1).map(|call| call.site);
        let mut addresses: Vec<u64> = calls.iter().take(1).map(|call| call.site).collect();
        let function = |address| Some(symbols?.function(address)?.0);
        for (call, next) in calls.iter().zip(inner.chain([point.address])) {
            let entered = function(call.entry);
            let is_left = entered.is_some() && entered != function(next);
            addresses.extend(is_left.then_some(call.entry));
            addresses.push(next);
        }
        if calls.is_empty() {
            addresses.push(point.address);
        }
        addresses
    }

    /// Returns a stack with one more call.
    fn with(&mut self, stack: StackId, call: Call) -> StackId {
        *self.counts.entry(call).or_default() += 1;
        if let Some(known) = self.known.get(&(stack, call)) {
            return *known;
        }
        if self.known.len() == MOST_STACKS {
            return stack;
        }
        let is_under_way = self.inward(stack).any(|other| other == call);
        let with = match is_under_way {
            true => stack,
            false => {
                self.added.push((stack, call));
                StackId(self.added.len() as u32)
            }
        };
        self.known.insert((stack, call), with);
        with
    }

    /// A call turns out to be another one.
    fn uncount(&mut self, call: Call) {
        if let Some(count) = self.counts.get_mut(&call) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&call);
            }
        }
    }
}
