//! What a thread of a recorded program did, piece by piece.

use std::slice;
use std::sync::Arc;

use super::Reference;
use super::code::{Code, MOST_WHOLE, Shape, Step};
use super::runs;

/// References of one thread, and where other threads order them.
///
/// It has the references as executions of code, each with the addresses of its data.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    /// What orders the threads, each before the reference with this index (or after all of them, if there are as many), in
    /// the order of the program.
    pub order: Vec<(usize, Order)>,
    code: Arc<Code>,
    executions: Executions,
}

/// Executions of code.
#[derive(Clone, Debug, Default)]
pub(super) struct Executions {
    /// The shapes that are executed, by number, and the addresses of their data. There is room behind both.
    shapes: Vec<u32>,
    data: Vec<u64>,
    /// How many there are of each.
    executed: usize,
    accessed: usize,
    /// The number of their references.
    pub(super) length: usize,
}

impl Executions {
    fn clear(&mut self) {
        (self.executed, self.accessed, self.length) = (0, 0, 0);
    }

    /// Returns what follows, after making room for so many executions and data.
    pub(super) fn room(&mut self, executions: usize, data: usize) -> Room<'_> {
        if self.shapes.len() < executions || self.data.len() < data {
            self.shapes.resize(executions, 0);
            self.data.resize(data, 0);
        }
        Room {
            shapes: &mut self.shapes,
            data: &mut self.data,
            executed: self.executed,
            accessed: self.accessed,
            length: self.length,
        }
    }

    /// Takes what was added in the room.
    pub(super) fn take(&mut self, executed: usize, accessed: usize, length: usize) {
        (self.executed, self.accessed, self.length) = (executed, accessed, length);
    }
}

/// Room for executions.
pub(super) struct Room<'a> {
    pub(super) shapes: &'a mut [u32],
    pub(super) data: &'a mut [u64],
    pub(super) executed: usize,
    pub(super) accessed: usize,
    pub(super) length: usize,
}

impl Chunk {
    /// Returns a chunk with these references, in the order of the program. An instruction is in one chunk with all its data.
    #[must_use]
    pub fn new(references: Vec<Reference>, order: Vec<(usize, Order)>) -> Self {
        let mut chunk = Self::default();
        chunk.set(&references);
        Self { order, ..chunk }
    }

    /// Returns a chunk with executions of these shapes, each with the addresses of its data.
    #[cfg(test)]
    pub(crate) fn executing(shapes: &[Vec<Reference>], executed: &[(u32, Vec<u64>)]) -> Self {
        let mut code = Code::default();
        for shape in shapes {
            code.add(shape);
        }
        Self::executing_code(code, shapes, executed)
    }

    /// As [`executing`](Self::executing), reference by reference: the shapes have no steps.
    #[cfg(test)]
    pub(crate) fn one_by_one(shapes: &[Vec<Reference>], executed: &[(u32, Vec<u64>)]) -> Self {
        let mut code = Code::default();
        for shape in shapes {
            code.add(shape);
        }
        code.forget_steps();
        Self::executing_code(code, shapes, executed)
    }

    #[cfg(test)]
    fn executing_code(code: Code, shapes: &[Vec<Reference>], executed: &[(u32, Vec<u64>)]) -> Self {
        let mut chunk = Self::default();
        let (executions, _) = chunk.begin(&Arc::new(code));
        let accessed = executed.iter().map(|(_, data)| data.len()).sum();
        let room = executions.room(executed.len(), accessed);
        for (place, (shape, _)) in room.shapes.iter_mut().zip(executed) {
            *place = *shape;
        }
        let addresses = executed.iter().flat_map(|(_, data)| data);
        for (place, address) in room.data.iter_mut().zip(addresses) {
            *place = *address;
        }
        let lengths = executed
            .iter()
            .map(|(shape, _)| shapes[*shape as usize].len());
        executions.take(executed.len(), accessed, lengths.sum());
        chunk
    }

    /// Returns the references, in the order of the program.
    #[inline]
    #[must_use]
    pub fn references(&self) -> References<'_> {
        self.from(&Position::default(), usize::MAX)
    }

    /// Returns the number of references.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.executions.length
    }

    /// Returns `true` if there is nothing: no reference and no order.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.executions.length == 0 && self.order.is_empty()
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.set(&[]);
        self.order.clear();
    }

    /// Has all data at other addresses: `moved` returns the new one.
    pub(crate) fn move_data(&mut self, moved: impl Fn(u64) -> u64) {
        for address in &mut self.executions.data {
            *address = moved(*address);
        }
    }

    /// Replaces the references, in the order of the program.
    pub(super) fn set(&mut self, references: &[Reference]) {
        let Executions { shapes, data, .. } = &mut self.executions;
        shapes.clear();
        data.clear();
        if Arc::get_mut(&mut self.code).is_none() {
            self.code = Arc::default();
        }
        let code = Arc::get_mut(&mut self.code).expect("it is nobody else's");
        code.clear();
        runs::execute(references, code, shapes, data);
        (self.executions.executed, self.executions.accessed) = (shapes.len(), data.len());
        self.executions.length = references.len();
    }

    /// Removes everything, and returns the place for executions of this code and for what orders them.
    pub(super) fn begin(
        &mut self,
        code: &Arc<Code>,
    ) -> (&mut Executions, &mut Vec<(usize, Order)>) {
        if !Arc::ptr_eq(&self.code, code) {
            self.code = Arc::clone(code);
        }
        self.executions.clear();
        self.order.clear();
        (&mut self.executions, &mut self.order)
    }

    /// Returns the references from a position on, at most so many.
    #[inline]
    pub(crate) fn from(&self, position: &Position, most: usize) -> References<'_> {
        References {
            code: &self.code,
            executions: &self.executions.shapes[position.execution..],
            data: &self.executions.data[position.data..],
            first: position.first,
            length: (self.executions.length - position.passed).min(most),
        }
    }
}

/// A place in a chunk, before one of its references.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Position {
    /// How many references of the chunk are before it.
    passed: usize,
    /// The number of the execution that has the reference, and of its first data.
    execution: usize,
    data: usize,
    /// The number of the reference in that execution.
    first: usize,
}

impl Position {
    /// Returns how many references of the chunk are before it.
    #[inline]
    pub(crate) fn passed(&self) -> usize {
        self.passed
    }

    /// Goes on by so many references of a chunk. There must be as many.
    #[inline]
    pub(crate) fn advance(&mut self, chunk: &Chunk, references: usize) {
        self.passed += references;
        let executions = &chunk.executions;
        if self.passed == executions.length {
            (self.execution, self.data) = (executions.executed, executions.accessed);
            self.first = 0;
            return;
        }
        self.first += references;
        loop {
            let shape = chunk.code.shape(executions.shapes[self.execution]);
            if self.first < shape.count as usize {
                return;
            }
            self.first -= shape.count as usize;
            self.data += shape.data as usize;
            self.execution += 1;
        }
    }
}

/// References of a chunk that follow each other.
#[derive(Clone, Copy, Debug)]
pub struct References<'a> {
    code: &'a Code,
    /// The shapes that are executed, and the addresses of their data.
    executions: &'a [u32],
    data: &'a [u64],
    /// The number of the first reference in the first execution.
    first: usize,
    length: usize,
}

impl<'a> References<'a> {
    /// Returns their number.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns `true` if there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the first.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<Reference> {
        self.iter().next()
    }

    /// Returns the first references, at most so many.
    #[inline]
    #[must_use]
    pub fn up_to(self, most: usize) -> Self {
        Self {
            length: self.length.min(most),
            ..self
        }
    }

    /// Returns the references one after the other.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Reference> + use<'a> {
        let mut rest = self;
        let next_part = move || {
            (!rest.is_empty()).then(|| {
                let part = rest.first_part();
                rest.skip_part();
                part
            })
        };
        std::iter::from_fn(next_part).flatten()
    }

    /// Returns those of the first execution, one after the other. There must be any.
    #[inline(always)]
    pub(crate) fn first_part(&self) -> impl Iterator<Item = Reference> + use<'a> {
        let Self { code, data, .. } = *self;
        let references = &code.references(code.shape(self.executions[0]))[self.first..];
        let references = &references[..references.len().min(self.length)];
        references.iter().map(move |reference| {
            let address = match reference.kind.is_fetch() {
                true => reference.address,
                false => data[reference.address as usize],
            };
            Reference {
                address,
                ..*reference
            }
        })
    }

    /// Passes over those of the first execution.
    #[inline]
    pub(crate) fn skip_part(&mut self) {
        let shape = self.code.shape(self.executions[0]);
        self.skip((shape.count as usize - self.first).min(self.length));
    }

    /// Returns the executions all of whose references are there, from the first on: not more than [`MOST_WHOLE`] of them.
    #[inline(always)]
    pub(crate) fn whole(&self) -> Whole<'a> {
        let most = if self.first == 0 { self.length } else { 0 };
        let most = most.min(MOST_WHOLE);
        Whole {
            code: self.code,
            executions: self.executions.iter(),
            data: self.data.iter(),
            most,
            left: most,
        }
    }

    /// Passes over the executions that have been taken from here.
    #[inline(always)]
    pub(crate) fn pass(&mut self, taken: Whole<'a>) {
        self.executions = taken.executions.as_slice();
        self.data = taken.data.as_slice();
        self.length -= taken.most - taken.left;
    }

    /// Passes over the executions that have been taken from here, but for the last one. Of its references so many have been
    /// taken.
    pub(crate) fn pass_but_last(&mut self, taken: Whole<'a>, references: usize) {
        let last = self.executions.len() - taken.executions.len() - 1;
        let shape = self.code.shape(self.executions[last]);
        let own = self.code.references(shape)[..references].iter();
        let own = own.filter(|one| !one.kind.is_fetch()).count();
        self.executions = &self.executions[last..];
        self.data = &self.data[self.data.len() - taken.data.len() - own..];
        self.length -= taken.most - taken.left - shape.count as usize;
    }

    /// Passes over the first references, so many, all of the first execution. They may be its last.
    #[inline(always)]
    pub(crate) fn skip(&mut self, references: usize) {
        let shape = self.code.shape(self.executions[0]);
        self.length -= references;
        self.first += references;
        if self.first == shape.count as usize {
            self.first = 0;
            self.data = &self.data[shape.data as usize..];
            self.executions = &self.executions[1..];
        }
    }
}

/// Executions that are taken one after the other, each with all its references.
pub(crate) struct Whole<'a> {
    code: &'a Code,
    executions: slice::Iter<'a, u32>,
    /// The addresses of data that have not been taken.
    pub(crate) data: slice::Iter<'a, u64>,
    /// How many references may be taken, and how many of them are left.
    most: usize,
    left: usize,
}

impl<'a> Whole<'a> {
    /// Returns the shape of the next execution, and its steps. There are none if it is not executed step by step.
    #[inline(always)]
    pub(crate) fn peek(&self) -> Option<(&'a Shape, &'a [Step])> {
        let shape = self.code.shape(*self.executions.as_slice().first()?);
        (shape.count as usize <= self.left).then(|| (shape, self.code.steps(shape)))
    }

    /// Takes the next execution, whose shape this is; but for its data.
    #[inline(always)]
    pub(crate) fn take(&mut self, shape: &Shape) {
        self.executions.next();
        self.left -= shape.count as usize;
    }
}

/// What puts a place of one thread before a place of another: a thread waits until another has signalled.
///
/// One thread signals each number, once; any number of threads wait for it. Each wait comes after its signal in the order in
/// which the program ran, so that waits never form a circle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// What this thread did before comes before what waits for this number. (It starts a thread, wakes one, or ends.)
    Signal(u64),
    /// What this thread does next comes after the signal with this number.
    Wait(u64),
}
