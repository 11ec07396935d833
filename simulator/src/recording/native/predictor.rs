//! What a thread will probably do next: the encoder writes where this is wrong, and the reader does as it says elsewhere.

use std::hint::select_unpredictable;

/// How many contexts of shapes, slots of accesses and regions of memory are kept apart; more share.
const CONTEXTS: usize = 1 << 14;
const SLOTS: usize = 1 << 14;
const REGIONS: usize = 1 << 8;

/// The state of a thread, which encoder and reader keep alike from the first frame of the thread to the last.
#[derive(Debug)]
pub(super) struct Predictor {
    /// The shape that came last in a context.
    next: Box<[u32; CONTEXTS]>,
    /// The latest shapes, mixed.
    context: u32,
    slots: Box<[Slot; SLOTS]>,
    /// By how much the latest access of a slot whose address was in a region differed from the one before.
    moved: Box<[u64; REGIONS]>,
}

/// What is known of the addresses of one access of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    last: u64,
    /// The latest difference that came twice in a row.
    stride: i32,
    /// The low bits of the latest difference.
    difference: i16,
    /// Below 0 if other accesses to the region say better than the stride how the address changes.
    by_stride: i8,
}

/// The next score after each, of 0, 1, -2 and -1: up if the stride alone was right, and down if the region alone was. A table
/// takes less time than to limit a sum.
const BY_STRIDE: [[i8; 4]; 4] = [
    [0, 1, -2, -1],
    [-1, 0, -2, -2],
    [1, 1, -1, 0],
    [0, 1, -2, -1],
];

impl Predictor {
    pub(super) fn new() -> Self {
        Self {
            next: boxed(),
            context: 0,
            slots: boxed(),
            moved: boxed(),
        }
    }

    fn context(&self) -> usize {
        (self.context.wrapping_mul(0x9e37_79b9) >> 18) as usize % CONTEXTS
    }

    /// Returns the shape that is expected.
    #[inline(always)]
    pub(super) fn shape(&self) -> u32 {
        self.next[self.context()]
    }

    /// The shape comes that is expected. Returns it.
    #[inline(always)]
    pub(super) fn expected_shape(&mut self) -> u32 {
        let shape = self.shape();
        self.context = self.context << 11 ^ shape.wrapping_mul(0x85eb_ca6b);
        shape
    }

    /// Another shape comes. Returns it.
    #[inline(always)]
    pub(super) fn unexpected_shape(&mut self, shape: u32) -> u32 {
        self.next[self.context()] = shape;
        self.expected_shape()
    }

    /// The address comes that is expected in a slot. Returns it.
    #[inline(always)]
    pub(super) fn expected_address(&mut self, slot: usize) -> u64 {
        let slot = &mut self.slots[slot % SLOTS];
        let moved = &mut self.moved[region(slot.last)];
        let (by_stride, by_region) = (i64::from(slot.stride).cast_unsigned(), *moved);
        let is_region = slot.by_stride < 0;
        let difference = select_unpredictable(is_region, by_region, by_stride);
        // What was right alone has the most extreme score after each that chose it.
        let alone = select_unpredictable(is_region, -2, 1);
        let score = select_unpredictable(by_stride == by_region, slot.by_stride, alone);
        let is_stride = difference as i16 == slot.difference;
        *slot = Slot {
            last: slot.last.wrapping_add(difference),
            stride: select_unpredictable(is_stride, difference as i32, slot.stride),
            difference: difference as i16,
            by_stride: score,
        };
        *moved = difference;
        slot.last
    }

    /// Passes the address that is expected in a slot to `real`, which returns the one that comes.
    #[inline(always)]
    pub(super) fn address(&mut self, slot: usize, real: impl FnOnce(u64) -> u64) -> u64 {
        let slot = &mut self.slots[slot % SLOTS];
        let moved = &mut self.moved[region(slot.last)];
        let (by_stride, by_region) = (i64::from(slot.stride).cast_unsigned(), *moved);
        let expected = select_unpredictable(slot.by_stride < 0, by_region, by_stride);
        let address = real(slot.last.wrapping_add(expected));
        let difference = address.wrapping_sub(slot.last);
        let right =
            usize::from(by_stride == difference) << 1 | usize::from(by_region == difference);
        let is_stride = difference as i16 == slot.difference;
        *slot = Slot {
            last: address,
            stride: select_unpredictable(is_stride, difference as i32, slot.stride),
            difference: difference as i16,
            by_stride: BY_STRIDE[right][slot.by_stride as usize % 4],
        };
        *moved = difference;
        address
    }
}

/// Returns the region that an address is in.
#[inline(always)]
fn region(address: u64) -> usize {
    let region = address >> 20;
    (region ^ region >> 8) as usize % REGIONS
}

/// Returns an array that is not on the stack first.
fn boxed<T: Copy + Default, const N: usize>() -> Box<[T; N]> {
    let boxed = vec![T::default(); N].try_into();
    boxed.unwrap_or_else(|_| unreachable!("it has the length of the array"))
}
