//! The control registers, and the bits of the Status register that affect counting.

use guest_abi::sampling::{ModeSet, UnitMode};

/// The value of a control register: bits 8:0. The others are reserved and 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Control(u16);

impl Control {
    const MODES: u16 = 0xf;
    const INTERRUPT: u16 = 1 << 4;
    const EVENT_SHIFT: u32 = 5;

    /// Returns the value of the register after a write of `value`.
    pub const fn new(value: u32) -> Self {
        Self((value & 0x1ff) as u16)
    }

    /// Returns a value that counts the event with this number (0 to 15) in these modes.
    pub fn counting(event: u8, modes: ModeSet<R10000Mode>) -> Self {
        let bits = |mode: R10000Mode| u16::from(modes.contains(mode)) << mode.index();
        let modes: u16 = R10000Mode::ALL.iter().copied().map(bits).sum();
        Self(u16::from(event & 0xf) << Self::EVENT_SHIFT | modes)
    }

    /// Returns the value with the interrupt enabled or disabled.
    #[must_use]
    pub const fn with_interrupt(self, enabled: bool) -> Self {
        let interrupt = if enabled { Self::INTERRUPT } else { 0 };
        Self(self.0 & !Self::INTERRUPT | interrupt)
    }

    /// Returns the value with counting disabled in all modes.
    #[must_use]
    pub const fn stopped(self) -> Self {
        Self(self.0 & !Self::MODES)
    }

    /// Returns the number of the event, bits 8:5.
    pub const fn event(self) -> u8 {
        (self.0 >> Self::EVENT_SHIFT) as u8
    }

    /// Returns IE, bit 4: if set, bit 31 of the counter asserts IP\[7\].
    pub const fn interrupt(self) -> bool {
        self.0 & Self::INTERRUPT != 0
    }

    /// Returns `true` if the counter counts in this mode: the mode's bit of U, S, K and EXL, bits 3:0.
    pub fn counts_in(self, mode: R10000Mode) -> bool {
        self.0 >> mode.index() & 1 != 0
    }

    /// Returns the value that a read of the register returns.
    pub const fn value(self) -> u32 {
        self.0 as u32
    }
}

/// A mode, with the bit of the control register that enables counting in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum R10000Mode {
    /// EXL, bit 0: exception level, whatever KSU is.
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

/// KSU of the Status register: the mode of a processor at neither exception nor error level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ksu {
    /// 0: kernel mode.
    #[default]
    Kernel,
    /// 1: supervisor mode.
    Supervisor,
    /// 2: user mode.
    User,
}

/// The bits of the Status register that affect counting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Status {
    /// KSU: the mode.
    pub ksu: Ksu,
    /// EXL: the processor is at exception level.
    pub exl: bool,
    /// ERL: the processor is at error level, where nothing counts.
    pub erl: bool,
}

impl Status {
    /// Returns the mode in which events count; `None` at error level.
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
        let (ksu, exl) = match mode {
            R10000Mode::Exception => (Ksu::Kernel, true),
            R10000Mode::Kernel => (Ksu::Kernel, false),
            R10000Mode::Supervisor => (Ksu::Supervisor, false),
            R10000Mode::User => (Ksu::User, false),
        };
        Self {
            ksu,
            exl,
            erl: false,
        }
    }
}
