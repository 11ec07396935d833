//! Assigns numbers to a recording's blocks and shapes.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;

use super::bytes::{put_signed, put_varint};
use super::class::Class;
use super::frame::{Frame, FrameKind};
use super::log::BlockAccess;

/// The maximum number of instructions in a block.
pub const MOST_INSTRUCTIONS: usize = 1024;

/// The maximum size of all definitions in a recording together. The size of a block or shape is 1 plus the number of its references, which
/// include the instruction fetches.
pub const MOST_DEFINED: u64 = 1 << 25;

/// A block: successive instructions that QEMU translates together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BlockDefinition {
    /// The address of the first instruction.
    pub address: u64,
    /// The size of each instruction in bytes, 1 to 255. There are at most [`MOST_INSTRUCTIONS`] instructions.
    pub sizes: Vec<u8>,
    /// How control leaves the block.
    pub exit: Exit,
    /// The instructions whose class is not [`Class::Other`]: their indices in ascending order, each with its class.
    pub classes: Vec<(u16, Class)>,
}

/// How control leaves a block. `instruction` is the index of the instruction that transfers control. On SPARC, this is not the block's last
/// instruction, because the delay slot follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the fields are the same in every variant")]
pub enum Exit {
    /// Control continues with the instruction after the block.
    None,
    /// A conditional branch. It is not taken if the block at address `next` executes next.
    Conditional { instruction: u16, next: u64 },
    /// An unconditional branch, or a jump.
    Jump { instruction: u16 },
    /// A call, which passes control to a function.
    Call { instruction: u16 },
    /// A return, which passes control back to the caller.
    Return { instruction: u16 },
    /// A trap into the operating system.
    Trap { instruction: u16 },
}

/// The error that a recording has no room for more definitions and must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuchCode;

impl fmt::Display for TooMuchCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the program has more code than a recording can have")
    }
}

impl Error for TooMuchCode {}

/// The properties of a block that an encoder needs.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownBlock {
    pub(crate) address: u64,
    pub(crate) instructions: u16,
    /// The address of the next instruction if the block's conditional branch is not taken.
    pub(crate) next: Option<u64>,
    /// The indices of the atomic instructions.
    pub(crate) atomics: Box<[u16]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberedShape {
    pub(crate) number: u32,
    /// The slot of the block's first access, that is, the index of this access in the predictor. The block's other accesses have the next
    /// slots.
    pub(crate) slot: u32,
}

/// A recording's blocks and shapes, shared by all threads.
#[derive(Debug)]
pub struct Definitions {
    known: HashMap<BlockDefinition, u32>,
    blocks: Vec<KnownBlock>,
    shapes: HashMap<(u32, bool, Box<[BlockAccess]>), u32>,
    slots: Slots,
    /// The size of all definitions, which [`MOST_DEFINED`] limits.
    defined: u64,
    /// The definitions that no frame contains yet.
    new: New,
}

#[derive(Debug, Default)]
struct New {
    blocks: Vec<u8>,
    block_count: u64,
    /// The end address of the latest defined block.
    address: u64,
    shapes: Vec<u8>,
    shape_count: u64,
}

impl Default for Definitions {
    /// Returns definitions with only block 0, which has no instruction.
    fn default() -> Self {
        Self {
            known: HashMap::new(),
            blocks: vec![KnownBlock::default()],
            shapes: HashMap::new(),
            slots: Slots::default(),
            defined: 0,
            new: New::default(),
        }
    }
}

impl Definitions {
    /// Defines a block if it is new, and returns its number.
    ///
    /// # Errors
    /// There are too many definitions.
    ///
    /// # Panics
    /// If the block has no instruction, or more than `MOST_INSTRUCTIONS`. If the exit or an entry of `classes` names an instruction that
    /// is not in the block. If `classes` is not in ascending order.
    pub fn block(&mut self, definition: BlockDefinition) -> Result<u32, TooMuchCode> {
        let count = definition.sizes.len();
        if let Some(&known) = self.known.get(&definition) {
            return Ok(known);
        }
        assert!((1..=MOST_INSTRUCTIONS).contains(&count), "{count} instructions");
        self.define(count)?;
        let (kind, instruction, next) = match definition.exit {
            Exit::None => (0, None, None),
            Exit::Conditional { instruction, next } => (1, Some(instruction), Some(next)),
            Exit::Jump { instruction } => (2, Some(instruction), None),
            Exit::Call { instruction } => (3, Some(instruction), None),
            Exit::Return { instruction } => (4, Some(instruction), None),
            Exit::Trap { instruction } => (5, Some(instruction), None),
        };
        let new = &mut self.new;
        let bytes = &mut new.blocks;
        put_signed(bytes, definition.address.wrapping_sub(new.address).cast_signed());
        put_varint(bytes, count as u64);
        bytes.extend_from_slice(&definition.sizes);
        let length = definition.sizes.iter().map(|size| u64::from(*size)).sum();
        new.address = definition.address.wrapping_add(length);
        bytes.push(kind);
        if let Some(instruction) = instruction {
            assert!(usize::from(instruction) < count, "instruction {instruction}");
            put_varint(bytes, u64::from(instruction));
        }
        if let Some(next) = next {
            put_signed(bytes, next.wrapping_sub(new.address).cast_signed());
        }
        put_varint(bytes, definition.classes.len() as u64);
        let mut after = 0;
        for &(instruction, class) in &definition.classes {
            let at = usize::from(instruction);
            assert!(
                (after..count).contains(&at) && class != Class::Other,
                "{instruction}: {class:?}"
            );
            put_varint(bytes, (at - after) as u64);
            bytes.push(class as u8);
            after = at + 1;
        }
        new.block_count += 1;
        let number = self.blocks.len() as u32;
        let atomics = definition.classes.iter().filter(|(_, class)| *class == Class::Atomic);
        self.blocks.push(KnownBlock {
            address: definition.address,
            instructions: count as u16,
            next,
            atomics: atomics.map(|(instruction, _)| *instruction).collect(),
        });
        self.known.insert(definition, number);
        Ok(number)
    }

    /// Moves the new definitions into `frame`. Returns `false` if there are none. Write the frame to the file before any references that
    /// have been encoded so far. Until the frame is written, no other thread may write to the file.
    pub fn take(&mut self, frame: &mut Frame) -> bool {
        let address = self.new.address;
        let next = New { address, ..New::default() };
        let new = std::mem::replace(&mut self.new, next);
        if new.block_count + new.shape_count == 0 {
            return false;
        }
        (frame.kind, frame.thread, frame.references) = (FrameKind::Definitions, 0, 0);
        frame.content.clear();
        put_varint(&mut frame.content, new.block_count);
        put_varint(&mut frame.content, new.shape_count);
        frame.content.extend_from_slice(&new.blocks);
        frame.content.extend_from_slice(&new.shapes);
        true
    }

    /// Returns `true` if an instruction of a block is atomic.
    pub fn is_atomic(&self, block: u32, instruction: u16) -> bool {
        let block = self.blocks.get(block as usize);
        block.is_some_and(|block| block.atomics.contains(&instruction))
    }

    /// Returns the address of a block's first instruction; 0 for block 0, and for a number that has no block.
    pub fn address(&self, block: u32) -> u64 {
        self.blocks.get(block as usize).map_or(0, |block| block.address)
    }

    /// Returns the blocks from number `first` on.
    pub(crate) fn blocks_from(&self, first: usize) -> &[KnownBlock] {
        self.blocks.get(first..).unwrap_or_default()
    }

    /// Defines a shape if it is new, and returns its number and slot.
    pub(crate) fn shape(
        &mut self,
        block: u32,
        taken: bool,
        places: &[BlockAccess],
    ) -> Result<NumberedShape, TooMuchCode> {
        let key = (block, taken, Box::from(places));
        let number = match self.shapes.get(&key) {
            Some(known) => *known,
            None => {
                let instructions = self.blocks[block as usize].instructions;
                self.define(usize::from(instructions) + places.len())?;
                let bytes = &mut self.new.shapes;
                put_varint(bytes, u64::from(block));
                put_varint(bytes, (places.len() as u64) << 1 | u64::from(taken));
                bytes.extend(places.iter().flat_map(|place| place.0.to_le_bytes()));
                self.new.shape_count += 1;
                let number = self.shapes.len() as u32;
                self.shapes.insert(key, number);
                number
            }
        };
        Ok(NumberedShape { number, slot: self.slots.first(block, places.len()) })
    }

    fn define(&mut self, references: usize) -> Result<(), TooMuchCode> {
        let defined = self.defined + references as u64 + 1;
        if defined > MOST_DEFINED {
            return Err(TooMuchCode);
        }
        self.defined = defined;
        Ok(())
    }
}

/// Assigns slots, which are indices in the predictor, to the accesses of blocks. A block gets one slot for each access of its first shape.
/// Blocks get slots in the order in which their first shapes are defined.
#[derive(Debug, Default)]
pub struct Slots {
    /// The first slot of each block; [`u32::MAX`] if the block has no shape yet.
    first: Vec<u32>,
    all: u32,
}

impl Slots {
    /// Returns the first slot of a block. A block without slots gets `accesses` slots.
    pub fn first(&mut self, block: u32, accesses: usize) -> u32 {
        let block = block as usize;
        if self.first.len() <= block {
            self.first.resize(block + 1, u32::MAX);
        }
        let first = &mut self.first[block];
        if *first == u32::MAX {
            *first = self.all;
            self.all += accesses as u32;
        }
        *first
    }
}
