//! The definitions of a recording, as they are read.

use super::super::code::Code;
use super::super::{Flow, Kind, Reference};
use super::bytes::Rest;
use super::definitions::{MOST_DEFINED, MOST_INSTRUCTIONS, Slots};
use super::encoder::MOST_ACCESSES;
use super::log::Place;

/// The definitions of a recording.
#[derive(Debug)]
pub(super) struct Templates {
    /// What decoding needs of the shapes, by number.
    shapes: Vec<Template>,
    code: Code,
    /// The references of all shapes.
    references: usize,
    blocks: Vec<Block>,
    sizes: Vec<u8>,
    /// Where the latest block ends.
    address: u64,
    slots: Slots,
    /// The references of one shape.
    shape: Vec<Reference>,
}

/// What decoding needs of a shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Template {
    /// The slot of its first data.
    pub(super) slot: u32,
    /// How many references it has, and how many of them are data.
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
            code: Code::default(),
            references: 0,
            blocks: vec![none],
            sizes: Vec::new(),
            address: 0,
            slots: Slots::default(),
            shape: Vec::new(),
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

    /// Nothing is added any more. Returns the code, and what decoding needs of its shapes, by number.
    pub(super) fn complete(self) -> (Code, Vec<Template>) {
        (self.code, self.shapes)
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
        let mut address = block.address;
        let sizes = &self.sizes[block.first as usize..][..usize::from(block.count)];
        let data = |place: Place| Reference::new(0, place.size(), place.kind());
        self.shape.clear();
        for (instruction, &size) in (0..).zip(sizes) {
            let fetch = self.shape.len();
            self.shape
                .push(Reference::new(address, u16::from(size), Kind::FetchOther));
            while let Some(place) = places.next_if(|place| place.instruction() == instruction) {
                self.shape.push(data(place));
                let fetch = &mut self.shape[fetch];
                fetch.kind = fetch.kind.with(place.kind());
            }
            if let Some((at, not_taken, if_taken)) = block.exit
                && at == instruction
            {
                self.shape[fetch].flow = if taken { if_taken } else { not_taken };
            }
            address = address.wrapping_add(u64::from(size));
        }
        // Data outside of all blocks.
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
