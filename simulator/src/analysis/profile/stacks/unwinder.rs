//! Tracks the calls and returns of a program's threads.

use std::collections::HashSet;

use super::{CallEdge, Functions, StackId, Stacks};
use crate::recording::{Flow, Reference};

/// The maximum number of frames in a thread's stack. A call beyond this number drops the outer half of the frames.
const MAX_FRAMES: usize = 1 << 14;

/// The maximum number of frames that one return can end.
const MAX_UNWOUND: usize = 1 << 10;

/// The maximum distance, in bytes, from the start of a procedure linkage table entry to its jump.
const STUB: u64 = 64;

/// The prefix in the names of the dynamic linker's functions that find a procedure and jump to it.
const RESOLVER: &str = "_dl_runtime_resolve";

/// An active call in a thread.
#[derive(Clone, Copy, Debug)]
struct CallFrame {
    call: CallEdge,
    back: u64,
    /// The stack whose innermost call is this call.
    stack: StackId,
}

/// A thread's frames, outermost first, and the thread's latest instruction.
#[derive(Clone, Debug, Default)]
struct UnwoundThread {
    frames: Vec<CallFrame>,
    /// The latest instruction outside a delay slot.
    latest: Option<Reference>,
    /// The address of the next instruction if `latest` does not transfer control.
    next: u64,
    /// Whether the delay slot of `latest` has been executed.
    in_slot: bool,
}

pub(crate) struct Unwinder<'a> {
    stacks: Stacks,
    threads: Vec<UnwoundThread>,
    symbols: Option<&'a dyn Functions>,
    /// Whether branches, calls and returns have a delay slot.
    delayed: bool,
    /// The return addresses of all calls so far.
    after_calls: HashSet<u64>,
}

impl<'a> Unwinder<'a> {
    /// Returns empty stacks for `threads` threads. `target` is QEMU's name for the program's architecture.
    pub(crate) fn new(
        threads: usize,
        target: Option<&str>,
        symbols: Option<&'a dyn Functions>,
    ) -> Self {
        Self {
            stacks: Stacks::default(),
            threads: vec![UnwoundThread::default(); threads],
            symbols,
            delayed: target == Some("sparc64"),
            after_calls: HashSet::new(),
        }
    }

    pub(crate) fn stacks(&mut self) -> &mut Stacks {
        &mut self.stacks
    }

    pub(crate) fn into_stacks(self) -> Stacks {
        self.stacks
    }

    /// Returns the call stack of a fetched instruction. A thread's instructions must be passed in program order. If the
    /// reference is not a fetch, the stack does not change.
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

    /// Updates the stack after the instruction `from`. The thread's next instruction is at `to`.
    fn arrive(&mut self, thread: usize, from: Reference, to: u64) {
        let symbols = self.symbols;
        let own = &mut self.threads[thread];
        let expected = own.next;
        match from.flow {
            Flow::Call => {
                let slot = if self.delayed { 4 } else { 0 };
                let back = from.address.wrapping_add(u64::from(from.size) + slot);
                // A call to the next instruction adds no frame, because it only reads the program counter.
                if to != back {
                    self.call(thread, from.address, to, back);
                }
            }
            Flow::Return => {
                // On SPARC, a callee that returns a structure skips one instruction after the call's delay slot.
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
                    // A jump to a return address is a `longjmp`, unless it stays in the same function.
                    let function = |address| symbols?.function(address);
                    if function(to) != function(from.address) {
                        own.unwind_to_function(to, symbols);
                    }
                }
            }
            // If control stays at `from`, the thread executes the instruction or system call again.
            Flow::Next | Flow::Trap if to != expected && to != from.address => {
                // A signal handler ends or starts here.
                let goes_on = |frame: &CallFrame| [frame.back, frame.call.site].contains(&to);
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
        if own.frames.len() == MAX_FRAMES {
            own.frames.drain(..MAX_FRAMES / 2);
        }
        let call = CallEdge { site, entry };
        let stack = self.stacks.with(own.stack(), call);
        own.frames.push(CallFrame { call, back, stack });
        self.after_calls.insert(back);
    }
}

impl UnwoundThread {
    fn stack(&self) -> StackId {
        self.frames.last().map_or(Stacks::EMPTY, |frame| frame.stack)
    }

    /// Removes the innermost frame for which `ends` returns `true`, and all frames inside it.
    /// Returns `false` if there is no such frame.
    fn unwind(&mut self, ends: impl Fn(&CallFrame) -> bool) -> bool {
        let found = self.frames.iter().rev().take(MAX_UNWOUND).position(ends);
        let kept = self.frames.len() - found.map_or(0, |found| found + 1);
        self.frames.truncate(kept);
        found.is_some()
    }

    /// Looks for the function that contains `to`. Removes the innermost frame that this function has called, and all
    /// frames inside it. Returns `false` if there is no such frame, or if `to` is the start of a function.
    fn unwind_to_function(&mut self, to: u64, symbols: Option<&dyn Functions>) -> bool {
        let begins = |address| Some(symbols?.function(address)?.0);
        let Some(function) = begins(to).filter(|function| *function != to) else {
            return false;
        };
        self.unwind(|frame| begins(frame.call.site) == Some(function))
    }

    /// Returns `true` if an instruction belongs to a stub, which jumps to the function that the program wants to call. A
    /// stub is a few instructions without a symbol, or the dynamic linker's resolver.
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
