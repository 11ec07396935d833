//! Executes instructions of a strand that need nothing outside the strand's core.

use guest_abi::StrandId;

use super::{Renewed, StoreAhead};
use crate::memory::figures::{Figures, Variant};
use crate::memory::geometry::ADDRESS_MASK;
use crate::memory::moves::MovedLines;
use crate::memory::quantum::{Executed, ExecutedAhead, Quantum};
use crate::memory::system::{CoreState, MemorySystem, StrandState};
use crate::memory::timing::ISSUE;
use crate::memory::truth::StrandRecord;
use crate::memory::work::Work;
use crate::recording::{ByKind, Done, Kind, MOST_WHOLE, Part, Reference, ShapeStep, StepAction};

/// A strand that executes ahead should stop after a given number of references. It can exceed this number by at most `MOST_MORE`
/// references.
pub(crate) const MOST_MORE: usize = 128;

impl<V: Variant> Work<'_, V> {
    /// Executes the first instructions of a quantum, up to the first instruction that needs something outside the core. The last
    /// instruction begins before `most` references have been executed. An instruction that loads and then stores, but not in one
    /// step, can be divided. An instruction that accesses data after a store is not executed. A core can be
    /// [prepared](Self::begin_ahead) to access no data. If `WATCHED` is set, a watch observes the uses of moved lines. Then an
    /// instruction that fetches or loads from a moved line is not executed.
    ///
    /// Stores are deferred: they are executed later. But if `stored` is a number, the core executes these instructions again, and
    /// its first `stored` stores have been executed already. The quantum then ends after the instruction of the last of these
    /// stores.
    pub(crate) fn replay_ahead<const WATCHED: bool>(
        &mut self,
        quantum: &Quantum<'_>,
        most: usize,
        stored: &mut Option<usize>,
    ) -> ExecutedAhead {
        let Quantum { strand, offset, begins, until, references, .. } = *quantum;
        let MemorySystem { plan, strands, cores, truth, moves, ahead, .. } = &mut *self.system;
        let mut local = Local::<V, WATCHED> {
            core: &mut cores[strand.core()],
            figures: plan.variant.figures(),
            own: &mut strands[strand.index()],
            record: &mut truth.strands[strand.index()],
            with_data: ahead.with_data >> strand.core() & 1 == 1,
            strand,
            offset,
            until,
            stored,
            moved: moves.as_ref(),
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

/// Whether a strand stops, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stops {
    No,
    /// The quantum has ended, or the number of references has been reached.
    Ended,
    /// The next reference needs something outside the core.
    Blocked,
}

/// The times of a store: the time of its turn, the time at which its instruction was issued, and the time at which the strand
/// sends the store.
#[derive(Clone, Copy, Debug)]
struct StoreTimes {
    turn: u64,
    issued: u64,
    now: u64,
}

/// A strand while it executes instructions that need nothing outside its core.
struct Local<'w, V: Variant, const WATCHED: bool> {
    core: &'w mut CoreState<V>,
    figures: &'w Figures,
    own: &'w mut StrandState,
    record: &'w mut StrandRecord,
    /// Whether instructions that access data may be executed.
    with_data: bool,
    strand: StrandId,
    offset: u64,
    until: u64,
    /// The number of the next stores that were executed when the core executed these instructions for the first time; `None` if
    /// stores are deferred.
    stored: &'w mut Option<usize>,
    /// The lines that have moved between nodes; `None` if moves are not noted.
    moved: Option<&'w MovedLines>,
    now: u64,
    first_issued: u64,
    /// The line from which the latest instruction was fetched.
    fetched: u64,
    executed: Executed,
    /// The number of executed instructions by kind. Only instructions of whole shapes are counted.
    whole: ByKind,
}

/// The lengths of the logs before an instruction. If the instruction cannot be executed ahead, the later entries of the logs are
/// undone.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// The index of the instruction's fetch.
    fetch: usize,
    renewed: usize,
    stores: usize,
}

impl<V: Variant, const WATCHED: bool> Local<'_, V, WATCHED> {
    /// Returns `true` if a watch has to be told of references to these bytes. Returns `false` while a core executes instructions
    /// again, because the core first executed them before the line of these bytes moved.
    #[inline(always)]
    fn is_watched(&self, address: u64, size: u16) -> bool {
        WATCHED
            && self.moved.is_some_and(|moved| moved.may_have_any(address, size))
            && self.stored.is_none()
    }

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
        // The time at which the shape would have begun if it had been executed from its start without a stall.
        let begins = self.now.wrapping_sub(timing.elapsed(&done));
        // The mark of the latest instruction that changed a log.
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
                    let address = address.wrapping_add(self.offset);
                    let line = line(self.figures.l1i.line_shift, address);
                    !self.is_watched(address, 1)
                        && (self.core.instructions.is_latest(line) || self.renew_instructions(line))
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
                        let instruction = shape.address.wrapping_add_signed(step.offset.into());
                        let times = StoreTimes { turn, issued, now };
                        is_last && self.store(instruction, *address, step.further + 1, times)
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
            // A store that follows a load can be executed later than its instruction begins. So the strand stops between the load
            // and the store.
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

    /// Counts these references. The first of them begins an instruction, and the last of them ends at the current time.
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
            let Some(executed) = self.instruction(rest, part) else {
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
                // The quantum ends between a load and a store of the instruction.
                return Stops::Ended;
            }
        }
        Stops::No
    }

    /// Executes an instruction, or the rest of a divided instruction. If the quantum ends between a load and a store, stops
    /// before the store. Returns the number of executed references. Returns `None` if the instruction needs something outside the
    /// core.
    #[inline(always)]
    fn instruction(&mut self, references: &[Reference], part: &Part<'_>) -> Option<usize> {
        let data = part.data;
        let timing = &self.figures.timing;
        let (issued, mut turn) = (self.now, self.now);
        let mut executed = 0;
        let begins = references.first().is_some_and(|first| first.kind.is_fetch());
        let before = WATCHED && !begins;
        let mut instruction = if before { part.instruction_before() } else { None };
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
                    if WATCHED && instruction.is_none() {
                        return None;
                    }
                    let address = *data.get(reference.address as usize)?;
                    let instruction = instruction.unwrap_or_default();
                    if !self.store(instruction, address, reference.size, times) {
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
                    instruction = Some(reference.address);
                }
            }
            executed += 1;
            loaded = reference.kind == Kind::Load;
        }
        (executed < MOST_MORE).then_some(executed)
    }

    /// Defers a store: the store is executed later. Returns `false` if no data may be accessed, if the store does not fit into one
    /// line, or if the strand might have to wait until there is room for the store.
    #[inline(always)]
    fn store(&mut self, instruction: u64, address: u64, size: u16, times: StoreTimes) -> bool {
        if !self.with_data {
            return false;
        }
        if let Some(stored) = self.stored {
            *stored -= 1;
            return true;
        }
        let (log, figures) = (&mut self.core.ahead, self.figures);
        let under_way = &mut log.under_way[self.strand.index() % StrandId::PER_CORE];
        let line = 1 << figures.l1d.line_shift;
        // The program's offset is a multiple of the line's length, so it does not matter here.
        if address % line + u64::from(size) > line
            || self.own.stores.room_behind(*under_way, figures.timing.stores) > times.now
        {
            return false;
        }
        *under_way += 1;
        let StoreTimes { turn, issued, now } = times;
        let strand = self.strand;
        let store = StoreAhead { strand, instruction, turn, issued, now, address, size };
        log.stores.push_back(store);
        true
    }

    /// Fetches the lines of an instruction. Returns `false` if the cache lacks one of the lines, or if a watch has to be told of
    /// the fetch.
    #[inline(always)]
    fn fetch_lines(&mut self, fetch: &Reference) -> bool {
        let address = fetch.address.wrapping_add(self.offset);
        if self.is_watched(address, fetch.size) {
            return false;
        }
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

    /// Loads data. Returns `false` if no data may be accessed, if the cache lacks one of the data's lines, or if a watch has to be
    /// told of the load.
    #[inline(always)]
    fn load(&mut self, address: u64, size: u16) -> bool {
        let address = address.wrapping_add(self.offset);
        if !self.with_data || self.is_watched(address, size) {
            return false;
        }
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

/// Calls `touch` with the number of each line of `1 << shift` bytes that a reference touches, in ascending order, until `touch`
/// returns `false`. Returns `true` if `touch` never returns `false`.
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
