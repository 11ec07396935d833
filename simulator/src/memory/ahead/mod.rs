//! Lets a core run ahead: the core executes instructions that need nothing outside it, although other cores still have to execute
//! earlier turns.
//!
//! A load or fetch that hits one of the core's caches changes only that cache's replacement order and the event counts of the core
//! and its strands. All of this can be undone. A strand does not wait for its stores while there is room for more, so a core that
//! runs ahead *defers* each store: the strand continues, and the store is executed when its turn comes.

mod avoided;
mod lane;
mod local;
pub(super) mod log;
mod single;
#[cfg(test)]
mod tests;
mod turn;

use guest_abi::StrandId;

use super::access::{CORES_PER_NODE, node_of, try_quick_store};
use super::copies::Copy;
use super::figures::Variant;
use super::geometry::{ADDRESS_MASK, L2Line};
use super::system::{CoreState, MemorySystem};
use super::watch::{Unreported, Watch};
use super::work::Work;
use crate::recording::{Kind, Reference, References};
pub(crate) use lane::Lane;
pub(crate) use local::{MAX_AHEAD_REFERENCES, MAX_OVERSHOOT};
pub(crate) use log::Affected;
use log::{Renewed, StoreAhead};
pub(crate) use turn::CoreAhead;

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

    /// Returns `false` if the core can lose a copy of a line and still undo what it has executed ahead: it has not used the line, and the
    /// order of the lines in the copy's set has not changed. `line` is the L2 line that contains the copy.
    pub(super) fn is_copy_in_use(&mut self, copy: Copy, line: L2Line) -> bool {
        let Copy::Data { line: part, .. } = copy else { return true };
        !self.ahead.avoided.contains(line)
            || self
                .ahead
                .renewed
                .iter()
                .any(|one| one.is_data && self.data.share_set(one.line, part))
    }

    /// Undoes the uses of lines.
    fn undo(&mut self) {
        for Renewed { line, from, is_data } in self.ahead.renewed.drain(..).rev() {
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
        state.ahead.avoided.begin();
        (state.ahead.idle, state.ahead.record) = (state.idle, truth.cores[core]);
    }

    /// Stops a core from running ahead. Everything that it has executed ahead becomes final.
    #[inline]
    pub(crate) fn end_ahead(&mut self, core: usize) {
        self.system.ahead.cores &= !(1 << core);
    }

    /// Does the same as [`end_ahead`](Self::end_ahead) for all cores.
    pub(crate) fn end_all_ahead(&mut self) {
        self.system.ahead.cores = 0;
    }

    /// Undoes everything that a core has executed ahead, except for its strands' [instruction counts](Self::subtract_undone).
    pub(crate) fn undo_ahead(&mut self, core: usize) {
        let MemorySystem { cores, truth, .. } = &mut *self.system;
        let state = &mut cores[core];
        state.undo();
        state.ahead.drop_stores(0);
        (state.idle, truth.cores[core]) = (state.ahead.idle, state.ahead.record);
    }

    /// Returns the strand of a core's first deferred store, and the time of that store's turn; `None` if no store is deferred.
    #[inline]
    pub(crate) fn next_store(&self, core: usize) -> Option<(StrandId, u64)> {
        self.system.cores[core].ahead.stores.front().map(|store| (store.strand, store.turn))
    }

    /// Returns how many deferred stores were executed since the core began to run ahead.
    pub(crate) fn stored(&self, core: usize) -> usize {
        self.system.cores[core].ahead.stored
    }

    /// Executes a core's first deferred store, whose turn has come, and reports it to `watch`.
    #[inline]
    pub(crate) fn store_ahead<W: Watch>(&mut self, core: usize, watch: &mut W) {
        let log = &mut self.system.cores[core].ahead;
        let Some(store) = log.stores.pop_front() else { return };
        log.under_way[store.strand.index() % StrandId::PER_CORE] -= 1;
        log.stored += 1;
        if self.try_quick_store(&store) {
            if W::WATCHES {
                self.report_quick_step(&store, watch);
            }
            return;
        }
        let mut unreported = Unreported::default();
        let mut access = self.access(store.strand, store.offset, store.now);
        (access.turn, access.issued) = (store.turn, store.issued);
        if W::WATCHES {
            access.unreported = Some(&mut unreported);
        }
        access.store(store.address.wrapping_add(store.offset), store.size);
        if W::WATCHES {
            watch.begins(store.instruction);
            access.report(&Reference::new(store.address, store.size, Kind::Store), watch);
        }
    }

    /// Executes a deferred store if it changes no cache and causes no wait. Returns `true` if the store was executed. Most stores
    /// are of this kind, and take much less work than other accesses.
    #[inline(always)]
    fn try_quick_store(&mut self, store: &StoreAhead) -> bool {
        let MemorySystem { plan, strands, l2, banks, truth, .. } = &mut *self.system;
        let (figures, number) = (plan.variant.figures(), store.strand.index());
        let node = node_of(store.strand);
        let address = store.address.wrapping_add(store.offset);
        let part = (address & ADDRESS_MASK) >> figures.l1d.line_shift;
        let strand = (&mut strands[number], &mut truth.strands[number]);
        let place = (node, store.strand.core() % CORES_PER_NODE);
        try_quick_store(figures, strand, (l2, &mut banks[node.index()]), place, part, store.now)
    }

    /// Reports to `watch` a deferred store that [`try_quick_store`](Self::try_quick_store) has executed.
    fn report_quick_step(&self, store: &StoreAhead, watch: &mut impl Watch) {
        let StoreAhead { instruction, address, offset, size, .. } = *store;
        watch.stored(instruction);
        // The store lies in a single line.
        if let Some(moved) = &self.system.moves
            && moved.may_have(address.wrapping_add(offset))
        {
            watch.begins(instruction);
            watch.used(&Reference::new(address, size, Kind::Store), moved);
        }
    }

    /// Subtracts undone instructions from a strand's counts.
    pub(crate) fn subtract_undone(&mut self, strand: StrandId, undone: References<'_>) {
        let MemorySystem { strands, truth, .. } = &mut *self.system;
        let events = &mut strands[strand.index()].events;
        let record = &mut truth.strands[strand.index()];
        for fetch in undone.iter().filter(|one| one.kind.is_fetch()) {
            let (data, group) = (fetch.data(), fetch.group());
            events.subtract_instruction(data, group);
            record.instructions[data as usize][group as usize] -= 1;
        }
    }

    /// Returns `true` if the list of affected cores is not empty.
    #[inline]
    pub(crate) fn has_affected(&self) -> bool {
        !self.system.ahead.affected.is_empty()
    }

    /// Removes the first core from the list of affected cores, and returns it.
    #[inline]
    pub(crate) fn next_affected(&mut self) -> Option<Affected> {
        self.system.ahead.affected.pop_front()
    }

    /// Drops the line that an affected core loses. The core must not be running ahead. If the core `has_undone` what it had executed
    /// ahead, it avoids the line from now on.
    pub(crate) fn drop_lost_line(&mut self, affected: Affected, has_undone: bool) {
        let MemorySystem { plan, cores, .. } = &mut *self.system;
        let Some(lost) = affected.lost else { return };
        let core = &mut cores[affected.core];
        core.drop(lost);
        if let Copy::Data { line, .. } = lost
            && has_undone
        {
            core.ahead.avoided.add(plan.variant.figures().line_of_data(line));
        }
    }
}
