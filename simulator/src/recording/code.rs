//! What a program executes.

use super::{Branch, Kind, Reference};

/// Instructions in the same aligned bytes, so many to the power of 2, are fetched together: none but the first of them needs
/// a [step](Step).
pub(crate) const FETCH_SHIFT: u32 = 5;

/// The ways in which blocks of a program execute: *shapes*, each with its references, but for the addresses of its data.
#[derive(Clone, Debug, Default)]
pub(super) struct Code {
    shapes: Vec<Shape>,
    /// Those of all shapes. Data have their number among the data of their shape in place of the address.
    references: Vec<Reference>,
    steps: Vec<Step>,
}

/// One way in which a block executes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    /// How many references it has, and how many of them are data.
    pub(crate) count: u32,
    pub(crate) data: u32,
    /// The first of its references.
    first: u32,
    /// The first of its steps, and their number: 0 if it is not executed step by step.
    first_step: u32,
    steps: u32,
    /// How many instructions begin after its last step, and whether the last of them passes control on elsewhere.
    pub(crate) begin: u16,
    pub(crate) taken: bool,
    /// The address of its first instruction.
    pub(crate) address: u64,
    /// The instructions by kind of fetch, then in the order of [`Branch`].
    pub(crate) by_kind: ByKind,
}

/// How many instructions there are, by kind of fetch, then in the order of [`Branch`].
pub(crate) type ByKind = [u32; Kind::FETCHES.len() * Branch::COUNT];

/// Instructions that begin one after the other, and what the last of them then does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The bytes of a fetch, after the address of the shape.
    pub(crate) offset: i32,
    /// The number of the reference that comes next; [`WITHIN`](Self::WITHIN) if this one is not done.
    pub(crate) next: u16,
    /// How many instructions begin: 0 if the latest instruction does something else.
    pub(crate) begin: u16,
    /// How many bytes of data are accessed, less one.
    pub(crate) further: u16,
    /// Whether the last instruction passes control on elsewhere.
    pub(crate) taken: bool,
    pub(crate) action: Action,
}

/// What happens in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Nothing else.
    None,
    /// The instruction begins in other [bytes](FETCH_SHIFT) than those that were fetched before it.
    Fetch,
    /// The instruction goes on in further bytes.
    FetchFurther,
    /// Data is read.
    Load,
    /// Data is written.
    Store,
    /// Data is read and written back.
    Modify,
}

impl Step {
    /// See [`next`](Self::next).
    pub(crate) const WITHIN: u16 = u16::MAX;
}

impl Code {
    /// Removes everything.
    pub(super) fn clear(&mut self) {
        self.shapes.clear();
        self.references.clear();
        self.steps.clear();
    }

    /// Adds a shape with these references, the addresses of whose data do not matter. If it has instructions, it is executed step
    /// by step. Returns its number.
    pub(super) fn add(&mut self, references: &[Reference]) -> u32 {
        let first_step = self.steps.len();
        let mut shape = Shape {
            first: self.references.len() as u32,
            count: references.len() as u32,
            ..Shape::default()
        };
        for reference in references {
            let mut reference = *reference;
            if reference.kind.is_fetch() {
                let kind = reference.kind as usize * Branch::COUNT;
                shape.by_kind[kind + reference.flow.branch() as usize] += 1;
            } else {
                reference.address = shape.data.into();
                shape.data += 1;
            }
            self.references.push(reference);
        }
        // Instructions that are longer than any real one would take many steps each.
        let is_long =
            |reference: &Reference| reference.kind.is_fetch() && reference.size > 1 << FETCH_SHIFT;
        let first = references.first().filter(|first| first.kind.is_fetch());
        if let Some(first) = first.filter(|_| !references.iter().any(is_long)) {
            shape.address = first.address;
            let open = add_steps(references, &mut self.steps);
            (shape.begin, shape.taken) = (open.begin, open.taken);
        }
        shape.first_step = first_step as u32;
        shape.steps = (self.steps.len() - first_step) as u32;
        self.shapes.push(shape);
        (self.shapes.len() - 1) as u32
    }

    /// Has all shapes executed reference by reference.
    #[cfg(test)]
    pub(super) fn forget_steps(&mut self) {
        for shape in &mut self.shapes {
            shape.steps = 0;
        }
    }

    /// Returns `true` if references are an execution of a shape, and appends the addresses of their data then.
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
            let is_fetch = own.kind.is_fetch();
            if !is_fetch {
                data.push(other.address);
            }
            (own.kind, own.size, own.flow) == (other.kind, other.size, other.flow)
                && (!is_fetch || own.address == other.address)
        };
        let own = self.references(shape);
        let is_same = own.len() == references.len() && own.iter().zip(references).all(is_same);
        if !is_same {
            data.truncate(accessed);
        }
        is_same
    }

    /// Returns the shape with this number.
    #[inline(always)]
    pub(super) fn shape(&self, number: u32) -> &Shape {
        &self.shapes[number as usize]
    }

    /// Returns the references of a shape.
    #[inline(always)]
    pub(super) fn references(&self, shape: &Shape) -> &[Reference] {
        &self.references[shape.first as usize..][..shape.count as usize]
    }

    /// Returns the steps of a shape.
    #[inline(always)]
    pub(super) fn steps(&self, shape: &Shape) -> &[Step] {
        &self.steps[shape.first_step as usize..][..shape.steps as usize]
    }
}

/// Appends the steps of a shape. Returns what is left after them: instructions that begin.
fn add_steps(references: &[Reference], steps: &mut Vec<Step>) -> Step {
    let none = Step {
        offset: 0,
        next: 0,
        begin: 0,
        further: 0,
        taken: false,
        action: Action::None,
    };
    let mut address = None;
    let mut fetched = None;
    // Instructions that began since the latest step.
    let mut open = none;
    let mut close = |open: &mut Step, next, action| {
        steps.push(Step {
            next,
            action,
            ..*open
        });
        *open = none;
    };
    for (number, one) in (0..).zip(references) {
        let access = match one.kind {
            Kind::Load => Some(Action::Load),
            Kind::Store => Some(Action::Store),
            Kind::Modify => Some(Action::Modify),
            _ => None,
        };
        if let Some(access) = access {
            open.further = one.size - 1;
            close(&mut open, number + 1, access);
            continue;
        }
        if open.taken {
            close(&mut open, number, Action::None);
        }
        open.begin += 1;
        open.taken = one.flow.is_elsewhere();
        let from = *address.get_or_insert(one.address);
        let mut line = one.address >> FETCH_SHIFT;
        let last = one.address.wrapping_add(u64::from(one.size) - 1) >> FETCH_SHIFT;
        let mut action = Action::Fetch;
        loop {
            let next = if line == last {
                number + 1
            } else {
                Step::WITHIN
            };
            if action == Action::FetchFurther || fetched != Some(line) {
                open.offset = (line << FETCH_SHIFT).wrapping_sub(from) as i32;
                close(&mut open, next, action);
            }
            fetched = Some(line);
            if line == last {
                break;
            }
            action = Action::FetchFurther;
            line = (line + 1) & (u64::MAX >> FETCH_SHIFT);
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Flow;

    #[test]
    fn instructions_of_a_line_share_a_step() {
        let fetch = |address, size, kind| Reference::new(address, size, kind);
        let data = |kind| Reference::new(0, 8, kind);
        let taken = Reference {
            flow: Flow::Taken,
            ..fetch(0x1024, 4, Kind::FetchOther)
        };
        let mut code = Code::default();
        code.add(&[
            fetch(0x1004, 4, Kind::FetchOther),
            fetch(0x1008, 4, Kind::FetchOther),
            // It loads and stores.
            fetch(0x100c, 4, Kind::FetchModify),
            data(Kind::Load),
            data(Kind::Store),
            fetch(0x1010, 14, Kind::FetchOther),
            // It begins in the line of the instructions before it, and ends in the next.
            fetch(0x101e, 6, Kind::FetchOther),
            taken,
            // A delay slot.
            fetch(0x1028, 4, Kind::FetchOther),
        ]);
        let step = |next, begin, action, offset, further| Step {
            offset,
            next,
            begin,
            further,
            taken: false,
            action,
        };
        let shape = code.shape(0);
        assert_eq!(
            code.steps(shape),
            [
                step(1, 1, Action::Fetch, -4, 0),
                step(4, 2, Action::Load, 0, 7),
                step(5, 0, Action::Store, 0, 7),
                step(7, 2, Action::FetchFurther, 0x1020 - 0x1004, 0),
                Step {
                    taken: true,
                    ..step(8, 1, Action::None, 0, 0)
                },
            ]
        );
        assert_eq!(
            (shape.begin, shape.taken, shape.address),
            (1, false, 0x1004)
        );
        let mut by_kind = ByKind::default();
        // Without data: no branch, and a taken one. And one that loads and stores.
        (by_kind[0], by_kind[2], by_kind[9]) = (5, 1, 1);
        assert_eq!(shape.by_kind, by_kind);
    }

    #[test]
    fn data_alone_has_no_steps() {
        let mut code = Code::default();
        code.add(&[Reference::new(0, 8, Kind::Load)]);
        assert_eq!(code.steps(code.shape(0)), []);
    }
}
