//! Decodes one thread's references from its frames.

use super::super::chunk::{Executions, Room};
use super::templates::Template;
use refs::{LONG_RUN, RUN_SHIFT, WRONG_SHAPE};
use refs::{Order, OrderCode, PackedPredictor, Predictor, Rest, literal, sign_extended};

/// The number of references in a chunk, unless its thread ends. The last execution can make a chunk longer.
const CHUNK: usize = 1 << 12;

/// A thread's position in its frames.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    /// The predictor; `None` while the thread waits.
    predictor: Option<Predictor>,
    packed: PackedPredictor,
    /// The current frame's content.
    pub(super) content: Vec<u8>,
    /// The current position in the content's part `control`, and the end of that part. The next fields are the positions and ends
    /// of the content's other parts.
    control: usize,
    control_end: usize,
    literals: usize,
    literals_end: usize,
    orders: usize,
    orders_end: usize,
    order_code: OrderCode,
    /// The number of the frame's executions that have been decoded.
    done: u64,
    /// The number of executions in the frame.
    executions: u64,
    /// The number of correctly predicted executions left before the current event.
    run: u64,
    /// The first byte of the current event.
    event: u8,
    /// The thread's next order, such as the release of a lock, and the number of the frame's executions before it.
    order: Option<(u64, Order)>,
    /// The number of references left in the frame.
    references: u64,
}

impl Cursor {
    /// Unpacks a waiting thread's predictor, with room for `slots` slots. Returns `false` if the thread was not waiting.
    pub(super) fn wake(&mut self, slots: usize) -> bool {
        let waits = self.predictor.is_none();
        let predictor =
            self.predictor.get_or_insert_with(|| std::mem::take(&mut self.packed).into());
        predictor.make_room(slots);
        waits
    }

    /// Packs the predictor and releases unused memory, because the thread waits.
    pub(super) fn wait(&mut self) {
        self.packed = self.predictor.take().map(Into::into).unwrap_or_default();
        self.content.shrink_to_fit();
    }

    /// Starts a frame with the content in `content`. Returns `None` if the frame is malformed.
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
        self.order_code = OrderCode::default();
        (self.done, self.references) = (0, references);
        if self.orders > self.orders_end {
            return None;
        }
        // The last literals are read as whole words, so zeros have to follow them.
        self.content.extend_from_slice(&[0; 8]);
        let mut control = Rest(&self.content[self.control..self.control_end]);
        (self.event, self.run) = next_event(&mut control, self.executions)?;
        self.control = self.control_end - control.0.len();
        self.next_order()
    }

    fn next_order(&mut self) -> Option<()> {
        let mut rest = Rest(&self.content[self.orders..self.orders_end]);
        self.order = None;
        if !rest.0.is_empty() {
            let after = rest.varint()?;
            let at = self.done.checked_add(after).filter(|at| *at <= self.executions)?;
            self.order = Some((at, self.order_code.take(&mut rest)?));
        }
        self.orders = self.orders_end - rest.0.len();
        Some(())
    }

    /// Fills a chunk. Each shape has at most `most_data` data, and `most_data` is not 0. Returns `true` if the chunk is full,
    /// `false` at the end of the frame, and `None` if the frame is malformed.
    pub(super) fn fill(
        &mut self,
        templates: &[Template],
        most_data: usize,
        chunk: &mut Executions,
        orders: &mut Vec<(usize, Order)>,
    ) -> Option<bool> {
        loop {
            while let Some((at, order)) = self.order
                && at == self.done
            {
                if orders.len() >= CHUNK {
                    return Some(true);
                }
                orders.push((chunk.length, order));
                self.next_order()?;
            }
            if chunk.length >= CHUNK {
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
            let before = chunk.length;
            self.executions(end, templates, most_data, chunk)?;
            let added = chunk.length - before;
            self.references = self.references.checked_sub(added as u64)?;
        }
    }

    /// Decodes executions and adds them to a chunk. Stops after the frame's first `end` executions, or when the chunk or its
    /// storage is full.
    #[inline(never)]
    fn executions(
        &mut self,
        end: u64,
        templates: &[Template],
        most_data: usize,
        chunk: &mut Executions,
    ) -> Option<()> {
        let predictor = self.predictor.as_mut()?;
        // Local variables hold the state so that it stays in registers.
        let Room { shapes, data, mut executed, mut accessed, length: mut filled } =
            chunk.room(most_data);
        let mut control = Rest(&self.content[self.control..self.control_end]);
        let mut literals = &self.content[self.literals..];
        let (mut done, mut run, mut event) = (self.done, self.run, self.event);
        while done < end && filled < CHUNK {
            // The correctly predicted executions come first.
            let most = done + run.min(end - done);
            let began = done;
            let mut is_full = false;
            while done < most && filled < CHUNK {
                let expected = predictor.shape();
                let template = templates.get(expected as usize)?;
                let after = accessed + usize::from(template.data);
                let room = (shapes.get_mut(executed), data.get_mut(accessed..after));
                let (Some(shape), Some(addresses)) = room else {
                    is_full = true;
                    break;
                };
                *shape = predictor.expected_shape();
                predictor.expected_addresses(template.slot as usize, addresses);
                executed += 1;
                accessed = after;
                filled += usize::from(template.count);
                done += 1;
            }
            run -= done - began;
            is_full |= executed == shapes.len() || data.len() - accessed < most_data;
            if is_full || done == end || filled >= CHUNK {
                break;
            }
            // Then comes the execution that the event describes.
            let shape = match event & WRONG_SHAPE {
                0 => predictor.expected_shape(),
                _ => predictor.unexpected_shape(u32::try_from(control.varint()?).ok()?),
            };
            let template = templates.get(shape as usize)?;
            *shapes.get_mut(executed)? = shape;
            executed += 1;
            let addresses = data.get_mut(accessed..accessed + usize::from(template.data))?;
            accessed += usize::from(template.data);
            // The highest set bit marks the end of the byte's codes.
            let mut codes = u16::from(event & (WRONG_SHAPE - 1)) | 1 << 4;
            for (address, slot) in addresses.iter_mut().zip(template.slot as usize..) {
                if codes == 1 {
                    codes = u16::from(control.byte()?) | 1 << 8;
                }
                *address = if codes & 3 == 0 {
                    predictor.expected_address(slot)
                } else {
                    let difference;
                    (difference, literals) = literal(literals, codes as u8)?;
                    predictor
                        .address(slot, |expected| sign_extended(expected.wrapping_add(difference)))
                };
                codes >>= 2;
            }
            filled += usize::from(template.count);
            done += 1;
            (event, run) = next_event(&mut control, self.executions - done)?;
        }
        self.control = self.control_end - control.0.len();
        self.literals = self.content.len() - literals.len();
        (self.done, self.run, self.event) = (done, run, event);
        chunk.take(executed, accessed, filled);
        Some(())
    }
}

/// Reads the first byte of the next event, and the event's run: the number of correctly predicted executions before it. If there is
/// no further event, the run is `left`, the number of remaining executions.
#[inline(always)]
fn next_event(control: &mut Rest<'_>, left: u64) -> Option<(u8, u64)> {
    let Some(event) = control.byte() else {
        return Some((0, left));
    };
    let mut run = u64::from(event >> RUN_SHIFT);
    if run == LONG_RUN {
        run = control.varint()?.checked_add(LONG_RUN)?;
    }
    (run < left).then_some((event, run))
}
