//! One call of a lock function: which of its blocks are kept, and when it returns.

use std::collections::HashSet;

use refs::{Log, Order, Placeholder};

use crate::decode::Leave;
use crate::functions::Function;

/// What QEMU's callback knows about a block, packed into the callback's 64-bit argument. The argument is also the block's word in the log
/// ([`refs::block_word`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockFacts(pub(crate) u64);

impl BlockFacts {
    /// The position of the highest eight bits. They hold the number of the lock function that begins with the block, or 0 if no lock
    /// function begins there.
    pub(crate) const ENTERS: u32 = 56;

    pub(crate) fn new(
        number: u32,
        instructions: usize,
        leave: Leave,
        enters: Option<Function>,
    ) -> Self {
        let enters = enters.map_or(0, |function| function as u64);
        let count = instructions as u64;
        Self(enters << Self::ENTERS | (leave as u64) << 48 | count << 32 | u64::from(number))
    }

    pub(crate) fn number(self) -> u32 {
        self.0 as u32
    }

    pub(crate) fn instructions(self) -> u32 {
        (self.0 >> 32) as u32 & 0xffff
    }

    pub(crate) fn leave(self) -> Leave {
        match self.0 >> 48 & 3 {
            1 => Leave::Call,
            2 => Leave::Return,
            _ => Leave::Other,
        }
    }

    /// Returns the lock function that begins with this block.
    pub(crate) fn entered(self) -> Option<Function> {
        Function::numbered((self.0 >> Self::ENTERS) as u8)
    }
}

#[derive(Debug)]
pub(super) struct LockCall {
    pub(super) function: Function,
    /// The number of calls inside the function that have not returned.
    pub(super) depth: u32,
    pub(super) block: BlockFacts,
    /// The number of words in the log before the current block.
    pub(super) from: usize,
    /// Whether the current block stays in the log.
    is_kept: bool,
    /// The numbers of this call's blocks that stay in the log.
    kept_blocks: Vec<u32>,
    /// The numbers of all blocks that the thread has executed in this call.
    executed: HashSet<u32>,
    /// The log position before the function's first block.
    pub(super) place: Placeholder,
    /// The address of the object that the function works on. For [`Function::Unlock`], the object is a lock that the thread holds. For all
    /// other functions, it is at the address of the call's first atomic access. `None` until the object is found.
    pub(super) object: Option<u64>,
    /// The signal that a call sends when it wakes threads that wait for a condition; `None` for other calls.
    pub(super) signal: Option<u64>,
    /// The address of the mutex that a wait for a condition releases. `None` until the mutex is known, and for other calls.
    pub(super) mutex: Option<u64>,
    /// The number of this call's references that are left out of the log.
    omitted: u64,
}

impl LockCall {
    /// Begins a call of a function with its first block. `from` is the number of words in the log, and `place` is the position before the
    /// block.
    pub(super) fn new(
        function: Function,
        block: BlockFacts,
        place: Placeholder,
        from: usize,
    ) -> Self {
        Self {
            function,
            depth: 0,
            block,
            from,
            is_kept: true,
            kept_blocks: vec![block.number()],
            executed: HashSet::new(),
            place,
            object: None,
            signal: None,
            mutex: None,
            omitted: 0,
        }
    }

    /// Ends the current block. Removes the block from the log if it is not kept.
    pub(super) fn end_block(&mut self, log: &mut Log) {
        if self.is_kept {
            return;
        }
        let instructions = u64::from(self.block.instructions());
        self.omitted += instructions + log.accesses(self.from).count() as u64;
        log.truncate(self.from);
    }

    /// Returns `true` if the current block returns from the function.
    pub(super) fn returns(&mut self) -> bool {
        match self.block.leave() {
            Leave::Other => false,
            Leave::Call => {
                self.depth += 1;
                false
            }
            Leave::Return => {
                let returns = self.depth == 0;
                self.depth = self.depth.saturating_sub(1);
                returns
            }
        }
    }

    /// Ends a call although it has not returned.
    pub(super) fn give_up(mut self, log: &mut Log) {
        self.end_block(log);
        self.log_omitted(log);
    }

    pub(super) fn log_omitted(&self, log: &mut Log) {
        if self.omitted > 0 {
            log.order(Order::LeftOut(self.omitted));
        }
    }

    /// Begins a block. `from` is the number of words in the log. Returns `false` if the thread has executed more than `MAX_BLOCKS`
    /// different blocks in this call. The thread must then have left the function without returning from it.
    pub(super) fn begin_block(&mut self, block: BlockFacts, from: usize) -> bool {
        /// The maximum number of different blocks that a lock function executes, including the blocks of the functions that it calls.
        const MAX_BLOCKS: usize = 1 << 10;
        self.executed.insert(block.number());
        let is_inside = self.executed.len() <= MAX_BLOCKS;
        self.is_kept = !is_inside || self.depth == 0 && !self.kept_blocks.contains(&block.number());
        if self.is_kept {
            self.kept_blocks.push(block.number());
        }
        (self.block, self.from) = (block, from);
        is_inside
    }
}
