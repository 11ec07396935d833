//! Traps (UltraSPARC Architecture 2007, table 12-2).

use std::fmt;

/// A strand's privilege level (chapter 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The privilege level of application programs.
    User,
    /// The privilege level of an operating system.
    Privileged,
    /// The privilege level of a hypervisor.
    Hyperprivileged,
}

/// A trap type, 0 to 0x1ff.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Trap(u16);

impl Trap {
    /// guest_watchdog, which replaces a trap when privileged software is already at its highest trap level.
    pub(super) const WATCHDOG: Self = Self(0x02);
    pub(super) const PRIVILEGED_OPCODE: Self = Self(0x11);
    pub(crate) const FP_DISABLED: Self = Self(0x20);
    /// A TADDccTV or TSUBccTV instruction overflows.
    pub(super) const TAG_OVERFLOW: Self = Self(0x23);
    /// The window that `save` enters is not clean.
    pub(super) const CLEAN_WINDOW: Self = Self(0x24);
    pub(super) const DIVISION_BY_ZERO: Self = Self(0x28);
    /// %stick has reached %hstick_cmpr.
    pub(super) const HSTICK_MATCH: Self = Self(0x5e);
    /// The strand is at trap level 0, and the hypervisor has set HPSTATE.TLZ.
    pub(super) const TRAP_LEVEL_ZERO: Self = Self(0x5f);
    /// Another strand or a device has sent an interrupt.
    pub(super) const INTERRUPT_VECTOR: Self = Self(0x60);

    /// A deferred error: one of the strand's earlier stores has failed.
    pub const STORE_ERROR: Self = Self(0x07);
    /// No memory or device answers a fetch.
    pub const INSTRUCTION_ACCESS_ERROR: Self = Self(0x0a);
    /// The word is not an instruction of the processor.
    pub const ILLEGAL_INSTRUCTION: Self = Self(0x10);
    /// A load or store is not allowed in its page or space.
    pub const DATA_ACCESS_EXCEPTION: Self = Self(0x30);
    /// No memory or device answers a load or store.
    pub const DATA_ACCESS_ERROR: Self = Self(0x32);
    /// An address is not a multiple of the access's size.
    pub const MEM_ADDRESS_NOT_ALIGNED: Self = Self(0x34);
    /// A space or register needs a higher level of privilege.
    pub const PRIVILEGED_ACTION: Self = Self(0x37);
    /// A fetch's real address has no translation.
    pub const INSTRUCTION_REAL_TRANSLATION_MISS: Self = Self(0x3e);
    /// A load's or store's real address has no translation.
    pub const DATA_REAL_TRANSLATION_MISS: Self = Self(0x3f);

    /// Returns the trap for an interrupt level, 1 to 15.
    pub(super) const fn interrupt_level(level: u8) -> Self {
        Self(0x40 + (level as u16 & 15))
    }

    /// Returns the trap that a `save` or `flushw` takes because a window must first be stored. `other` is `true` if the
    /// window belongs to another address space. `state` is the %wstate field.
    pub(super) const fn spill(other: bool, state: u8) -> Self {
        Self(0x80 + (other as u16) * 0x20 + (state as u16 & 7) * 4)
    }

    /// Returns the trap that a `restore` or `return` takes because a window must first be loaded; see
    /// [`spill`](Self::spill).
    pub(super) const fn fill(other: bool, state: u8) -> Self {
        Self(Self::spill(other, state).0 + 0x40)
    }

    /// Returns the trap that a `Tcc` instruction causes. The low eight bits of `number` are the software trap's number.
    pub const fn software(number: u64) -> Self {
        Self(0x100 + (number & 0xff) as u16)
    }

    /// Returns `true` if `Tcc` causes this trap.
    pub(crate) const fn is_software(self) -> bool {
        self.0 >= 0x100
    }

    /// Returns the trap type's number, 0 to 0x1ff.
    pub const fn number(self) -> u16 {
        self.0
    }

    /// Returns `true` if privileged software handles this trap when a strand takes it at `level`.
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
