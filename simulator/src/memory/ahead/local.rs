//! Executes a strand's instructions that need nothing outside its core.

mod steps;

use guest_abi::StrandId;

use super::StoreAhead;
use super::lane::Lane;
use super::turn::{CoreAhead, StopReason, lines};
use crate::memory::figures::Variant;
use crate::memory::geometry::ADDRESS_MASK;
use crate::memory::quantum::Executed;
use crate::memory::timing::ISSUE;
use crate::recording::{ByKind, Done, Kind, MAX_WHOLE, Part, Reference};

/// The maximum number of references by which a strand that runs ahead can exceed the number that it is told to execute.
pub(crate) const MAX_OVERSHOOT: usize = 64;

/// The maximum number of references that a core may be told to execute ahead. With more, the counts of [`ByKind`] could overflow.
pub(crate) const MAX_AHEAD_REFERENCES: usize = MAX_WHOLE - MAX_OVERSHOOT;

/// A strand while it executes instructions that need nothing outside its core.
struct Local<'l, 'w, V: Variant, const WATCHED: bool> {
    ahead: &'l mut CoreAhead<'w, V, WATCHED>,
    strand: StrandId,
    offset: u64,
    until: u64,
    now: u64,
    first_issued: u64,
    /// The line from which the latest instruction was fetched.
    fetched: u64,
    executed: Executed,
    /// The number of executed instructions by kind.
    by_kind: ByKind,
}

impl<V: Variant, const WATCHED: bool> CoreAhead<'_, V, WATCHED> {
    /// Executes the instructions of a [turn](Self::execute_turn), which can have any length. `began` is the time at which the turn began,
    /// and `executed` is what the strand has already executed in it. Returns what the whole turn has executed, when its first
    /// instruction was issued, and why the strand stopped.
    ///
    /// An instruction that needs something outside the core may have used some of its lines before this is known. These uses are not
    /// undone: the core executes this instruction next, and it then uses the lines again.
    #[inline(never)]
    pub(super) fn execute_shapes(
        &mut self,
        lane: &mut Lane<'_>,
        began: u64,
        executed: Executed,
        until: u64,
        most: usize,
    ) -> (Executed, u64, StopReason) {
        let timing = &self.figures().timing;
        let mut local = Local {
            ahead: self,
            strand: lane.strand,
            offset: lane.offset,
            until,
            now: executed.ends,
            first_issued: began,
            fetched: NO_LINE,
            executed,
            by_kind: ByKind::default(),
        };
        let mut stops = StopReason::None;
        while stops == StopReason::None && !lane.is_empty() && local.executed.references < most {
            let part = &lane.part;
            let before = local.executed.references;
            let left = until.saturating_sub(local.now);
            let fits = |done: &Done| {
                part.references.len() <= MAX_OVERSHOOT
                    && timing.elapsed(&part.shape.done) - timing.elapsed(done) < left
            };
            stops = if let Some(steps) = part.all_steps()
                && fits(&steps.done)
            {
                local.steps(part, &steps)
            } else if let Some(steps) = part.further_steps()
                && fits(&steps.done)
            {
                local.steps(part, &steps)
            } else {
                local.without_steps(part, most)
            };
            lane.pass(local.executed.references - before);
        }
        let Local { now, first_issued, executed, by_kind, .. } = local;
        lane.by_kind.add(&by_kind);
        (Executed { ends: now, ..executed }, first_issued, stops)
    }
}

impl<V: Variant, const WATCHED: bool> Local<'_, '_, V, WATCHED> {
    #[inline(always)]
    fn count_instruction(&mut self, fetch: &Reference) {
        self.by_kind.count(fetch);
        self.executed.instructions += 1;
    }

    /// Executes a part of a shape reference by reference.
    #[inline(always)]
    fn without_steps(&mut self, part: &Part<'_>, most: usize) -> StopReason {
        let mut rest = part.references;
        while let Some(first) = rest.first() {
            let references = self.executed.references;
            if references > 0 && self.now >= self.until || references >= most {
                return StopReason::Ended;
            }
            let (began, stores) = (self.now, self.ahead.core.ahead.stores.len());
            let Some(executed) = self.instruction(rest, part) else {
                if self.ahead.stored.is_none() {
                    self.ahead.core.ahead.drop_stores(stores);
                }
                self.now = began;
                return StopReason::Blocked;
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
            if self.ahead.stored == Some(0) {
                return StopReason::Blocked;
            }
            if rest.first().is_some_and(|next| !next.kind.is_fetch()) {
                // The quantum ends between a load and a store of the instruction.
                return StopReason::Ended;
            }
        }
        StopReason::None
    }

    /// Executes an instruction, or the rest of one that was divided. If the quantum ends between a load and a store, stops before
    /// the store. Returns the number of executed references; `None` if the instruction needs something outside the core.
    #[inline(always)]
    fn instruction(&mut self, references: &[Reference], part: &Part<'_>) -> Option<usize> {
        let data = part.data;
        let timing = &self.ahead.figures().timing;
        let (issued, mut turn) = (self.now, self.now);
        let mut executed = 0;
        let begins = references.first().is_some_and(|first| first.kind.is_fetch());
        let before = WATCHED && !begins;
        let mut instruction = if before { part.instruction_before() } else { None };
        let (mut loaded, mut stored) = (false, false);
        for reference in references.iter().take(MAX_OVERSHOOT) {
            match reference.kind {
                Kind::Load | Kind::Store if stored => return None,
                Kind::Load => {
                    self.now += timing.load;
                    if !self.ahead.load(
                        self.offset,
                        *data.get(reference.address as usize)?,
                        reference.size,
                    ) {
                        return None;
                    }
                }
                Kind::Store => {
                    if loaded && self.now >= self.until {
                        return Some(executed);
                    }
                    turn = if loaded { self.now } else { turn };
                    if WATCHED && instruction.is_none() {
                        return None;
                    }
                    let store = StoreAhead {
                        strand: self.strand,
                        instruction: instruction.unwrap_or_default(),
                        turn,
                        issued,
                        now: self.now,
                        address: *data.get(reference.address as usize)?,
                        offset: self.offset,
                        size: reference.size,
                    };
                    if !self.ahead.store(store) {
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
        (executed < MAX_OVERSHOOT).then_some(executed)
    }

    /// Fetches an instruction's lines. Returns `false` if one of the lines is not in the cache, or if the fetch has to be reported
    /// to a watch.
    #[inline(always)]
    fn fetch_lines(&mut self, fetch: &Reference) -> bool {
        let address = fetch.address.wrapping_add(self.offset);
        if self.ahead.is_watched(address, fetch.size) {
            return false;
        }
        lines(self.ahead.figures().l1i.line_shift, address, fetch.size, |line| {
            let fetched = std::mem::replace(&mut self.fetched, line);
            line == fetched || self.ahead.renew_instructions(line)
        })
    }
}

/// A value that is not a line number.
const NO_LINE: u64 = u64::MAX;

#[inline(always)]
fn line(shift: u32, address: u64) -> u64 {
    (address & ADDRESS_MASK) >> shift
}
