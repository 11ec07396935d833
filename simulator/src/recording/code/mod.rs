//! A recorded program's code: the shapes of its blocks.

mod by_kind;
mod steps;

use super::reference::Reference;
pub(crate) use by_kind::{ByKind, InstructionCounts, MAX_WHOLE};
use steps::add_steps;
pub(crate) use steps::{Done, FETCH_SHIFT, ShapeStep, StepAction, Steps};

/// A program's shapes. A *shape* is one way in which a block can execute. It consists of all references of such an execution,
/// without the data's addresses.
#[derive(Clone, Debug, Default)]
pub(super) struct Code {
    shapes: Vec<Shape>,
    /// The references of all shapes. A data reference has, in place of its address, its index among the shape's data references.
    references: Vec<Reference>,
    steps: Vec<ShapeStep>,
    /// For each step, the shape's instructions that begin before the step's instruction.
    before: Vec<ByKind>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    /// The number of references, including those to data.
    pub(crate) count: u32,
    /// The number of data references.
    pub(crate) data: u32,
    /// The index of the shape's first reference among the references in [`Code`].
    first: u32,
    /// The index of the shape's first step among the steps in [`Code`].
    first_step: u32,
    /// The number of the shape's steps; 0 if the shape is executed reference by reference.
    steps: u32,
    /// The work done by the whole shape.
    pub(crate) done: Done,
    /// The address of the shape's first instruction.
    pub(crate) address: u64,
    pub(crate) by_kind: ByKind,
}

impl Shape {
    /// Returns `false` if the shape is executed reference by reference.
    #[inline(always)]
    pub(crate) fn has_steps(&self) -> bool {
        self.steps != 0
    }
}

impl Code {
    pub(super) fn clear(&mut self) {
        self.shapes.clear();
        self.references.clear();
        self.steps.clear();
        self.before.clear();
    }

    /// Adds a shape with these references and returns its number. The addresses of data references are ignored. The shape gets
    /// steps if it begins with an instruction and no instruction is longer than `1 << FETCH_SHIFT` bytes.
    pub(super) fn add(&mut self, references: &[Reference]) -> u32 {
        let first_step = self.steps.len();
        let mut shape = Shape {
            first: self.references.len() as u32,
            count: references.len() as u32,
            ..Shape::default()
        };
        let mut longest = 0;
        for reference in references {
            let mut reference = *reference;
            if reference.kind.is_fetch() {
                longest = longest.max(reference.size);
                shape.by_kind.count(&reference);
            } else {
                reference.address = shape.data.into();
                shape.data += 1;
            }
            self.references.push(reference);
        }
        let first = references.first().filter(|first| first.kind.is_fetch());
        // Longer instructions than any real one would need too many steps.
        if let Some(first) = first.filter(|_| longest <= 1 << FETCH_SHIFT) {
            shape.address = first.address;
            shape.done = add_steps(references, &mut self.steps, &mut self.before);
        }
        shape.first_step = first_step as u32;
        shape.steps = (self.steps.len() - first_step) as u32;
        self.shapes.push(shape);
        (self.shapes.len() - 1) as u32
    }

    /// Removes all steps. Shapes are then executed reference by reference.
    #[cfg(test)]
    pub(super) fn forget_steps(&mut self) {
        for shape in &mut self.shapes {
            shape.steps = 0;
        }
    }

    /// Returns the number of shapes.
    pub(super) fn shapes(&self) -> usize {
        self.shapes.len()
    }

    /// Returns the number of references in a shape; 0 if there is no such shape.
    #[inline]
    pub(super) fn count(&self, shape: u32) -> usize {
        (self.shapes.get(shape as usize)).map_or(0, |shape| shape.count as usize)
    }

    /// Returns `true` if the references are an execution of the shape. If so, appends the data references' addresses to `data`.
    #[inline]
    pub(super) fn is_execution(
        &self,
        shape: u32,
        references: &[Reference],
        data: &mut Vec<u64>,
    ) -> bool {
        let Some(shape) = self.shapes.get(shape as usize) else {
            return false;
        };
        let accessed = data.len();
        let is_same = |(own, other): (&Reference, &Reference)| {
            if !own.kind.is_fetch() {
                data.push(other.address);
                return (own.kind, own.size) == (other.kind, other.size);
            }
            let of = |one: &Reference| (one.address, one.kind, one.size, one.flow, one.class);
            of(own) == of(other)
        };
        let own = self.references(shape);
        let is_same = own.len() == references.len() && own.iter().zip(references).all(is_same);
        if !is_same {
            data.truncate(accessed);
        }
        is_same
    }

    #[inline(always)]
    pub(super) fn shape(&self, number: u32) -> &Shape {
        &self.shapes[number as usize]
    }

    #[inline(always)]
    pub(super) fn references(&self, shape: &Shape) -> &[Reference] {
        &self.references[shape.first as usize..][..shape.count as usize]
    }

    /// Returns a shape's steps from its reference `first` on. Returns `None` if the reference does not begin an instruction.
    pub(super) fn further_steps(&self, shape: &Shape, first: usize) -> Option<Steps<'_>> {
        let Steps { steps, before, .. } = self.all_steps(shape);
        let skipped = steps.partition_point(|step| usize::from(step.next) <= first);
        let (steps, before) = (&steps[skipped..], &before[skipped..]);
        let references = self.references(shape);
        let (until, mut done, mut passed) = match (steps.first(), before.first()) {
            (Some(step), Some(before)) => {
                (usize::from(step.fetch), step.done.before_latest(), *before)
            }
            _ => (references.len(), shape.done, shape.by_kind),
        };
        // The instructions from `first` up to the next step's instruction have no steps of their own. They are included in what was
        // passed, so subtract them.
        let mut further = ByKind::default();
        for fetch in references.get(first..until)? {
            done.begun -= 1;
            done.taken -= u16::from(fetch.flow.is_elsewhere());
            further.count(fetch);
        }
        passed.subtract(&further);
        Some(Steps { steps, before, done, passed })
    }

    /// Returns all steps of a shape.
    #[inline(always)]
    pub(super) fn all_steps(&self, shape: &Shape) -> Steps<'_> {
        Steps {
            steps: self.steps(shape),
            before: &self.before[shape.first_step as usize..][..shape.steps as usize],
            done: Done::default(),
            passed: ByKind::default(),
        }
    }

    #[inline(always)]
    pub(super) fn steps(&self, shape: &Shape) -> &[ShapeStep] {
        &self.steps[shape.first_step as usize..][..shape.steps as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{Class, Flow, Kind};

    #[test]
    fn instructions_of_a_line_share_a_step() {
        let fetch = |address, size, kind| Reference::new(address, size, kind);
        let data = |kind| Reference::new(0, 8, kind);
        let taken = Reference { flow: Flow::Taken, ..fetch(0x1024, 4, Kind::FetchOther) };
        let mut code = Code::default();
        code.add(&[
            fetch(0x1004, 4, Kind::FetchOther),
            fetch(0x1008, 4, Kind::FetchOther),
            // This instruction loads and stores.
            fetch(0x100c, 4, Kind::FetchModify),
            data(Kind::Load),
            data(Kind::Store),
            fetch(0x1010, 14, Kind::FetchOther),
            // This instruction starts in the previous instructions' line and ends in the next one.
            fetch(0x101e, 6, Kind::FetchOther),
            taken,
            // This instruction is in a delay slot.
            fetch(0x1028, 4, Kind::FetchOther),
        ]);
        let step =
            |next, fetch, action, offset, further, begun, [loads, loads_before]: [u16; 2]| {
                ShapeStep {
                    done: Done { begun, loads, loads_before, ..Done::default() },
                    next,
                    fetch,
                    offset,
                    further,
                    action,
                    is_within: false,
                    divided: ShapeStep::UNDIVIDED,
                }
            };
        let shape = code.shape(0);
        assert_eq!(
            code.steps(shape),
            [
                step(1, 0, StepAction::Fetch, -4, 0, 1, [0, 0]),
                step(4, 2, StepAction::Load, 0x100c - 0x1004, 7, 3, [0, 0]),
                ShapeStep {
                    divided: 1,
                    ..step(5, 2, StepAction::Store, 0x100c - 0x1004, 7, 3, [1, 0])
                },
                step(7, 6, StepAction::Fetch, 0x1020 - 0x1004, 0, 5, [1, 1]),
            ]
        );
        let done = Done { begun: 7, taken: 1, is_taken: false, loads: 1, loads_before: 1 };
        assert_eq!((shape.done, shape.address), (done, 0x1004));
        // Of the instructions without data, five do not branch, and one does. One more instruction loads and stores.
        let by_kind = [[5, 0, 1, 0], [0; 4], [0; 4], [1, 0, 0, 0], [0; 4]];
        assert_eq!(shape.by_kind.counts(), by_kind);
        let all = code.all_steps(shape);
        assert_eq!((all.done, all.passed), (Done::default(), ByKind::default()));
        let none = |other, taken| [other, 0, taken, 0];
        let counts = |none, both| [none, [0; 4], [0; 4], [both, 0, 0, 0], [0; 4]];
        let before: Vec<_> = all.before.iter().map(|before| before.counts()).collect();
        let load_and_store = counts(none(2, 0), 0);
        let expected =
            [counts(none(0, 0), 0), load_and_store, load_and_store, counts(none(3, 0), 1)];
        assert_eq!(before, expected);
        // The instruction after the one that loads and stores, and the one in the delay slot.
        for (first, steps, done, begun) in [
            (5, &all.steps[3..], (3, 0, 1), counts(none(2, 0), 1)),
            (8, &[], (6, 1, 1), counts(none(4, 1), 1)),
        ] {
            let further = code.further_steps(shape, first).unwrap();
            assert_eq!((further.steps, further.before.len()), (steps, steps.len()));
            let Done { begun: instructions, taken, loads, .. } = further.done;
            assert_eq!(((instructions, taken, loads), further.passed.counts()), (done, begun));
        }
        // The load does not begin an instruction.
        assert!(code.further_steps(shape, 3).is_none());
    }

    #[test]
    fn classes_are_counted_with_their_data() {
        let fetch = |class, kind| Reference { class, ..Reference::new(0x1000, 4, kind) };
        let mut code = Code::default();
        code.add(&[
            fetch(Class::FloatingPoint, Kind::FetchOther),
            fetch(Class::Vector, Kind::FetchLoad),
            fetch(Class::Atomic, Kind::FetchModify),
            fetch(Class::Other, Kind::FetchModify),
            // This atomic instruction only loads, so it counts as a load.
            fetch(Class::Atomic, Kind::FetchLoad),
            fetch(Class::Multiply, Kind::FetchOther),
        ]);
        let by_kind = [[1, 0, 0, 1], [1, 0, 0, 1], [0; 4], [1, 0, 0, 0], [1, 0, 0, 0]];
        assert_eq!(code.shape(0).by_kind.counts(), by_kind);
    }

    #[test]
    fn data_alone_has_no_steps() {
        let mut code = Code::default();
        code.add(&[Reference::new(0, 8, Kind::Load)]);
        assert_eq!(code.steps(code.shape(0)), []);
    }
}
