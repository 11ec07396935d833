//! Records one function alone. Recording begins when a thread calls the function, and ends when the function returns. The recording
//! includes everything that the function calls.
//!
//! While a thread executes the function, all threads are recorded. Otherwise, only the function's first blocks have callbacks, so that the
//! program is as fast as without the plug-in. When the first thread enters the function, and some time after the last thread has left it,
//! QEMU translates all blocks again.
//!
//! Simplifications: a thread can leave the function by `longjmp` or an exception, without returning from it. Such a thread counts as inside
//! the function until one of the function's callers returns. If a signal handler interrupts the function, the handler's return is taken for
//! the function's return.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use refs::Mapping;

use crate::decode::Leave;
use crate::elf::Elf;
use crate::functions::symbols;
use crate::lock;
use crate::lock_call::BlockFacts;

/// How many blocks a thread executes with callbacks, but without being recorded, before all blocks are translated again. Without this
/// delay, a function that is called often would cause many translations, which take longer than executing these blocks.
const RETRANSLATION_DELAY: u32 = 1 << 16;

/// The function that is recorded alone.
#[derive(Debug)]
pub(crate) struct OnlyFunction {
    /// The names of the function's symbols.
    names: Vec<String>,
    /// The start addresses of the function: one for each of its symbols in each mapping.
    entries: Mutex<HashSet<u64>>,
    /// The number of threads that are executing the function.
    inside: AtomicU32,
    /// Whether all blocks are translated with callbacks.
    is_instrumenting: AtomicBool,
}

/// Whether a thread is inside the function, and whether it is being recorded.
#[derive(Debug, Default)]
pub(crate) struct FunctionTracker {
    /// The number of calls inside the function that have not returned; `None` while the thread does not execute the function.
    depth: Option<u64>,
    /// How the latest recorded block leaves its function.
    leaves: Leave,
    /// Whether the current block is recorded.
    pub(crate) is_recorded: bool,
    /// The number of blocks since the latest recorded one.
    unrecorded: u32,
}

/// What to do about a block that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockAction {
    pub(crate) is_recorded: bool,
    /// Whether this is the first block that is no longer recorded.
    pub(crate) pauses: bool,
    /// Whether all blocks have to be translated again.
    pub(crate) needs_retranslation: bool,
}

impl OnlyFunction {
    /// Returns the function whose symbols have these names.
    pub(crate) fn new(names: Vec<String>) -> Self {
        Self {
            names,
            entries: Mutex::default(),
            inside: AtomicU32::new(0),
            is_instrumenting: AtomicBool::new(false),
        }
    }

    /// Looks for the function in the files of these mappings.
    pub(crate) fn add(&self, mappings: &[Mapping]) {
        for mapping in mappings {
            let is_meant = |name: &str| self.names.iter().any(|one| one == name).then_some(());
            let symbols = Elf::open(&mapping.path).and_then(|elf| symbols(&elf, is_meant));
            for symbol in symbols.unwrap_or_default() {
                lock(&self.entries).extend(symbol.address_in(mapping));
            }
        }
    }

    /// Returns `true` if the function begins at this address.
    pub(crate) fn begins_at(&self, address: u64) -> bool {
        lock(&self.entries).contains(&address)
    }

    /// Returns `true` if all blocks are translated with callbacks.
    pub(crate) fn is_instrumenting(&self) -> bool {
        self.is_instrumenting.load(Ordering::Relaxed)
    }

    /// Decides whether blocks get callbacks when they are translated from now on. Must be called while no thread executes a block.
    pub(crate) fn update_instrumenting(&self) {
        let is_instrumenting = self.inside.load(Ordering::Relaxed) > 0;
        self.is_instrumenting.store(is_instrumenting, Ordering::Relaxed);
    }

    /// Notes that a thread begins a block with callbacks. `enters` is `true` if the block is the function's first.
    pub(crate) fn block(
        &self,
        at: &mut FunctionTracker,
        block: BlockFacts,
        enters: bool,
    ) -> BlockAction {
        at.depth = match (at.depth, at.leaves) {
            (Some(depth), Leave::Call) => Some(depth + 1),
            (Some(0), Leave::Return) => {
                self.inside.fetch_sub(1, Ordering::Relaxed);
                None
            }
            (Some(depth), Leave::Return) => Some(depth - 1),
            (depth, _) => depth,
        };
        if enters && at.depth.is_none() {
            at.depth = Some(0);
            self.inside.fetch_add(1, Ordering::Relaxed);
        }
        at.leaves = block.leave();
        let is_recorded = self.inside.load(Ordering::Relaxed) > 0;
        let pauses = at.is_recorded && !is_recorded;
        at.is_recorded = is_recorded;
        at.unrecorded = if is_recorded { 0 } else { at.unrecorded.saturating_add(1) };
        let needs_retranslation = match is_recorded {
            true => !self.is_instrumenting(),
            false => self.is_instrumenting() && at.unrecorded >= RETRANSLATION_DELAY,
        };
        BlockAction { is_recorded, pauses, needs_retranslation }
    }

    /// Notes that this process is a forked copy, in which `at` belongs to the only thread.
    pub(crate) fn after_fork(&self, at: &FunctionTracker) {
        self.inside.store(at.depth.is_some().into(), Ordering::Relaxed);
    }

    /// Notes that a thread has ended.
    pub(crate) fn end(&self, at: &mut FunctionTracker) {
        if at.depth.take().is_some() {
            self.inside.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(leave: Leave) -> BlockFacts {
        BlockFacts::new(1, 1, leave, None)
    }

    /// Executes blocks, and returns which of them are recorded. In `blocks`, `true` marks a block that enters the function.
    fn recorded(
        only: &OnlyFunction,
        at: &mut FunctionTracker,
        blocks: &[(Leave, bool)],
    ) -> Vec<bool> {
        let one = |(leave, enters): &(Leave, bool)| only.block(at, block(*leave), *enters);
        blocks.iter().map(one).map(|verdict| verdict.is_recorded).collect()
    }

    #[test]
    fn a_function_is_recorded_from_its_call_to_its_return() {
        use Leave::{Call, Other, Return};
        let (only, mut at) = (OnlyFunction::new(Vec::new()), FunctionTracker::default());
        let blocks = [
            (Call, false),
            // The function calls another function, and itself.
            (Call, true),
            (Return, false),
            (Call, false),
            (Return, true),
            (Other, false),
            (Return, false),
            // The caller goes on, and calls the function again.
            (Call, false),
            (Return, true),
            (Other, false),
        ];
        let expected = [false, true, true, true, true, true, true, false, true, false];
        assert_eq!(recorded(&only, &mut at, &blocks), expected);
    }

    #[test]
    fn all_threads_are_recorded_while_one_is_inside() {
        let only = OnlyFunction::new(Vec::new());
        let [mut first, mut second] = [(); 2].map(|()| FunctionTracker::default());
        let other = [(Leave::Other, false)];
        assert_eq!(recorded(&only, &mut second, &other), [false]);
        assert_eq!(recorded(&only, &mut first, &[(Leave::Return, true)]), [true]);
        assert_eq!(recorded(&only, &mut second, &other), [true]);
        assert_eq!(recorded(&only, &mut first, &other), [false]);
        let verdict = only.block(&mut second, block(Leave::Other), false);
        assert_eq!((verdict.is_recorded, verdict.pauses), (false, true));
        // A thread that ends while it is inside the function no longer counts as inside.
        assert_eq!(recorded(&only, &mut first, &[(Leave::Other, true)]), [true]);
        only.end(&mut first);
        assert_eq!(recorded(&only, &mut second, &other), [false]);
    }

    #[test]
    fn blocks_are_translated_again_at_the_entry_and_some_time_after_the_return() {
        let (only, mut at) = (OnlyFunction::new(Vec::new()), FunctionTracker::default());
        assert!(only.block(&mut at, block(Leave::Return), true).needs_retranslation);
        only.update_instrumenting();
        assert!(only.is_instrumenting());
        for number in 1..RETRANSLATION_DELAY {
            let verdict = only.block(&mut at, block(Leave::Other), false);
            assert_eq!(
                (verdict.is_recorded, verdict.needs_retranslation),
                (false, false),
                "{number}"
            );
        }
        assert!(only.block(&mut at, block(Leave::Other), false).needs_retranslation);
        only.update_instrumenting();
        assert!(!only.is_instrumenting());
    }
}
