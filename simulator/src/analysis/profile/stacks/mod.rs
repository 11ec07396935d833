//! Call stacks. A recording does not contain them, so they are reconstructed from calls, returns and other transfers of
//! control.
//!
//! A stack is a list of active calls, outermost first. It contains each call at most once: a call that is already
//! active is not added again. So even deep recursion has only a few stacks.

#[cfg(test)]
mod tests;
mod unwinder;

use std::collections::HashMap;

use super::functions::Functions;
pub(super) use unwinder::Unwinder;

/// A call to one function from one place in the program: an edge of the call graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallEdge {
    /// The calling instruction's address. For a call to a signal handler, this is the interrupted instruction's
    /// address.
    pub site: u64,
    /// The first address of the callee or of the signal handler.
    pub entry: u64,
}

/// A stack's index in [`Stacks`]. The empty stack has index 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(u32);

/// An instruction and its call stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Point {
    pub stack: StackId,
    pub address: u64,
}

/// The maximum number of stacks. Once there are this many, a call that needs a new stack leaves the stack unchanged.
const MAX_STACKS: usize = 1 << 20;

/// All of a program's stacks.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// All stacks except the empty one. Each stack is represented by the caller's stack and the innermost call.
    added: Vec<(StackId, CallEdge)>,
    known: HashMap<(StackId, CallEdge), StackId>,
    counts: HashMap<CallEdge, u64>,
}

impl Stacks {
    /// The stack without calls.
    pub const EMPTY: StackId = StackId(0);

    /// Returns a stack's calls, outermost first.
    #[must_use]
    pub fn calls(&self, stack: StackId) -> Vec<CallEdge> {
        let mut calls: Vec<CallEdge> = self.inward(stack).collect();
        calls.reverse();
        calls
    }

    /// Returns a stack's calls, innermost first.
    fn inward(&self, mut stack: StackId) -> impl Iterator<Item = CallEdge> {
        std::iter::from_fn(move || {
            let (below, call) = self.added[stack.0.checked_sub(1)? as usize];
            stack = below;
            Some(call)
        })
    }

    /// Returns how often each call happened.
    #[must_use]
    pub fn counts(&self) -> &HashMap<CallEdge, u64> {
        &self.counts
    }

    /// Returns the current instruction's address in each active function, from the outermost function to the
    /// instruction of `point`. A function that has made a tail call is still active, and its first instruction
    /// represents its current instruction.
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

    /// Returns `stack` with `call` as the new innermost call. If the stack already contains `call`, returns the stack
    /// unchanged.
    pub(super) fn with(&mut self, stack: StackId, call: CallEdge) -> StackId {
        *self.counts.entry(call).or_default() += 1;
        if let Some(known) = self.known.get(&(stack, call)) {
            return *known;
        }
        if self.known.len() == MAX_STACKS {
            return stack;
        }
        let with = if self.inward(stack).any(|other| other == call) {
            stack
        } else {
            self.added.push((stack, call));
            StackId(self.added.len() as u32)
        };
        self.known.insert((stack, call), with);
        with
    }

    fn uncount(&mut self, call: CallEdge) {
        if let Some(count) = self.counts.get_mut(&call) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&call);
            }
        }
    }
}
