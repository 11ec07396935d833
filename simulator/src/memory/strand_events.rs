//! Counts strands' events, for the models of their registers.

use guest_abi::event::SparcEvent;
use guest_abi::layout::SparcSelect;
use platform::models::StrandUnit;

use crate::recording::{ByKind, DataAccess, Group, InstructionCounts};

/// A strand's event. Instructions are counted separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StrandEvent {
    InstructionCacheMiss,
    DataCacheMiss,
    L2InstructionMiss,
    L2LoadMiss,
    CrossbarLoad,
    CrossbarFetch,
    CrossbarStore,
}

/// The counter event for each [`StrandEvent`], in the order of that enum.
const EVENTS: [SparcEvent; 7] = [
    SparcEvent::InstructionCacheMisses,
    SparcEvent::DataCacheMisses,
    SparcEvent::L2InstructionMisses,
    SparcEvent::L2LoadMisses,
    SparcEvent::CrossbarLoads,
    SparcEvent::CrossbarFetches,
    SparcEvent::CrossbarStores,
];

/// The codes of the events that an instruction counts as because of its data access, in the order of [`DataAccess`]. All have the
/// event class (SL) 2. An atomic instruction counts as a load and a store, too.
const INSTRUCTIONS: [u16; DataAccess::COUNT] = [
    SparcEvent::OtherInstructions.code(),
    SparcEvent::Loads.code(),
    SparcEvent::Stores.code(),
    SparcEvent::Loads.code() | SparcEvent::Stores.code(),
    SparcEvent::AtomicOperations.code() | SparcEvent::Loads.code() | SparcEvent::Stores.code(),
];

/// The codes of the events that an instruction counts as because of its group, in the order of [`Group`].
const GROUPS: [u16; Group::COUNT] = [
    0,
    SparcEvent::BranchesCompleted.code(),
    SparcEvent::BranchesCompleted.code() | SparcEvent::BranchesTaken.code(),
    SparcEvent::FguArithmetic.code(),
];

/// A strand's events that its counters do not contain yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct StrandEvents {
    instructions: InstructionCounts,
    others: [u64; EVENTS.len()],
    /// The number of the core's idle clocks that the counters already include.
    idle: u64,
}

impl StrandEvents {
    #[inline(always)]
    pub(crate) fn instruction(&mut self, data: DataAccess, group: Group) {
        self.instructions[data as usize][group as usize] += 1;
    }

    /// Subtracts an undone instruction from the counts.
    pub(super) fn subtract_instruction(&mut self, data: DataAccess, group: Group) {
        self.instructions[data as usize][group as usize] -= 1;
    }

    /// Adds `count` instructions. `data` and `group` are the numbers of their [`DataAccess`] and [`Group`].
    #[inline]
    pub(super) fn add(&mut self, data: usize, group: usize, count: u64) {
        self.instructions[data][group] += count;
    }

    pub(super) fn instructions(&mut self, by_kind: &ByKind) {
        by_kind.add_to(&mut self.instructions);
    }

    pub(super) fn count(&mut self, event: StrandEvent) {
        self.others[event as usize] += 1;
    }

    /// Moves the events to the strand's counters. `idle` is the core's total number of idle clocks since the start.
    pub(crate) fn flush_to_counters(&mut self, idle: u64, unit: &mut StrandUnit) {
        let mut tell = |select: SparcSelect, times: &mut u64| {
            while *times > 0 {
                let some = u32::try_from(*times).unwrap_or(u32::MAX);
                unit.count(select, some);
                *times -= u64::from(some);
            }
        };
        tell(SparcEvent::IdleStrands.into(), &mut (idle - self.idle));
        self.idle = idle;
        // Most strands have executed nothing since the last call.
        let counts = self.instructions.iter().flatten().chain(&self.others);
        if counts.fold(0, |any, count| any | count) == 0 {
            return;
        }
        for (instruction, by_group) in INSTRUCTIONS.iter().zip(&mut self.instructions) {
            for (group, times) in GROUPS.iter().zip(by_group) {
                tell(select(*instruction, *group), times);
            }
        }
        for (event, times) in EVENTS.iter().zip(&mut self.others) {
            tell((*event).into(), times);
        }
    }
}

/// Returns the class and events that an instruction counts as. `instruction` holds the events of its data access, and `group` those
/// of its group; `group` is 0 if the instruction is neither a branch nor of the FGU. An instruction without data counts only as the
/// events of its group, if it has any.
const fn select(instruction: u16, group: u16) -> SparcSelect {
    let other = SparcEvent::OtherInstructions.code();
    SparcSelect::from_code(match instruction == other && group != 0 {
        true => group,
        false => instruction | group,
    })
}

/// Counts the clocks in which none of a core's strands issues an instruction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Idle {
    clocks: u64,
    /// The first clock that has not been counted yet.
    next: u64,
}

impl Idle {
    /// Records that a strand issued `count` instructions in different clocks, from `first` to `last`. Later calls for the core
    /// must not have an earlier `first`.
    #[inline(always)]
    pub(super) fn issue(&mut self, first: u64, last: u64, count: u64) {
        self.clocks += first.saturating_sub(self.next) + (last + 1 - first - count);
        self.next = last + 1;
    }

    /// Returns the number of idle clocks before the time `now`. All instructions must have been issued earlier.
    pub(super) fn until(&mut self, now: u64) -> u64 {
        if now > self.next {
            self.clocks += now - self.next;
            self.next = now;
        }
        self.clocks
    }
}
