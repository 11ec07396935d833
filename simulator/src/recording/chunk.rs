//! Chunks: parts of a recorded program's threads.

use std::sync::Arc;

use refs::Order;

use super::code::Code;
use super::reference::Reference;
use super::references::References;
use super::runs;

/// Consecutive references of one thread, with the signals and waits that order them relative to other threads.
///
/// References are stored as executions of shapes, each with the addresses of its data.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    /// Signals and waits in program order, each with the index of the reference after it. At the chunk's end, this index is the
    /// number of references.
    pub order: Vec<(usize, Order)>,
    code: Arc<Code>,
    executions: Executions,
}

/// Remembers which of a recording's shapes contain a fetch from a wanted address. See [`Chunk::find_fetches`].
#[derive(Clone, Debug, Default)]
pub(crate) struct ShapeMemo {
    code: Option<Arc<Code>>,
    /// For each of the code's shapes, whether it contains a fetch from a wanted address; `None` if this is not known yet.
    has: Vec<Option<bool>>,
}

impl ShapeMemo {
    /// Returns what is known about the shapes of `code`; `None` if the code belongs to a single chunk, because it can then still
    /// change.
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

/// The number of executions for which storage is reserved at first, and likewise the number of data addresses.
const FIRST: usize = 512;

/// Executions of shapes, in program order.
#[derive(Clone, Debug, Default)]
pub(super) struct Executions {
    /// The numbers of the executed shapes. Entries from the index `executed` on are unused.
    shapes: Vec<u32>,
    /// The addresses of all executions' data. Entries from the index `accessed` on are unused.
    data: Vec<u64>,
    executed: usize,
    accessed: usize,
    pub(super) length: usize,
}

impl Executions {
    fn clear(&mut self) {
        (self.executed, self.accessed, self.length) = (0, 0, 0);
    }

    /// Returns storage for further executions. There is room for at least one execution that has up to `data` data references. The
    /// storage grows step by step, because many threads have few references.
    pub(super) fn room(&mut self, data: usize) -> Room<'_> {
        if self.shapes.len() == self.executed {
            self.shapes.resize(2 * self.executed + FIRST, 0);
        }
        if self.data.len() < self.accessed + data {
            self.data.resize(2 * self.accessed + FIRST + data, 0);
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

    /// Accepts the executions that were written into the [room](Self::room).
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
    /// Returns a chunk with these references, which are in program order. An instruction and its data must be in one chunk.
    pub fn new(references: Vec<Reference>, order: Vec<(usize, Order)>) -> Self {
        let mut chunk = Self::default();
        chunk.set(&references);
        Self { order, ..chunk }
    }

    /// Returns a chunk with executions of `shapes`. Each execution consists of a shape's number and the addresses of its data.
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
    pub(crate) fn without_steps(mut self) -> Self {
        Arc::make_mut(&mut self.code).forget_steps();
        self
    }

    /// Returns the references in program order.
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

    /// Replaces each datum's address with the result of `moved`.
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
        // Most chunks that are cleared have no further references, and `execute` prepares large tables.
        if !references.is_empty() {
            runs::execute(references, code, shapes, data);
        }
        (self.executions.executed, self.executions.accessed) = (shapes.len(), data.len());
        self.executions.length = references.len();
    }

    /// Clears the chunk, so that executions of `code` can be added. Returns the storage for these executions, and the storage for
    /// signals and waits.
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

    /// Returns `true` if the reference at a position is an instruction's fetch.
    #[inline]
    pub(crate) fn is_fetch(&self, position: &Position) -> bool {
        let Some(&shape) = self.executions.shapes.get(position.execution) else { return false };
        let references = self.code.references(self.code.shape(shape));
        references.get(position.first).is_some_and(|reference| reference.kind.is_fetch())
    }

    /// Returns `true` if the instruction at a position has at most `most` further references. There must be at least one.
    #[inline]
    pub(crate) fn ends_within(&self, position: &Position, most: usize) -> bool {
        let shape = self.code.shape(self.executions.shapes[position.execution]);
        let further = || &self.code.references(shape)[position.first..][1..=most];
        shape.count as usize - position.first <= most
            || further().iter().any(|reference| reference.kind.is_fetch())
    }

    /// Returns the address of the last instruction that begins before a position; `None` if none does in this chunk.
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

    /// Calls `each` with the index and address of each fetch from a wanted address, in program order. `memo` remembers which shapes
    /// contain such a fetch, so all calls with the same `memo` must want the same addresses.
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

    /// Returns at most `most` references, from a position on.
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

/// A position in a chunk, before one of its references.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Position {
    /// The number of references before the position.
    passed: usize,
    /// The index of the current execution.
    execution: usize,
    /// The index of the current execution's first datum.
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

    /// Advances by `references`. The chunk must have at least that many references after the position.
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
