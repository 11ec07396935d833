//! Executes what needs nothing outside a core, before the turns of other cores that come earlier.
//!
//! Such references hit the caches of their core and store nothing. They change only the order of replacement in these caches and
//! counts of the core and its strands, and all of this can be undone.

use std::collections::VecDeque;

use guest_abi::StrandId;

use super::copies::Copy;
use super::figures::{Figures, Variant};
use super::geometry::ADDRESS_MASK;
use super::quantum::{Executed, Quantum};
use super::system::{CoreState, MemorySystem};
use super::timing::ISSUE;
use super::truth::{CoreRecord, StrandRecord};
use super::wires::{Idle, StrandEvents};
use super::work::Work;
use crate::recording::{
    ByKind, Done, Kind, MOST_WHOLE, Part, Reference, References, ShapeStep, StepAction,
};
use crate::replay::scheduler::ahead::ExecutedAhead;

/// The maximum number of references that a strand executes ahead after the number of references at which it should stop.
pub(crate) const MOST_MORE: usize = 128;

/// The state of a core before it ran ahead, and what it did to its caches since.
#[derive(Clone, Debug, Default)]
pub(super) struct AheadLog {
    renewed: Vec<Renewed>,
    idle: Idle,
    record: CoreRecord,
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
        (state.idle, truth.cores[core]) = (state.ahead.idle, state.ahead.record);
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
    pub(crate) fn replay_ahead(&mut self, quantum: &Quantum<'_>, most: usize) -> ExecutedAhead {
        let Quantum { strand, offset, begins, until, references, .. } = *quantum;
        let MemorySystem { plan, strands, cores, truth, .. } = &mut *self.system;
        let mut local = Local {
            core: &mut cores[strand.core()],
            figures: plan.variant.figures(),
            events: &mut strands[strand.index()].events,
            record: &mut truth.strands[strand.index()],
            offset,
            now: begins,
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
                None => local.one_by_one(&part, until, most),
            };
            rest.skip_part();
        }
        let Local { core, whole, now, mut executed, .. } = local;
        executed.ends = now;
        if executed.instructions > 0 {
            if whole != ByKind::default() {
                local.events.instructions(&whole);
                local.record.instructions(&whole);
            }
            let (first, last, issues) = (begins, executed.issued, executed.instructions);
            core.idle.issue(first, last, issues);
            truth.cores[strand.core()].issue(first, last, issues);
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

/// A strand that executes what needs nothing outside its core.
struct Local<'w, V: Variant> {
    core: &'w mut CoreState<V>,
    figures: &'w Figures,
    events: &'w mut StrandEvents,
    record: &'w mut StrandRecord,
    offset: u64,
    now: u64,
    /// The line from which the latest instruction was fetched.
    fetched: u64,
    executed: Executed,
    /// The number of instructions by kind, in executions of whole shapes.
    whole: ByKind,
}

impl<V: Variant> Local<'_, V> {
    /// Executes a part of a shape step by step.
    #[inline(always)]
    fn steps(&mut self, part: &Part<'_>, steps: &[ShapeStep], done: Done) -> Stops {
        let (timing, shape) = (&self.figures.timing, part.shape);
        // When the shape would have begun if it had been executed from its start without a stall.
        let begins = self.now.wrapping_sub(timing.elapsed(&done));
        // The fetch of the latest instruction that changed the order of use, and the length of the log before.
        let mut marked = (part.first, self.core.ahead.renewed.len());
        if part.first > 0 && !self.fetch_lines(&part.references[0]) {
            self.core.undo(marked.1);
            return Stops::Blocked;
        }
        let mut data = part.data[part.first - usize::from(done.begun)..].iter();
        for step in steps {
            let renewed = self.core.ahead.renewed.len();
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
                StepAction::Store | StepAction::Modify => false,
            };
            let fetch = usize::from(step.fetch);
            if is_local {
                if self.core.ahead.renewed.len() != renewed && marked.0 != fetch {
                    marked = (fetch, renewed);
                }
                continue;
            }
            // A store that follows a load can begin later than its instruction.
            let stops = if step.action == StepAction::Store && step.divided == step.done.loads {
                self.now = begins.wrapping_add(timing.elapsed(&step.done));
                usize::from(step.next) - 1
            } else {
                if marked.0 == fetch {
                    self.core.undo(marked.1);
                }
                self.now = begins.wrapping_add(timing.issued(&step.done));
                fetch
            };
            self.count(&part.references[..stops - part.first]);
            return Stops::Blocked;
        }
        self.now = begins.wrapping_add(timing.elapsed(&shape.done));
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
                loads += 1;
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
        self.events.instruction(access, group);
        self.record.instructions[access as usize][group as usize] += 1;
        self.executed.instructions += 1;
    }

    /// Executes a part of a shape reference by reference.
    #[inline(always)]
    fn one_by_one(&mut self, part: &Part<'_>, until: u64, most: usize) -> Stops {
        let mut rest = part.references;
        while !rest.is_empty() {
            let references = self.executed.references;
            if references > 0 && self.now >= until || references >= most {
                return Stops::Ended;
            }
            let (began, renewed) = (self.now, self.core.ahead.renewed.len());
            let Some(loads) = self.instruction(rest, part.data) else {
                self.core.undo(renewed);
                self.now = began;
                return Stops::Blocked;
            };
            self.count_instruction(&rest[0]);
            self.executed.issued = began;
            self.executed.references += 1 + loads;
            rest = &rest[1 + loads..];
            if rest.first().is_some_and(|next| !next.kind.is_fetch()) {
                return Stops::Blocked;
            }
        }
        Stops::No
    }

    /// Executes the first of these references, which is the fetch of an instruction, and the loads that follow it. A store is not
    /// executed; it must follow a load. Returns the number of loads. Returns `None` if the instruction needs something outside the core.
    #[inline(always)]
    fn instruction(&mut self, references: &[Reference], data: &[u64]) -> Option<usize> {
        let (fetch, others) = references.split_first()?;
        let timing = &self.figures.timing;
        self.now += ISSUE + if fetch.flow.is_elsewhere() { timing.taken } else { 0 };
        if !fetch.kind.is_fetch() || !self.fetch_lines(fetch) {
            return None;
        }
        let mut loads = 0;
        for other in others.iter().take(MOST_MORE) {
            match other.kind {
                Kind::Load => {
                    self.now += timing.load;
                    if !self.load(*data.get(other.address as usize)?, other.size) {
                        return None;
                    }
                    loads += 1;
                }
                Kind::Store if loads > 0 => break,
                Kind::Store | Kind::Modify => return None,
                _ => break,
            }
        }
        (loads < MOST_MORE).then_some(loads)
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
