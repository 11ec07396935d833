//! The control registers, and what of the Status register matters to them.

use guest_abi::sampling::{ModeSet, UnitMode};

/// A control register: bits 8:0. The others are reserved and hold 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Control(u16);

impl Control {
    const MODES: u16 = 0xf;
    const INTERRUPT: u16 = 1 << 4;
    const EVENT_SHIFT: u32 = 5;

    /// What the register keeps of a value that is written.
    pub const fn new(value: u32) -> Self {
        Self((value & 0x1ff) as u16)
    }

    /// Counts the event of this number (0 to 15) in these modes.
    pub fn counting(event: u8, modes: ModeSet<R10000Mode>) -> Self {
        let bits = |mode: R10000Mode| u16::from(modes.contains(mode)) << mode.index();
        let modes: u16 = R10000Mode::ALL.iter().copied().map(bits).sum();
        Self(u16::from(event & 0xf) << Self::EVENT_SHIFT | modes)
    }

    /// The same, with or without the interrupt.
    #[must_use]
    pub const fn with_interrupt(self, enabled: bool) -> Self {
        let interrupt = if enabled { Self::INTERRUPT } else { 0 };
        Self(self.0 & !Self::INTERRUPT | interrupt)
    }

    /// The same, counting in no mode.
    #[must_use]
    pub const fn stopped(self) -> Self {
        Self(self.0 & !Self::MODES)
    }

    /// Event, bits 8:5: the number of the event.
    pub const fn event(self) -> u8 {
        (self.0 >> Self::EVENT_SHIFT) as u8
    }

    /// IE, bit 4: bit 31 of the counter asserts IP\[7\].
    pub const fn interrupt(self) -> bool {
        self.0 & Self::INTERRUPT != 0
    }

    /// Whether it counts in this mode: U, S, K and EXL, bits 3:0.
    pub fn counts_in(self, mode: R10000Mode) -> bool {
        self.0 >> mode.index() & 1 != 0
    }

    /// What a read of the register returns.
    pub const fn value(self) -> u32 {
        self.0 as u32
    }
}

/// The modes that a control register tells apart, by its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum R10000Mode {
    /// EXL, bit 0: exception level, whatever KSU says.
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

/// KSU of the Status register: the mode of a processor that is at no exception or error level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ksu {
    /// 0.
    #[default]
    Kernel,
    /// 1.
    Supervisor,
    /// 2.
    User,
}

/// The bits of the Status register that decide whether there is counting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Status {
    /// KSU.
    pub ksu: Ksu,
    /// EXL: at exception level.
    pub exl: bool,
    /// ERL: at error level. Nothing is counted.
    pub erl: bool,
}

impl Status {
    /// The mode that counts; `None` at error level.
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
