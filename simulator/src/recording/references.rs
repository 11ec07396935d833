//! The references in a part of a chunk.

use std::slice;

use super::code::{Code, MAX_WHOLE, Shape, ShapeStep, StepAction, Steps};
use super::reference::{Kind, Reference};

/// Consecutive references in a chunk.
#[derive(Clone, Copy, Debug)]
pub struct References<'a> {
    pub(super) code: &'a Code,
    /// The numbers of the executed shapes.
    pub(super) executions: &'a [u32],
    /// The addresses of all data in `executions`.
    pub(super) data: &'a [u64],
    /// The index of the first reference in the first execution.
    pub(super) first: usize,
    pub(super) length: usize,
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

    /// Returns the first reference; `None` if there are no references.
    #[inline]
    pub fn first(&self) -> Option<Reference> {
        self.iter().next()
    }

    /// Returns the first reference's index in its execution.
    #[inline]
    pub(crate) fn index(&self) -> usize {
        self.first
    }

    /// Returns the first `most` references, or all if there are fewer.
    #[inline]
    #[must_use]
    pub fn up_to(self, most: usize) -> Self {
        Self { length: self.length.min(most), ..self }
    }

    /// Iterates over the references in program order.
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
        self.part().iter()
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

    /// Returns `true` if the reference before the first one is a load in the same execution. There must be at least one reference.
    #[inline(always)]
    pub(crate) fn follows_load(&self) -> bool {
        let all = self.code.references(self.code.shape(self.executions[0]));
        self.first > 0 && all[self.first - 1].kind == Kind::Load
    }

    /// Removes all references of the first execution.
    #[inline]
    pub(crate) fn skip_part(&mut self) {
        self.skip_part_of(self.code.shape(self.executions[0]));
    }

    /// Does the same as [`skip_part`](Self::skip_part). The first execution is of this shape.
    #[inline(always)]
    pub(crate) fn skip_part_of(&mut self, shape: &Shape) {
        let part = shape.count as usize - self.first;
        if part > self.length {
            self.first += self.length;
            self.length = 0;
            return;
        }
        self.length -= part;
        self.first = 0;
        self.data = &self.data[shape.data as usize..];
        self.executions = &self.executions[1..];
    }

    /// Returns the executions at the beginning whose references are all included. Together, they have at most [`MAX_WHOLE`]
    /// references.
    #[inline(always)]
    pub(crate) fn whole(&self) -> Whole<'a> {
        let most = if self.first == 0 { self.length } else { 0 };
        let most = most.min(MAX_WHOLE);
        Whole {
            code: self.code,
            executions: self.executions.iter(),
            data: self.data.iter(),
            most,
            left: most,
        }
    }

    /// Removes the executions that the caller has taken from [`whole`](Self::whole).
    #[inline(always)]
    pub(crate) fn pass(&mut self, taken: Whole<'a>) {
        self.executions = taken.executions.as_slice();
        self.data = taken.data.as_slice();
        self.length -= taken.most - taken.left;
    }

    /// Removes the executions that the caller has taken from [`whole`](Self::whole), but keeps all of the last one. Of the last
    /// execution, the caller must have taken the data of the first `references` references.
    pub(crate) fn pass_but_last(&mut self, taken: Whole<'a>, references: usize) {
        let last = self.executions.len() - taken.executions.len() - 1;
        let shape = self.code.shape(self.executions[last]);
        let own = self.code.references(shape)[..references].iter();
        let own = own.filter(|one| !one.kind.is_fetch()).count();
        self.executions = &self.executions[last..];
        self.data = &self.data[self.data.len() - taken.data.len() - own..];
        self.length -= taken.most - taken.left - shape.count as usize;
    }

    /// Removes the first `references` references, which must all belong to the first execution.
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

/// One execution's references, from a certain reference on.
pub(crate) struct Part<'a> {
    code: &'a Code,
    pub(crate) shape: &'a Shape,
    /// The index of the part's first reference in the execution.
    pub(crate) first: usize,
    /// The references. A data reference has, in place of its address, its index in `data`.
    pub(crate) references: &'a [Reference],
    /// The addresses of all data of this execution and later ones.
    pub(crate) data: &'a [u64],
}

impl<'a> Part<'a> {
    /// Iterates over the references, each with its address.
    #[inline(always)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = Reference> + use<'a> {
        let Self { references, data, .. } = *self;
        references.iter().map(move |reference| {
            let address = match reference.kind.is_fetch() {
                true => reference.address,
                false => data[reference.address as usize],
            };
            Reference { address, ..*reference }
        })
    }

    /// Removes the first `references` references.
    #[inline(always)]
    pub(crate) fn skip(&mut self, references: usize) {
        self.first += references;
        self.references = &self.references[references..];
    }

    /// Returns the address of the last instruction that begins before these references in the same execution; `None` if there is
    /// none.
    #[inline]
    pub(crate) fn instruction_before(&self) -> Option<u64> {
        let before = &self.code.references(self.shape)[..self.first];
        before.iter().rfind(|one| one.kind.is_fetch()).map(|fetch| fetch.address)
    }

    /// Returns the references' steps if the part has all references of its shape; `None` if it does not, or if the shape is executed
    /// reference by reference.
    #[inline(always)]
    pub(crate) fn all_steps(&self) -> Option<Steps<'a>> {
        let is_whole = self.references.len() == self.shape.count as usize;
        (is_whole && self.shape.has_steps()).then(|| self.code.all_steps(self.shape))
    }

    /// Returns the references' steps if the part begins with a later instruction than its shape; `None` if it does not, if the shape is
    /// executed reference by reference, or if the part ends before the shape does.
    #[inline(always)]
    pub(crate) fn further_steps(&self) -> Option<Steps<'a>> {
        let is_last = self.first + self.references.len() == self.shape.count as usize;
        let has_further = self.first > 0 && is_last && self.shape.has_steps();
        if has_further { self.code.further_steps(self.shape, self.first) } else { None }
    }
}

/// Executions with all their references, which the caller takes one after the other.
pub(crate) struct Whole<'a> {
    code: &'a Code,
    executions: slice::Iter<'a, u32>,
    /// The addresses of the data that the caller has not taken yet.
    pub(crate) data: slice::Iter<'a, u64>,
    /// The number of references that the caller could take at first.
    most: usize,
    /// The number of references that the caller has not taken yet.
    left: usize,
}

impl<'a> Whole<'a> {
    /// Returns the next execution's shape and steps. A shape without steps is executed reference by reference.
    #[inline(always)]
    pub(crate) fn peek(&self) -> Option<(&'a Shape, &'a [ShapeStep])> {
        let shape = self.code.shape(*self.executions.as_slice().first()?);
        (shape.count as usize <= self.left).then(|| (shape, self.code.steps(shape)))
    }

    /// Returns the address of a shape's latest instruction that begins before the reference with the index `before`. The shape must
    /// begin with an instruction.
    #[inline]
    pub(crate) fn instruction(&self, shape: &Shape, before: usize) -> u64 {
        let references = &self.code.references(shape)[..before];
        let fetch = references.iter().rfind(|one| one.kind.is_fetch());
        fetch.map_or(shape.address, |fetch| fetch.address)
    }

    /// Returns the last reference of a shape's step. `address` is the address of the reference's data.
    #[inline]
    pub(crate) fn reference(&self, shape: &Shape, step: &ShapeStep, address: u64) -> Reference {
        let reference = self.code.references(shape)[usize::from(step.next) - 1];
        match step.action {
            StepAction::Fetch => reference,
            _ => Reference { address, ..reference },
        }
    }

    /// Takes the next execution, which must have this shape. The caller takes the execution's data addresses from `data`.
    #[inline(always)]
    pub(crate) fn take(&mut self, shape: &Shape) {
        self.executions.next();
        self.left -= shape.count as usize;
    }
}
