//! The steps of a shape, in which it executes faster than reference by reference.

use super::by_kind::ByKind;
use crate::recording::reference::{Kind, Reference};

/// Instructions in the same aligned `1 << FETCH_SHIFT` bytes are fetched together. Only the first of them needs a
/// [step](ShapeStep).
pub(crate) const FETCH_SHIFT: u32 = 5;

/// A step of a shape: a data access, or a fetch outside the aligned [bytes](FETCH_SHIFT) of the previous fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShapeStep {
    /// The work that the shape has done before this step.
    pub(crate) done: Done,
    /// The index of the reference after the step.
    pub(crate) next: u16,
    /// The index of the fetch of the step's instruction.
    pub(crate) fetch: u16,
    /// The address of the fetch, or of the instruction that accesses data, relative to the shape's address.
    pub(crate) offset: i32,
    /// The number of data bytes that the step accesses, minus 1.
    pub(crate) further: u16,
    pub(crate) action: StepAction,
    /// Whether the next step fetches more of the same instruction.
    pub(crate) is_within: bool,
    /// The number of loads that the shape had done when the current instruction last began a store after a load;
    /// [`UNDIVIDED`](Self::UNDIVIDED) if the instruction has begun no such store.
    pub(crate) divided: u16,
}

/// The work that a shape has done from its start up to one of its steps, or up to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// The number of instructions that have begun.
    pub(crate) begun: u16,
    /// The number of begun instructions that pass control elsewhere than to the next instruction in memory.
    pub(crate) taken: u16,
    /// Whether the latest instruction passes control elsewhere than to the next instruction in memory.
    pub(crate) is_taken: bool,
    pub(crate) loads: u16,
    /// The number of loads before the latest instruction.
    pub(crate) loads_before: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepAction {
    /// A fetch outside the aligned [bytes](FETCH_SHIFT) of the latest fetch.
    Fetch,
    Load,
    Store,
    Modify,
}

impl Done {
    /// Returns the work done before the latest instruction.
    #[inline(always)]
    pub(crate) fn before_latest(self) -> Self {
        Self {
            begun: self.begun - 1,
            taken: self.taken - u16::from(self.is_taken),
            loads: self.loads_before,
            ..self
        }
    }
}

impl ShapeStep {
    /// The value of [`divided`](Self::divided) if the instruction has not been divided before the step.
    pub(crate) const UNDIVIDED: u16 = u16::MAX;
}

/// The steps of an execution, from one of its instructions on.
pub(crate) struct Steps<'a> {
    pub(crate) steps: &'a [ShapeStep],
    /// For each step, the shape's instructions that begin before the step's instruction.
    pub(crate) before: &'a [ByKind],
    /// The work that the shape has done before the first instruction.
    pub(crate) done: Done,
    /// The shape's instructions before the first instruction.
    pub(crate) passed: ByKind,
}

/// Appends a shape's steps, and the instructions before each step's instruction. Returns the work done by the whole shape.
pub(super) fn add_steps(
    references: &[Reference],
    steps: &mut Vec<ShapeStep>,
    before: &mut Vec<ByKind>,
) -> Done {
    let (mut before_this, mut by_kind) = (ByKind::default(), ByKind::default());
    let mut done = Done::default();
    let mut address = None;
    let mut fetched = None;
    let (mut fetch, mut divided) = (0, ShapeStep::UNDIVIDED);
    let mut loaded = false;
    let mut offset = 0;
    for (number, one) in (0..).zip(references) {
        let access = match one.kind {
            Kind::Load => Some(StepAction::Load),
            Kind::Store => Some(StepAction::Store),
            Kind::Modify => Some(StepAction::Modify),
            _ => None,
        };
        if let Some(action) = access {
            if loaded && action == StepAction::Store {
                divided = done.loads;
            }
            loaded = action == StepAction::Load;
            steps.push(ShapeStep {
                done,
                next: number + 1,
                offset,
                further: one.size - 1,
                action,
                fetch,
                is_within: false,
                divided,
            });
            before.push(before_this);
            done.loads += u16::from(action != StepAction::Store);
            continue;
        }
        (fetch, divided, loaded) = (number, ShapeStep::UNDIVIDED, false);
        before_this = by_kind;
        by_kind.count(one);
        done.begun += 1;
        done.is_taken = one.flow.is_elsewhere();
        done.taken += u16::from(done.is_taken);
        done.loads_before = done.loads;
        let from = *address.get_or_insert(one.address);
        offset = one.address.wrapping_sub(from) as i32;
        let mut line = one.address >> FETCH_SHIFT;
        let last = one.address.wrapping_add(u64::from(one.size) - 1) >> FETCH_SHIFT;
        loop {
            if fetched != Some(line) {
                steps.push(ShapeStep {
                    done,
                    next: number + 1,
                    offset: (line << FETCH_SHIFT).wrapping_sub(from) as i32,
                    further: 0,
                    action: StepAction::Fetch,
                    fetch,
                    is_within: line != last,
                    divided,
                });
                before.push(before_this);
            }
            fetched = Some(line);
            if line == last {
                break;
            }
            line = (line + 1) & (u64::MAX >> FETCH_SHIFT);
        }
    }
    done
}
