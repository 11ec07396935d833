//! Reads the definitions of blocks and shapes.

use super::super::code::Code;
use super::super::reference::{Flow, Kind, Reference};
use refs::{BlockAccess, Class, MOST_ACCESSES, MOST_DEFINED, MOST_INSTRUCTIONS, Rest, Slots};

/// The definitions read so far.
#[derive(Debug, Default)]
pub(super) struct Templates {
    /// The shapes, indexed by number.
    shapes: Vec<Template>,
    code: Code,
    /// The number of references in all shapes.
    references: usize,
    blocks: Vec<BlockTemplate>,
    sizes: Vec<u8>,
    /// All instructions whose class is not [`Class::Other`], block by block: the instruction's number in its block, and the class.
    classes: Vec<(u16, Class)>,
    /// The address at which the latest defined block ends.
    address: u64,
    slots: Slots,
    /// The current shape's references, in an allocation that is reused.
    shape: Vec<Reference>,
}

/// What the decoder needs to know about a shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Template {
    /// The predictor slot of the shape's first datum. Its other data have the slots after that.
    pub(super) slot: u32,
    /// The number of references. `data` is the number of data references among them.
    pub(super) count: u16,
    pub(super) data: u16,
}

#[derive(Clone, Copy, Debug, Default)]
struct BlockTemplate {
    address: u64,
    /// The index of the size of the block's first instruction. The other instructions' sizes follow.
    first: u32,
    count: u16,
    /// The instruction that passes control on: its index in the block, its flow if it is not taken, and its flow if it is taken.
    exit: Option<(u16, Flow, Flow)>,
    /// The range of the block's instructions in [`Templates::classes`].
    classes: (u32, u32),
}

impl Templates {
    pub(super) fn new() -> Self {
        // Block 0 has no instruction.
        Self { blocks: vec![BlockTemplate::default()], ..Self::default() }
    }

    /// Adds a frame of definitions. Returns `None` if it is malformed or there are too many definitions.
    pub(super) fn add(&mut self, content: &[u8]) -> Option<()> {
        let mut rest = Rest(content);
        let (blocks, shapes) = (rest.varint()?, rest.varint()?);
        for _ in 0..blocks {
            self.add_block(&mut rest)?;
        }
        for _ in 0..shapes {
            self.add_shape(&mut rest)?;
        }
        rest.0.is_empty().then_some(())
    }

    /// Returns the code, and the templates of its shapes by number.
    pub(super) fn complete(self) -> (Code, Vec<Template>) {
        (self.code, self.shapes)
    }

    fn add_block(&mut self, rest: &mut Rest<'_>) -> Option<()> {
        let address = self.address.wrapping_add_signed(rest.signed()?);
        let count = rest.varint().filter(|count| (1..=MOST_INSTRUCTIONS as u64).contains(count))?;
        let sizes = rest.bytes(count)?;
        self.address = address.wrapping_add(sizes.iter().map(|size| u64::from(*size)).sum());
        let kind = rest.byte()?;
        let exit = match kind {
            0 => None,
            _ => {
                let instruction = rest.varint().filter(|instruction| *instruction < count)? as u16;
                let (not_taken, taken) = match kind {
                    1 => (Flow::NotTaken, Flow::Taken),
                    2 => (Flow::Jump, Flow::Jump),
                    3 => (Flow::Call, Flow::Call),
                    4 => (Flow::Return, Flow::Return),
                    5 => (Flow::Trap, Flow::Trap),
                    _ => return None,
                };
                if kind == 1 {
                    rest.signed()?;
                }
                Some((instruction, not_taken, taken))
            }
        };
        let first_class = self.classes.len() as u32;
        self.read_classes(rest, count)?;
        let first = self.sizes.len();
        if sizes.contains(&0)
            || first as u64 + count > MOST_DEFINED
            || self.blocks.len() as u64 > MOST_DEFINED
        {
            return None;
        }
        self.sizes.extend_from_slice(sizes);
        let classes = (first_class, self.classes.len() as u32);
        let (first, count) = (first as u32, count as u16);
        self.blocks.push(BlockTemplate { address, first, count, exit, classes });
        Some(())
    }

    /// Reads the classes of a block with `count` instructions.
    fn read_classes(&mut self, rest: &mut Rest<'_>, count: u64) -> Option<()> {
        let mut next = 0;
        for _ in 0..rest.varint().filter(|classes| *classes <= count)? {
            let at = rest.varint()?.checked_add(next).filter(|at| *at < count)?;
            let class = Class::from_byte(rest.byte()?).filter(|class| *class != Class::Other)?;
            self.classes.push((at as u16, class));
            next = at + 1;
        }
        Some(())
    }

    fn add_shape(&mut self, rest: &mut Rest<'_>) -> Option<()> {
        let number = rest.varint()?;
        let block = *self.blocks.get(usize::try_from(number).ok()?)?;
        let word = rest.varint()?;
        let (accesses, taken) = (word >> 1, word & 1 != 0);
        let bytes = rest.bytes(accesses.checked_mul(2)?)?;
        if accesses > MOST_ACCESSES as u64 {
            return None;
        }
        let (places, _) = bytes.as_chunks::<2>();
        let places = places.iter().map(|place| BlockAccess(u16::from_le_bytes(*place)));
        let mut places = places.peekable();
        let mut address = block.address;
        let sizes = &self.sizes[block.first as usize..][..usize::from(block.count)];
        let data = |place: BlockAccess| Reference::new(0, place.size(), kind(place));
        let (first_class, end) = block.classes;
        let mut classes = self.classes[first_class as usize..end as usize].iter().peekable();
        self.shape.clear();
        for (instruction, &size) in (0..).zip(sizes) {
            let fetch = self.shape.len();
            let known = classes.next_if(|(number, _)| *number == instruction);
            let class = known.map_or(Class::Other, |(_, class)| *class);
            let own = Reference::new(address, u16::from(size), Kind::FetchOther);
            self.shape.push(Reference { class, ..own });
            while let Some(place) = places.next_if(|place| place.instruction() == instruction) {
                if place.is_atomic() && class != Class::Atomic {
                    return None;
                }
                self.shape.push(data(place));
                self.shape[fetch].accesses(kind(place));
            }
            if let Some((at, not_taken, if_taken)) = block.exit
                && at == instruction
            {
                self.shape[fetch].flow = if taken { if_taken } else { not_taken };
            }
            address = address.wrapping_add(u64::from(size));
        }
        // These data do not belong to any block.
        self.shape.extend(places.map(data));
        let count = self.shape.len();
        self.references += count;
        self.shapes.push(Template {
            slot: self.slots.first(number as u32, accesses as usize),
            count: count as u16,
            data: accesses as u16,
        });
        let all = (self.references + self.shapes.len()) as u64;
        (count > 0 && all <= MOST_DEFINED).then(|| {
            self.code.add(&self.shape);
        })
    }
}

fn kind(access: BlockAccess) -> Kind {
    match (access.is_atomic(), access.is_store()) {
        (true, _) => Kind::Modify,
        (false, true) => Kind::Store,
        (false, false) => Kind::Load,
    }
}
