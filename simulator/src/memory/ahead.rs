//! Executes what needs nothing outside a core, before the turns of other cores that come earlier.
//!
//! Loads and fetches that hit the caches of their core change only the order of replacement in these caches and counts of the core and its
//! strands, and all of this can be undone. A strand does not wait for its stores while there is room for more. So it can go on, and each
//! store is executed later, when its turn comes.

use std::collections::VecDeque;

use guest_abi::StrandId;

use super::copies::Copy;
use super::figures::{Figures, Variant};
use super::geometry::ADDRESS_MASK;
use super::quantum::{Executed, ExecutedAhead, Quantum};
use super::system::{CoreState, MemorySystem, StrandState};
use super::timing::ISSUE;
use super::truth::{CoreRecord, StrandRecord};
use super::wires::Idle;
use super::work::Work;
use crate::recording::{
    ByKind, Done, Kind, MOST_WHOLE, Part, Reference, References, ShapeStep, StepAction,
};

/// The maximum number of references that a strand executes ahead after the number of references at which it should stop.
pub(crate) const MOST_MORE: usize = 128;

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
    /// The time of the store's turn.
    turn: u64,
    /// When the instruction was issued.
    issued: u64,
    /// When the strand sends the store.
    now: u64,
    /// The address, with the program's offset.
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

/// The cores that may run ahead, and what other cores have taken from their L1 caches.
#[derive(Clone, Debug, Default)]
pub(super) struct CoresAhead {
    /// One bit for each core that may run ahead.
    pub(super) cores: u64,
    dropped: VecDeque<Dropped>,
}

/// A copy of a line that an L1 cache of a core loses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dropped {
    /// The core that loses the line.
    pub(crate) core: usize,
    /// The time of the turn in which the core loses the line.
    pub(crate) at: u64,
    copy: Copy,
}

impl CoresAhead {
    /// Returns `true` if the core may run ahead.
    #[inline]
    pub(super) fn has(&self, core: usize) -> bool {
        self.cores >> core & 1 == 1
    }

    pub(super) fn drop(&mut self, core: usize, copy: Copy, at: u64) {
        self.dropped.push_back(Dropped { core, at, copy });
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

    /// Executes the first store that a core has passed, because the store's turn has come.
    #[inline]
    pub(crate) fn store_ahead(&mut self, core: usize) {
        let log = &mut self.system.cores[core].ahead;
        let Some(store) = log.stores.pop_front() else { return };
        log.under_way[store.strand.index() % StrandId::PER_CORE] -= 1;
        log.stored += 1;
        let mut access = self.access(store.strand, 0, store.now);
        (access.turn, access.issued) = (store.turn, store.issued);
        access.store(store.address, store.size);
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

    /// Returns the first line that a core which may run ahead has to lose.
    #[inline]
    pub(crate) fn next_dropped(&mut self) -> Option<Dropped> {
        self.system.ahead.dropped.pop_front()
    }

    /// Drops a line from the cache of a core that does not run ahead.
    pub(crate) fn drop(&mut self, dropped: Dropped) {
        self.system.cores[dropped.core].drop(dropped.copy);
    }

    /// Executes the first instructions of a quantum, up to the first instruction that needs something outside the core. An instruction that
    /// loads and then stores, but not in one step, can be divided. The last instruction begins before `most` references were executed.
    /// An instruction that does anything after a store is not executed. Stores are to be executed later. If some were `stored` already, these
    /// are the first, and the quantum ends after the instruction of the last of them.
    pub(crate) fn replay_ahead(
        &mut self,
        quantum: &Quantum<'_>,
        most: usize,
        stored: &mut Option<usize>,
    ) -> ExecutedAhead {
        let Quantum { strand, offset, begins, until, references, .. } = *quantum;
        let MemorySystem { plan, strands, cores, truth, .. } = &mut *self.system;
        let mut local = Local {
            core: &mut cores[strand.core()],
            figures: plan.variant.figures(),
            own: &mut strands[strand.index()],
            record: &mut truth.strands[strand.index()],
            strand,
            offset,
            until,
            stored,
            now: begins,
            first_issued: begins,
            fetched: NO_LINE,
            executed: Executed::default(),
            whole: ByKind::default(),
        };
        let most = most.min(MOST_WHOLE - MOST_MORE);
        let mut rest = references;
        let mut stops = Stops::No;
        while stops == Stops::No && !rest.is_empty() && local.executed.references < most {
            let part = rest.part();
            let length = part.references.len();
            let longest = local.figures.timing.longest() * length as u64;
            let is_short = length <= MOST_MORE && until.saturating_sub(local.now) > longest;
            stops = match is_short.then(|| part.steps()).flatten() {
                Some((steps, done)) => local.steps(&part, steps, done),
                None => local.one_by_one(&part, most),
            };
            rest.skip_part();
        }
        let Local { core, own, record, whole, now, first_issued, mut executed, .. } = local;
        executed.ends = now;
        if executed.instructions > 0 {
            if whole != ByKind::default() {
                own.events.instructions(&whole);
                record.instructions(&whole);
            }
            let (last, issues) = (executed.issued, executed.instructions);
            core.idle.issue(first_issued, last, issues);
            truth.cores[strand.core()].issue(first_issued, last, issues);
        }
        ExecutedAhead { executed, blocked: stops == Stops::Blocked }
    }
}

/// Whether a strand stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stops {
    No,
    /// The time or the number of references has been reached.
    Ended,
    /// The next reference needs something outside the core.
    Blocked,
}

/// The times of a store: its turn, when its instruction was issued, and when the strand sends it.
#[derive(Clone, Copy, Debug)]
struct StoreTimes {
    turn: u64,
    issued: u64,
    now: u64,
}

/// A strand that executes what needs nothing outside its core.
struct Local<'w, V: Variant> {
    core: &'w mut CoreState<V>,
    figures: &'w Figures,
    own: &'w mut StrandState,
    record: &'w mut StrandRecord,
    strand: StrandId,
    offset: u64,
    until: u64,
    /// How many of the next stores were executed already; `None` if stores are to be executed later.
    stored: &'w mut Option<usize>,
    now: u64,
    first_issued: u64,
    /// The line from which the latest instruction was fetched.
    fetched: u64,
    executed: Executed,
    /// The number of instructions by kind, in executions of whole shapes.
    whole: ByKind,
}

/// What is undone if an instruction cannot be executed ahead: the lengths of the logs before it.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// The index of the instruction's fetch.
    fetch: usize,
    renewed: usize,
    stores: usize,
}

impl<V: Variant> Local<'_, V> {
    #[inline(always)]
    fn mark(&self, fetch: usize) -> Mark {
        let log = &self.core.ahead;
        Mark { fetch, renewed: log.renewed.len(), stores: log.stores.len() }
    }

    #[cold]
    fn undo(&mut self, mark: Mark) {
        self.core.undo(mark.renewed);
        if self.stored.is_none() {
            self.core.ahead.forget_stores(mark.stores);
        }
    }

    /// Executes a part of a shape step by step.
    #[inline(always)]
    fn steps(&mut self, part: &Part<'_>, steps: &[ShapeStep], done: Done) -> Stops {
        let (timing, shape) = (&self.figures.timing, part.shape);
        // When the shape would have begun if it had been executed from its start without a stall.
        let begins = self.now.wrapping_sub(timing.elapsed(&done));
        // The latest instruction that changed a log.
        let mut marked = self.mark(part.first);
        if part.first > 0 && !self.fetch_lines(&part.references[0]) {
            self.undo(marked);
            return Stops::Blocked;
        }
        let mut data = part.data[part.first - usize::from(done.begun)..].iter();
        let mut steps = steps.iter();
        while let Some(step) = steps.next() {
            let fetch = usize::from(step.fetch);
            let before = self.mark(fetch);
            let is_local = match step.action {
                StepAction::Fetch => {
                    let address = shape.address.wrapping_add_signed(step.offset.into());
                    let line = line(self.figures.l1i.line_shift, address.wrapping_add(self.offset));
                    self.core.instructions.is_latest(line) || self.renew_instructions(line)
                }
                StepAction::Load => match data.next() {
                    Some(address) => self.load(*address, step.further + 1),
                    None => false,
                },
                StepAction::Store => match data.next() {
                    Some(address) => {
                        let issued = begins.wrapping_add(timing.issued(&step.done));
                        let turn = match step.divided {
                            ShapeStep::UNDIVIDED => issued,
                            loads => {
                                begins.wrapping_add(timing.elapsed(&Done { loads, ..step.done }))
                            }
                        };
                        let now = begins.wrapping_add(timing.elapsed(&step.done));
                        let is_last =
                            steps.as_slice().first().is_none_or(|next| next.fetch != step.fetch);
                        is_last
                            && self.store(
                                *address,
                                step.further + 1,
                                StoreTimes { turn, issued, now },
                            )
                    }
                    None => false,
                },
                StepAction::Modify => false,
            };
            if is_local {
                let log = &self.core.ahead;
                let is_same =
                    log.renewed.len() == before.renewed && log.stores.len() == before.stores;
                if !is_same && marked.fetch != fetch {
                    marked = before;
                }
                if *self.stored == Some(0) {
                    self.now = begins.wrapping_add(timing.elapsed(&step.done));
                    self.count(&part.references[..usize::from(step.next) - part.first]);
                    return Stops::Blocked;
                }
                continue;
            }
            // A store that follows a load can begin later than its instruction.
            let stops = if step.action == StepAction::Store && step.divided == step.done.loads {
                self.now = begins.wrapping_add(timing.elapsed(&step.done));
                usize::from(step.next) - 1
            } else {
                if marked.fetch == fetch {
                    self.undo(marked);
                }
                self.now = begins.wrapping_add(timing.issued(&step.done));
                fetch
            };
            self.count(&part.references[..stops - part.first]);
            return Stops::Blocked;
        }
        self.now = begins.wrapping_add(timing.elapsed(&shape.done));
        self.fetched = NO_LINE;
        if part.first > 0 {
            self.count(part.references);
            return Stops::No;
        }
        self.executed.issued = begins.wrapping_add(timing.issued(&shape.done));
        self.executed.references += part.references.len();
        self.executed.instructions += u64::from(shape.done.begun);
        self.whole.add(&shape.by_kind);
        Stops::No
    }

    /// Counts these references, which end at the current time. They begin with an instruction.
    #[inline]
    fn count(&mut self, references: &[Reference]) {
        let timing = &self.figures.timing;
        let mut loads = 0;
        let mut latest = None;
        for reference in references {
            if reference.kind.is_fetch() {
                self.count_instruction(reference);
                (latest, loads) = (Some(reference), 0);
            } else {
                loads += u64::from(reference.kind == Kind::Load);
            }
        }
        if let Some(latest) = latest {
            let taken = if latest.flow.is_elsewhere() { timing.taken } else { 0 };
            self.executed.issued = self.now - ISSUE - taken - loads * timing.load;
        }
        self.executed.references += references.len();
    }

    #[inline(always)]
    fn count_instruction(&mut self, fetch: &Reference) {
        let (access, group) = (fetch.data(), fetch.group());
        self.own.events.instruction(access, group);
        self.record.instructions[access as usize][group as usize] += 1;
        self.executed.instructions += 1;
    }

    /// Executes a part of a shape reference by reference.
    #[inline(always)]
    fn one_by_one(&mut self, part: &Part<'_>, most: usize) -> Stops {
        let mut rest = part.references;
        while let Some(first) = rest.first() {
            let references = self.executed.references;
            if references > 0 && self.now >= self.until || references >= most {
                return Stops::Ended;
            }
            let (began, mark) = (self.now, self.mark(0));
            let Some(executed) = self.instruction(rest, part.data) else {
                self.undo(mark);
                self.now = began;
                return Stops::Blocked;
            };
            if first.kind.is_fetch() {
                if self.executed.instructions == 0 {
                    self.first_issued = began;
                }
                self.count_instruction(first);
                self.executed.issued = began;
            }
            self.executed.references += executed;
            rest = &rest[executed..];
            if *self.stored == Some(0) {
                return Stops::Blocked;
            }
            if rest.first().is_some_and(|next| !next.kind.is_fetch()) {
                // The instruction is divided.
                return Stops::Ended;
            }
        }
        Stops::No
    }

    /// Executes an instruction, or the rest of a divided instruction. A store that follows a load is not executed if the time of the
    /// quantum is over. Returns the number of executed references. Returns `None` if the instruction needs something outside the core.
    #[inline(always)]
    fn instruction(&mut self, references: &[Reference], data: &[u64]) -> Option<usize> {
        let timing = &self.figures.timing;
        let (issued, mut turn) = (self.now, self.now);
        let mut executed = 0;
        let (mut loaded, mut stored) = (false, false);
        for reference in references.iter().take(MOST_MORE) {
            match reference.kind {
                Kind::Load | Kind::Store if stored => return None,
                Kind::Load => {
                    self.now += timing.load;
                    if !self.load(*data.get(reference.address as usize)?, reference.size) {
                        return None;
                    }
                }
                Kind::Store => {
                    if loaded && self.now >= self.until {
                        return Some(executed);
                    }
                    turn = if loaded { self.now } else { turn };
                    let times = StoreTimes { turn, issued, now: self.now };
                    if !self.store(*data.get(reference.address as usize)?, reference.size, times) {
                        return None;
                    }
                    stored = true;
                }
                Kind::Modify => return None,
                _ if executed > 0 => return Some(executed),
                _ => {
                    let taken = if reference.flow.is_elsewhere() { timing.taken } else { 0 };
                    self.now += ISSUE + taken;
                    if !self.fetch_lines(reference) {
                        return None;
                    }
                }
            }
            executed += 1;
            loaded = reference.kind == Kind::Load;
        }
        (executed < MOST_MORE).then_some(executed)
    }

    /// Passes a store, so that it is executed later. Returns `false` if the strand might have to wait until there is room for the store.
    #[inline(always)]
    fn store(&mut self, address: u64, size: u16, times: StoreTimes) -> bool {
        if let Some(stored) = self.stored {
            *stored -= 1;
            return true;
        }
        let address = address.wrapping_add(self.offset);
        let (log, figures) = (&mut self.core.ahead, self.figures);
        let under_way = &mut log.under_way[self.strand.index() % StrandId::PER_CORE];
        let line = 1 << figures.l1d.line_shift;
        if address % line + u64::from(size) > line
            || self.own.stores.room_behind(*under_way, figures.timing.stores) > times.now
        {
            return false;
        }
        *under_way += 1;
        let StoreTimes { turn, issued, now } = times;
        log.stores.push_back(StoreAhead { strand: self.strand, turn, issued, now, address, size });
        true
    }

    /// Fetches the lines of an instruction. Returns `false` if the cache lacks one of them.
    #[inline(always)]
    fn fetch_lines(&mut self, fetch: &Reference) -> bool {
        let address = fetch.address.wrapping_add(self.offset);
        lines(self.figures.l1i.line_shift, address, fetch.size, |line| {
            let fetched = std::mem::replace(&mut self.fetched, line);
            line == fetched || self.renew_instructions(line)
        })
    }

    #[inline(always)]
    fn renew_instructions(&mut self, line: u64) -> bool {
        let CoreState { instructions, ahead, .. } = &mut *self.core;
        let note = |from| ahead.renewed.push(Renewed { line, from, is_data: false });
        instructions.renew(line, note)
    }

    /// Loads data. Returns `false` if the cache lacks one of their lines.
    #[inline(always)]
    fn load(&mut self, address: u64, size: u16) -> bool {
        let address = address.wrapping_add(self.offset);
        lines(self.figures.l1d.line_shift, address, size, |line| {
            let CoreState { data, ahead, .. } = &mut *self.core;
            data.renew(line, |from| ahead.renewed.push(Renewed { line, from, is_data: true }))
        })
    }
}

/// A number that is not the number of any line.
const NO_LINE: u64 = u64::MAX;

#[inline(always)]
fn line(shift: u32, address: u64) -> u64 {
    (address & ADDRESS_MASK) >> shift
}

/// Calls `touch` for each line of `1 << shift` bytes that a reference touches, with the line's number, in ascending order, until it returns
/// `false`. Returns `true` if it never does.
#[inline(always)]
fn lines(shift: u32, address: u64, size: u16, mut touch: impl FnMut(u64) -> bool) -> bool {
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
