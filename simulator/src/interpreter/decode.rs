//! Decodes instructions from memory words (UltraSPARC Architecture 2007, appendix A, opcode maps).

use super::instruction::{
    Codes, Condition, ControlRegister, Datum, Instruction, MemoryOperand, Operand, Operation,
    Register, RegisterCondition, Shift, Space, Windows,
};

/// Returns `many` bits of a word, from bit `from` upward.
const fn bits(word: u32, from: u32, many: u32) -> u32 {
    (word >> from) & ((1 << many) - 1)
}

const fn signed(word: u32, from: u32, many: u32) -> i32 {
    (bits(word, from, many) << (32 - many)).cast_signed() >> (32 - many)
}

const fn rd(word: u32) -> Register {
    Register::new(bits(word, 25, 5))
}

const fn rs1(word: u32) -> Register {
    Register::new(bits(word, 14, 5))
}

/// Returns the second operand: a register, or a `many`-bit constant.
const fn operand(word: u32, many: u32) -> Operand {
    if bits(word, 13, 1) == 1 {
        Operand { register: Register::G0, immediate: signed(word, 0, many) as i16 }
    } else {
        Operand { register: Register::new(word), immediate: 0 }
    }
}

/// Returns the integer condition codes that a two-bit field selects; `None` if it selects floating-point codes.
const fn codes(field: u32) -> Option<Codes> {
    match field {
        0 => Some(Codes::Icc),
        2 => Some(Codes::Xcc),
        _ => None,
    }
}

impl Instruction {
    /// Decodes a memory word as an instruction.
    pub fn decode(word: u32) -> Self {
        let instruction = match bits(word, 30, 2) {
            0 => branch_or_sethi(word),
            1 => Some(Self::Call { displacement: signed(word, 0, 30) << 2 }),
            2 => arithmetic(word),
            _ => memory(word),
        };
        instruction.unwrap_or(Self::Illegal)
    }
}

/// Decodes format 2: branches and SETHI (table A-2).
fn branch_or_sethi(word: u32) -> Option<Instruction> {
    let annul = bits(word, 29, 1) == 1;
    let condition = Condition::new(bits(word, 25, 4));
    Some(match bits(word, 22, 3) {
        1 => Instruction::Branch {
            condition,
            codes: codes(bits(word, 20, 2))?,
            annul,
            displacement: signed(word, 0, 19) << 2,
        },
        2 => Instruction::Branch {
            condition,
            codes: Codes::Icc,
            annul,
            displacement: signed(word, 0, 22) << 2,
        },
        3 if bits(word, 28, 1) == 0 => Instruction::BranchOnRegister {
            condition: RegisterCondition::new(bits(word, 25, 3))?,
            annul,
            rs1: rs1(word),
            displacement: signed((bits(word, 20, 2) << 14) | bits(word, 0, 14), 0, 16) << 2,
        },
        4 => Instruction::Sethi { rd: rd(word), value: word << 10 },
        5 | 6 => Instruction::FloatingPoint,
        _ => return None,
    })
}

/// Decodes format 3 with op = 2: arithmetic and control (table A-3).
fn arithmetic(word: u32) -> Option<Instruction> {
    let (rd, rs1, second) = (rd(word), rs1(word), operand(word, 13));
    let op3 = bits(word, 19, 6);
    if let Some((operation, cc)) = computed(op3) {
        return Some(Instruction::Compute { operation, cc, rd, rs1, operand: second });
    }
    Some(match op3 {
        0x25..=0x27 => Instruction::Shift {
            shift: match op3 {
                0x25 => Shift::Left,
                0x26 => Shift::Right,
                _ => Shift::RightArithmetic,
            },
            extended: bits(word, 12, 1) == 1,
            rd,
            rs1,
            operand: second,
        },
        0x28 if rs1.index() == 15 => match (rd.index(), bits(word, 13, 1)) {
            (0, 1) => Instruction::Membar { mask: bits(word, 0, 7) as u8 },
            // STBAR.
            (0, 0) => Instruction::Membar { mask: 1 << 3 },
            _ => return None,
        },
        0x28 => Instruction::Read { rd, control: ControlRegister::Ancillary(rs1.index() as u8) },
        0x29 => {
            Instruction::Read { rd, control: ControlRegister::Hyperprivileged(rs1.index() as u8) }
        }
        0x2a => Instruction::Read { rd, control: ControlRegister::Privileged(rs1.index() as u8) },
        0x2b => Instruction::Flushw,
        // MOVcc with floating-point condition codes.
        0x2c if bits(word, 18, 1) == 0 => Instruction::FloatingPoint,
        0x2c => Instruction::Move {
            condition: Condition::new(bits(word, 14, 4)),
            codes: codes(bits(word, 11, 2))?,
            rd,
            operand: operand(word, 11),
        },
        0x2e if rs1.index() == 0 => {
            Instruction::Compute { operation: Operation::Popc, cc: false, rd, rs1, operand: second }
        }
        0x2f => Instruction::MoveOnRegister {
            condition: RegisterCondition::new(bits(word, 10, 3))?,
            rd,
            rs1,
            operand: operand(word, 10),
        },
        0x30 => Instruction::Write {
            control: ControlRegister::Ancillary(rd.index() as u8),
            rs1,
            operand: second,
        },
        0x31 => Instruction::Windows(match rd.index() {
            0 => Windows::Saved,
            1 => Windows::Restored,
            2 => Windows::AllClean,
            3 => Windows::Otherw,
            4 => Windows::Normalw,
            5 => Windows::Invalw,
            _ => return None,
        }),
        0x32 => Instruction::Write {
            control: ControlRegister::Privileged(rd.index() as u8),
            rs1,
            operand: second,
        },
        0x33 => Instruction::Write {
            control: ControlRegister::Hyperprivileged(rd.index() as u8),
            rs1,
            operand: second,
        },
        // FPop1, FPop2 or a VIS instruction.
        0x34..=0x36 => Instruction::FloatingPoint,
        0x38 => Instruction::Jmpl { rd, rs1, operand: second },
        0x39 => Instruction::Return { rs1, operand: second },
        0x3a if bits(word, 29, 1) == 0 => Instruction::Trap {
            condition: Condition::new(bits(word, 25, 4)),
            codes: codes(bits(word, 11, 2))?,
            rs1,
            // An immediate trap number has eight bits.
            operand: match bits(word, 13, 1) {
                0 => second,
                _ => Operand { register: Register::G0, immediate: bits(word, 0, 8) as i16 },
            },
        },
        0x3b => Instruction::Flush,
        0x3c => Instruction::Save { rd, rs1, operand: second },
        0x3d => Instruction::Restore { rd, rs1, operand: second },
        0x3e => match rd.index() {
            0 => Instruction::Done,
            1 => Instruction::Retry,
            _ => return None,
        },
        _ => return None,
    })
}

/// Returns an arithmetic or logical instruction's operation, and whether the instruction writes the condition
/// codes.
fn computed(op3: u32) -> Option<(Operation, bool)> {
    let tagged = match op3 {
        0x20 => Operation::Tadd,
        0x21 => Operation::Tsub,
        0x22 => Operation::TaddTv,
        0x23 => Operation::TsubTv,
        0x24 => Operation::Muls,
        0x2d => return Some((Operation::Sdivx, false)),
        // MULX and UDIVX cannot write the condition codes.
        0x19 | 0x1d => return None,
        0x00..=0x1f => {
            let operation = match op3 & 0xf {
                0x0 => Operation::Add,
                0x1 => Operation::And,
                0x2 => Operation::Or,
                0x3 => Operation::Xor,
                0x4 => Operation::Sub,
                0x5 => Operation::Andn,
                0x6 => Operation::Orn,
                0x7 => Operation::Xnor,
                0x8 => Operation::Addc,
                0x9 => Operation::Mulx,
                0xa => Operation::Umul,
                0xb => Operation::Smul,
                0xc => Operation::Subc,
                0xd => Operation::Udivx,
                0xe => Operation::Udiv,
                _ => Operation::Sdiv,
            };
            return Some((operation, op3 & 0x10 != 0));
        }
        _ => return None,
    };
    Some((tagged, true))
}

/// Decodes format 3 with op = 3: loads and stores (table A-4).
fn memory(word: u32) -> Option<Instruction> {
    let (rd, op3) = (rd(word), bits(word, 19, 6));
    let alternate = op3 & 0x10 != 0;
    let space = match (alternate, bits(word, 13, 1)) {
        (false, _) => Space::Primary,
        (true, 0) => Space::Number(bits(word, 5, 8) as u8),
        (true, _) => Space::Asi,
    };
    let place = MemoryOperand { space, rs1: rs1(word), operand: operand(word, 13) };
    let unsigned = |shift| Datum { shift, signed: false };
    let signed = |shift| Datum { shift, signed: true };
    let load = |datum| Some(Instruction::Load { datum, rd, place });
    let store = |datum| Some(Instruction::Store { datum, rd, place });
    // CASA and CASXA use rs1 alone as their address.
    let cas = |extended| Instruction::Cas {
        extended,
        rd,
        rs2: Register::new(word),
        place: MemoryOperand { operand: Operand { register: Register::G0, immediate: 0 }, ..place },
    };
    match op3 {
        0x3c => return Some(cas(false)),
        0x3e => return Some(cas(true)),
        0x2d | 0x3d => return Some(Instruction::Prefetch),
        0x20..=0x27 | 0x30..=0x37 => return Some(Instruction::FloatingPoint),
        0x28.. => return None,
        _ => {}
    }
    match op3 & 0xf {
        0x0 => load(unsigned(2)),
        0x1 => load(unsigned(0)),
        0x2 => load(unsigned(1)),
        0x3 => Some(Instruction::LoadTwin { rd, place }),
        0x4 => store(unsigned(2)),
        0x5 => store(unsigned(0)),
        0x6 => store(unsigned(1)),
        0x7 => Some(Instruction::StoreTwin { rd, place }),
        0x8 => load(signed(2)),
        0x9 => load(signed(0)),
        0xa => load(signed(1)),
        0xb => load(unsigned(3)),
        0xd => Some(Instruction::Ldstub { rd, place }),
        0xe => store(unsigned(3)),
        0xf => Some(Instruction::Swap { rd, place }),
        _ => None,
    }
}
