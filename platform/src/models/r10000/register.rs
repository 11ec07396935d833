//! The control registers, and the bits of the Status register that affect counting.

use bitfield_struct::bitfield;
use guest_abi::sampling::{ModeSet, UnitMode};

/// The value of a control register: bits 8:0. All other bits are reserved and 0.
#[bitfield(u32)]
#[derive(PartialEq, Eq, Hash)]
pub struct Control {
    /// U, S, K and EXL, bits 3:0: the modes in which the counter counts.
    #[bits(4)]
    modes: u8,
    /// IE, bit 4: if set, bit 31 of the counter asserts IP\[7\].
    pub interrupt: bool,
    /// The event's number, in bits 8:5.
    #[bits(4)]
    pub event: u8,
    #[bits(23)]
    __: u32,
}

impl Control {
    /// Returns the value of the register after a write of `value`: its bits 8:0.
    pub const fn written(value: u32) -> Self {
        Self::from_bits(value & 0x1ff)
    }

    /// Returns a value that counts event number `event` (0 to 15) in `modes`.
    pub fn counting(event: u8, modes: ModeSet<R10000Mode>) -> Self {
        let bit = |mode: R10000Mode| u8::from(modes.contains(mode)) << mode.index();
        Self::new()
            .with_event(event & 0xf)
            .with_modes(R10000Mode::ALL.iter().copied().map(bit).sum())
    }

    /// Returns this value with every mode off, so that the counter counts nothing.
    #[must_use]
    pub const fn stopped(self) -> Self {
        self.with_modes(0)
    }

    /// Returns `true` if the enable bit of this mode is set.
    pub fn counts_in(self, mode: R10000Mode) -> bool {
        self.modes() >> mode.index() & 1 != 0
    }
}

/// A mode. Each mode has a bit in the control register that enables counting in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum R10000Mode {
    /// EXL, bit 0: exception level, whatever the value of KSU.
    Exception,
    /// K, bit 1: kernel mode.
    Kernel,
    /// S, bit 2: supervisor mode.
    Supervisor,
    /// U, bit 3: user mode.
    User,
}

impl UnitMode for R10000Mode {
    const ALL: &'static [Self] = &[Self::Exception, Self::Kernel, Self::Supervisor, Self::User];

    fn index(self) -> usize {
        self as usize
    }
}

/// KSU of the Status register: the mode of a processor that is neither at exception level nor at error level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ksu {
    /// 0: kernel mode, in which bit K enables counting.
    #[default]
    Kernel,
    /// 1: supervisor mode, in which bit S enables counting.
    Supervisor,
    /// 2: user mode, in which bit U enables counting.
    User,
}

/// The bits of the Status register that affect counting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Status {
    /// KSU: the mode when neither EXL nor ERL is set.
    pub ksu: Ksu,
    /// EXL: the processor is at exception level.
    pub exl: bool,
    /// ERL: the processor is at error level, and counts no events.
    pub erl: bool,
}

impl Status {
    /// Returns the mode in which events are counted now; `None` at error level.
    pub const fn mode(self) -> Option<R10000Mode> {
        match self {
            Self { erl: true, .. } => None,
            Self { exl: true, .. } => Some(R10000Mode::Exception),
            Self { ksu, .. } => Some(match ksu {
                Ksu::Kernel => R10000Mode::Kernel,
                Ksu::Supervisor => R10000Mode::Supervisor,
                Ksu::User => R10000Mode::User,
            }),
        }
    }
}

impl From<R10000Mode> for Status {
    fn from(mode: R10000Mode) -> Self {
        let ksu = match mode {
            R10000Mode::Exception | R10000Mode::Kernel => Ksu::Kernel,
            R10000Mode::Supervisor => Ksu::Supervisor,
            R10000Mode::User => Ksu::User,
        };
        Self { ksu, exl: mode == R10000Mode::Exception, erl: false }
    }
}
