//! Predicts a thread's next execution. The encoder writes only what differs from the prediction, and the reader makes the same predictions.

use std::hint::select_unpredictable;

use super::bytes::{put_literal, sign_extended};

/// The number of contexts that a predictor remembers.
const CONTEXTS: usize = 1 << 14;
const SLOTS: usize = 1 << 14;
/// The minimum number of slots for which there is room, unless there is room for none.
const LEAST_SLOTS: usize = 1 << 8;
const REGIONS: usize = 1 << 8;

/// A thread's prediction state. Encoder and reader update it in the same way, from the thread's first frame to its last.
#[derive(Debug)]
pub struct Predictor {
    /// The latest shape in each context.
    next: Box<[u32; CONTEXTS]>,
    /// A hash of the latest shapes.
    context: u32,
    /// The first slots. Most programs have few, so there is no room for the others.
    slots: Vec<SlotHistory>,
    /// For each region, the latest difference between an address in the region and the same slot's next address.
    moved: Box<[u64; REGIONS]>,
}

/// The recent addresses at one slot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct SlotHistory {
    last: u64,
    /// The latest difference that occurred twice in a row.
    stride: i32,
    /// The low 16 bits of the latest difference.
    difference: i16,
    /// A score from -2 to 1. If it is below 0, the region predicts the address better than the stride.
    by_stride: i8,
}

/// The next score. The row says which predictions were right: neither, only the region's, only the stride's, or both. The column is the
/// current score: 0, 1, -2 or -1. The score rises if only the stride was right, and falls if only the region was right. A table is faster
/// than a saturating addition.
const BY_STRIDE: [[i8; 4]; 4] = [[0, 1, -2, -1], [-1, 0, -2, -2], [1, 1, -1, 0], [0, 1, -2, -1]];

/// A [`Predictor`] without its empty entries, for a thread that is waiting.
#[derive(Debug, Default)]
pub struct PackedPredictor {
    next: Vec<(u16, u32)>,
    context: u32,
    slots: Vec<(u16, SlotHistory)>,
    moved: Vec<(u16, u64)>,
}

impl From<Predictor> for PackedPredictor {
    fn from(Predictor { next, context, slots, moved }: Predictor) -> Self {
        Self { next: used(&*next), context, slots: used(&slots), moved: used(&*moved) }
    }
}

impl From<PackedPredictor> for Predictor {
    fn from(packed: PackedPredictor) -> Self {
        let mut predictor = Self { context: packed.context, ..Self::default() };
        predictor.make_room(packed.slots.last().map_or(0, |(last, _)| usize::from(*last) + 1));
        packed.next.into_iter().for_each(|(at, one)| predictor.next[usize::from(at)] = one);
        packed.slots.into_iter().for_each(|(at, one)| predictor.slots[usize::from(at)] = one);
        packed.moved.into_iter().for_each(|(at, one)| predictor.moved[usize::from(at)] = one);
        predictor
    }
}

/// Returns the entries that differ from the default, each with its index. The list has no spare capacity.
fn used<T: Copy + Default + PartialEq>(entries: &[T]) -> Vec<(u16, T)> {
    let used = (0..).zip(entries).filter(|(_, one)| **one != T::default());
    let mut used: Vec<_> = used.map(|(at, one)| (at, *one)).collect();
    used.shrink_to_fit();
    used
}

impl Default for Predictor {
    fn default() -> Self {
        Self { next: boxed(), context: 0, slots: Vec::new(), moved: boxed() }
    }
}

impl Predictor {
    /// Makes room for the first `slots` slots.
    pub fn make_room(&mut self, slots: usize) {
        let slots = slots.min(SLOTS);
        if slots > self.slots.len() {
            let room = slots.next_power_of_two().max(LEAST_SLOTS);
            self.slots.resize(room, SlotHistory::default());
        }
    }

    fn context(&self) -> usize {
        (self.context.wrapping_mul(0x9e37_79b9) >> 18) as usize % CONTEXTS
    }

    /// Returns the latest shape in the current context, which is expected to occur again.
    #[inline(always)]
    pub fn shape(&self) -> u32 {
        self.next[self.context()]
    }

    /// Records that the expected shape occurs, and returns it.
    #[inline(always)]
    pub fn expected_shape(&mut self) -> u32 {
        let shape = self.shape();
        self.occurs(shape_hash(shape));
        shape
    }

    /// Makes a shape the expected one in the current context, from now on.
    #[inline(always)]
    pub(crate) fn expect(&mut self, shape: u32) {
        let context = self.context();
        self.next[context] = shape;
    }

    /// Records that a shape with this [hash](shape_hash) occurs.
    #[inline(always)]
    pub(crate) fn occurs(&mut self, hash: u32) {
        self.context = self.context << 11 ^ hash;
    }

    /// Records that an unexpected shape occurs, and returns it.
    #[inline(always)]
    pub fn unexpected_shape(&mut self, shape: u32) -> u32 {
        self.expect(shape);
        self.expected_shape()
    }

    /// Records that the expected address of a slot occurs, and returns it.
    ///
    /// # Panics
    /// If there is no [room](Self::make_room) for the slot.
    #[inline(always)]
    pub fn expected_address(&mut self, slot: usize) -> u64 {
        self.slots[slot % SLOTS].expected(&mut self.moved)
    }

    /// Records that the expected addresses of successive slots occur. Writes them to `addresses`.
    ///
    /// # Panics
    /// If there is no [room](Self::make_room) for the slots.
    #[inline(always)]
    pub fn expected_addresses(&mut self, slot: usize, addresses: &mut [u64]) {
        let first = slot % SLOTS;
        let Some(slots) = self.slots.get_mut(first..first + addresses.len()) else {
            return expected_at_end(&mut self.slots, &mut self.moved, slot, addresses);
        };
        for (history, address) in slots.iter_mut().zip(addresses) {
            *address = history.expected(&mut self.moved);
        }
    }

    /// Records the addresses at successive slots. `accesses` has two words for each access, the second of which is the address. Bits 63:48
    /// of an address are ignored. Appends the literals of unexpected addresses to `literals`, and returns their codes. The codes of the
    /// first two accesses are in bits 3:0, and the other codes are in bits 8 and above.
    #[inline(always)]
    pub(crate) fn addresses(
        &mut self,
        slot: usize,
        accesses: &[u64],
        literals: &mut Vec<u8>,
    ) -> u64 {
        let (accesses, _) = accesses.as_chunks();
        let mut codes = 0;
        let first = slot % SLOTS;
        let Some(slots) = self.slots.get_mut(first..first + accesses.len()) else {
            self.make_room(slot + accesses.len());
            // The slot after the last slot is the first slot.
            for (at, &[_, address]) in accesses.iter().enumerate() {
                codes |= unexpected(
                    &mut self.slots[(slot + at) % SLOTS],
                    &mut self.moved,
                    at,
                    address,
                    literals,
                );
            }
            return codes;
        };
        for (at, (history, &[_, address])) in slots.iter_mut().zip(accesses).enumerate() {
            let moved = &mut self.moved[region(history.last)];
            if history.by_stride >= 0 {
                let stride = i64::from(history.stride).cast_unsigned();
                if history.last.wrapping_add(stride) == address {
                    history.last = address;
                    history.difference = stride as i16;
                    if *moved != stride {
                        *moved = stride;
                        history.by_stride = 1;
                    }
                    continue;
                }
            } else if history.last.wrapping_add(*moved) == address {
                if i64::from(history.stride).cast_unsigned() != *moved {
                    history.by_stride = -2;
                    if history.difference == *moved as i16 {
                        history.stride = *moved as i32;
                    }
                }
                history.last = address;
                history.difference = *moved as i16;
                continue;
            }
            codes |= unexpected(history, &mut self.moved, at, address, literals);
        }
        codes
    }

    /// Passes a slot's expected address to `real`, and records the real address that `real` returns.
    ///
    /// # Panics
    /// If there is no [room](Self::make_room) for the slot.
    #[inline(always)]
    pub fn address(&mut self, slot: usize, real: impl FnOnce(u64) -> u64) -> u64 {
        self.slots[slot % SLOTS].occurs(&mut self.moved, real)
    }
}

impl SlotHistory {
    /// Records that the expected address occurs. Returns the address.
    #[inline(always)]
    fn expected(&mut self, moved: &mut [u64; REGIONS]) -> u64 {
        let moved = &mut moved[region(self.last)];
        let (by_stride, by_region) = (i64::from(self.stride).cast_unsigned(), *moved);
        if by_stride == by_region {
            // Both predictions are right, so stride, score and region stay the same.
            self.last = self.last.wrapping_add(by_stride);
            self.difference = by_stride as i16;
            return self.last;
        }
        let is_region = self.by_stride < 0;
        let difference = select_unpredictable(is_region, by_region, by_stride);
        let is_stride = difference as i16 == self.difference;
        *self = Self {
            last: self.last.wrapping_add(difference),
            stride: select_unpredictable(is_stride, difference as i32, self.stride),
            difference: difference as i16,
            // Only the chosen prediction is right, so the score becomes the extreme that favours this choice.
            by_stride: select_unpredictable(is_region, -2, 1),
        };
        *moved = difference;
        self.last
    }

    /// Passes the expected address to `real`, and records the real address that `real` returns.
    #[inline(always)]
    fn occurs(&mut self, moved: &mut [u64; REGIONS], real: impl FnOnce(u64) -> u64) -> u64 {
        let moved = &mut moved[region(self.last)];
        let (by_stride, by_region) = (i64::from(self.stride).cast_unsigned(), *moved);
        let expected = select_unpredictable(self.by_stride < 0, by_region, by_stride);
        let address = real(self.last.wrapping_add(expected));
        let difference = address.wrapping_sub(self.last);
        let right =
            usize::from(by_stride == difference) << 1 | usize::from(by_region == difference);
        let is_stride = difference as i16 == self.difference;
        *self = Self {
            last: address,
            stride: select_unpredictable(is_stride, difference as i32, self.stride),
            difference: difference as i16,
            by_stride: BY_STRIDE[right][self.by_stride as usize % 4],
        };
        *moved = difference;
        address
    }
}

/// Does the same as [`Predictor::expected_addresses`] if the last slot of the array comes before the last address.
#[cold]
#[inline(never)]
fn expected_at_end(
    slots: &mut [SlotHistory],
    moved: &mut [u64; REGIONS],
    slot: usize,
    addresses: &mut [u64],
) {
    for (address, slot) in addresses.iter_mut().zip(slot..) {
        *address = slots[slot % SLOTS].expected(moved);
    }
}

/// Records an address that is probably not the expected one. `at` is the index of its access. Appends the literal. Returns the access's
/// code, shifted to its position among the codes.
#[inline(never)]
fn unexpected(
    history: &mut SlotHistory,
    moved: &mut [u64; REGIONS],
    at: usize,
    address: u64,
    literals: &mut Vec<u8>,
) -> u64 {
    let (address, mut difference) = (sign_extended(address), 0);
    history.occurs(moved, |expected| {
        difference = address.wrapping_sub(expected);
        address
    });
    if difference == 0 {
        return 0;
    }
    let place = if at < 2 { 2 * at } else { 2 * at + 4 };
    u64::from(put_literal(literals, difference)) << place
}

/// Returns the hash that a shape contributes to the context.
pub(crate) const fn shape_hash(shape: u32) -> u32 {
    shape.wrapping_mul(0x85eb_ca6b)
}

#[inline(always)]
fn region(address: u64) -> usize {
    let region = address >> 20;
    (region ^ region >> 8) as usize % REGIONS
}

/// Returns an array on the heap. It would be too large for the stack.
fn boxed<T: Copy + Default, const N: usize>() -> Box<[T; N]> {
    let boxed = vec![T::default(); N].try_into();
    boxed.unwrap_or_else(|_| unreachable!("it has the length of the array"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a predictor whose slots from `first` on have seen addresses at distances that differ from slot to slot.
    fn trained(first: usize) -> Predictor {
        let mut predictor = Predictor::default();
        predictor.make_room(first + 5);
        for round in 0..4 {
            for at in 0..5 {
                let address = 0x10_0000 * at as u64 + (8 + at as u64 / 2) * round;
                predictor.address(first + at, |_| address);
            }
        }
        predictor
    }

    #[test]
    fn addresses_that_are_expected_at_once_are_those_that_are_expected_one_by_one() {
        // The last of these slots come after the end of the array.
        for first in [0, 250, SLOTS - 2, 3 * SLOTS - 1] {
            let (mut at_once, mut one_by_one) = (trained(first), trained(first));
            for _ in 0..3 {
                let mut addresses = [0; 5];
                at_once.expected_addresses(first, &mut addresses);
                let expected = std::array::from_fn(|at| one_by_one.expected_address(first + at));
                assert_eq!(addresses, expected, "{first}");
            }
        }
    }
}
