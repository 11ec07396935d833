//! The definitions of a recording, ready to be copied.

use super::super::{Flow, Kind, Reference};
use super::bytes::Rest;
use super::definitions::{MOST_DEFINED, MOST_INSTRUCTIONS, Slots};
use super::encoder::MOST_ACCESSES;
use super::log::Place;

/// The references of most shapes are so many at most. So many are always copied, for to copy a number that is known takes less
/// time.
pub(super) const STEP: usize = 8;

/// What is behind references for which there is room.
pub(super) const NONE: Reference = Reference::new(0, 0, Kind::FetchOther);

/// The references of each shape, without the addresses of its data.
#[derive(Debug)]
pub(super) struct Templates {
    /// By number.
    pub(super) shapes: Vec<Template>,
    pub(super) references: Vec<Reference>,
    /// Where data is among the references of a shape.
    pub(super) data: Vec<u16>,
    blocks: Vec<Block>,
    sizes: Vec<u8>,
    /// Where the latest block ends.
    address: u64,
    slots: Slots,
}

/// One shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Template {
    /// The first of its references, and of its data.
    pub(super) first: u32,
    pub(super) first_data: u32,
    pub(super) slot: u32,
    pub(super) count: u16,
    pub(super) data: u16,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    address: u64,
    /// The first of its sizes.
    first: u32,
    count: u16,
    /// The instruction with which control leaves, and what it does if it is not taken and if it is.
    exit: Option<(u16, Flow, Flow)>,
}

impl Templates {
    pub(super) fn new() -> Self {
        let none = Block {
            address: 0,
            first: 0,
            count: 0,
            exit: None,
        };
        Self {
            shapes: Vec::new(),
            references: Vec::new(),
            data: Vec::new(),
            blocks: vec![none],
            sizes: Vec::new(),
            address: 0,
            slots: Slots::default(),
        }
    }

    /// Adds the content of a frame of definitions. Returns `None` if it is malformed or there are too many definitions.
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

    /// Returns a shape, the references from its first on (at least [`STEP`]), and where data is among them. Returns `None` if
    /// there is no such shape.
    #[inline(always)]
    pub(super) fn shape(&self, shape: u32) -> Option<(&Template, &[Reference], &[u16])> {
        let template = self.shapes.get(shape as usize)?;
        let (first_data, data) = (template.first_data as usize, usize::from(template.data));
        Some((
            template,
            self.references.get(template.first as usize..)?,
            self.data.get(first_data..first_data + data)?,
        ))
    }

    /// Nothing is added any more: gives memory back that only further definitions need.
    pub(super) fn complete(&mut self) {
        self.references.extend([NONE; STEP]);
        (self.blocks, self.sizes, self.slots) = (Vec::new(), Vec::new(), Slots::default());
    }

    fn add_block(&mut self, rest: &mut Rest<'_>) -> Option<()> {
        let address = self.address.wrapping_add_signed(rest.signed()?);
        let count = rest
            .varint()
            .filter(|count| (1..=MOST_INSTRUCTIONS as u64).contains(count))?;
        let sizes = rest.bytes(count)?;
        self.address = address;
        for &size in sizes {
            self.address = self.address.wrapping_add(u64::from(size));
        }
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
        let first = self.sizes.len();
        if sizes.contains(&0)
            || first as u64 + count > MOST_DEFINED
            || self.blocks.len() as u64 > MOST_DEFINED
        {
            return None;
        }
        self.sizes.extend_from_slice(sizes);
        self.blocks.push(Block {
            address,
            first: first as u32,
            count: count as u16,
            exit,
        });
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
        let mut places = bytes
            .as_chunks::<2>()
            .0
            .iter()
            .map(|place| Place(u16::from_le_bytes(*place)))
            .peekable();
        let (first, first_data) = (self.references.len(), self.data.len());
        let mut address = block.address;
        let sizes = &self.sizes[block.first as usize..][..usize::from(block.count)];
        for (instruction, &size) in (0..).zip(sizes) {
            let fetch = self.references.len();
            self.references
                .push(Reference::new(address, u16::from(size), Kind::FetchOther));
            while let Some(place) = places.next_if(|place| place.instruction() == instruction) {
                add_data(&mut self.references, &mut self.data, first, place);
                let fetch = &mut self.references[fetch];
                fetch.kind = fetch.kind.with(place.kind());
            }
            if let Some((at, not_taken, if_taken)) = block.exit
                && at == instruction
            {
                self.references[fetch].flow = if taken { if_taken } else { not_taken };
            }
            address = address.wrapping_add(u64::from(size));
        }
        // Data outside of all blocks.
        for place in places {
            add_data(&mut self.references, &mut self.data, first, place);
        }
        let shape = Template {
            first: first as u32,
            first_data: first_data as u32,
            slot: self.slots.first(number as u32, accesses as usize),
            count: (self.references.len() - first) as u16,
            data: accesses as u16,
        };
        self.shapes.push(shape);
        let all = (self.references.len() + self.shapes.len()) as u64;
        (shape.count > 0 && all <= MOST_DEFINED).then_some(())
    }
}

fn add_data(references: &mut Vec<Reference>, data: &mut Vec<u16>, first: usize, place: Place) {
    data.push((references.len() - first) as u16);
    references.push(Reference::new(0, place.size(), place.kind()));
}
