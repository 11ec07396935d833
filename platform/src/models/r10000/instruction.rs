//! The four instructions that move performance registers. They are forms of MTC0 and MFC0 with register 25. Bits 5:0 select the performance
//! register.

use guest_abi::Counter;

/// An MFPS, MFPC, MTPS or MTPC instruction, decoded into its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PerformanceMove {
    /// The direction, in bit 23 of the instruction.
    pub direction: Direction,
    /// The control register or the counter: bit 0 of the instruction.
    pub register: RegisterKind,
    /// The counter to which the performance register belongs, in bits 5:1 of the instruction.
    pub counter: Counter,
    rt: u8,
}

/// The direction in which an instruction moves a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// MFPS, MFPC: from the performance register to the general register.
    From = 0,
    /// MTPS, MTPC: from the general register to the performance register.
    To = 1,
}

/// Which of a counter's registers an instruction moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterKind {
    /// MFPS, MTPS: the control register ("event specifier").
    Control = 0,
    /// MFPC, MTPC: the counter.
    Counter = 1,
}

impl PerformanceMove {
    /// Opcode COP0, and register 25 in bits 15:11.
    const BASE: u32 = 0x4000_c800;
    /// All bits except rt (20:16) and the counter's number (5:1).
    const OPCODE_MASK: u32 = 0xffe0_ffc1;
    /// Set in MTC0, clear in MFC0.
    const TO: u32 = 0x0080_0000;
    /// Set for a counter, clear for a control register.
    const IS_COUNTER: u32 = 1;

    /// Returns the move between a performance register and general register `rt`; `None` if `rt` is above 31.
    pub const fn new(
        direction: Direction,
        register: RegisterKind,
        counter: Counter,
        rt: u8,
    ) -> Option<Self> {
        if rt < 32 { Some(Self { direction, register, counter, rt }) } else { None }
    }

    /// Returns the general register's number, 0 to 31.
    pub const fn rt(self) -> usize {
        self.rt as usize
    }

    /// Returns the instruction word.
    pub const fn encode(self) -> u32 {
        let to = self.direction as u32 * Self::TO;
        let kind = self.register as u32 * Self::IS_COUNTER;
        Self::BASE | to | (self.rt as u32) << 16 | (self.counter as u32) << 1 | kind
    }

    /// Decodes an instruction word. Returns `None` for any other instruction, and for a counter number above 1.
    pub const fn decode(word: u32) -> Option<Self> {
        let opcode = word & Self::OPCODE_MASK;
        if opcode & !(Self::TO | Self::IS_COUNTER) != Self::BASE {
            return None;
        }
        let direction = match opcode & Self::TO {
            0 => Direction::From,
            _ => Direction::To,
        };
        let register = match opcode & Self::IS_COUNTER {
            0 => RegisterKind::Control,
            _ => RegisterKind::Counter,
        };
        match Counter::new((word >> 1 & 0x1f) as usize) {
            Some(counter) => Self::new(direction, register, counter, (word >> 16 & 0x1f) as u8),
            None => None,
        }
    }
}
