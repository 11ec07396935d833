//! Random programs that consist of nonprivileged instructions.
//!
//! A program is a sequence of cases. A case loads random values into all registers, the condition codes and %y, executes random
//! instructions, and stores all registers, the condition codes and %y.

use tests::random::Random;

use tests::assembler::{
    ACCESSES, ADD, AND, CAS, COMPUTES, FP, G6, G7, LDX, NOP, OR, SP, STX, TWINS, accesses,
    accesses_space, computes, number, read_pc, set, sethi, shortened, trap,
};

/// The address of the code. Code and data are below 2 GB, so that two instructions are enough to set an address.
pub(crate) const CODE: u32 = 0x10_0000;
pub(crate) const DATA: u32 = 0x200_0000;
/// The size, in bytes, of the memory that random instructions access.
const SCRATCH: u32 = 0x2000;
/// The size, in bytes, of what a case stores: the registers, the condition codes and %y.
pub(crate) const RESULT: u32 = 34 * 8;
/// The size, in bytes, of what a case loads at its start.
const INITIAL: u32 = RESULT;
const INITIALS: u32 = DATA + SCRATCH;

/// The registers that random instructions do not write: %g0, two registers that hold addresses, and the stack registers.
const RESERVED_REGISTERS: [u32; 5] = [0, G6, G7, SP, FP];

/// A program and the initial contents of its memory.
pub(crate) struct Program {
    pub(crate) code: Vec<u32>,
    pub(crate) data: Vec<u8>,
    pub(crate) cases: usize,
}

impl Program {
    /// Returns a random program with this number of cases.
    pub(crate) fn new(seed: u64, cases: usize) -> Self {
        let mut random = Random(seed);
        let mut code = Vec::new();
        for case in 0..cases {
            Case::generate(&mut random, case as u32, cases as u32, &mut code);
        }
        code.extend(end(cases as u32));
        let numbers = (SCRATCH + cases as u32 * INITIAL) / 8;
        let data = (0..numbers).flat_map(|_| value(&mut random).to_be_bytes());
        let mut data: Vec<u8> = data.collect();
        data.extend(vec![0; cases * RESULT as usize]);
        Self { code, data, cases }
    }

    /// Returns a program that consists of these instructions, which store their results at address [`DATA`] and above.
    pub(crate) fn showing(instructions: &[u32]) -> Self {
        Self { code: [instructions, &end(0)].concat(), data: vec![0; SCRATCH as usize], cases: 0 }
    }

    pub(crate) fn results(&self) -> u32 {
        results(self.cases as u32)
    }
}

fn results(cases: u32) -> u32 {
    INITIALS + cases * INITIAL
}

/// Returns code that writes the scratch memory and all results to standard output, and exits.
fn end(cases: u32) -> Vec<u32> {
    let (g1, o0, o1, o2) = (1, 8, 9, 10);
    let call = trap(0x6d) | (2 << 11);
    let length = SCRATCH + cases * (INITIAL + RESULT);
    let mut code = Vec::new();
    for (register, value) in [(g1, 4), (o0, 1), (o1, DATA), (o2, length)] {
        code.extend(set(register, value));
    }
    code.push(call);
    code.extend([set(g1, 1), set(o0, 0)].concat());
    code.push(call);
    code
}

/// Returns a random value. Values that give special results are more frequent.
pub(crate) fn value(random: &mut Random) -> u64 {
    let any = random.next_u64();
    match random.below(8) {
        0 => any & 3,
        1 => u64::MAX - (any & 3),
        2 => 1 << (any & 63),
        3 => (1 << (any & 63)) - 1,
        4 => any >> 32,
        5 => (any as i32 as i64).cast_unsigned(),
        _ => any,
    }
}

/// Consecutive instructions. A branch can lead only to the first of them.
type Group = Vec<u32>;

struct Case<'r> {
    random: &'r mut Random,
}

impl Case<'_> {
    fn generate(random: &mut Random, case: u32, cases: u32, code: &mut Vec<u32>) {
        let loaded = |register| accesses(LDX, register, G7, number(register * 8));
        code.extend(set(G7, INITIALS + case * INITIAL));
        for (index, control) in [(32, 2), (33, 0)] {
            code.push(accesses(LDX, G6, G7, number(index * 8)));
            code.push(computes(0x30, control, G6, number(0)));
        }
        code.extend((0..32).filter(|one| !RESERVED_REGISTERS.contains(one)).map(loaded));
        code.extend(set(G7, DATA));
        code.push(computes(0x30, 3, 0, number(0x80)));

        let mut one = Case { random };
        let mut depth = 0;
        for _ in 0..3 {
            one.segment(code);
            // The window changes only between segments, because no branch leads out of a segment.
            match one.random.below(3) {
                0 if depth < 4 => {
                    code.push(computes(0x3c, SP, SP, number(-176_i32 as u32)));
                    depth += 1;
                }
                1 if depth > 0 => {
                    code.extend(one.back());
                    depth -= 1;
                }
                _ => {}
            }
        }
        for _ in 0..depth {
            code.extend(one.back());
        }

        let stored = |register| accesses(STX, register, G6, number(register * 8));
        code.extend(set(G6, results(cases) + case * RESULT));
        code.extend((0..32).filter(|one| !RESERVED_REGISTERS.contains(one)).map(stored));
        for (index, control) in [(32, 2), (33, 0)] {
            code.push(computes(0x28, G7, control, 0));
            code.push(accesses(STX, G7, G6, number(index * 8)));
        }
    }

    /// Returns an instruction that switches back to the previous window.
    fn back(&mut self) -> Group {
        let (rd, rs1, second) = (self.written(), self.read(), self.second());
        match self.random.below(2) {
            0 => vec![computes(0x3d, rd, rs1, second)],
            _ => vec![read_pc(G6), computes(0x39, 0, G6, number(12)), self.simple()],
        }
    }

    /// Adds random instructions with forward branches.
    fn segment(&mut self, code: &mut Vec<u32>) {
        let groups: Vec<Option<Group>> = (0..12)
            .map(|_| match self.random.below(5) {
                0 => None,
                _ => Some(self.group()),
            })
            .collect();
        // The offset of each group, in words.
        let lengths = groups.iter().map(|group| group.as_ref().map_or(2, Vec::len));
        let begins: Vec<usize> = lengths
            .scan(0, |at, length| {
                *at += length;
                Some(*at - length)
            })
            .collect();
        for (number, group) in groups.iter().enumerate() {
            match group {
                Some(group) => code.extend(group),
                None => {
                    let later = &begins[number + 1..];
                    let target = match later.len() {
                        0 => begins[number] + 2,
                        many => later[self.random.below(many)],
                    };
                    let words = (target - begins[number]) as u32;
                    code.extend([self.branch(words), self.simple()]);
                }
            }
        }
    }

    fn branch(&mut self, words: u32) -> u32 {
        let annul = (self.random.below(2) as u32) << 29;
        let condition = (self.random.below(16) as u32) << 25;
        match self.random.below(5) {
            // Bicc.
            0 => annul | condition | (2 << 22) | words,
            // BPcc on the 32-bit and 64-bit condition codes, with both predictions.
            1 | 2 => {
                let codes = (self.random.below(2) as u32) << 21;
                let predicted = (self.random.below(2) as u32) << 19;
                annul | condition | (1 << 22) | codes | predicted | words
            }
            // BPr.
            3 => {
                let condition = self.random.one_of(&[1, 2, 3, 5, 6, 7]) << 25;
                annul | condition | (3 << 22) | (self.read() << 14) | words
            }
            // CALL.
            _ => (1 << 30) | words,
        }
    }

    fn group(&mut self) -> Group {
        match self.random.below(20) {
            0..9 => vec![self.simple()],
            9..11 => self.division(),
            11..13 => self.jump(),
            13 => self.with_carry(),
            14 => self.step_of_multiplication(),
            _ => self.access(),
        }
    }

    /// Returns ADDCcc or SUBCcc, preceded by a read and a write of the condition codes: see
    /// `qemu_loses_a_carry_after_a_logical_instruction`.
    fn with_carry(&mut self) -> Group {
        let op3 = self.random.one_of(&[0x18, 0x1c]);
        vec![
            computes(0x28, G6, 2, 0),
            computes(0x30, 2, G6, number(0)),
            computes(op3, self.written(), self.read(), self.second()),
        ]
    }

    /// Returns MULScc. Its 64-bit condition codes and the upper half of its result are undefined, so the code clears them.
    fn step_of_multiplication(&mut self) -> Group {
        let rd = self.written();
        vec![
            computes(0x24, rd, self.read(), self.second()),
            computes(0x26, rd, rd, number(0)),
            computes(0x28, G6, 2, 0),
            computes(AND, G6, G6, number(0xf)),
            computes(0x30, 2, G6, number(0)),
        ]
    }

    /// Returns a jump to the next instruction.
    fn jump(&mut self) -> Group {
        let jump = computes(0x38, self.written(), G6, number(12));
        vec![read_pc(G6), jump, self.simple()]
    }

    /// Returns an instruction that cannot trap.
    fn simple(&mut self) -> u32 {
        let (rd, rs1, second) = (self.written(), self.read(), self.second());
        match self.random.below(16) {
            0 => sethi(rd, self.random.next_u64() as u32),
            1 => {
                let extended = self.random.below(2) as u32;
                let second = match self.random.below(2) {
                    0 => self.read(),
                    _ => number(self.random.below(32 << extended) as u32),
                };
                let op3 = self.random.one_of(&[0x25, 0x26, 0x27]);
                computes(op3, rd, rs1, second) | (extended << 12)
            }
            // MOVcc.
            2 => {
                let codes = (self.random.below(2) as u32) << 12;
                let condition = self.random.below(16) as u32;
                let second = shortened(second, 11);
                computes(0x2c, rd, (1 << 4) | condition, second) | codes
            }
            // MOVr.
            3 => {
                let condition = self.random.one_of(&[1, 2, 3, 5, 6, 7]) << 10;
                computes(0x2f, rd, rs1, shortened(second, 10)) | condition
            }
            4 => computes(0x2e, rd, 0, second),
            // Writes of %ccr and %y; reads of %ccr, %y and %asi.
            5 => computes(0x30, self.random.one_of(&[0, 2]), rs1, second),
            6 => computes(0x28, rd, self.random.one_of(&[0, 2, 3, 5]), 0),
            7 => NOP,
            _ => {
                // Without the instructions of `division` and `with_carry`, and without those that trap on overflow.
                const OTHERS: [u32; 10] =
                    [0x0d, 0x0e, 0x0f, 0x18, 0x1c, 0x1e, 0x1f, 0x22, 0x23, 0x2d];
                let op3 = loop {
                    let op3 = self.random.one_of(&COMPUTES);
                    if !OTHERS.contains(&op3) {
                        break op3;
                    }
                };
                computes(op3, rd, rs1, second)
            }
        }
    }

    /// Returns a division by a nonzero number.
    fn division(&mut self) -> Group {
        let op3 = self.random.one_of(&[0x0d, 0x0e, 0x0f, 0x1e, 0x1f, 0x2d]);
        let (rd, rs1) = (self.written(), self.read());
        vec![computes(OR, G6, self.read(), number(1)), computes(op3, rd, rs1, G6)]
    }

    /// Returns a load or store in the scratch memory.
    fn access(&mut self) -> Group {
        let (rd, read) = (self.written(), self.read());
        let address = |low| computes(AND, G6, read, number(0xff0 | low));
        // The maximum distance between an access and the multiple of 16 below it.
        let bounded = |(op3, size): (u32, u64)| (op3, 16 - size as u32);
        let single = |(op3, _): &(u32, _)| !TWINS.contains(op3);
        let all: Vec<_> = (ACCESSES.into_iter().filter(single).map(bounded)).collect();
        let (plain, _) = all.split_at(all.len() - 2);
        let space = self.random.one_of(&[0x80, 0x88, 0x82, 0x8a]);
        match self.random.below(8) {
            // CASA and CASXA take the address from one register.
            0 | 1 => {
                let (op3, low) = bounded(self.random.one_of(&CAS));
                let space = self.random.one_of(&[0x80, 0x88]);
                vec![
                    address(low),
                    computes(ADD, G6, G6, G7),
                    accesses_space(op3, rd, G6, self.read(), space),
                ]
            }
            // LDTW and STTW.
            2 => {
                let op3 = self.random.one_of(&TWINS);
                let even = self.random.one_of(&[2, 4, 8, 10, 12, 16, 18, 20, 22, 24, 26, 28]);
                vec![address(8), accesses(op3, even, G7, G6)]
            }
            // The ASI is in the instruction, or in %asi.
            3 | 4 => {
                let (op3, low) = self.random.one_of(plain);
                match self.random.below(2) {
                    0 => vec![
                        address(low),
                        accesses_space(op3 | 0x10, rd, G7, G6, self.stored(op3, space)),
                    ],
                    _ => vec![
                        address(low),
                        computes(ADD, G6, G6, G7),
                        computes(0x30, 3, 0, number(self.stored(op3, space))),
                        accesses(op3 | 0x10, rd, G6, number(16)),
                    ],
                }
            }
            _ => {
                let (op3, low) = self.random.one_of(&all);
                vec![address(low), accesses(op3, rd, G7, G6)]
            }
        }
    }

    /// Returns the ASI to use for an access. Stores do not use the no-fault ASIs.
    fn stored(&self, op3: u32, space: u32) -> u32 {
        match op3 {
            0x04..=0x07 | 0x0e => space & !2,
            _ => space,
        }
    }

    fn written(&mut self) -> u32 {
        loop {
            let register = self.random.below(32) as u32;
            if !RESERVED_REGISTERS[1..].contains(&register) {
                return register;
            }
        }
    }

    /// Returns a register whose value is the same in the interpreter and in QEMU.
    fn read(&mut self) -> u32 {
        loop {
            let register = self.random.below(32) as u32;
            if ![SP, FP].contains(&register) {
                return register;
            }
        }
    }

    fn second(&mut self) -> u32 {
        match self.random.below(2) {
            0 => self.read(),
            _ => number(self.random.below(0x2000) as u32 ^ 0x1000),
        }
    }
}
