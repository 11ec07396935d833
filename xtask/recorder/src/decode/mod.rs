//! How the control transfers and the atomic instructions of the machines are encoded.

pub(crate) mod sparc;
pub(crate) mod x86;

use simulator::recording::native::{BlockDefinition, Exit};

/// A machine whose programs can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    X86,
    Sparc,
}

impl Target {
    /// Returns the machine with this name of QEMU's.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "x86_64" => Some(Self::X86),
            "sparc64" => Some(Self::Sparc),
            _ => None,
        }
    }

    /// Returns `true` if an instruction, when it accesses memory, loads and stores in one step.
    pub(crate) fn is_atomic(self, instruction: &[u8]) -> bool {
        match self {
            Self::X86 => x86::is_atomic(instruction),
            Self::Sparc => sparc::is_atomic(instruction),
        }
    }

    /// Returns a block that begins at an address, and has these instructions.
    pub(crate) fn block(self, address: u64, instructions: &[&[u8]]) -> BlockDefinition {
        let sizes: Vec<u8> = (instructions.iter())
            .map(|bytes| bytes.len() as u8)
            .collect();
        let end = (sizes.iter()).fold(address, |end, size| end.wrapping_add(u64::from(*size)));
        let exit = match self {
            Self::X86 => x86::exit(instructions, end),
            Self::Sparc => sparc::exit(instructions, end),
        };
        BlockDefinition {
            address,
            sizes,
            exit,
        }
    }
}

/// How an instruction passes control on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    Conditional,
    Jump,
    Call,
    Return,
    Trap,
}

impl Transfer {
    /// Returns the exit of a block that the instruction with this number leaves in this way, for `next` if a condition does not
    /// hold.
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
