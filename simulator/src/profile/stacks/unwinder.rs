//! Follows the calls and returns of a program's threads.

use std::collections::HashSet;

use super::{Call, Functions, StackId, Stacks};
use crate::recording::{Flow, Reference};

/// A thread has at most so many frames: if there are more, the older half is forgotten.
const MOST_FRAMES: usize = 1 << 14;

/// At most so many frames end at once.
const MOST_UNWOUND: usize = 1 << 10;

/// A procedure linkage table jumps to a procedure within so many bytes.
const STUB: u64 = 64;

/// The functions of dynamic linkers that find a procedure of the table begin so, and jump to it.
const RESOLVER: &str = "_dl_runtime_resolve";

/// What a thread does after a call.
#[derive(Clone, Copy, Debug)]
struct Frame {
    call: Call,
    /// Where the callee returns to.
    back: u64,
    /// The stack with the call.
    stack: StackId,
}

/// A thread's frames, the outermost first, and its latest instruction.
#[derive(Clone, Debug, Default)]
struct Thread {
    frames: Vec<Frame>,
    /// The latest instruction that is in no delay slot.
    latest: Option<Reference>,
    /// Where it passes control on to if it goes nowhere else.
    next: u64,
    /// Whether its delay slot has been executed.
    in_slot: bool,
}

/// The stacks of all threads of a program.
pub(crate) struct Unwinder<'a> {
    stacks: Stacks,
    threads: Vec<Thread>,
    symbols: Option<&'a dyn Functions>,
    /// Whether an instruction follows each control transfer in its delay slot.
    delayed: bool,
    /// The addresses after all calls.
    after_calls: HashSet<u64>,
}

impl<'a> Unwinder<'a> {
    /// Returns the stacks of so many threads, which are empty. `target` is the machine that the program is for, in the words
    /// of QEMU.
    pub(crate) fn new(
        threads: usize,
        target: Option<&str>,
        symbols: Option<&'a dyn Functions>,
    ) -> Self {
        Self {
            stacks: Stacks::default(),
            threads: vec![Thread::default(); threads],
            symbols,
            delayed: target == Some("sparc64"),
            after_calls: HashSet::new(),
        }
    }

    /// Returns the stacks.
    pub(crate) fn into_stacks(self) -> Stacks {
        self.stacks
    }

    /// Returns the stack on which a thread executes the instruction whose fetch this is. Instructions come in the order of the
    /// program. Data without an instruction do not count.
    pub(crate) fn fetch(&mut self, thread: usize, fetch: &Reference) -> StackId {
        let own = &mut self.threads[thread];
        if !fetch.kind.is_fetch() {
            return own.stack();
        }
        let after = fetch.address.wrapping_add(fetch.size.into());
        if let Some(latest) = own.latest {
            let has_slot = self.delayed && !matches!(latest.flow, Flow::Next | Flow::Trap);
            if has_slot && !own.in_slot && fetch.address == own.next {
                (own.in_slot, own.next) = (true, after);
                return own.stack();
            }
            if latest.flow != Flow::Next || fetch.address != own.next {
                self.arrive(thread, latest, fetch.address);
            }
        }
        let own = &mut self.threads[thread];
        (own.latest, own.next, own.in_slot) = (Some(*fetch), after, false);
        own.stack()
    }

    /// An instruction has passed control on to `to`.
    fn arrive(&mut self, thread: usize, from: Reference, to: u64) {
        let symbols = self.symbols;
        let own = &mut self.threads[thread];
        let expected = own.next;
        match from.flow {
            Flow::Call => {
                let slot = if self.delayed { 4 } else { 0 };
                let back = from.address.wrapping_add(u64::from(from.size) + slot);
                // A call of the next instruction reads the program counter.
                if to != back {
                    self.call(thread, from.address, to, back);
                }
            }
            Flow::Return => {
                // With delay slots, a callee that returns a structure skips an instruction after the call.
                let skipped = if self.delayed { 4 } else { 0 };
                if !own.unwind(|frame| [0, skipped].contains(&to.wrapping_sub(frame.back))) {
                    own.unwind_to_function(to, symbols);
                }
            }
            Flow::Jump => {
                if own.is_in_stub(from.address, symbols) {
                    let frame = own.frames.pop().expect("it has a call");
                    self.stacks.uncount(frame.call);
                    self.call(thread, frame.call.site, to, frame.back);
                } else if self.after_calls.contains(&to) {
                    // longjmp, but for a jump within a function.
                    let function = |address| symbols?.function(address);
                    if function(to) != function(from.address) {
                        own.unwind_to_function(to, symbols);
                    }
                }
            }
            // Instructions that repeat, and system calls, begin again.
            Flow::Next | Flow::Trap if to != expected && to != from.address => {
                // The handler of a signal ends, or begins.
                let goes_on = |frame: &Frame| [frame.back, frame.call.site].contains(&to);
                let ends = from.flow == Flow::Trap
                    && (own.unwind(goes_on) || own.unwind_to_function(to, symbols));
                if !ends {
                    self.call(thread, from.address, to, expected);
                }
            }
            Flow::Next | Flow::Trap | Flow::NotTaken | Flow::Taken => (),
        }
    }

    fn call(&mut self, thread: usize, site: u64, entry: u64, back: u64) {
        let own = &mut self.threads[thread];
        if own.frames.len() == MOST_FRAMES {
            own.frames.drain(..MOST_FRAMES / 2);
        }
        let call = Call { site, entry };
        let stack = self.stacks.with(own.stack(), call);
        own.frames.push(Frame { call, back, stack });
        self.after_calls.insert(back);
    }
}

impl Thread {
    fn stack(&self) -> StackId {
        self.frames
            .last()
            .map_or(Stacks::EMPTY, |frame| frame.stack)
    }

    /// Removes the innermost frame of this kind, and those in it. Returns `false` if there is none.
    fn unwind(&mut self, ends: impl Fn(&Frame) -> bool) -> bool {
        let found = self.frames.iter().rev().take(MOST_UNWOUND).position(ends);
        let kept = self.frames.len() - found.map_or(0, |found| found + 1);
        self.frames.truncate(kept);
        found.is_some()
    }

    /// Removes the innermost frame that is called from the function that holds `to`, which is not where the function begins, and the
    /// frames in it. Returns `false` if there is none.
    fn unwind_to_function(&mut self, to: u64, symbols: Option<&dyn Functions>) -> bool {
        let begins = |address| Some(symbols?.function(address)?.0);
        let Some(function) = begins(to).filter(|function| *function != to) else {
            return false;
        };
        self.unwind(|frame| begins(frame.call.site) == Some(function))
    }

    /// Whether an instruction is part of what jumps to the function that is meant: a few instructions without a name, or
    /// what finds the function when it is called first.
    fn is_in_stub(&self, address: u64, symbols: Option<&dyn Functions>) -> bool {
        let (Some(frame), Some(symbols)) = (self.frames.last(), symbols) else {
            return false;
        };
        let entry = frame.call.entry;
        match symbols.function(entry) {
            None => address.wrapping_sub(entry) < STUB,
            function @ Some((_, name)) => {
                name.starts_with(RESOLVER) && symbols.function(address) == function
            }
        }
    }
}
