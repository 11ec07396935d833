//! Decodes control transfers and the classes of instructions.

pub(crate) mod sparc;
pub(crate) mod x86;

use refs::{BlockDefinition, Class, Exit};

/// How control leaves a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Leave {
    #[default]
    Other = 0,
    Call = 1,
    Return = 2,
}

/// An architecture whose programs can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Architecture {
    X86,
    Sparc,
}

impl Architecture {
    /// Returns the architecture that QEMU calls `name`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "x86_64" => Some(Self::X86),
            "sparc64" => Some(Self::Sparc),
            _ => None,
        }
    }

    pub(crate) fn class(self, instruction: &[u8]) -> Class {
        match self {
            Self::X86 => x86::class(instruction),
            Self::Sparc => sparc::class(instruction),
        }
    }

    /// Returns how control leaves a block that ends with `exit`.
    pub(crate) fn leave(self, exit: &Exit, instructions: &[&[u8]]) -> Leave {
        match *exit {
            Exit::Return { .. } => Leave::Return,
            Exit::Call { instruction } => {
                let slot = instructions.get(usize::from(instruction) + 1);
                match self == Self::Sparc && slot.is_some_and(|slot| sparc::ends_its_call(slot)) {
                    true => Leave::Other,
                    false => Leave::Call,
                }
            }
            _ => Leave::Other,
        }
    }

    pub(crate) fn block(self, address: u64, instructions: &[&[u8]]) -> BlockDefinition {
        let sizes: Vec<u8> = (instructions.iter()).map(|bytes| bytes.len() as u8).collect();
        let end = (sizes.iter()).fold(address, |end, size| end.wrapping_add(u64::from(*size)));
        let exit = match self {
            Self::X86 => x86::exit(instructions, end),
            Self::Sparc => sparc::exit(instructions, end),
        };
        let classes = (0..).zip(instructions).map(|(number, bytes)| (number, self.class(bytes)));
        let classes = classes.filter(|(_, class)| *class != Class::Other).collect();
        BlockDefinition { address, sizes, exit, classes }
    }
}

/// An instruction that transfers control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    Conditional,
    Jump,
    Call,
    Return,
    Trap,
}

impl Transfer {
    /// Returns the exit of a block. `instruction` is the index of the instruction that transfers control, and `next` is the address at
    /// which execution continues if a branch is not taken.
    fn exit(self, instruction: usize, next: u64) -> Exit {
        let instruction = instruction as u16;
        match self {
            Self::Conditional => Exit::Conditional { instruction, next },
            Self::Jump => Exit::Jump { instruction },
            Self::Call => Exit::Call { instruction },
            Self::Return => Exit::Return { instruction },
            Self::Trap => Exit::Trap { instruction },
        }
    }
}
