//! Blocks, and the ways in which they execute.

use std::collections::HashMap;

use super::bytes::{put_signed, put_varint};
use super::frame::{Frame, FrameKind};
use super::log::Place;

/// A block has at most so many instructions.
pub const MOST_INSTRUCTIONS: usize = 1024;

/// The blocks and shapes of a recording have at most so many references, all together.
pub(super) const MOST_DEFINED: u64 = 1 << 25;

/// Instructions that execute one after the other, as the recorder's emulator translates them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BlockDefinition {
    /// The address of the first instruction.
    pub address: u64,
    /// The sizes of the instructions in bytes, 1 to 255; at most [`MOST_INSTRUCTIONS`].
    pub sizes: Vec<u8>,
    /// How control leaves it.
    pub exit: Exit,
}

/// How control leaves a block. `instruction` is the number of the instruction that does it: not always the last one, for a
/// SPARC branch is followed by its delay slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exit {
    /// To the instruction after it.
    None,
    /// By a conditional branch. If it is not taken, the block at `next` executes next; if another block executes next, the
    /// branch is taken.
    Conditional {
        /// The number of the branch in its block.
        instruction: u16,
        /// Where execution goes on if it is not taken.
        next: u64,
    },
    /// By a branch without a condition, or a jump.
    Jump {
        /// The number of the branch in its block.
        instruction: u16,
    },
    /// By a call.
    Call {
        /// The number of the call in its block.
        instruction: u16,
    },
    /// By a return.
    Return {
        /// The number of the return in its block.
        instruction: u16,
    },
    /// Into the operating system.
    Trap {
        /// The number of the trap in its block.
        instruction: u16,
    },
}

/// There are more blocks, or more ways in which they execute, than a recording can have: it must end here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the program has more code than a recording can have")]
pub struct TooMuchCode;

/// What an encoder knows of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) address: u64,
    pub(super) instructions: u16,
    /// Where a conditional branch goes on if it is not taken.
    pub(super) next: Option<u64>,
}

/// One way in which a block executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) number: u32,
    /// The number of its first slot; further accesses have those behind it.
    pub(super) slot: u32,
}

/// The blocks of a recording, and the shapes of their executions, shared by all threads.
#[derive(Debug)]
pub struct Definitions {
    known: HashMap<BlockDefinition, u32>,
    blocks: Vec<Block>,
    shapes: HashMap<(u32, bool, Box<[Place]>), u32>,
    slots: Slots,
    /// References of all blocks and shapes.
    defined: u64,
    /// What is not yet written.
    new: New,
}

#[derive(Debug, Default)]
struct New {
    blocks: Vec<u8>,
    block_count: u64,
    /// Where the latest block ends.
    address: u64,
    shapes: Vec<u8>,
    shape_count: u64,
}

impl Default for Definitions {
    fn default() -> Self {
        Self::new()
    }
}

impl Definitions {
    /// Returns definitions with nothing but block 0, which has no instruction.
    #[must_use]
    pub fn new() -> Self {
        let none = Block {
            address: 0,
            instructions: 0,
            next: None,
        };
        Self {
            known: HashMap::new(),
            blocks: vec![none],
            shapes: HashMap::new(),
            slots: Slots::default(),
            defined: 0,
            new: New::default(),
        }
    }

    /// Returns the number of a block: the same number for the same block.
    ///
    /// # Errors
    /// There are too many.
    ///
    /// # Panics
    /// If the block has no instruction, or more than a block can have, or its exit is none of them.
    pub fn block(&mut self, definition: BlockDefinition) -> Result<u32, TooMuchCode> {
        let count = definition.sizes.len();
        if let Some(&known) = self.known.get(&definition) {
            return Ok(known);
        }
        assert!(
            (1..=MOST_INSTRUCTIONS).contains(&count),
            "{count} instructions"
        );
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
        put_signed(
            bytes,
            definition.address.wrapping_sub(new.address).cast_signed(),
        );
        put_varint(bytes, count as u64);
        bytes.extend_from_slice(&definition.sizes);
        new.address = definition
            .sizes
            .iter()
            .fold(definition.address, |address, size| {
                address.wrapping_add(u64::from(*size))
            });
        bytes.push(kind);
        if let Some(instruction) = instruction {
            assert!(
                usize::from(instruction) < count,
                "instruction {instruction}"
            );
            put_varint(bytes, u64::from(instruction));
        }
        if let Some(next) = next {
            put_signed(bytes, next.wrapping_sub(new.address).cast_signed());
        }
        new.block_count += 1;
        let number = self.blocks.len() as u32;
        self.blocks.push(Block {
            address: definition.address,
            instructions: count as u16,
            next,
        });
        self.known.insert(definition, number);
        Ok(number)
    }

    /// Puts what is new since the last time into `frame`. Returns `false` if nothing is. This frame must be in the file
    /// before any frame of references that was encoded before: who writes both takes this one, while nobody else writes.
    pub fn take(&mut self, frame: &mut Frame) -> bool {
        let address = self.new.address;
        let next = New {
            address,
            ..New::default()
        };
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

    /// Returns what is known of the blocks from a number on.
    pub(super) fn blocks_from(&self, first: usize) -> &[Block] {
        self.blocks.get(first..).unwrap_or_default()
    }

    /// Returns the number of a shape: the same for the same.
    pub(super) fn shape(
        &mut self,
        block: u32,
        taken: bool,
        places: &[Place],
    ) -> Result<Shape, TooMuchCode> {
        let key = (block, taken, Box::from(places));
        if let Some(&number) = self.shapes.get(&key) {
            let slot = self.slots.first(block, places.len());
            return Ok(Shape { number, slot });
        }
        let instructions = self.blocks[block as usize].instructions;
        self.define(usize::from(instructions) + places.len())?;
        let bytes = &mut self.new.shapes;
        put_varint(bytes, u64::from(block));
        put_varint(bytes, (places.len() as u64) << 1 | u64::from(taken));
        for place in places {
            bytes.extend_from_slice(&place.0.to_le_bytes());
        }
        self.new.shape_count += 1;
        let number = self.shapes.len() as u32;
        self.shapes.insert(key, number);
        let slot = self.slots.first(block, places.len());
        Ok(Shape { number, slot })
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

/// Which slots the accesses of a block have: as many as the first of its shapes has accesses, in the order in which blocks
/// get their first shape.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// By block; [`u32::MAX`] if it has none yet.
    first: Vec<u32>,
    all: u32,
}

impl Slots {
    /// Returns the first slot of a block, of which a shape has `accesses`.
    pub(super) fn first(&mut self, block: u32, accesses: usize) -> u32 {
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
