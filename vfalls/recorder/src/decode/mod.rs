//! Decodes control transfers and atomic instructions.

pub(crate) mod sparc;
pub(crate) mod x86;

use refs::{BlockDefinition, Exit};

/// An architecture whose programs can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    X86,
    Sparc,
}

impl Target {
    /// Returns the architecture that QEMU calls `name`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "x86_64" => Some(Self::X86),
            "sparc64" => Some(Self::Sparc),
            _ => None,
        }
    }

    /// Returns `true` if the memory access of an instruction is a load and a store in one step.
    pub(crate) fn is_atomic(self, instruction: &[u8]) -> bool {
        match self {
            Self::X86 => x86::is_atomic(instruction),
            Self::Sparc => sparc::is_atomic(instruction),
        }
    }

    pub(crate) fn block(self, address: u64, instructions: &[&[u8]]) -> BlockDefinition {
        let sizes: Vec<u8> = (instructions.iter()).map(|bytes| bytes.len() as u8).collect();
        let end = (sizes.iter()).fold(address, |end, size| end.wrapping_add(u64::from(*size)));
        let exit = match self {
            Self::X86 => x86::exit(instructions, end),
            Self::Sparc => sparc::exit(instructions, end),
        };
        BlockDefinition { address, sizes, exit }
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
    /// Returns the exit of a block. `instruction` is the number of the instruction that transfers control, and `next` is the
    /// address of the instruction that follows an untaken branch.
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
