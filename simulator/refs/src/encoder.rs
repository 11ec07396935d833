//! Encodes the logs of a thread as frames.

use std::sync::{Mutex, PoisonError};

use super::bytes::{put_literal, put_varint};
use super::definitions::{Definitions, KnownBlock, NumberedShape, TooMuchCode};
use super::frame::{Frame, FrameKind};
use super::log::{BlockAccess, Log, Word};
use super::order::{Order, OrderCode};
use super::predictor::Predictor;

/// The maximum number of accesses in one execution of a block. Further accesses become an execution of block 0.
pub const MOST_ACCESSES: usize = 2048;

/// The position of the run in the first byte of an event. The run (bits 7:5) is the number of expected executions before the event.
pub const RUN_SHIFT: u32 = 5;
/// The largest run that fits into the first byte. It also stands for longer runs: a varint with the rest of the run follows.
pub const LONG_RUN: u64 = 7;
/// The bit in the first byte of an event that marks an unexpected shape.
pub const WRONG_SHAPE: u8 = 1 << 4;

/// The index that ends a block's list of shapes.
const NONE: u32 = u32::MAX;

/// Encodes the logs of one thread.
#[derive(Debug, Default)]
pub struct Encoder {
    thread: u32,
    /// The known blocks, each with the index of the first shape in its list.
    blocks: Vec<(KnownBlock, u32)>,
    /// The shapes that this thread has executed.
    shapes: Vec<Known>,
    places: Vec<BlockAccess>,
    predictor: Predictor,
    execution: Execution,
    written: Written,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    shape: NumberedShape,
    taken: bool,
    /// The index in `Encoder::places` of the shape's first access.
    first: u32,
    count: u32,
    /// The index of the next shape in the block's list.
    next: u32,
}

/// One execution of a block, with its accesses.
#[derive(Debug, Default)]
struct Execution {
    places: Vec<BlockAccess>,
    addresses: Vec<u64>,
}

/// The parts of a frame that is being encoded.
#[derive(Debug, Default)]
struct Written {
    executions: u64,
    references: u64,
    /// The number of expected executions since the latest event.
    run: u64,
    control: Vec<u8>,
    /// The code bytes of the next event. The bits of the first byte that hold the run stay 0 until the event is written.
    codes: Vec<u8>,
    literals: Vec<u8>,
    orders: Vec<u8>,
    order_code: OrderCode,
    /// The number of executions of blocks in this frame before the latest [`Order`], such as a wait for another thread.
    ordered: u64,
}

impl Encoder {
    /// Returns the encoder of a thread. Threads are numbered from 0 in the order in which they begin.
    pub fn new(thread: u32) -> Self {
        Self { thread, ..Self::default() }
    }

    /// Moves the content of `log` into `frame`. Unless the thread has `ended`, the latest execution of a block stays in the log, because
    /// only the next block shows whether the branch at its end was taken. Returns `false` if there is nothing to write.
    ///
    /// # Errors
    /// The program has too much code. Then the recording must end without this log.
    pub fn encode(
        &mut self,
        log: &mut Log,
        ended: bool,
        definitions: &Mutex<Definitions>,
        frame: &mut Frame,
    ) -> Result<bool, TooMuchCode> {
        let is_block = |word: &u64| matches!(Word::new(*word), Word::Block(_));
        let latest = log.words.iter().rposition(is_block).filter(|_| !ended);
        let end = latest.unwrap_or(log.words.len());
        {
            let definitions = definitions.lock().unwrap_or_else(PoisonError::into_inner);
            let new = definitions.blocks_from(self.blocks.len());
            self.blocks.extend(new.iter().map(|block| (block.clone(), NONE)));
        }
        let mut executing = None;
        for at in 0..end {
            match Word::new(log.words[at]) {
                Word::Access(place, address) => {
                    let atomics = executing.map(|block| &*self.blocks[block as usize].0.atomics);
                    self.execution.add(place, address, atomics.unwrap_or_default());
                    if self.execution.places.len() == MOST_ACCESSES {
                        self.execute(executing, None, definitions)?;
                        executing = None;
                    }
                }
                Word::Block(block) => {
                    self.execute(executing, Some(block), definitions)?;
                    executing = Some(block);
                }
                Word::Order => {
                    let open = executing.is_some() || !self.execution.places.is_empty();
                    for order in log.take_orders() {
                        self.written.order(order, open);
                    }
                }
            }
        }
        let next = log.words.get(end).and_then(|word| match Word::new(*word) {
            Word::Block(block) => Some(block),
            _ => None,
        });
        self.execute(executing, next, definitions)?;
        log.words.drain(..end);
        (frame.kind, frame.thread, frame.references) =
            (FrameKind::References, self.thread, self.written.references);
        Ok(self.written.take(&mut frame.content))
    }

    /// Writes one execution of `block`, or accesses outside all blocks. `next` is the block that executes next.
    #[inline(always)]
    fn execute(
        &mut self,
        block: Option<u32>,
        next: Option<u32>,
        definitions: &Mutex<Definitions>,
    ) -> Result<(), TooMuchCode> {
        if block.is_none() && self.execution.places.is_empty() {
            return Ok(());
        }
        let block = block.unwrap_or(0);
        let facts = &self.blocks[block as usize].0;
        let instructions = facts.instructions;
        let taken = facts.next.is_some_and(|not_taken| {
            next.is_some_and(|next| self.blocks[next as usize].0.address != not_taken)
        });
        let shape = self.shape(block, taken, definitions)?;
        let count = self.execution.places.len();
        self.written.references += u64::from(instructions) + count as u64;
        self.written.execution(&mut self.predictor, shape, &self.execution.addresses);
        self.execution.places.clear();
        self.execution.addresses.clear();
        Ok(())
    }

    /// Returns the shape of an execution. Defines the shape if it is new.
    #[inline(always)]
    fn shape(
        &mut self,
        block: u32,
        taken: bool,
        definitions: &Mutex<Definitions>,
    ) -> Result<NumberedShape, TooMuchCode> {
        let first = self.blocks[block as usize].1;
        let mut at = first;
        while let Some(known) = self.shapes.get(at as usize) {
            let places = &self.places[known.first as usize..][..known.count as usize];
            if known.taken == taken && places == self.execution.places {
                return Ok(known.shape);
            }
            at = known.next;
        }
        let mut definitions = definitions.lock().unwrap_or_else(PoisonError::into_inner);
        let shape = definitions.shape(block, taken, &self.execution.places)?;
        self.blocks[block as usize].1 = self.shapes.len() as u32;
        self.shapes.push(Known {
            shape,
            taken,
            first: self.places.len() as u32,
            count: self.execution.places.len() as u32,
            next: first,
        });
        self.places.extend_from_slice(&self.execution.places);
        Ok(shape)
    }
}

impl Execution {
    /// Adds an access. The store of an atomic instruction is merged with the load before it if both access the same location. `atomics` has
    /// the numbers of the block's atomic instructions.
    #[inline(always)]
    fn add(&mut self, place: BlockAccess, address: u64, atomics: &[u16]) {
        let load = BlockAccess(place.0 & !BlockAccess::STORE);
        if place != load
            && self.places.last() == Some(&load)
            && self.addresses.last() == Some(&address)
            && atomics.contains(&place.instruction())
        {
            if let Some(last) = self.places.last_mut() {
                *last = BlockAccess(place.0 | BlockAccess::ATOMIC);
            }
            return;
        }
        self.places.push(place);
        self.addresses.push(address);
    }
}

impl Written {
    /// Writes an execution. An expected execution only makes the run longer.
    #[inline(always)]
    fn execution(&mut self, predictor: &mut Predictor, shape: NumberedShape, addresses: &[u64]) {
        self.executions += 1;
        let wrong_shape = predictor.shape() != shape.number;
        match wrong_shape {
            true => predictor.unexpected_shape(shape.number),
            false => predictor.expected_shape(),
        };
        self.codes.clear();
        self.codes.push(if wrong_shape { WRONG_SHAPE } else { 0 });
        for (at, &address) in addresses.iter().enumerate() {
            let mut difference = 0;
            predictor.address(shape.slot as usize + at, |expected| {
                difference = address.wrapping_sub(expected);
                address
            });
            // The first byte holds the codes of two accesses. Each further byte holds the codes of four accesses.
            let place = (at + 2) % 4;
            if place == 0 {
                self.codes.push(0);
            }
            if difference != 0
                && let Some(codes) = self.codes.last_mut()
            {
                let place = if at < 2 { at } else { place };
                *codes |= put_literal(&mut self.literals, difference) << (2 * place);
            }
        }
        if self.codes.iter().all(|codes| *codes == 0) {
            self.run += 1;
            return;
        }
        self.control.push((self.run.min(LONG_RUN) as u8) << RUN_SHIFT | self.codes[0]);
        if let Some(more) = self.run.checked_sub(LONG_RUN) {
            put_varint(&mut self.control, more);
        }
        self.run = 0;
        if wrong_shape {
            put_varint(&mut self.control, u64::from(shape.number));
        }
        self.control.extend_from_slice(&self.codes[1..]);
    }

    fn order(&mut self, order: Order, open: bool) {
        let at = self.executions + u64::from(open);
        put_varint(&mut self.orders, at - self.ordered);
        self.ordered = at;
        self.order_code.put(order, &mut self.orders);
    }

    /// Moves all parts into the content of a frame. Returns `false` if there is nothing to move: no execution and no order.
    fn take(&mut self, content: &mut Vec<u8>) -> bool {
        content.clear();
        let any = self.executions > 0 || !self.orders.is_empty();
        put_varint(content, self.executions);
        put_varint(content, self.control.len() as u64);
        put_varint(content, self.literals.len() as u64);
        for part in [&mut self.control, &mut self.literals, &mut self.orders] {
            content.append(part);
        }
        (self.executions, self.references, self.run, self.ordered) = (0, 0, 0, 0);
        self.order_code = OrderCode::default();
        any
    }
}
