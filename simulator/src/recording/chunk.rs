//! What a thread of a recorded program did, piece by piece.

use std::sync::Arc;

use super::Reference;
use super::code::Code;

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
    /// The shapes that are executed, by number.
    pub(super) shapes: Vec<u32>,
    /// The addresses of their data.
    pub(super) data: Vec<u64>,
    /// The number of their references.
    pub(super) length: usize,
}

impl Executions {
    fn clear(&mut self) {
        self.shapes.clear();
        self.data.clear();
        self.length = 0;
    }
}

impl Chunk {
    /// Returns a chunk with these references, in the order of the program. An instruction is in one chunk with all its data.
    #[must_use]
    pub fn new(references: Vec<Reference>, order: Vec<(usize, Order)>) -> Self {
        let mut chunk = Self::default();
        chunk.refill(|room| *room = references);
        Self { order, ..chunk }
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
        self.refill(|_| ());
        self.order.clear();
    }

    /// Has all data at other addresses: `moved` returns the new one.
    pub(crate) fn move_data(&mut self, moved: impl Fn(u64) -> u64) {
        for address in &mut self.executions.data {
            *address = moved(*address);
        }
    }

    /// Replaces the references by those that `fill` puts into an empty list.
    pub(super) fn refill<T>(&mut self, fill: impl FnOnce(&mut Vec<Reference>) -> T) -> T {
        self.executions.clear();
        if Arc::get_mut(&mut self.code).is_none() {
            self.code = Arc::default();
        }
        let code = Arc::get_mut(&mut self.code).expect("it is nobody else's");
        let filled = code.replace(&mut self.executions.data, fill);
        self.executions.length = code.shape(0).count;
        self.executions.shapes.push(0);
        filled
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
        let Executions {
            shapes,
            data,
            length,
        } = &chunk.executions;
        if self.passed == *length {
            (self.execution, self.data, self.first) = (shapes.len(), data.len(), 0);
            return;
        }
        self.first += references;
        loop {
            let shape = chunk.code.shape(shapes[self.execution]);
            if self.first < shape.count {
                return;
            }
            self.first -= shape.count;
            self.data += shape.data;
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
        std::iter::from_fn(move || rest.next_part()).flat_map(Part::iter)
    }

    /// Returns those of the first execution, and keeps the others. Returns `None` if there are none.
    #[inline(always)]
    pub(crate) fn next_part(&mut self) -> Option<Part<'a>> {
        if self.length == 0 {
            return None;
        }
        let (&execution, others) = self.executions.split_first()?;
        let shape = self.code.shape(execution);
        let rest = &self.code.references(shape)[self.first..];
        let (data, further) = self.data.split_at(shape.data);
        let references = &rest[..rest.len().min(self.length)];
        self.length -= references.len();
        (self.executions, self.data, self.first) = (others, further, 0);
        Some(Part { references, data })
    }
}

/// References of one execution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    references: &'a [Reference],
    /// The addresses of all data of the execution.
    data: &'a [u64],
}

impl<'a> Part<'a> {
    /// Returns the references one after the other.
    #[inline(always)]
    pub(crate) fn iter(self) -> impl Iterator<Item = Reference> + use<'a> {
        self.references.iter().map(move |reference| {
            let address = match reference.kind.is_fetch() {
                true => reference.address,
                false => self.data[reference.address as usize],
            };
            Reference {
                address,
                ..*reference
            }
        })
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
