//! Decoded SPARC V9 instructions (UltraSPARC Architecture 2007, chapters 6 and 7 and appendix A).

use super::word::Word;

/// An integer register, by its number in an instruction: 0 to 31 for %g0-%g7, %o0-%o7, %l0-%l7 and %i0-%i7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register(u8);

impl Register {
    /// %g0, which always reads 0.
    pub const G0: Self = Self(0);
    /// %o0, the first argument and result.
    pub const O0: Self = Self(8);
    /// %o6, the current window's stack pointer.
    pub const SP: Self = Self(14);
    /// %o7, to which a `call` writes its own address.
    pub const O7: Self = Self(15);

    /// Returns the register whose number is the low five bits of `number`.
    pub const fn new(number: u32) -> Self {
        Self((number & 31) as u8)
    }

    /// Returns the register's number, 0 to 31.
    #[inline(always)]
    pub const fn index(self) -> usize {
        (self.0 & 31) as usize
    }

    /// Returns the odd register of the pair that starts with this even register.
    pub const fn odd(self) -> Self {
        Self(self.0 | 1)
    }

    pub(super) const fn is_even(self) -> bool {
        self.0 & 1 == 0
    }
}

/// An instruction's second operand: the sum of a register's value and a number, one of which is always zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The register; %g0 if the operand is a number.
    pub register: Register,
    /// The number; 0 if the operand is a register.
    pub immediate: i16,
}

/// Which condition codes an instruction tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codes {
    /// The codes for the low 32 bits.
    Icc,
    /// The codes for all 64 bits.
    Xcc,
}

/// A test of the condition codes, identified by its number (table 7-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition(u8);

impl Condition {
    /// The values of NZVC that fulfil each condition. Each value has a bit, which is set if the value fulfils the condition.
    const FULFILLED: [u16; 16] = {
        let mut sets = [0; 16];
        let mut codes = 0;
        while codes < 16 {
            let (n, z) = (codes & 8 != 0, codes & 4 != 0);
            let (v, c) = (codes & 2 != 0, codes & 1 != 0);
            let first = [false, z, z || n != v, n != v, c || z, c, n, v];
            let mut number = 0;
            while number < 8 {
                // Conditions 8 to 15 are the negations of conditions 0 to 7.
                sets[if first[number] { number } else { number + 8 }] |= 1 << codes;
                number += 1;
            }
            codes += 1;
        }
        sets
    };

    /// Returns the condition whose number is the low four bits of `number`.
    pub const fn new(number: u32) -> Self {
        Self((number & 15) as u8)
    }

    /// Returns `true` if the codes N, Z, V and C in bits 3:0 fulfil the condition.
    #[inline(always)]
    pub(super) fn holds<W: Word>(self, codes: W) -> bool {
        let fulfilled = Self::FULFILLED[(self.0 & 15) as usize];
        !(W::from(fulfilled.into()) >> (codes & W::from(15)) & W::from(1)).is_zero()
    }

    #[inline(always)]
    pub(crate) const fn is_always(self) -> bool {
        self.0 == 8
    }
}

/// A comparison of a register's signed value with zero (table 7-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say what is compared")]
pub enum RegisterCondition {
    Zero,
    LessOrZero,
    Less,
    NotZero,
    Greater,
    GreaterOrZero,
}

impl RegisterCondition {
    /// Returns the condition whose number is the low three bits of `number`; `None` for 0 and 4, which are reserved.
    pub const fn new(number: u32) -> Option<Self> {
        Some(match number & 7 {
            1 => Self::Zero,
            2 => Self::LessOrZero,
            3 => Self::Less,
            5 => Self::NotZero,
            6 => Self::Greater,
            7 => Self::GreaterOrZero,
            _ => return None,
        })
    }

    #[inline(always)]
    pub(super) fn holds<W: Word>(self, value: W) -> bool {
        match self {
            Self::Zero => value.is_zero(),
            Self::LessOrZero => value.is_negative() || value.is_zero(),
            Self::Less => value.is_negative(),
            Self::NotZero => !value.is_zero(),
            Self::Greater => !(value.is_negative() || value.is_zero()),
            Self::GreaterOrZero => !value.is_negative(),
        }
    }
}

/// An arithmetic or logical operation on two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum Operation {
    Add,
    And,
    Or,
    Xor,
    Sub,
    Andn,
    Orn,
    Xnor,
    Addc,
    Mulx,
    Umul,
    Smul,
    Subc,
    Udivx,
    Udiv,
    Sdiv,
    Sdivx,
    Tadd,
    Tsub,
    /// An addition that traps on tag overflow.
    TaddTv,
    /// A subtraction that traps on tag overflow.
    TsubTv,
    /// One step of a 32-bit multiplication, which uses %y and the condition codes.
    Muls,
    Popc,
}

/// A shift's direction, and what fills the vacated bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    /// A left shift, with zeros in the vacated bits.
    Left,
    /// A right shift, with zeros in the vacated bits.
    Right,
    /// A right shift, with copies of the sign in the vacated bits.
    RightArithmetic,
}

/// A memory access's size, and whether a loaded value is sign-extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datum {
    /// The binary logarithm of the number of bytes, 0 to 3.
    pub shift: u8,
    /// If set, a loaded value is sign-extended. Otherwise, its high bits are 0.
    pub signed: bool,
}

/// How an instruction specifies the address space of its access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// The space of ordinary loads and stores.
    Primary,
    /// The space whose number is in the instruction.
    Number(u8),
    /// The space whose number is in register %asi.
    Asi,
}

/// An instruction's memory operand. The address is the sum of the register `rs1` and the second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryOperand {
    /// The address space that the instruction selects.
    pub space: Space,
    /// The first register of the address.
    pub rs1: Register,
    /// The second operand of the address.
    pub operand: Operand,
}

/// A control register, identified by its number in an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlRegister {
    /// An ancillary state register, 0 to 31.
    Ancillary(u8),
    /// A privileged register, 0 to 31.
    Privileged(u8),
    /// A hyperprivileged register, 0 to 31.
    Hyperprivileged(u8),
}

/// A change to the register windows ([`Instruction::Windows`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum Windows {
    Saved,
    Restored,
    AllClean,
    Otherw,
    Normalw,
    Invalw,
}

/// A decoded instruction. Displacements are in bytes from the instruction's address.
///
/// `Branch` is Bicc and BPcc, `BranchOnRegister` is BPr, `Move` is MOVcc, `MoveOnRegister` is MOVr, and `Trap` is Tcc. `LoadTwin` is
/// LDTW, LDTWA and LDTXA; `StoreTwin` is STTW. `Cas` is CASA and CASXA, which compare memory with `rs2`. `Write` is WRasr, WRPR and
/// WRHPR, which write the exclusive or of the operands. `FloatingPoint` is any instruction that needs the floating-point unit.
/// `Illegal` is any word that is not an instruction of this processor.
///
/// Fields have the architecture's names. The instruction writes `rd`, and reads `rs1` and `operand`. If `cc` is set, it also writes
/// the condition codes. `extended` selects 64 bits. The `mask` of `Membar` has cmask in bits 6:4 and mmask in bits 3:0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// The alignment lets the host copy an instruction with one load and one store. Without it, a load of the whole instruction would
// stall after stores of its parts.
#[repr(align(16))]
#[allow(missing_docs, reason = "the names are those of the architecture")]
pub enum Instruction {
    Illegal,
    FloatingPoint,
    Call { displacement: i32 },
    Branch { condition: Condition, codes: Codes, annul: bool, displacement: i32 },
    BranchOnRegister { condition: RegisterCondition, annul: bool, rs1: Register, displacement: i32 },
    Sethi { rd: Register, value: u32 },
    Compute { operation: Operation, cc: bool, rd: Register, rs1: Register, operand: Operand },
    Shift { shift: Shift, extended: bool, rd: Register, rs1: Register, operand: Operand },
    Move { condition: Condition, codes: Codes, rd: Register, operand: Operand },
    MoveOnRegister { condition: RegisterCondition, rd: Register, rs1: Register, operand: Operand },
    Jmpl { rd: Register, rs1: Register, operand: Operand },
    Return { rs1: Register, operand: Operand },
    Save { rd: Register, rs1: Register, operand: Operand },
    Restore { rd: Register, rs1: Register, operand: Operand },
    Flushw,
    Windows(Windows),
    Trap { condition: Condition, codes: Codes, rs1: Register, operand: Operand },
    Load { datum: Datum, rd: Register, place: MemoryOperand },
    Store { datum: Datum, rd: Register, place: MemoryOperand },
    LoadTwin { rd: Register, place: MemoryOperand },
    StoreTwin { rd: Register, place: MemoryOperand },
    Ldstub { rd: Register, place: MemoryOperand },
    Swap { rd: Register, place: MemoryOperand },
    Cas { extended: bool, rd: Register, rs2: Register, place: MemoryOperand },
    Prefetch,
    Flush,
    Membar { mask: u8 },
    Read { rd: Register, control: ControlRegister },
    Write { control: ControlRegister, rs1: Register, operand: Operand },
    Done,
    Retry,
}
