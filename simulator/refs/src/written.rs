//! The parts of a frame while it is being written: block executions (as runs and events), and orders.

use std::mem;

use super::bytes::{put_bytes, put_literal, put_varint};
use super::definitions::NumberedShape;
use super::order::{Order, OrderCode};
use super::predictor::Predictor;

/// The position of the run in an event's first byte. The run (bits 7:5) is the number of expected executions before the event.
pub const RUN_SHIFT: u32 = 5;
/// The largest run that fits into the first byte. It also marks longer runs: a varint with the rest of the run follows.
pub const LONG_RUN: u64 = 7;
/// The bit in an event's first byte that marks an unexpected shape.
pub const WRONG_SHAPE: u8 = 1 << 4;

/// The maximum number of accesses that the fast path writes in one execution. The codes of these accesses fit into 64 bits.
pub(super) const MOST_CODES: usize = 29;

/// The parts of a frame that is being encoded.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) executions: u64,
    pub(super) instructions: u64,
    pub(super) accesses: u64,
    /// The number of expected executions since the latest event.
    pub(super) run: u64,
    control: Vec<u8>,
    /// The code bytes of the next event. In the first byte, the run's bits stay 0 until the event is written.
    codes: Vec<u8>,
    pub(super) literals: Vec<u8>,
    orders: Vec<u8>,
    order_code: OrderCode,
    /// The number of block executions in this frame before the latest [`Order`], such as a wait for another thread.
    ordered: u64,
}

/// Returns the number of bytes for an event's codes. The first byte has the codes of two accesses, and each further byte has the codes of
/// four.
#[inline(always)]
fn code_bytes(accesses: usize) -> usize {
    1 + (accesses + 1) / 4
}

impl Written {
    /// Writes an execution of the shape with this index in the encoder's list. `hash` is the shape's hash. An expected execution only makes
    /// the run longer.
    pub(super) fn execution(
        &mut self,
        predictor: &mut Predictor,
        index: u32,
        (shape, hash): (NumberedShape, u32),
        addresses: &[u64],
    ) {
        self.executions += 1;
        let is_expected = predictor.shape() == index;
        if !is_expected {
            predictor.expect(index);
        }
        predictor.occurs(hash);
        predictor.make_room(shape.slot as usize + addresses.len());
        self.codes.clear();
        self.codes.resize(code_bytes(addresses.len()), 0);
        for (at, &address) in addresses.iter().enumerate() {
            let mut difference = 0;
            predictor.address(shape.slot as usize + at, |expected| {
                difference = address.wrapping_sub(expected);
                address
            });
            if difference != 0 {
                let (byte, place) = if at < 2 { (0, at) } else { (1 + (at - 2) / 4, (at - 2) % 4) };
                self.codes[byte] |= put_literal(&mut self.literals, difference) << (2 * place);
            }
        }
        if is_expected && self.codes.iter().all(|codes| *codes == 0) {
            self.run += 1;
            return;
        }
        let codes = mem::take(&mut self.codes);
        self.event((!is_expected).then_some(shape.number), &codes);
        self.codes = codes;
    }

    /// Writes an event. `shape` is the number of the execution's shape; `None` if the shape was expected.
    fn event(&mut self, shape: Option<u32>, codes: &[u8]) {
        let run = (self.run.min(LONG_RUN) as u8) << RUN_SHIFT;
        let wrong_shape = if shape.is_some() { WRONG_SHAPE } else { 0 };
        self.control.push(run | wrong_shape | codes[0]);
        if let Some(more) = self.run.checked_sub(LONG_RUN) {
            put_varint(&mut self.control, more);
        }
        self.run = 0;
        if let Some(shape) = shape {
            put_varint(&mut self.control, u64::from(shape));
        }
        self.control.extend_from_slice(&codes[1..]);
    }

    /// Writes an event with at most [`MOST_CODES`] accesses. `codes` is as [`Predictor::addresses`] returns it.
    #[inline(always)]
    pub(super) fn short_event(&mut self, shape: Option<u32>, codes: u64, accesses: usize) {
        let run = self.run.min(LONG_RUN) << RUN_SHIFT;
        let bytes = code_bytes(accesses);
        if shape.is_none() && self.run < LONG_RUN {
            put_bytes(&mut self.control, run | codes, bytes);
        } else {
            self.event(shape, &codes.to_le_bytes()[..bytes]);
        }
        self.run = 0;
    }

    pub(super) fn order(&mut self, order: Order, open: bool) {
        let at = self.executions + u64::from(open);
        put_varint(&mut self.orders, at - self.ordered);
        self.ordered = at;
        self.order_code.put(order, &mut self.orders);
    }

    /// Moves all parts into a frame's content. Returns `false` if there is nothing to move: no execution and no order.
    pub(super) fn take(&mut self, content: &mut Vec<u8>) -> bool {
        content.clear();
        let any = self.executions > 0 || !self.orders.is_empty();
        put_varint(content, self.executions);
        put_varint(content, self.control.len() as u64);
        put_varint(content, self.literals.len() as u64);
        for part in [&mut self.control, &mut self.literals, &mut self.orders] {
            content.append(part);
        }
        (self.executions, self.instructions, self.accesses) = (0, 0, 0);
        (self.run, self.ordered) = (0, 0);
        self.order_code = OrderCode::default();
        any
    }
}
