//! Traps (UltraSPARC Architecture 2007, table 12-2).

use std::fmt;

use super::control::Level;

/// The type of a trap: 0 to 0x1ff.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Trap(u16);

impl Trap {
    /// Where a trap goes that is one too many for privileged software.
    pub(super) const WATCHDOG: Self = Self(0x02);
    /// A store has failed that the strand made before: deferred.
    pub const STORE_ERROR: Self = Self(0x07);
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
    /// A load or store that its page or space does not allow.
    pub const DATA_ACCESS_EXCEPTION: Self = Self(0x30);
    /// Nothing answers at the address of a load or store.
    pub const DATA_ACCESS_ERROR: Self = Self(0x32);
    /// An address that is no multiple of the access.
    pub const MEM_ADDRESS_NOT_ALIGNED: Self = Self(0x34);
    /// A space or register of a higher privilege.
    pub const PRIVILEGED_ACTION: Self = Self(0x37);

    /// A fetch from a real address without a translation.
    pub const INSTRUCTION_REAL_TRANSLATION_MISS: Self = Self(0x3e);
    /// A load from or store to a real address without a translation.
    pub const DATA_REAL_TRANSLATION_MISS: Self = Self(0x3f);
    /// %stick has reached %hstick_cmpr.
    pub const HSTICK_MATCH: Self = Self(0x5e);
    /// The hypervisor has asked for a trap at trap level 0.
    pub const TRAP_LEVEL_ZERO: Self = Self(0x5f);
    /// Another strand, or a device, has sent an interrupt.
    pub const INTERRUPT_VECTOR: Self = Self(0x60);

    /// Returns the trap of an interrupt of a level: 1 to 15.
    #[must_use]
    pub const fn interrupt_level(level: u8) -> Self {
        Self(0x40 + (level as u16 & 15))
    }

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

    /// Returns whether it is that of a `Tcc`.
    #[must_use]
    pub const fn is_software(self) -> bool {
        self.0 >= 0x100
    }

    /// Returns the number.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }

    /// Returns whether privileged software handles the trap, if it is taken from this level.
    pub(super) const fn is_privileged(self, level: Level) -> bool {
        let privileged = matches!(
            self.0,
            0x11 | 0x20..=0x28 | 0x41..=0x4f | 0x62 | 0x7c..=0x7e | 0x80..=0x17f
        );
        privileged && !matches!(level, Level::Hyperprivileged)
    }
}

impl fmt::Debug for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trap({:#x})", self.0)
    }
}
