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
use super::truth::CoreRecord;
use super::wires::Idle;
use super::work::Work;
use crate::recording::{Kind, Reference, References};
use crate::replay::scheduler::ahead::ExecutedAhead;

/// The maximum number of loads of an instruction that is executed ahead.
pub(crate) const MOST_LOADS: usize = 15;

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
        let figures = plan.variant.figures();
        let events = &mut strands[strand.index()].events;
        let record = &mut truth.strands[strand.index()];
        let core = &mut cores[strand.core()];
        let mut local = Local { core, figures, offset, now: begins, fetched: u64::MAX };
        let mut executed = Executed { ends: begins, ..Executed::default() };
        let mut rest = references;
        let mut blocked = false;
        'parts: while !rest.is_empty() {
            let (references, data) = rest.part();
            let mut at = 0;
            while let Some(fetch) = references.get(at) {
                if local.now >= until && executed.references > 0 || executed.references >= most {
                    break 'parts;
                }
                let renewed = local.core.ahead.renewed.len();
                let Some(others) = local.instruction(&references[at..], data) else {
                    local.core.undo(renewed);
                    blocked = true;
                    break 'parts;
                };
                let (access, group) = (fetch.data(), fetch.group());
                events.instruction(access, group);
                record.instructions[access as usize][group as usize] += 1;
                (executed.issued, executed.ends) = (executed.ends, local.now);
                executed.instructions += 1;
                executed.references += 1 + others;
                at += 1 + others;
                if references.get(at).is_some_and(|next| !next.kind.is_fetch()) {
                    blocked = true;
                    break 'parts;
                }
            }
            rest.skip_part();
        }
        if executed.instructions > 0 {
            let (first, last, issues) = (begins, executed.issued, executed.instructions);
            local.core.idle.issue(first, last, issues);
            truth.cores[strand.core()].issue(first, last, issues);
        }
        ExecutedAhead { executed, blocked }
    }
}

/// A strand that executes what needs nothing outside its core.
struct Local<'w, V: Variant> {
    core: &'w mut CoreState<V>,
    figures: &'w Figures,
    offset: u64,
    now: u64,
    /// The line from which the latest instruction was fetched.
    fetched: u64,
}

impl<V: Variant> Local<'_, V> {
    /// Executes the first of these references, which is the fetch of an instruction, and the loads that follow it. A store is not
    /// executed; it must follow a load. Returns the number of loads. Returns `None` if the instruction needs something outside the core.
    #[inline(always)]
    fn instruction(&mut self, references: &[Reference], data: &[u64]) -> Option<usize> {
        let (fetch, others) = references.split_first()?;
        if !fetch.kind.is_fetch() || !self.fetch(fetch) {
            return None;
        }
        let mut loads = 0;
        for other in others.iter().take(MOST_LOADS + 1) {
            match other.kind {
                Kind::Load => {
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
        (loads <= MOST_LOADS).then_some(loads)
    }

    #[inline(always)]
    fn fetch(&mut self, fetch: &Reference) -> bool {
        let timing = &self.figures.timing;
        self.now += ISSUE + if fetch.flow.is_elsewhere() { timing.taken } else { 0 };
        let address = fetch.address.wrapping_add(self.offset);
        lines(self.figures.l1i.line_shift, address, fetch.size, |line| {
            if line == self.fetched {
                return true;
            }
            self.fetched = line;
            let CoreState { instructions, ahead, .. } = &mut *self.core;
            instructions.renew(line, |from| {
                ahead.renewed.push(Renewed { line, from, is_data: false });
            })
        })
    }

    #[inline(always)]
    fn load(&mut self, address: u64, size: u16) -> bool {
        self.now += self.figures.timing.load;
        let address = address.wrapping_add(self.offset);
        lines(self.figures.l1d.line_shift, address, size, |line| {
            let CoreState { data, ahead, .. } = &mut *self.core;
            data.renew(line, |from| ahead.renewed.push(Renewed { line, from, is_data: true }))
        })
    }
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
