//! Instructions as words, and the registers that attacks name.

pub(super) const NOP: u32 = 0x0100_0000;
/// `flush %g0`, and words that are no instructions.
pub(super) const FLUSH: u32 = 0x81d8_0000;
pub(super) const ILLEGAL: [u32; 2] = [0, 0x81f8_0000];

/// %o0, %o1, %o5, %sp and some locals.
pub(super) const O0: u32 = 8;
pub(super) const O1: u32 = 9;
pub(super) const O5: u32 = 13;
pub(super) const SP: u32 = 14;
pub(super) const L1: u32 = 17;
pub(super) const L2: u32 = 18;
pub(super) const L3: u32 = 19;
pub(super) const L4: u32 = 20;

/// `wrpr`, `rdpr`, `wrhpr`, `rdhpr`, `wr` and `rd`.
pub(super) const WRPR: u32 = 0x32;
pub(super) const RDPR: u32 = 0x2a;
pub(super) const WRHPR: u32 = 0x33;
pub(super) const RDHPR: u32 = 0x29;
pub(super) const WR: u32 = 0x30;
pub(super) const RD: u32 = 0x28;

/// `jmpl`, `return`, `save`, `restore` and `flushw`; `done`, and `retry` as its `rd` is 0 or 1.
pub(super) const JMPL: u32 = 0x38;
pub(super) const RETURN: u32 = 0x39;
pub(super) const SAVE: u32 = 0x3c;
pub(super) const RESTORE: u32 = 0x3d;
pub(super) const FLUSHW: u32 = 0x2b;
pub(super) const DONE: u32 = 0x3e;

/// Registers of `wrpr`.
pub(super) const TPC: u32 = 0;
pub(super) const TNPC: u32 = 1;
pub(super) const TSTATE: u32 = 2;
pub(super) const TBA: u32 = 5;
pub(super) const PSTATE: u32 = 6;
pub(super) const TL: u32 = 7;
pub(super) const PIL: u32 = 8;
pub(super) const GL: u32 = 16;

/// An instruction with three operands. The second of them is a register, or a number.
pub(super) const fn computes(op3: u32, rd: u32, rs1: u32, second: u32) -> u32 {
    2 << 30 | rd << 25 | op3 << 19 | rs1 << 14 | second
}

/// An access to memory. What is added to the address is a register, which may have the number of a space beside it, or a number.
pub(super) const fn memory(op3: u32, rd: u32, rs1: u32, second: u32) -> u32 {
    3 << 30 | rd << 25 | op3 << 19 | rs1 << 14 | second
}

pub(super) const fn number(value: u32) -> u32 {
    1 << 13 | value & 0x1fff
}

/// `sethi`, of a value whose low ten bits are 0.
pub(super) const fn sethi(rd: u32, value: u32) -> u32 {
    rd << 25 | 4 << 22 | value >> 10
}

/// `mov`, of a number.
pub(super) const fn mov(rd: u32, value: u32) -> u32 {
    computes(0x02, rd, 0, number(value))
}

/// `wrpr`, of a number.
pub(super) const fn wrpr(register: u32, value: u32) -> u32 {
    computes(WRPR, register, 0, number(value))
}

/// `ta`.
pub(super) const fn trap(value: u32) -> u32 {
    computes(0x3a, 8, 0, number(value))
}
