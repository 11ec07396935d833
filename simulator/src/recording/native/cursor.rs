//! One thread of a recording.

use super::super::{Chunk, Order};
use super::bytes::{Rest, literal, sign_extended};
use super::encoder::{LONG_RUN, RUN_SHIFT, WRONG_SHAPE};
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
    orders_end: usize,
    /// Executions so far, and all.
    done: u64,
    executions: u64,
    /// Executions that are as expected, before the one of the event.
    run: u64,
    /// The first byte of the event.
    event: u8,
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
            orders_end: 0,
            done: 0,
            executions: 0,
            run: 0,
            event: 0,
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
        self.orders_end = self.content.len();
        (self.done, self.references) = (0, references);
        if self.orders > self.orders_end {
            return None;
        }
        // The last literals are read as words, too.
        self.content.extend_from_slice(&[0; 8]);
        self.next_event()?;
        self.next_order()
    }

    /// Reads the first byte of the next event, and its run.
    fn next_event(&mut self) -> Option<()> {
        self.run = self.executions - self.done;
        let mut rest = Rest(&self.content[self.control..self.control_end]);
        if !rest.0.is_empty() {
            self.event = rest.byte()?;
            let run = u64::from(self.event >> RUN_SHIFT);
            let run = if run < LONG_RUN {
                run
            } else {
                rest.varint()?.checked_add(LONG_RUN)?
            };
            self.run = Some(run).filter(|run| *run < self.run)?;
        }
        self.control = self.control_end - rest.0.len();
        Some(())
    }

    fn next_order(&mut self) -> Option<()> {
        let mut rest = Rest(&self.content[self.orders..self.orders_end]);
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
        self.orders = self.orders_end - rest.0.len();
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
                let is_whole = self.references == 0
                    && self.control == self.control_end
                    && self.literals == self.literals_end
                    && self.orders == self.orders_end;
                return is_whole.then_some(false);
            }
            let end = self.order.map_or(self.executions, |(at, _)| at);
            self.executions(end, templates, chunk)?;
        }
    }

    /// Adds executions to `chunk`, up to the one with this number, until it is full.
    fn executions(&mut self, end: u64, templates: &Templates, chunk: &mut Chunk) -> Option<()> {
        while self.done < end && chunk.references.len() < CHUNK {
            if self.run > 0 {
                let most = self.run.min(end - self.done);
                let count = self.expected(most, templates, chunk)?;
                self.run -= count;
                self.done += count;
            } else {
                self.unexpected(templates, chunk)?;
                self.done += 1;
                self.next_event()?;
            }
        }
        Some(())
    }

    /// Adds executions that are as expected, at most `most`, until the chunk is full. Returns how many.
    fn expected(&mut self, most: u64, templates: &Templates, chunk: &mut Chunk) -> Option<u64> {
        for count in 0..most {
            if chunk.references.len() >= CHUNK {
                return Some(count);
            }
            let shape = self.predictor.shape();
            self.predictor.note_shape(shape);
            let (slot, references, places) = templates.copy(shape, chunk)?;
            self.references = self.references.checked_sub(references.len() as u64)?;
            for (slot, &place) in (slot..).zip(places) {
                let address = self.predictor.address(slot, |expected| expected);
                references.get_mut(usize::from(place))?.address = address;
            }
        }
        Some(most)
    }

    /// Adds the execution of the event.
    fn unexpected(&mut self, templates: &Templates, chunk: &mut Chunk) -> Option<()> {
        let mut control = Rest(&self.content[self.control..self.control_end]);
        let shape = match self.event & WRONG_SHAPE {
            0 => self.predictor.shape(),
            _ => u32::try_from(control.varint()?).ok()?,
        };
        self.predictor.note_shape(shape);
        let (slot, references, places) = templates.copy(shape, chunk)?;
        self.references = self.references.checked_sub(references.len() as u64)?;
        // A bit above the codes says where they end.
        let mut codes = u16::from(self.event & (WRONG_SHAPE - 1)) | 1 << 4;
        for (slot, &place) in (slot..).zip(places) {
            if codes == 1 {
                codes = u16::from(control.byte()?) | 1 << 8;
            }
            let (difference, next) = literal(&self.content, self.literals, codes as u8 & 3)?;
            let address = self.predictor.address(slot, |expected| {
                sign_extended(expected.wrapping_add(difference))
            });
            references.get_mut(usize::from(place))?.address = address;
            self.literals = next;
            codes >>= 2;
        }
        self.control = self.control_end - control.0.len();
        Some(())
    }
}
