//! The caller of a hypercall: a guest and its strand.

use core::fmt;

use guest_abi::StrandId;

/// A guest of this hypervisor. There are never more guests than strands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuestId(u8);

impl GuestId {
    /// Numbers 0 to 255. Model checkers have room for fewer.
    pub const COUNT: usize = if cfg!(any(loom, shuttle)) {
        2
    } else {
        StrandId::COUNT
    };

    /// The guest with this number; `None` beyond 255.
    pub const fn new(number: usize) -> Option<Self> {
        if number < Self::COUNT {
            Some(Self(number as u8))
        } else {
            None
        }
    }

    /// Its number.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Its number, in a byte.
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl fmt::Display for GuestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The strand that has trapped, and the guest that it runs. The hypervisor knows both without asking the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The guest.
    pub guest: GuestId,
    /// The strand.
    pub strand: StrandId,
}
