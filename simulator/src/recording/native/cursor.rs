//! One thread of a recording.

use super::super::{Chunk, Order};
use super::bytes::Rest;
use super::predictor::Predictor;
use super::templates::Templates;

/// A chunk has at least this many references, if the thread has; and at most as many more as one execution of a block has.
const CHUNK: usize = 1 << 13;

/// Where a thread is.
#[derive(Debug)]
pub(super) struct Cursor {
    predictor: Predictor,
    /// The content of the current frame.
    pub(super) content: Vec<u8>,
    /// Where its parts are.
    control: usize,
    control_end: usize,
    literals: usize,
    literals_end: usize,
    orders: usize,
    /// Executions so far, and all.
    done: u64,
    executions: u64,
    /// Executions that are as expected.
    run: u64,
    /// What the execution after the run differs in.
    differs: u8,
    /// The next order, and after how many executions it is.
    order: Option<(u64, Order)>,
    references: u64,
}

impl Cursor {
    pub(super) fn new() -> Self {
        Self {
            predictor: Predictor::new(),
            content: Vec::new(),
            control: 0,
            control_end: 0,
            literals: 0,
            literals_end: 0,
            orders: 0,
            done: 0,
            executions: 0,
            run: 0,
            differs: 0,
            order: None,
            references: 0,
        }
    }

    /// Begins with a frame, whose content is in `content`.
    pub(super) fn begin(&mut self, references: u64) -> Option<()> {
        let mut rest = Rest(&self.content);
        self.executions = rest.varint()?;
        let control = usize::try_from(rest.varint()?).ok()?;
        let literals = usize::try_from(rest.varint()?).ok()?;
        self.control = self.content.len() - rest.0.len();
        self.control_end = self.control.checked_add(control)?;
        self.literals = self.control_end;
        self.literals_end = self.literals.checked_add(literals)?;
        self.orders = self.literals_end;
        (self.done, self.references) = (0, references);
        if self.orders > self.content.len() {
            return None;
        }
        self.next_event()?;
        self.next_order()
    }

    fn next_event(&mut self) -> Option<()> {
        if self.control == self.control_end {
            self.run = self.executions - self.done;
            return Some(());
        }
        let mut rest = Rest(&self.content[self.control..self.control_end]);
        self.differs = rest.byte()?;
        self.run = rest.varint()?;
        self.control = self.control_end - rest.0.len();
        (self.run < self.executions - self.done).then_some(())
    }

    fn next_order(&mut self) -> Option<()> {
        let mut rest = Rest(&self.content[self.orders..]);
        self.order = None;
        if !rest.0.is_empty() {
            let after = rest.varint()?;
            let at = self
                .done
                .checked_add(after)
                .filter(|at| *at <= self.executions)?;
            let word = rest.varint()?;
            let order = if word & 1 == 0 {
                Order::Signal(word >> 1)
            } else {
                Order::Wait(word >> 1)
            };
            self.order = Some((at, order));
        }
        self.orders = self.content.len() - rest.0.len();
        Some(())
    }

    /// Adds to `chunk` until it is full. Returns `false` if the frame is at its end, and `None` if it is malformed.
    pub(super) fn fill(&mut self, templates: &Templates, chunk: &mut Chunk) -> Option<bool> {
        loop {
            while let Some((at, order)) = self.order
                && at == self.done
            {
                chunk.order.push((chunk.references.len(), order));
                self.next_order()?;
            }
            if chunk.references.len() >= CHUNK {
                return Some(true);
            }
            if self.done == self.executions {
                return (self.references == 0).then_some(false);
            }
            let end = self.order.map_or(self.executions, |(at, _)| at);
            self.executions(end, templates, chunk)?;
        }
    }

    fn executions(&mut self, end: u64, templates: &Templates, chunk: &mut Chunk) -> Option<()> {
        while self.done < end && chunk.references.len() < CHUNK {
            let (differs, shape);
            if self.run > 0 {
                self.run -= 1;
                differs = 0;
                shape = self.predictor.shape();
            } else {
                differs = self.differs;
                shape = if differs & 1 != 0 {
                    let mut rest = Rest(&self.content[self.control..self.control_end]);
                    let shape = u32::try_from(rest.varint()?).ok()?;
                    self.control = self.control_end - rest.0.len();
                    shape
                } else {
                    self.predictor.shape()
                };
            }
            self.predictor.note_shape(shape);
            let template = *templates.shapes.get(shape as usize)?;
            let first = chunk.references.len();
            let (from, count) = (template.first as usize, usize::from(template.count));
            chunk
                .references
                .extend_from_slice(&templates.references[from..from + count]);
            let (from, data) = (template.first_data as usize, usize::from(template.data));
            let places = &templates.data[from..from + data];
            for (at, &place) in places.iter().enumerate() {
                let slot = template.slot as usize + at;
                let mut address = self.predictor.address(slot);
                if differs & 2 != 0 {
                    let mut rest = Rest(&self.content[self.literals..self.literals_end]);
                    address = address.wrapping_add_signed(rest.signed()?);
                    self.literals = self.literals_end - rest.0.len();
                }
                self.predictor.note_address(slot, address);
                chunk.references[first + usize::from(place)].address = address;
            }
            self.references = self.references.checked_sub(count as u64)?;
            self.done += 1;
            if differs != 0 {
                self.differs = 0;
                self.next_event()?;
            }
        }
        Some(())
    }
}
