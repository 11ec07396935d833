//! What cores that run ahead have to undo or to execute later.

use std::collections::VecDeque;

use guest_abi::StrandId;

use super::avoided::AvoidedLines;
use crate::memory::copies::Copy;
use crate::memory::strand_events::Idle;
use crate::memory::truth::CoreRecord;

/// The state that a core had before it ran ahead, and the changes that it has made since then.
#[derive(Clone, Debug, Default)]
pub(in crate::memory) struct AheadLog {
    pub(super) renewed: Vec<Renewed>,
    pub(super) avoided: AvoidedLines,
    pub(super) idle: Idle,
    pub(super) record: CoreRecord,
    /// The deferred stores that have not been executed, in the order of their turns.
    pub(super) stores: VecDeque<StoreAhead>,
    /// The number of deferred stores that were executed since the core began to run ahead.
    pub(super) stored: usize,
    /// The number of entries in `stores` for each strand.
    pub(super) under_way: [usize; StrandId::PER_CORE],
}

/// A deferred store, which is executed when its turn comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoreAhead {
    pub(super) strand: StrandId,
    /// The address of the store's instruction. It can be 0 if there is no watch.
    pub(super) instruction: u64,
    /// The time of the store's turn.
    pub(super) turn: u64,
    /// The time at which the instruction was issued.
    pub(super) issued: u64,
    /// The time at which the strand sends the store.
    pub(super) now: u64,
    /// The address, without the offset of the program.
    pub(super) address: u64,
    pub(super) offset: u64,
    pub(super) size: u16,
}

impl AheadLog {
    /// Forgets all deferred stores except the first `stores`.
    pub(super) fn drop_stores(&mut self, stores: usize) {
        for store in self.stores.drain(stores..) {
            self.under_way[store.strand.index() % StrandId::PER_CORE] -= 1;
        }
    }
}

/// A line of an L1 cache that became the most recently used line of its set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Renewed {
    pub(super) line: u64,
    /// The line's previous position in the order of use.
    pub(super) from: usize,
    pub(super) is_data: bool,
}

/// The cores that may run ahead, and the cores that turns have affected.
#[derive(Clone, Debug, Default)]
pub(in crate::memory) struct CoresAhead {
    /// One bit for each core that may run ahead.
    pub(super) cores: u64,
    pub(super) affected: VecDeque<Affected>,
}

/// A core that a turn affects. The core may already have run ahead beyond that turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Affected {
    pub(crate) core: usize,
    /// The time of the turn.
    pub(crate) at: u64,
    /// The copy of a line that one of the core's L1 caches loses. If `None`, the core keeps the line, but a watch has to be told
    /// how the core uses the line after the turn.
    pub(super) lost: Option<Copy>,
}

impl CoresAhead {
    /// Returns `true` if the core may run ahead.
    #[inline]
    pub(in crate::memory) fn may_run(&self, core: usize) -> bool {
        self.cores >> core & 1 == 1
    }

    pub(in crate::memory) fn drop(&mut self, core: usize, copy: Copy, at: u64) {
        self.affected.push_back(Affected { core, at, lost: Some(copy) });
    }

    pub(in crate::memory) fn watch(&mut self, core: usize, at: u64) {
        self.affected.push_back(Affected { core, at, lost: None });
    }
}
