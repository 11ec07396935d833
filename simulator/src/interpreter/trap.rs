//! Traps (UltraSPARC Architecture 2007, table 12-2).

use std::fmt;

/// The type of a trap: 0 to 0x1ff.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Trap(u16);

impl Trap {
    /// Nothing answers at the address of a fetch.
    pub const INSTRUCTION_ACCESS_ERROR: Self = Self(0x0a);
    /// An instruction that the processor does not have.
    pub const ILLEGAL_INSTRUCTION: Self = Self(0x10);
    /// An instruction of a higher privilege.
    pub const PRIVILEGED_OPCODE: Self = Self(0x11);
    /// The floating-point unit is disabled.
    pub const FP_DISABLED: Self = Self(0x20);
    /// TADDccTV or TSUBccTV overflows.
    pub const TAG_OVERFLOW: Self = Self(0x23);
    /// The window that `save` enters has values of others.
    pub const CLEAN_WINDOW: Self = Self(0x24);
    /// A division by zero.
    pub const DIVISION_BY_ZERO: Self = Self(0x28);
    /// Nothing answers at the address of a load or store.
    pub const DATA_ACCESS_ERROR: Self = Self(0x32);
    /// An address that is no multiple of the access.
    pub const MEM_ADDRESS_NOT_ALIGNED: Self = Self(0x34);
    /// A space or register of a higher privilege.
    pub const PRIVILEGED_ACTION: Self = Self(0x37);

    /// Returns the trap of `save` or `flushw` when a window has to be stored: `other` is that of windows that belong to another
    /// address space, `state` the field of %wstate.
    #[must_use]
    pub const fn spill(other: bool, state: u8) -> Self {
        Self(0x80 + (other as u16) * 0x20 + (state as u16 & 7) * 4)
    }

    /// Returns the trap of `restore` or `return` when a window has to be loaded.
    #[must_use]
    pub const fn fill(other: bool, state: u8) -> Self {
        Self(Self::spill(other, state).0 + 0x40)
    }

    /// Returns the trap of `Tcc` with a number of which the low eight bits count.
    #[must_use]
    pub const fn software(number: u64) -> Self {
        Self(0x100 + (number & 0xff) as u16)
    }

    /// Returns the number.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }

    /// Returns whether the trap is one of `save` or `flushw` that has a window stored.
    #[must_use]
    pub const fn is_spill(self) -> bool {
        self.0 >= 0x80 && self.0 < 0xc0
    }

    /// Returns whether the trap is one of `restore` or `return` that has a window loaded.
    #[must_use]
    pub const fn is_fill(self) -> bool {
        self.0 >= 0xc0 && self.0 < 0x100
    }
}

impl fmt::Debug for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trap({:#x})", self.0)
    }
}
