//! Words of instructions: UltraSPARC Architecture 2007, appendix A.

/// The numbers of registers.
pub(crate) const G6: u32 = 6;
pub(crate) const G7: u32 = 7;
pub(crate) const SP: u32 = 14;
pub(crate) const FP: u32 = 30;

/// The second operand.
#[derive(Clone, Copy)]
pub(crate) enum Second {
    Register(u32),
    Number(i32),
}

impl Second {
    fn bits(self) -> u32 {
        match self {
            Self::Register(register) => register,
            Self::Number(number) => (1 << 13) | (number as u32 & 0x1fff),
        }
    }
}

/// An instruction of format 3.
pub(crate) fn three(op: u32, op3: u32, rd: u32, rs1: u32, second: Second) -> u32 {
    (op << 30) | (rd << 25) | (op3 << 19) | (rs1 << 14) | second.bits()
}

/// One that computes.
pub(crate) fn computes(op3: u32, rd: u32, rs1: u32, second: Second) -> u32 {
    three(2, op3, rd, rs1, second)
}

/// One that loads or stores at an address.
pub(crate) fn accesses(op3: u32, rd: u32, rs1: u32, second: Second) -> u32 {
    three(3, op3, rd, rs1, second)
}

/// One that loads or stores in a space: the address is the sum of two registers.
pub(crate) fn accesses_space(op3: u32, rd: u32, rs1: u32, rs2: u32, space: u32) -> u32 {
    accesses(op3, rd, rs1, Second::Register(rs2)) | (space << 5)
}

pub(crate) fn sethi(rd: u32, value: u32) -> u32 {
    (rd << 25) | (4 << 22) | (value >> 10)
}

/// Two instructions that set a register to a value of 32 bits.
pub(crate) fn set(rd: u32, value: u32) -> [u32; 2] {
    let low = Second::Number((value & 0x3ff) as i32);
    [sethi(rd, value), computes(0x02, rd, rd, low)]
}

pub(crate) const NOP: u32 = 4 << 22;

/// `rd %pc, %g6`.
pub(crate) fn read_pc(rd: u32) -> u32 {
    computes(0x28, rd, 5, Second::Register(0))
}
