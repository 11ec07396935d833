//! Executes what needs nothing outside a core, before the turns of other cores that come earlier.
//!
//! Loads and fetches that hit the caches of their core change only the order of replacement in these caches and counts of the core and its
//! strands, and all of this can be undone. A strand does not wait for its stores while there is room for more. So it can go on, and each
//! store is executed later, when its turn comes.

mod local;

use std::collections::VecDeque;

use guest_abi::StrandId;

use super::copies::Copy;
use super::figures::Variant;
use super::system::{CoreState, MemorySystem};
use super::truth::CoreRecord;
use super::watch::{Untold, Watch};
use super::wires::Idle;
use super::work::Work;
use crate::recording::{Kind, Reference, References};
pub(crate) use local::MOST_MORE;

/// The state of a core before it ran ahead, and what it did to its caches since.
#[derive(Clone, Debug, Default)]
pub(super) struct AheadLog {
    renewed: Vec<Renewed>,
    idle: Idle,
    record: CoreRecord,
    /// The stores that are not executed yet, in the order of their turns.
    stores: VecDeque<StoreAhead>,
    /// How many stores were executed since the core began to run ahead.
    stored: usize,
    /// The number of `stores` of each strand.
    under_way: [usize; StrandId::PER_CORE],
}

/// A store that a strand has passed. It is executed when its turn comes.
#[derive(Clone, Copy, Debug)]
struct StoreAhead {
    strand: StrandId,
    /// The address of its instruction. It can be 0 if nothing is watched.
    instruction: u64,
    /// The time of the store's turn.
    turn: u64,
    /// When the instruction was issued.
    issued: u64,
    /// When the strand sends the store.
    now: u64,
    /// The address, without the program's offset.
    address: u64,
    size: u16,
}

impl AheadLog {
    /// Forgets the latest stores, so that the first `stores` are left.
    fn forget_stores(&mut self, stores: usize) {
        for store in self.stores.drain(stores..) {
            self.under_way[store.strand.index() % StrandId::PER_CORE] -= 1;
        }
    }
}

/// A line of an L1 cache that became the most recently used of its set.
#[derive(Clone, Copy, Debug)]
struct Renewed {
    line: u64,
    /// The place of the line in the order of use before.
    from: usize,
    is_data: bool,
}

/// The cores that may run ahead, and what turns of other cores change for them.
#[derive(Clone, Debug, Default)]
pub(super) struct CoresAhead {
    /// One bit for each core that may run ahead.
    pub(super) cores: u64,
    affected: VecDeque<Affected>,
}

/// A core that may have run ahead beyond a turn which affects it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Affected {
    pub(crate) core: usize,
    /// The time of the turn.
    pub(crate) at: u64,
    /// The copy of a line that an L1 cache of the core loses; `None` if the core keeps the line, but a watch has to be told of its uses from
    /// now on.
    lost: Option<Copy>,
}

impl CoresAhead {
    /// Returns `true` if the core may run ahead.
    #[inline]
    pub(super) fn has(&self, core: usize) -> bool {
        self.cores >> core & 1 == 1
    }

    pub(super) fn drop(&mut self, core: usize, copy: Copy, at: u64) {
        self.affected.push_back(Affected { core, at, lost: Some(copy) });
    }

    pub(super) fn watch(&mut self, core: usize, at: u64) {
        self.affected.push_back(Affected { core, at, lost: None });
    }
}

impl<V: Variant> CoreState<V> {
    /// Drops a line from one of the L1 caches.
    pub(super) fn drop(&mut self, copy: Copy) {
        match copy {
            Copy::Data { line, .. } => self.data.remove(line),
            Copy::Instructions { line, .. } => self.instructions.remove(line),
        }
    }

    /// Returns `true` if one of the L1 caches has the line.
    pub(super) fn has(&mut self, copy: Copy) -> bool {
        match copy {
            Copy::Data { line, .. } => self.data.has(line),
            Copy::Instructions { line, .. } => self.instructions.has(line),
        }
    }

    /// Undoes the latest uses of lines, so that only the first `renewed` of the log are left.
    fn undo(&mut self, renewed: usize) {
        for Renewed { line, from, is_data } in self.ahead.renewed.drain(renewed..).rev() {
            match is_data {
                true => self.data.unrenew(line, from),
                false => self.instructions.unrenew(line, from),
            }
        }
    }
}

impl<V: Variant> Work<'_, V> {
    /// Prepares a core to run ahead.
    #[inline]
    pub(crate) fn begin_ahead(&mut self, core: usize) {
        let MemorySystem { cores, ahead, truth, .. } = &mut *self.system;
        ahead.cores |= 1 << core;
        let state = &mut cores[core];
        state.ahead.renewed.clear();
        state.ahead.stored = 0;
        (state.ahead.idle, state.ahead.record) = (state.idle, truth.cores[core]);
    }

    /// Makes final what a core has done ahead.
    #[inline]
    pub(crate) fn end_ahead(&mut self, core: usize) {
        self.system.ahead.cores &= !(1 << core);
    }

    /// Does the same as [`end_ahead`](Self::end_ahead) for all cores.
    pub(crate) fn end_all_ahead(&mut self) {
        self.system.ahead.cores = 0;
    }

    /// Undoes what a core has done ahead, except for the [instructions](Self::forget) of its strands.
    pub(crate) fn undo_ahead(&mut self, core: usize) {
        let MemorySystem { cores, truth, .. } = &mut *self.system;
        let state = &mut cores[core];
        state.undo(0);
        state.ahead.forget_stores(0);
        (state.idle, truth.cores[core]) = (state.ahead.idle, state.ahead.record);
    }

    /// Returns the strand of the first store that a core has passed and not executed yet, and the time of the store's turn; `None` if there
    /// is no such store.
    #[inline]
    pub(crate) fn next_store(&self, core: usize) -> Option<(StrandId, u64)> {
        self.system.cores[core].ahead.stores.front().map(|store| (store.strand, store.turn))
    }

    /// Returns how many stores that a core had passed were executed since it began to run ahead.
    pub(crate) fn stored(&self, core: usize) -> usize {
        self.system.cores[core].ahead.stored
    }

    /// Executes the first store that a core has passed, because the store's turn has come. Tells `watch` of it. `offset` is the offset of
    /// its program.
    #[inline]
    pub(crate) fn store_ahead<W: Watch>(&mut self, core: usize, offset: u64, watch: &mut W) {
        let log = &mut self.system.cores[core].ahead;
        let Some(store) = log.stores.pop_front() else { return };
        log.under_way[store.strand.index() % StrandId::PER_CORE] -= 1;
        log.stored += 1;
        let mut untold = Untold::default();
        let mut access = self.access(store.strand, offset, store.now);
        (access.turn, access.issued) = (store.turn, store.issued);
        if W::WATCHES {
            access.untold = Some(&mut untold);
        }
        access.store(store.address.wrapping_add(offset), store.size);
        if W::WATCHES {
            watch.begins(store.instruction);
            access.tell(&Reference::new(store.address, store.size, Kind::Store), watch);
        }
    }

    /// Forgets the instructions of a strand that are undone.
    pub(crate) fn forget(&mut self, strand: StrandId, undone: References<'_>) {
        let MemorySystem { strands, truth, .. } = &mut *self.system;
        let events = &mut strands[strand.index()].events;
        let record = &mut truth.strands[strand.index()];
        for fetch in undone.iter().filter(|one| one.kind.is_fetch()) {
            let (data, group) = (fetch.data(), fetch.group());
            events.forget_instruction(data, group);
            record.instructions[data as usize][group as usize] -= 1;
        }
    }

    /// Returns the first core that a turn has affected.
    #[inline]
    pub(crate) fn next_affected(&mut self) -> Option<Affected> {
        self.system.ahead.affected.pop_front()
    }

    /// Drops the line that a core loses. The core does not run ahead any more.
    pub(crate) fn affect(&mut self, affected: Affected) {
        if let Some(lost) = affected.lost {
            self.system.cores[affected.core].drop(lost);
        }
    }
}
