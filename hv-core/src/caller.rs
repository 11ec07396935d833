//! The caller of a hypercall: a guest and its strand.

use core::fmt;

use guest_abi::StrandId;

/// A guest's number, below [`COUNT`](Self::COUNT).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuestId(u8);

impl GuestId {
    /// The number of possible guests: 256, numbered 0 to 255. A build for a model checker has only 2 guests, to keep models small.
    pub const COUNT: usize = if cfg!(any(loom, shuttle)) { 2 } else { StrandId::COUNT };

    /// Returns the guest with this number, or `None` if the number is not below [`COUNT`](Self::COUNT).
    pub const fn new(number: usize) -> Option<Self> {
        if number < Self::COUNT { Some(Self(number as u8)) } else { None }
    }

    /// Returns the guest's number as an array index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the guest's number as a byte, the way events record it.
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl fmt::Display for GuestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The strand that took the trap, and the guest that it executes. Neither value comes from a register that the guest controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Caller {
    pub guest: GuestId,
    pub strand: StrandId,
}

/// The error for a [`Caller`] whose strand does not execute the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignStrand(pub Caller);

impl fmt::Display for ForeignStrand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(Caller { guest, strand }) = self;
        write!(f, "strand {strand} does not execute guest {guest}")
    }
}

impl core::error::Error for ForeignStrand {}
