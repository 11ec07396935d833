//! A core while its strands execute ahead.

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

/// A core while its strands execute ahead.
///
/// A core can be [prepared](Work::begin_ahead) to access no data. If `WATCHED` is set, a watch observes the uses of moved lines.
/// Then an instruction that fetches or loads from a moved line is not executed.
///
/// Stores are deferred: they are executed later. But if `stored` is a number, the core executes these instructions again, and its
/// first `stored` stores have been executed already. The core then stops after the instruction of the last of these stores.
pub(crate) struct CoreAhead<'w, V: Variant, const WATCHED: bool> {
    pub(super) core: &'w mut CoreState<V>,
    variant: &'w V,
    /// The core's strands and their records.
    strands: &'w mut [StrandState],
    records: &'w mut [StrandRecord],
    record: &'w mut CoreRecord,
    issues: Issues,
    /// Whether instructions that access data may be executed.
    with_data: bool,
    /// The number of the next stores that were executed when the core executed these instructions for the first time; `None` if
    /// stores are deferred.
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
    /// The number of clocks with an issue.
    clocks: u64,
}

impl Issues {
    /// Adds `count` instructions of a turn, which were issued in different clocks, from `first` to `last`. No instruction of an
    /// earlier turn may have been issued later than at `first`.
    #[inline(always)]
    fn add(&mut self, first: u64, last: u64, count: u64) {
        if self.clocks == 0 {
            self.first = first;
        }
        self.clocks += count - u64::from(first < self.after);
        self.after = last + 1;
    }
}

/// The times of a store: the time of its turn, the time at which its instruction was issued, and the time at which the strand
/// sends the store.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoreTimes {
    pub(super) turn: u64,
    pub(super) issued: u64,
    pub(super) now: u64,
}

/// Whether a strand stops, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stops {
    No,
    /// The turn has ended, or the number of references has been reached.
    Ended,
    /// The next reference needs something outside the core.
    Blocked,
}

/// A turn that lasts at most this number of cycles is executed instruction by instruction: it is too short for most whole shapes.
const SHORT: u64 = 64;

impl<V: Variant> Work<'_, V> {
    /// Returns a core whose strands execute ahead.
    #[inline(always)]
    pub(crate) fn core_ahead<const WATCHED: bool>(
        &mut self,
        core: usize,
        stored: Option<usize>,
    ) -> CoreAhead<'_, V, WATCHED> {
        let MemorySystem { plan, strands, cores, truth, moves, ahead, .. } = &mut *self.system;
        let of_core = core * StrandId::PER_CORE..(core + 1) * StrandId::PER_CORE;
        CoreAhead {
            core: &mut cores[core],
            variant: &plan.variant,
            strands: &mut strands[of_core.clone()],
            records: &mut truth.strands[of_core],
            record: &mut truth.cores[core],
            issues: Issues::default(),
            with_data: ahead.with_data >> core & 1 == 1,
            stored,
            moved: moves.as_ref(),
        }
    }
}

impl<'w, V: Variant, const WATCHED: bool> CoreAhead<'w, V, WATCHED> {
    /// Executes the next instructions of a strand, up to the first instruction that needs something outside the core. The first
    /// instruction begins at the time `begins`. Further instructions begin before the time `until`, and before `most` references
    /// have been executed. An instruction that loads and then stores, but not in one step, can be divided. An instruction that
    /// accesses data after a store is not executed.
    #[inline(always)]
    pub(crate) fn turn(
        &mut self,
        lane: &mut Lane<'_>,
        begins: u64,
        until: u64,
        most: usize,
    ) -> ExecutedAhead {
        let mut executed = Executed { ends: begins, ..Executed::default() };
        let mut first_issued = begins;
        let mut stops = Stops::No;
        if until.saturating_sub(begins) <= SHORT {
            stops = self.short(lane, &mut executed, until, most);
        }
        if stops == Stops::No {
            (executed, first_issued, stops) = self.long(lane, begins, executed, until, most);
        }
        if executed.instructions > 0 {
            self.issues.add(first_issued, executed.issued, executed.instructions);
        }
        ExecutedAhead { executed, blocked: stops == Stops::Blocked }
    }

    /// Executes instructions that need little work: their lines of code were used last, and they access at most one line of data.
    /// Returns [`Stops::No`] before any other instruction.
    #[inline(always)]
    fn short(
        &mut self,
        lane: &mut Lane<'_>,
        executed: &mut Executed,
        until: u64,
        most: usize,
    ) -> Stops {
        let timing = &self.figures().timing;
        loop {
            let [fetch, further @ ..] = lane.part.references else { return Stops::No };
            if !fetch.kind.is_fetch()
                || !self.is_latest_fetched(lane.offset.wrapping_add(fetch.address), fetch.size)
            {
                return Stops::No;
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
                    return Stops::No;
                }
                let is_local = match data.kind {
                    Kind::Load => self.load(lane.offset, address, data.size),
                    Kind::Store => {
                        let times = StoreTimes { turn: issued, issued, now: ends };
                        self.store(lane.strand, fetch.address, address, data.size, times)
                    }
                    _ => false,
                };
                if !is_local {
                    return Stops::Blocked;
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
                return Stops::Blocked;
            }
            if ends >= until || executed.references >= most || lane.is_empty() {
                return Stops::Ended;
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

    /// Returns `true` if a watch has to be told of references to these bytes. Returns `false` while a core executes instructions
    /// again, because the core first executed them before the line of these bytes moved.
    #[inline(always)]
    pub(super) fn is_watched(&self, address: u64, size: u16) -> bool {
        WATCHED
            && self.moved.is_some_and(|moved| moved.may_have_any(address, size))
            && self.stored.is_none()
    }

    /// Returns `true` if the lines of an instruction are the latest used ones of their sets, and no watch has to be told of the
    /// fetch. Such a fetch changes nothing.
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
        self.with_data
            && !self.is_watched(address, size)
            && self.is_in_line(address, size)
            && self.core.data.is_latest((address & ADDRESS_MASK) >> self.figures().l1d.line_shift)
    }

    #[inline(always)]
    pub(super) fn renew_instructions(&mut self, line: u64) -> bool {
        let CoreState { instructions, ahead, .. } = &mut *self.core;
        let note = |from| ahead.renewed.push(Renewed { line, from, is_data: false });
        instructions.renew(line, note)
    }

    /// Returns `true` if data are in one line. The program's offset is a multiple of the line's length, so it does not matter here.
    #[inline(always)]
    fn is_in_line(&self, address: u64, size: u16) -> bool {
        let line = 1 << self.figures().l1d.line_shift;
        address % line + u64::from(size) <= line
    }

    /// Loads data. Returns `false` if no data may be accessed, if the cache lacks one of the data's lines, or if a watch has to be
    /// told of the load.
    #[inline(always)]
    pub(super) fn load(&mut self, offset: u64, address: u64, size: u16) -> bool {
        let address = address.wrapping_add(offset);
        if !self.with_data || self.is_watched(address, size) {
            return false;
        }
        lines(self.figures().l1d.line_shift, address, size, |line| {
            let CoreState { data, ahead, .. } = &mut *self.core;
            data.renew(line, |from| ahead.renewed.push(Renewed { line, from, is_data: true }))
        })
    }

    /// Defers a store: the store is executed later. Returns `false` if no data may be accessed, if the store does not fit into one
    /// line, or if the strand might have to wait until there is room for the store.
    #[inline(always)]
    pub(super) fn store(
        &mut self,
        strand: StrandId,
        instruction: u64,
        address: u64,
        size: u16,
        times: StoreTimes,
    ) -> bool {
        if !self.with_data {
            return false;
        }
        if let Some(stored) = &mut self.stored {
            *stored -= 1;
            return true;
        }
        let number = strand.index() % StrandId::PER_CORE;
        let under_way = self.core.ahead.under_way[number];
        let stores = self.figures().timing.stores;
        if !self.is_in_line(address, size)
            || self.strands[number].stores.room_behind(under_way, stores) > times.now
        {
            return false;
        }
        let log = &mut self.core.ahead;
        log.under_way[number] += 1;
        let StoreTimes { turn, issued, now } = times;
        log.stores.push_back(StoreAhead { strand, instruction, turn, issued, now, address, size });
        true
    }
}

/// Calls `touch` with the number of each line of `1 << shift` bytes that a reference touches, in ascending order, until `touch`
/// returns `false`. Returns `true` if `touch` never returns `false`.
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
