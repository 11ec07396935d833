//! Chunks: parts of the threads of a recorded program.

use refs::Order;
use std::slice;
use std::sync::Arc;

use super::code::{Code, Done, MOST_WHOLE, Shape, ShapeStep, StepAction};
use super::reference::{Kind, Reference};
use super::runs;

/// Consecutive references of one thread, with the signals and waits that order them relative to other threads.
///
/// References are stored as executions of shapes. Each execution has the addresses of its data.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    /// Signals and waits in the order of the program, each with the index of the reference after
    /// it. At the chunk's end, this index is the number of references.
    pub order: Vec<(usize, Order)>,
    code: Arc<Code>,
    executions: Executions,
}

/// Says which shapes of a recording have a wanted fetch. See [`Chunk::find_fetches`].
#[derive(Clone, Debug, Default)]
pub(crate) struct ShapeMemo {
    code: Option<Arc<Code>>,
    /// An answer for each shape of the code; `None` if it is not known yet.
    has: Vec<Option<bool>>,
}

impl ShapeMemo {
    /// Returns the answers for this code; `None` if the code can change, because it belongs to a single chunk.
    fn of(&mut self, code: &Arc<Code>) -> Option<&mut Vec<Option<bool>>> {
        if !self.code.as_ref().is_some_and(|known| Arc::ptr_eq(known, code)) {
            if Arc::strong_count(code) == 1 {
                return None;
            }
            self.code = Some(Arc::clone(code));
            self.has = vec![None; code.shapes()];
        }
        Some(&mut self.has)
    }
}

/// Executions of shapes, in the order of the program.
#[derive(Clone, Debug, Default)]
pub(super) struct Executions {
    /// The numbers of the executed shapes. Entries from the index `executed` on are unused.
    shapes: Vec<u32>,
    /// The addresses of the data of all executions. Entries from the index `accessed` on are unused.
    data: Vec<u64>,
    executed: usize,
    accessed: usize,
    pub(super) length: usize,
}

impl Executions {
    fn clear(&mut self) {
        (self.executed, self.accessed, self.length) = (0, 0, 0);
    }

    /// Returns storage for at least `executions` executions and `data` addresses, including those that are already stored.
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

    /// Releases unused storage, because the thread may wait for a long time.
    pub(super) fn shrink(&mut self) {
        self.shapes.truncate(self.executed);
        self.data.truncate(self.accessed);
        self.shapes.shrink_to_fit();
        self.data.shrink_to_fit();
    }

    /// Accepts the executions that were written into the storage.
    pub(super) fn take(&mut self, executed: usize, accessed: usize, length: usize) {
        (self.executed, self.accessed, self.length) = (executed, accessed, length);
    }
}

/// Storage into which executions are written.
pub(super) struct Room<'a> {
    pub(super) shapes: &'a mut [u32],
    pub(super) data: &'a mut [u64],
    pub(super) executed: usize,
    pub(super) accessed: usize,
    pub(super) length: usize,
}

impl Chunk {
    /// Returns a chunk with these references, in the order of the program. An instruction and its data must be in one chunk.
    pub fn new(references: Vec<Reference>, order: Vec<(usize, Order)>) -> Self {
        let mut chunk = Self::default();
        chunk.set(&references);
        Self { order, ..chunk }
    }

    /// Returns a chunk with executions of `shapes`. Each execution is the number of a shape and the addresses of the shape's data.
    #[cfg(test)]
    pub(crate) fn executing(shapes: &[Vec<Reference>], executed: &[(u32, Vec<u64>)]) -> Self {
        let mut code = Code::default();
        for shape in shapes {
            code.add(shape);
        }
        let executions = Executions {
            shapes: executed.iter().map(|(shape, _)| *shape).collect(),
            data: executed.iter().flat_map(|(_, data)| data).copied().collect(),
            executed: executed.len(),
            accessed: executed.iter().map(|(_, data)| data.len()).sum(),
            length: executed.iter().map(|(shape, _)| shapes[*shape as usize].len()).sum(),
        };
        Self { order: Vec::new(), code: Arc::new(code), executions }
    }

    /// Returns the chunk without steps, so that it is replayed reference by reference.
    #[cfg(test)]
    pub(crate) fn one_by_one(mut self) -> Self {
        Arc::make_mut(&mut self.code).forget_steps();
        self
    }

    /// Returns the references, in the order of the program.
    #[inline]
    pub fn references(&self) -> References<'_> {
        self.from(&Position::default(), usize::MAX)
    }

    /// Returns the number of references.
    #[inline]
    pub fn len(&self) -> usize {
        self.executions.length
    }

    /// Returns `true` if there is no reference, signal or wait.
    pub fn is_empty(&self) -> bool {
        self.executions.length == 0 && self.order.is_empty()
    }

    /// Removes all references, signals and waits.
    pub fn clear(&mut self) {
        self.set(&[]);
        self.order.clear();
    }

    /// Replaces the address of each datum with the result of `moved`.
    pub(crate) fn move_data(&mut self, moved: impl Fn(u64) -> u64) {
        for address in &mut self.executions.data {
            *address = moved(*address);
        }
    }

    /// Replaces the references, and keeps the signals and waits.
    pub(super) fn set(&mut self, references: &[Reference]) {
        let Executions { shapes, data, .. } = &mut self.executions;
        shapes.clear();
        data.clear();
        if Arc::get_mut(&mut self.code).is_none() {
            self.code = Arc::default();
        }
        let code = Arc::get_mut(&mut self.code).expect("the code is not shared");
        code.clear();
        runs::execute(references, code, shapes, data);
        (self.executions.executed, self.executions.accessed) = (shapes.len(), data.len());
        self.executions.length = references.len();
    }

    /// Clears the chunk. Returns its storage for executions of `code`, and its storage for signals and waits.
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

    /// Returns the address of the last instruction that begins before a position; `None` if no instruction of the chunk does.
    pub(crate) fn instruction_before(&self, position: &Position) -> Option<u64> {
        let Executions { shapes, .. } = &self.executions;
        let references =
            |execution: usize| self.code.references(self.code.shape(shapes[execution]));
        let current = match position.first {
            0 => &[],
            first => &references(position.execution)[..first],
        };
        let before = (0..position.execution).rev().map(references);
        let mut parts = std::iter::once(current).chain(before);
        parts
            .find_map(|part| part.iter().rfind(|reference| reference.kind.is_fetch()))
            .map(|fetch| fetch.address)
    }

    /// Passes the index and the address of each fetch whose address is wanted to `each`, in the order of the program. `memo` says which
    /// shapes have such a fetch; the same addresses must be wanted in all calls with it.
    pub(crate) fn find_fetches(
        &self,
        memo: &mut ShapeMemo,
        is_wanted: impl Fn(u64) -> bool,
        mut each: impl FnMut(usize, u64),
    ) {
        let Executions { shapes, executed, .. } = &self.executions;
        let mut known = memo.of(&self.code);
        let mut index = 0;
        for number in &shapes[..*executed] {
            let shape = self.code.shape(*number);
            let references = self.code.references(shape);
            let has = || {
                let mut fetches = references.iter().filter(|one| one.kind.is_fetch());
                fetches.any(|fetch| is_wanted(fetch.address))
            };
            let has = match &mut known {
                Some(known) => *known[*number as usize].get_or_insert_with(has),
                None => has(),
            };
            if has {
                for (at, fetch) in references.iter().enumerate() {
                    if fetch.kind.is_fetch() && is_wanted(fetch.address) {
                        each(index + at, fetch.address);
                    }
                }
            }
            index += references.len();
        }
    }

    /// Returns at most `most` references, beginning at a position.
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

/// A position in a chunk: the place before a reference.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Position {
    /// The number of references before the position.
    passed: usize,
    /// The index of the current execution.
    execution: usize,
    /// The index of the first datum of the current execution.
    data: usize,
    /// The index of the next reference in the current execution.
    first: usize,
}

impl Position {
    /// Returns the number of references before the position.
    #[inline]
    pub(crate) fn passed(&self) -> usize {
        self.passed
    }

    /// Advances by `references`. The chunk must have that number of references after the position.
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

/// Consecutive references of a chunk.
#[derive(Clone, Copy, Debug)]
pub struct References<'a> {
    code: &'a Code,
    /// The numbers of the executed shapes.
    executions: &'a [u32],
    /// The addresses of the data of all `executions`.
    data: &'a [u64],
    /// The index of the first reference in the first execution.
    first: usize,
    length: usize,
}

impl<'a> References<'a> {
    /// Returns the number of references.
    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns `true` if there is no reference.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the first of the references; `None` if there are none.
    #[inline]
    pub fn first(&self) -> Option<Reference> {
        self.iter().next()
    }

    /// Returns the first `most` references, or all if there are fewer.
    #[inline]
    #[must_use]
    pub fn up_to(self, most: usize) -> Self {
        Self { length: self.length.min(most), ..self }
    }

    /// Iterates over the references in the order of the program.
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

    /// Returns the number of fetches.
    pub(crate) fn fetches(self) -> u64 {
        let (mut rest, mut fetches) = (self, 0);
        while !rest.is_empty() {
            let shape = self.code.shape(rest.executions[0]);
            fetches += match rest.first == 0 && shape.count as usize <= rest.length {
                true => u64::from(shape.count - shape.data),
                false => rest.first_part().filter(|one| one.kind.is_fetch()).count() as u64,
            };
            rest.skip_part();
        }
        fetches
    }

    /// Iterates over the references of the first execution. There must be at least one reference.
    #[inline(always)]
    pub(crate) fn first_part(&self) -> impl Iterator<Item = Reference> + use<'a> {
        let Part { references, data, .. } = self.part();
        references.iter().map(move |reference| {
            let address = match reference.kind.is_fetch() {
                true => reference.address,
                false => data[reference.address as usize],
            };
            Reference { address, ..*reference }
        })
    }

    /// Returns the references of the first execution. There must be at least one reference.
    #[inline(always)]
    pub(crate) fn part(&self) -> Part<'a> {
        let Self { code, data, first, length, .. } = *self;
        let shape = code.shape(self.executions[0]);
        let references = &code.references(shape)[first..];
        let references = &references[..references.len().min(length)];
        Part { code, shape, data, first, references }
    }

    /// Returns `true` if the reference before the first one is a load of the same execution. There must be at least one reference.
    #[inline(always)]
    pub(crate) fn follows_load(&self) -> bool {
        let all = self.code.references(self.code.shape(self.executions[0]));
        self.first > 0 && all[self.first - 1].kind == Kind::Load
    }

    /// Removes all references of the first execution.
    #[inline]
    pub(crate) fn skip_part(&mut self) {
        let shape = self.code.shape(self.executions[0]);
        self.skip((shape.count as usize - self.first).min(self.length));
    }

    /// Returns the first executions with all their references, at most [`MOST_WHOLE`] references.
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

    /// Removes the executions that the caller took from [`whole`](Self::whole).
    #[inline(always)]
    pub(crate) fn pass(&mut self, taken: Whole<'a>) {
        self.executions = taken.executions.as_slice();
        self.data = taken.data.as_slice();
        self.length -= taken.most - taken.left;
    }

    /// Removes the executions that the caller took from [`whole`](Self::whole). Of the last of these executions, removes only the
    /// first `references` references.
    pub(crate) fn pass_but_last(&mut self, taken: Whole<'a>, references: usize) {
        let last = self.executions.len() - taken.executions.len() - 1;
        let shape = self.code.shape(self.executions[last]);
        let own = self.code.references(shape)[..references].iter();
        let own = own.filter(|one| !one.kind.is_fetch()).count();
        self.executions = &self.executions[last..];
        self.data = &self.data[self.data.len() - taken.data.len() - own..];
        self.length -= taken.most - taken.left - shape.count as usize;
    }

    /// Removes the first `references` references. All must belong to the first execution.
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

/// The references of one execution, from some reference on.
pub(crate) struct Part<'a> {
    code: &'a Code,
    pub(crate) shape: &'a Shape,
    /// The index of the first reference in the execution.
    pub(crate) first: usize,
    /// The references. A reference to data has its index in `data` instead of its address.
    pub(crate) references: &'a [Reference],
    /// The addresses of all data of the execution, and of later executions.
    pub(crate) data: &'a [u64],
}

impl<'a> Part<'a> {
    /// Returns the steps of the references, and the work that the shape has done before them. `None` if the shape is executed reference by
    /// reference, if the references do not begin with an instruction, or if they end before the shape does.
    #[inline]
    pub(crate) fn steps(&self) -> Option<(&'a [ShapeStep], Done)> {
        let is_whole = self.first + self.references.len() == self.shape.count as usize;
        if !is_whole || self.code.steps(self.shape).is_empty() {
            return None;
        }
        self.code.resume(self.shape, self.first)
    }
}

/// Executions with all their references. The caller takes the executions one after the other.
pub(crate) struct Whole<'a> {
    code: &'a Code,
    executions: slice::Iter<'a, u32>,
    /// The addresses of the data that the caller has not taken.
    pub(crate) data: slice::Iter<'a, u64>,
    /// The number of references that the caller could take at the start.
    most: usize,
    /// The number of references that the caller has not taken.
    left: usize,
}

impl<'a> Whole<'a> {
    /// Returns the shape and steps of the next execution. A shape without steps is executed reference by reference.
    #[inline(always)]
    pub(crate) fn peek(&self) -> Option<(&'a Shape, &'a [ShapeStep])> {
        let shape = self.code.shape(*self.executions.as_slice().first()?);
        (shape.count as usize <= self.left).then(|| (shape, self.code.steps(shape)))
    }

    /// Returns the address of the latest instruction that begins before the reference with this index of a shape. The shape must begin with
    /// an instruction.
    #[inline]
    pub(crate) fn instruction(&self, shape: &Shape, before: usize) -> u64 {
        let references = &self.code.references(shape)[..before];
        let fetch = references.iter().rfind(|one| one.kind.is_fetch());
        fetch.map_or(shape.address, |fetch| fetch.address)
    }

    /// Returns the reference that ends with a step of a shape. `address` is the address of its data.
    #[inline]
    pub(crate) fn reference(&self, shape: &Shape, step: &ShapeStep, address: u64) -> Reference {
        let reference = self.code.references(shape)[usize::from(step.next) - 1];
        match step.action {
            StepAction::Fetch => reference,
            _ => Reference { address, ..reference },
        }
    }

    /// Takes the next execution, which must have this shape. The caller takes the addresses of its data from `data`.
    #[inline(always)]
    pub(crate) fn take(&mut self, shape: &Shape) {
        self.executions.next();
        self.left -= shape.count as usize;
    }
}
