//! What a thread will probably do next: the encoder writes where this is wrong, and the reader does as it says elsewhere.

/// How many contexts of shapes, slots of accesses and regions of memory are kept apart; more share.
const CONTEXTS: usize = 1 << 14;
const SLOTS: usize = 1 << 14;
const REGIONS: usize = 1 << 8;

/// The state of a thread, which encoder and reader keep alike from the first frame of the thread to the last.
#[derive(Debug)]
pub(super) struct Predictor {
    /// The shape that came last in a context.
    next: Box<[u32]>,
    /// The latest shapes, mixed.
    context: u32,
    slots: Box<[Slot]>,
    /// By how much the latest access of a slot whose address was in a region differed from the one before.
    moved: Box<[u64]>,
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

impl Predictor {
    pub(super) fn new() -> Self {
        Self {
            next: vec![0; CONTEXTS].into_boxed_slice(),
            context: 0,
            slots: vec![Slot::default(); SLOTS].into_boxed_slice(),
            moved: vec![0; REGIONS].into_boxed_slice(),
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

    /// Notes the shape that comes.
    #[inline(always)]
    pub(super) fn note_shape(&mut self, shape: u32) {
        self.next[self.context()] = shape;
        self.context = self.context << 11 ^ shape.wrapping_mul(0x85eb_ca6b);
    }

    /// Passes the address that is expected in a slot to `real`, which returns the one that comes.
    #[inline(always)]
    pub(super) fn address(&mut self, slot: usize, real: impl FnOnce(u64) -> u64) -> u64 {
        let slot = &mut self.slots[slot % SLOTS];
        let region = slot.last >> 20;
        let moved = &mut self.moved[(region ^ region >> 8) as usize % REGIONS];
        let by_stride = slot.last.wrapping_add_signed(slot.stride.into());
        let by_region = slot.last.wrapping_add(*moved);
        let address = real(if slot.by_stride < 0 {
            by_region
        } else {
            by_stride
        });
        let better = i8::from(by_stride == address) - i8::from(by_region == address);
        slot.by_stride = (slot.by_stride + better).clamp(-2, 1);
        let difference = address.wrapping_sub(slot.last);
        if difference as i16 == slot.difference {
            slot.stride = difference as i32;
        }
        slot.difference = difference as i16;
        *moved = difference;
        slot.last = address;
        address
    }
}
