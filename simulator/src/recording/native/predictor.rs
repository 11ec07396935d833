//! What a thread will probably do next: the encoder writes where this is wrong, and the reader does as it says elsewhere.

/// How many contexts and places of accesses are kept apart; more share.
const CONTEXTS: usize = 1 << 14;
const SLOTS: usize = 1 << 14;

/// The state of a thread, which encoder and reader keep alike.
#[derive(Debug)]
pub(super) struct Predictor {
    /// The shape that came last after two others.
    next: Box<[u32]>,
    /// The latest two shapes, mixed.
    context: u32,
    slots: Box<[Slot]>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    last: u64,
    stride: u64,
}

impl Predictor {
    pub(super) fn new() -> Self {
        Self {
            next: vec![0; CONTEXTS].into_boxed_slice(),
            context: 0,
            slots: vec![Slot::default(); SLOTS].into_boxed_slice(),
        }
    }

    #[inline(always)]
    fn at(&self) -> usize {
        (self.context.wrapping_mul(0x9e37_79b9) >> 18) as usize % CONTEXTS
    }

    /// Returns the shape that is expected.
    #[inline(always)]
    pub(super) fn shape(&self) -> u32 {
        self.next[self.at()]
    }

    /// Notes the shape that comes.
    #[inline(always)]
    pub(super) fn note_shape(&mut self, shape: u32) {
        let at = self.at();
        self.next[at] = shape;
        self.context = self.context.wrapping_mul(0x85eb) ^ shape;
    }

    /// Returns the address that is expected.
    #[inline(always)]
    pub(super) fn address(&self, slot: usize) -> u64 {
        let slot = &self.slots[slot % SLOTS];
        slot.last.wrapping_add(slot.stride)
    }

    /// Notes the address that comes.
    #[inline(always)]
    pub(super) fn note_address(&mut self, slot: usize, address: u64) {
        let slot = &mut self.slots[slot % SLOTS];
        slot.stride = address.wrapping_sub(slot.last);
        slot.last = address;
    }
}
