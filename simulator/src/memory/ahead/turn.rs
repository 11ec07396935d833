//! A core whose strands execute ahead.

use guest_abi::StrandId;

use super::lane::Lane;
use super::{Renewed, StoreAhead};
use crate::memory::figures::{Figures, Variant};
use crate::memory::geometry::ADDRESS_MASK;
use crate::memory::moves::MovedLines;
use crate::memory::quantum::{Executed, ExecutedAhead};
use crate::memory::system::{CoreState, MemorySystem, StrandState};
use crate::memory::timing::ISSUE;
use crate::memory::truth::{CoreRecord, StrandRecord};
use crate::memory::work::Work;
use crate::recording::Kind;

/// A core whose strands execute ahead.
///
/// The core executes no instruction that loads from an [avoided](super::avoided) line. If `WATCHED` is set, a watch observes the uses of
/// moved lines, and the core executes no instruction that fetches or loads from a moved line.
///
/// If `stored` is `None`, the core defers stores: they are executed when their turns come. Otherwise, the core executes these
/// instructions a second time, and the first `stored` of their stores have already been executed. The core then stops after the
/// instruction that contains the last of these stores.
pub(crate) struct CoreAhead<'w, V: Variant, const WATCHED: bool> {
    pub(super) core: &'w mut CoreState<V>,
    variant: &'w V,
    /// The core's strands and their records.
    strands: &'w mut [StrandState],
    records: &'w mut [StrandRecord],
    record: &'w mut CoreRecord,
    issues: Issues,
    /// The number of further stores that were already executed when the core executed these instructions for the first time; `None`
    /// if the core defers stores.
    pub(super) stored: Option<usize>,
    /// The lines that have moved between nodes; `None` if moves are not noted.
    moved: Option<&'w MovedLines>,
}

/// The clocks in which the core has issued instructions.
#[derive(Clone, Copy, Debug, Default)]
struct Issues {
    first: u64,
    /// The first clock after the latest issue.
    after: u64,
    /// The number of clocks in which an instruction was issued.
    clocks: u64,
}

impl Issues {
    /// Adds a turn's `count` instructions, each of which was issued in a clock of its own: the first in `first`, the last in
    /// `last`. No earlier turn may have issued an instruction after `first`.
    #[inline(always)]
    fn add(&mut self, first: u64, last: u64, count: u64) {
        if self.clocks == 0 {
            self.first = first;
        }
        self.clocks += count - u64::from(first < self.after);
        self.after = last + 1;
    }
}

/// Whether a strand stops, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopReason {
    None,
    /// The turn has ended, or enough references have been executed.
    Ended,
    /// The next reference needs something outside the core.
    Blocked,
}

/// Turns of at most this number of cycles are executed instruction by instruction, because most whole shapes do not fit into them.
const SHORT_TURN_CYCLES: u64 = 64;

impl<V: Variant> Work<'_, V> {
    /// Returns a core that executes its strands ahead.
    #[inline(always)]
    pub(crate) fn core_ahead<const WATCHED: bool>(
        &mut self,
        core: usize,
        stored: Option<usize>,
    ) -> CoreAhead<'_, V, WATCHED> {
        let MemorySystem { plan, strands, cores, truth, moves, .. } = &mut *self.system;
        let strands_of_core = core * StrandId::PER_CORE..(core + 1) * StrandId::PER_CORE;
        CoreAhead {
            core: &mut cores[core],
            variant: &plan.variant,
            strands: &mut strands[strands_of_core.clone()],
            records: &mut truth.strands[strands_of_core],
            record: &mut truth.cores[core],
            issues: Issues::default(),
            stored,
            moved: moves.as_ref(),
        }
    }
}

impl<'w, V: Variant, const WATCHED: bool> CoreAhead<'w, V, WATCHED> {
    /// Executes a strand's next instructions, up to the first one that needs something outside the core. The first instruction
    /// begins at the time `begins`. No further instruction begins once the time `until` is reached or `most` references have been
    /// executed. If an instruction loads and then stores in two steps, the turn can end between the load and the store. Stops
    /// before an instruction that accesses data after a store.
    #[inline(always)]
    pub(crate) fn execute_turn(
        &mut self,
        lane: &mut Lane<'_>,
        begins: u64,
        until: u64,
        most: usize,
    ) -> ExecutedAhead {
        let mut executed = Executed { ends: begins, ..Executed::default() };
        let mut first_issued = begins;
        let mut stops = StopReason::None;
        if until.saturating_sub(begins) <= SHORT_TURN_CYCLES {
            stops = self.execute_simple(lane, &mut executed, until, most);
        }
        if stops == StopReason::None {
            (executed, first_issued, stops) =
                self.execute_shapes(lane, begins, executed, until, most);
        }
        if executed.instructions > 0 {
            self.issues.add(first_issued, executed.issued, executed.instructions);
        }
        ExecutedAhead { executed, blocked: stops == StopReason::Blocked }
    }

    /// Executes instructions that need little work: each of their code lines is the most recently used line of its set, and they
    /// access at most one line of data. Returns [`StopReason::None`] at the first instruction of any other kind.
    #[inline(always)]
    fn execute_simple(
        &mut self,
        lane: &mut Lane<'_>,
        executed: &mut Executed,
        until: u64,
        most: usize,
    ) -> StopReason {
        let timing = &self.figures().timing;
        loop {
            let [fetch, further @ ..] = lane.part.references else { return StopReason::None };
            if !fetch.kind.is_fetch()
                || !self.is_latest_fetched(lane.offset.wrapping_add(fetch.address), fetch.size)
            {
                return StopReason::None;
            }
            let issued = executed.ends;
            let mut ends =
                issued + ISSUE + if fetch.flow.is_elsewhere() { timing.taken } else { 0 };
            let mut passed = 1;
            if let [data, further @ ..] = further
                && !data.kind.is_fetch()
            {
                let address = lane.part.data[data.address as usize];
                if further.first().is_some_and(|further| !further.kind.is_fetch())
                    || !self.is_in_line(address, data.size)
                {
                    return StopReason::None;
                }
                let is_local = match data.kind {
                    Kind::Load => self.load(lane.offset, address, data.size),
                    Kind::Store => self.store(StoreAhead {
                        strand: lane.strand,
                        instruction: fetch.address,
                        turn: issued,
                        issued,
                        now: ends,
                        address,
                        offset: lane.offset,
                        size: data.size,
                    }),
                    _ => false,
                };
                if !is_local {
                    return StopReason::Blocked;
                }
                ends += if data.kind == Kind::Load { timing.load } else { 0 };
                passed = 2;
            }
            lane.by_kind.count(fetch);
            lane.pass(passed);
            executed.references += passed;
            executed.instructions += 1;
            (executed.issued, executed.ends) = (issued, ends);
            if self.stored == Some(0) {
                return StopReason::Blocked;
            }
            if ends >= until || executed.references >= most || lane.is_empty() {
                return StopReason::Ended;
            }
        }
    }

    /// Counts the instructions that a strand has executed.
    #[inline(always)]
    pub(crate) fn count(&mut self, lane: &Lane<'_>) {
        let number = lane.strand.index() % StrandId::PER_CORE;
        let events = &mut self.strands[number].events;
        let record = &mut self.records[number].instructions;
        lane.by_kind.each(|data, group, count| {
            events.add(data, group, count);
            record[data][group] += count;
        });
    }

    /// Counts the clocks in which the core has issued instructions.
    #[inline(always)]
    pub(crate) fn count_clocks(&mut self) {
        let Issues { first, after, clocks } = self.issues;
        if clocks > 0 {
            self.core.idle.issue(first, after - 1, clocks);
            self.record.issue(first, after - 1, clocks);
        }
    }

    #[inline(always)]
    pub(super) fn figures(&self) -> &'w Figures {
        self.variant.figures()
    }

    /// Returns `true` if references to these bytes have to be reported to a watch. While a core executes instructions a second
    /// time, returns `false`, because the bytes' line had not moved when the core executed them for the first time.
    #[inline(always)]
    pub(super) fn is_watched(&self, address: u64, size: u16) -> bool {
        WATCHED
            && self.moved.is_some_and(|moved| moved.may_have_any(address, size))
            && self.stored.is_none()
    }

    /// Returns `true` if each line of an instruction is the most recently used one of its set, and the fetch does not have to be
    /// reported to a watch. If so, the fetch changes nothing.
    #[inline(always)]
    pub(super) fn is_latest_fetched(&mut self, address: u64, size: u16) -> bool {
        let shift = self.figures().l1i.line_shift;
        !self.is_watched(address, size)
            && lines(shift, address, size, |line| self.core.instructions.is_latest(line))
    }

    /// Returns `true` if loaded data are in the latest used line of a set, and no watch has to be told of the load. Such a load
    /// changes nothing.
    #[inline(always)]
    pub(super) fn is_latest_loaded(&mut self, address: u64, size: u16) -> bool {
        let line = (address & ADDRESS_MASK) >> self.figures().l1d.line_shift;
        !self.is_watched(address, size)
            && self.is_in_line(address, size)
            && self.core.data.is_latest(line)
            && !self.avoids(line)
    }

    #[inline(always)]
    pub(super) fn renew_instructions(&mut self, line: u64) -> bool {
        let CoreState { instructions, ahead, .. } = &mut *self.core;
        let note = |from| ahead.renewed.push(Renewed { line, from, is_data: false });
        instructions.renew(line, note)
    }

    /// Returns `true` if the data lie in one line. The result is the same with and without a program's offset, which is a multiple
    /// of the line length.
    #[inline(always)]
    fn is_in_line(&self, address: u64, size: u16) -> bool {
        let line = 1 << self.figures().l1d.line_shift;
        address % line + u64::from(size) <= line
    }

    /// Returns `true` if the core may not load from a line of its data cache. While a core executes instructions a second time, returns
    /// `false`, because the core has already loaded from the line.
    #[inline(always)]
    fn avoids(&self, line: u64) -> bool {
        self.core.ahead.avoided.contains(self.figures().line_of_data(line)) && self.stored.is_none()
    }

    /// Loads data. Returns `false` if the core avoids one of the lines, if one is not in the cache, or if the load has to be reported to
    /// a watch.
    #[inline(always)]
    pub(super) fn load(&mut self, offset: u64, address: u64, size: u16) -> bool {
        let address = address.wrapping_add(offset);
        if self.is_watched(address, size) {
            return false;
        }
        lines(self.figures().l1d.line_shift, address, size, |line| {
            if self.avoids(line) {
                let line = self.figures().line_of_data(line);
                self.core.ahead.avoided.stop_at(line);
                return false;
            }
            let CoreState { data, ahead, .. } = &mut *self.core;
            data.renew(line, |from| ahead.renewed.push(Renewed { line, from, is_data: true }))
        })
    }

    /// Defers a store. Returns `false` if the store crosses the end of a line, or if the strand might have to wait for room for the
    /// store.
    #[inline(always)]
    pub(super) fn store(&mut self, store: StoreAhead) -> bool {
        if let Some(stored) = &mut self.stored {
            *stored -= 1;
            return true;
        }
        let number = store.strand.index() % StrandId::PER_CORE;
        let under_way = self.core.ahead.under_way[number];
        let stores = self.figures().timing.stores;
        if !self.is_in_line(store.address, store.size)
            || self.strands[number].stores.room_behind(under_way, stores) > store.now
        {
            return false;
        }
        let log = &mut self.core.ahead;
        log.under_way[number] += 1;
        log.stores.push_back(store);
        true
    }
}

/// Calls `touch` with the number of each line of `1 << shift` bytes that a reference touches, in ascending order, until `touch`
/// returns `false`. Returns `true` if it never does.
#[inline(always)]
pub(super) fn lines(
    shift: u32,
    address: u64,
    size: u16,
    mut touch: impl FnMut(u64) -> bool,
) -> bool {
    let address = address & ADDRESS_MASK;
    let last = (address + u64::from(size).saturating_sub(1)) >> shift;
    let mut line = address >> shift;
    loop {
        if !touch(line & (ADDRESS_MASK >> shift)) {
            return false;
        }
        if line == last {
            return true;
        }
        line += 1;
    }
}
