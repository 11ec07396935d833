//! Call stacks. A recording does not contain stacks, so they are reconstructed from calls, returns
//! and other transfers of control.
//!
//! A stack is a list of active calls, with the outermost call first. It contains each call at most
//! once: if a call is active already, it is not added again. Therefore even deep recursion has only
//! a few stacks.

#[cfg(test)]
mod tests;
mod unwinder;

use std::collections::HashMap;

use super::functions::Functions;
pub(super) use unwinder::Unwinder;

/// A call of one function from one place in the program: an edge of the call graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallEdge {
    /// The address of the calling instruction. For a call of a signal handler, this is the address of the interrupted
    /// instruction.
    pub site: u64,
    /// The first address of the callee or of the signal handler.
    pub entry: u64,
}

/// The number of a stack in [`Stacks`]. The empty stack has number 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(u32);

/// An instruction and its call stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Point {
    pub stack: StackId,
    pub address: u64,
}

/// The maximum number of stacks. When it is reached, a call that needs a new stack leaves the stack
/// unchanged.
const MOST_STACKS: usize = 1 << 20;

/// All stacks of a program.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// All stacks except the empty one. Each stack is represented by the stack of the caller and by the innermost call.
    added: Vec<(StackId, CallEdge)>,
    known: HashMap<(StackId, CallEdge), StackId>,
    counts: HashMap<CallEdge, u64>,
}

impl Stacks {
    /// The stack without calls.
    pub const EMPTY: StackId = StackId(0);

    /// Returns the calls of a stack, with the outermost call first.
    #[must_use]
    pub fn calls(&self, stack: StackId) -> Vec<CallEdge> {
        let mut calls: Vec<CallEdge> = self.inward(stack).collect();
        calls.reverse();
        calls
    }

    /// Returns the calls of a stack, with the innermost call first.
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

    /// Returns the address of the current instruction in each active function. The outermost
    /// function is first, and the instruction of `point` is last. A function that has made a tail
    /// call is still active, and its first instruction stands for its current instruction.
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

    /// Returns `stack` with `call` as the new innermost call. If the stack contains `call` already,
    /// returns the stack unchanged.
    pub(super) fn with(&mut self, stack: StackId, call: CallEdge) -> StackId {
        *self.counts.entry(call).or_default() += 1;
        if let Some(known) = self.known.get(&(stack, call)) {
            return *known;
        }
        if self.known.len() == MOST_STACKS {
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
