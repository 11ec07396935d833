//! Encodings of SPARC V9 instructions, and register numbers (UltraSPARC Architecture 2007, appendix A).

pub const NOP: u32 = 0x0100_0000;
pub const FLUSH: u32 = 0x81d8_0000;
/// 32-bit words that encode no instruction.
pub const ILLEGAL: [u32; 2] = [0, 0x81f8_0000];

/// Integer register numbers, as instructions encode them. The global registers come first.
pub const G1: u32 = 1;
pub const G2: u32 = 2;
pub const G3: u32 = 3;
pub const G6: u32 = 6;
pub const G7: u32 = 7;
/// The out registers. %o6 is the stack pointer.
pub const O0: u32 = 8;
pub const O1: u32 = 9;
pub const O2: u32 = 10;
pub const O3: u32 = 11;
pub const O4: u32 = 12;
pub const O5: u32 = 13;
pub const SP: u32 = 14;
/// The local registers.
pub const L0: u32 = 16;
pub const L1: u32 = 17;
pub const L2: u32 = 18;
pub const L3: u32 = 19;
pub const L4: u32 = 20;
pub const L6: u32 = 22;
pub const L7: u32 = 23;
/// %i6, the frame pointer.
pub const FP: u32 = 30;

/// Opcodes (op3) of instructions that compute, load and store.
pub const ADD: u32 = 0x00;
pub const AND: u32 = 0x01;
pub const OR: u32 = 0x02;
pub const SUB: u32 = 0x04;
pub const ANDN: u32 = 0x05;
pub const SUBCC: u32 = 0x14;
pub const LDX: u32 = 0x0b;
pub const STX: u32 = 0x0e;

/// Opcodes (op3) of instructions that read and write control registers.
pub const RD: u32 = 0x28;
pub const RDHPR: u32 = 0x29;
pub const RDPR: u32 = 0x2a;
pub const WR: u32 = 0x30;
pub const WRPR: u32 = 0x32;
pub const WRHPR: u32 = 0x33;

/// Opcodes (op3) of instructions that jump, change the register window, or return from a trap. `retry` is `done` with `rd` 1.
pub const FLUSHW: u32 = 0x2b;
pub const JMPL: u32 = 0x38;
pub const RETURN: u32 = 0x39;
pub const SAVE: u32 = 0x3c;
pub const RESTORE: u32 = 0x3d;
pub const DONE: u32 = 0x3e;

/// The numbers that encode the privileged registers in instructions.
pub const TPC: u32 = 0;
pub const TNPC: u32 = 1;
pub const TSTATE: u32 = 2;
pub const TBA: u32 = 5;
pub const PSTATE: u32 = 6;
pub const TL: u32 = 7;
pub const PIL: u32 = 8;
pub const GL: u32 = 16;

/// Opcodes (op3) of instructions that compute a value from two others (table A-3). MULScc is missing, because its result is partly
/// undefined.
pub const COMPUTES: [u32; 35] = [
    0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f,
    0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x1a, 0x1b, 0x1c, 0x1e, 0x1f, 0x20, 0x21,
    0x22, 0x23, 0x2d,
];

/// Loads and stores, with LDSTUB and SWAP at the end: the opcode (op3) and the size in bytes (table A-4). Bit 0x10 of the opcode selects an
/// alternate space.
pub const ACCESSES: [(u32, u64); 15] = [
    (0x00, 4),
    (0x01, 1),
    (0x02, 2),
    (0x03, 8),
    (0x04, 4),
    (0x05, 1),
    (0x06, 2),
    (0x07, 8),
    (0x08, 4),
    (0x09, 1),
    (0x0a, 2),
    (0x0b, 8),
    (0x0e, 8),
    (0x0d, 1),
    (0x0f, 4),
];

/// CASA and CASXA: the opcode (op3) and the size in bytes. Both always specify an ASI.
pub const CAS: [(u32, u64); 2] = [(0x3c, 4), (0x3e, 8)];

/// LDTW and STTW. Each accesses two words, one in an even register and one in the odd register that follows.
pub const TWINS: [u32; 2] = [0x03, 0x07];

/// Encodes an instruction that computes a value. The second operand is a register or a [`number`].
pub const fn computes(op3: u32, rd: u32, rs1: u32, second: u32) -> u32 {
    2 << 30 | rd << 25 | op3 << 19 | rs1 << 14 | second
}

/// Encodes a memory access. The second operand is a [`number`], or a register number with an ASI in the bits above the register number.
pub const fn accesses(op3: u32, rd: u32, rs1: u32, second: u32) -> u32 {
    3 << 30 | rd << 25 | op3 << 19 | rs1 << 14 | second
}

/// Encodes an access to an alternate space. The address is the sum of two registers.
pub const fn accesses_space(op3: u32, rd: u32, rs1: u32, rs2: u32, space: u32) -> u32 {
    accesses(op3, rd, rs1, rs2 | space << 5)
}

/// Encodes a constant second operand: the low 13 bits of `value`. The processor sign-extends them.
pub const fn number(value: u32) -> u32 {
    1 << 13 | value & 0x1fff
}

/// Shortens a constant second operand to at most `bits` bits. Leaves a register operand unchanged.
pub const fn shortened(second: u32, bits: u32) -> u32 {
    match second >> 13 {
        0 => second,
        _ => number(second & ((1 << bits) - 1)),
    }
}

/// Encodes `sethi`, which sets bits 31:10 of a register and clears the other bits.
pub const fn sethi(rd: u32, value: u32) -> u32 {
    rd << 25 | 4 << 22 | value >> 10
}

/// Encodes two instructions that set a register to a 32-bit value.
pub const fn set(rd: u32, value: u32) -> [u32; 2] {
    [sethi(rd, value), computes(OR, rd, rd, number(value & 0x3ff))]
}

/// The encoding of `ba,a,pt %xcc` with a displacement of 0.
pub const BA_ANNULLED: u32 = 0x3068_0000;

/// Returns the branch at address `from` to address `to`. `word` is the branch's encoding with a displacement of 0.
pub const fn branch(word: u32, from: u64, to: u64) -> u32 {
    word | (to.wrapping_sub(from) >> 2) as u32 & 0x7_ffff
}

/// Encodes `mov`, which sets a register to a [`number`].
pub const fn mov(rd: u32, value: u32) -> u32 {
    computes(OR, rd, 0, number(value))
}

/// Encodes `rd %pc`, which sets a register to the instruction's own address.
pub const fn read_pc(rd: u32) -> u32 {
    computes(RD, rd, 5, 0)
}

/// Encodes `wrpr`, which sets a privileged register to a [`number`].
pub const fn wrpr(register: u32, value: u32) -> u32 {
    computes(WRPR, register, 0, number(value))
}

/// Encodes `ta`, which always traps, with a [`number`].
pub const fn trap(value: u32) -> u32 {
    computes(0x3a, 8, 0, number(value))
}
