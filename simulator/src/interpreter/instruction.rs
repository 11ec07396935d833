//! The instructions of SPARC V9, decoded: UltraSPARC Architecture 2007, chapters 6 and 7 and appendix A.

/// An integer register as an instruction names it: %g0-%g7, %o0-%o7, %l0-%l7, %i0-%i7 are 0 to 31.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register(u8);

impl Register {
    /// %g0, which reads 0.
    pub const G0: Self = Self(0);
    /// %o0, the first argument and result.
    pub const O0: Self = Self(8);
    /// %o6, the stack pointer.
    pub const SP: Self = Self(14);
    /// %o7, where `call` notes its own address.
    pub const O7: Self = Self(15);

    /// Returns the register of a number, of which the low five bits count.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self((number & 31) as u8)
    }

    /// Returns the number: 0 to 31.
    #[must_use]
    #[inline(always)]
    pub const fn index(self) -> usize {
        (self.0 & 31) as usize
    }

    /// Returns the odd register of a pair, of which this is the even one.
    #[must_use]
    pub const fn odd(self) -> Self {
        Self(self.0 | 1)
    }

    /// Returns whether the number is even.
    #[must_use]
    pub const fn is_even(self) -> bool {
        self.0 & 1 == 0
    }
}

/// The second operand: the sum of a register and a number, of which one is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The register; %g0 beside a number.
    pub register: Register,
    /// The number; 0 beside a register.
    pub immediate: i16,
}

/// Which condition codes an instruction looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codes {
    /// Those of the low 32 bits.
    Icc,
    /// Those of all 64 bits.
    Xcc,
}

/// A condition of the condition codes, by its number (table 7-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition(u8);

impl Condition {
    /// For each condition the values of the codes NZVC that fulfil it, as a set of bits.
    const FULFILLED: [u16; 16] = {
        let mut sets = [0; 16];
        let mut codes = 0;
        while codes < 16 {
            let (n, z) = (codes & 8 != 0, codes & 4 != 0);
            let (v, c) = (codes & 2 != 0, codes & 1 != 0);
            let first = [false, z, z || n != v, n != v, c || z, c, n, v];
            let mut number = 0;
            while number < 8 {
                // The conditions from 8 are the opposites of those from 0.
                sets[if first[number] { number } else { number + 8 }] |= 1 << codes;
                number += 1;
            }
            codes += 1;
        }
        sets
    };

    /// Returns the condition of a number, of which the low four bits count.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self((number & 15) as u8)
    }

    /// Returns whether the codes, bits 3 to 0 for N, Z, V and C, fulfil the condition.
    #[must_use]
    #[inline(always)]
    pub const fn holds(self, codes: u8) -> bool {
        Self::FULFILLED[(self.0 & 15) as usize] >> (codes & 15) & 1 != 0
    }

    /// Returns whether it always holds.
    #[must_use]
    #[inline(always)]
    pub const fn is_always(self) -> bool {
        self.0 == 8
    }
}

/// A condition of a register's value as a signed number (table 7-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterCondition {
    /// It is zero.
    Zero,
    /// It is less than zero, or zero.
    LessOrZero,
    /// It is less than zero.
    Less,
    /// It is not zero.
    NotZero,
    /// It is greater than zero.
    Greater,
    /// It is greater than zero, or zero.
    GreaterOrZero,
}

impl RegisterCondition {
    /// Returns the condition of a number, of which the low three bits count; 0 and 4 are none.
    #[must_use]
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

    /// Returns whether a value fulfils the condition.
    #[must_use]
    #[inline(always)]
    pub const fn holds(self, value: u64) -> bool {
        let value = value.cast_signed();
        match self {
            Self::Zero => value == 0,
            Self::LessOrZero => value <= 0,
            Self::Less => value < 0,
            Self::NotZero => value != 0,
            Self::Greater => value > 0,
            Self::GreaterOrZero => value >= 0,
        }
    }
}

/// What an arithmetic or logical instruction computes of two values.
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
    /// With a trap on overflow.
    TaddTv,
    /// With a trap on overflow.
    TsubTv,
    /// A step of a multiplication.
    Muls,
    Popc,
}

/// Which way a value is shifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    /// To the left.
    Left,
    /// To the right, filled with zeros.
    Right,
    /// To the right, filled with the sign.
    RightArithmetic,
}

/// What of memory an instruction reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datum {
    /// The number of bytes as a power of two: 0 to 3.
    pub shift: u8,
    /// Whether what is loaded keeps its sign.
    pub signed: bool,
}

/// Which address space an instruction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// That of ordinary loads and stores.
    Primary,
    /// That of the number in the instruction.
    Number(u8),
    /// That of the number in register %asi.
    Asi,
}

/// Where an instruction accesses memory: the address is the sum of a register and the second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The space.
    pub space: Space,
    /// The first operand.
    pub rs1: Register,
    /// The second operand.
    pub operand: Operand,
}

/// A control register that instructions name by a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// An ancillary state register: 0 to 31.
    Ancillary(u8),
    /// A privileged register: 0 to 31.
    Privileged(u8),
    /// A hyperprivileged register: 0 to 31.
    Hyperprivileged(u8),
}

/// What becomes of the register windows ([`Instruction::Windows`]).
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

/// An instruction. Fields are named as in the architecture: `rd` is written, `rs1` and `operand` are read; displacements are in
/// bytes, from the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// So that the processor of the host copies it in one step. A copy made of parts has to be complete before it can be read as a whole.
#[repr(align(16))]
#[allow(missing_docs, reason = "fields are named in the architecture")]
pub enum Instruction {
    /// Not an instruction of this processor, or one that is always illegal.
    Illegal,
    /// One that needs the floating-point unit.
    FloatingPoint,
    Call {
        displacement: i32,
    },
    /// Bicc and BPcc.
    Branch {
        condition: Condition,
        codes: Codes,
        annul: bool,
        displacement: i32,
    },
    /// BPr.
    BranchOnRegister {
        condition: RegisterCondition,
        annul: bool,
        rs1: Register,
        displacement: i32,
    },
    Sethi {
        rd: Register,
        value: u32,
    },
    Compute {
        operation: Operation,
        /// Whether it writes the condition codes.
        cc: bool,
        rd: Register,
        rs1: Register,
        operand: Operand,
    },
    Shift {
        shift: Shift,
        /// Of 64 bits.
        extended: bool,
        rd: Register,
        rs1: Register,
        operand: Operand,
    },
    /// MOVcc.
    Move {
        condition: Condition,
        codes: Codes,
        rd: Register,
        operand: Operand,
    },
    /// MOVr.
    MoveOnRegister {
        condition: RegisterCondition,
        rd: Register,
        rs1: Register,
        operand: Operand,
    },
    Jmpl {
        rd: Register,
        rs1: Register,
        operand: Operand,
    },
    Return {
        rs1: Register,
        operand: Operand,
    },
    Save {
        rd: Register,
        rs1: Register,
        operand: Operand,
    },
    Restore {
        rd: Register,
        rs1: Register,
        operand: Operand,
    },
    Flushw,
    Windows(Windows),
    /// Tcc.
    Trap {
        condition: Condition,
        codes: Codes,
        rs1: Register,
        operand: Operand,
    },
    Load {
        datum: Datum,
        rd: Register,
        place: Place,
    },
    Store {
        datum: Datum,
        rd: Register,
        place: Place,
    },
    /// LDTW, LDTWA and LDTXA.
    LoadTwin {
        rd: Register,
        place: Place,
    },
    /// STTW.
    StoreTwin {
        rd: Register,
        place: Place,
    },
    Ldstub {
        rd: Register,
        place: Place,
    },
    Swap {
        rd: Register,
        place: Place,
    },
    /// CASA and CASXA: compares with `rs2`.
    Cas {
        extended: bool,
        rd: Register,
        rs2: Register,
        place: Place,
    },
    Prefetch,
    Flush,
    Membar {
        /// What it orders: bits 6 to 4 are cmask, 3 to 0 mmask.
        mask: u8,
    },
    Read {
        rd: Register,
        control: Control,
    },
    /// Writes the exclusive or of the operands.
    Write {
        control: Control,
        rs1: Register,
        operand: Operand,
    },
    Done,
    Retry,
}
