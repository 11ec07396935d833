//! Generates random attacks: programs of a few privileged instructions.

use conform::random::Random;
use platform::memory_map::REAL;

use super::attack::{Attack, RequiredOutcome};
use super::edges::{END, NEIGHBOUR};
use crate::execute::map;
use crate::interpreter::WindowState;
use conform::assembler::{
    ACCESSES, ADD, ANDN, CAS, DONE, FLUSH, GL, ILLEGAL, L1, L2, NOP, O0, O5, OR, RD, RDHPR, RDPR,
    SP, TBA, TL, TNPC, TSTATE, WR, WRHPR, WRPR, accesses, computes, mov, number, read_pc, sethi,
    trap, wrpr,
};

/// The address spaces, in order: memory (primary, nucleus, real, cacheable); both scratchpads; strands, interrupts and
/// translation; errors and diagnostics.
const SPACES: [u32; 30] = [
    0x80, 0x88, 0x04, 0x0c, 0x10, 0x11, 0x14, 0x15, 0x1c, 0x1d, 0x24, 0x20, 0x4f, 0x41, 0x63, 0x72,
    0x73, 0x74, 0x50, 0x54, 0x57, 0x58, 0x5c, 0x5f, 0x4c, 0x4a, 0x21, 0x25, 0x42, 0x45,
];

/// Functions of trap 0x80 that act on CPUs, or on memory at an address that the guest passes.
const FUNCTIONS: [u32; 11] = [0x01, 0x10, 0x16, 0x14, 0x17, 0x61, 0x63, 0x70, 0x71, 0x106, 0x107];

pub(super) fn attack(random: &mut Random) -> Attack {
    let mut words = Vec::new();
    for _ in 0..1 + random.below(6) {
        words.extend(some(random));
    }
    // A call with random registers.
    words.extend(call(random));
    let mut attack = Attack::new(words, RequiredOutcome::Anything);
    attack = attack.with((1..32).map(|number| (number, value(random))));
    let mut count = || random.below(8) as u8;
    attack.windows = WindowState {
        can_save: count(),
        can_restore: count(),
        other: count(),
        clean: count(),
        state: count() << 3 | count(),
    };
    attack.window = random.below(8);
    attack
}

/// Returns an address at or near the edge of a memory range, or another value.
fn value(random: &mut Random) -> u64 {
    let any = random.next_u64();
    let near = match random.below(4) {
        0 => any & 0xf,
        1 => (any & 0x3f) * 8,
        2 => any & 0xfff8,
        _ => 0,
    };
    let base = match random.below(16) {
        0..3 => 0x8010_0000,
        3 => REAL,
        4 => END - 8,
        5 => END,
        6 => NEIGHBOUR + (any >> 32 & 0xff_fff8),
        7 => map::HYPERVISOR.start + (any >> 32 & 0xf_fff8),
        8 => map::MAILBOX,
        9 => map::ROM.start,
        10 => map::DESCRIPTION.start,
        11 => map::CONSOLES,
        12 => [0x84_0000_0400, 0xd4_0000_0408, 0xa9_0000_0000, 0xe1_3000_4000][any as usize % 4],
        13 => return [any & 7, any & 0xff, u64::MAX, 1 << 63][(any >> 32) as usize % 4],
        14 => return any,
        _ => 0,
    };
    base + near
}

fn register(random: &mut Random) -> u32 {
    random.below(32) as u32
}

fn second(random: &mut Random) -> u32 {
    match random.below(2) {
        0 => register(random),
        _ => number(random.next_u64() as u32 & [0x1fff, 7, 0xff][random.below(3)]),
    }
}

/// Returns an instruction, or several that belong together.
fn some(random: &mut Random) -> Vec<u32> {
    let (rd, rs1, operand) = (register(random), register(random), second(random));
    let small = number(random.below(8) as u32);
    match random.below(24) {
        0..5 => vec![access(random)],
        5 | 6 => vec![computes(WRPR, random.below(17) as u32, rs1, operand)],
        7 => {
            // The window counts, %tl and %gl.
            let which = random.one_of(&[TL, 9, 10, 11, 12, 13, GL]);
            vec![computes(WRPR, which, 0, small)]
        }
        8 => vec![computes(RDPR, rd, random.below(17) as u32, 0)],
        9 => {
            let which = random.one_of(&[0, 1, 3, 5, 6, 31]);
            match random.below(2) {
                0 => vec![computes(WRHPR, which, rs1, operand)],
                _ => vec![computes(RDHPR, rd, which, 0)],
            }
        }
        10 => match random.below(2) {
            0 => vec![computes(WR, register(random), rs1, operand)],
            _ => vec![computes(RD, rd, register(random), 0)],
        },
        11 => vec![computes(DONE, random.below(2) as u32, 0, 0)],
        12 => {
            // save, restore, flushw, the group from `saved` to `invalw`, and return.
            let op3 = random.one_of(&[0x3c, 0x3d, 0x2b, 0x31, 0x39]);
            let rd = if op3 == 0x31 { rd % 6 } else { rd };
            vec![computes(op3, rd, rs1, operand)]
        }
        13 => vec![computes(0x3a, 8, rs1, operand), computes(0x38, rd, rs1, operand)],
        14..17 => call(random),
        17 => climb(random),
        18 => {
            // Makes a call that nests deeply in the hypervisor, and then reads the trap registers that the call left
            // behind.
            let mut words = deep(random);
            words.extend(climb(random));
            words
        }
        19 => {
            // Causes a trap inside a trap handler, at every level. The trap table can be anywhere.
            let table = random.below(4) == 0;
            let tba = computes(WRPR, TBA, rs1, 0);
            let word = random.one_of(&[
                ILLEGAL[0],
                ILLEGAL[1],
                0xc058_0000 | rs1 << 14,
                trap(0x80),
                computes(0x3c, SP, SP, number(0)),
            ]);
            vec![
                if table { tba } else { NOP },
                wrpr(TL, random.below(3) as u32),
                wrpr(GL, random.below(3) as u32),
                word,
            ]
        }
        20 => {
            // Sets another stack pointer, and causes windows to spill.
            vec![
                computes(OR, SP, rs1, 0),
                computes(0x3c, SP, SP, number(0x1f40)),
                computes(0x2b, 0, 0, 0),
                trap(random.one_of(&[0x80, 0xff, 0x84])),
            ]
        }
        21 => {
            // Changes the program's own next instructions.
            let offset = 4 * (2 + random.below(6) as u32);
            vec![read_pc(L1), accesses(4, rd, L1, number(offset)), FLUSH]
        }
        22 => vec![random.next_u64() as u32],
        _ => vec![computes(OR, rd, rs1, operand)],
    }
}

/// Returns a load, store or atomic instruction, of any size and in any address space.
fn access(random: &mut Random) -> u32 {
    let (rd, rs1) = (register(random), register(random));
    let (op3, _) = random.one_of(&ACCESSES);
    let space = match random.below(8) {
        0 => random.below(0x100) as u32,
        _ => random.one_of(&SPACES),
    };
    let (op3, second) = match random.below(8) {
        0..3 => (op3, second(random)),
        3 => (op3 | 0x10, second(random)),
        4 => (random.one_of(&CAS).0, space << 5 | register(random)),
        _ => (op3 | 0x10, space << 5 | if random.below(2) == 0 { 0 } else { rd }),
    };
    accesses(op3, rd, rs1, second)
}

/// Returns a hypercall whose arguments are the current registers.
fn call(random: &mut Random) -> Vec<u32> {
    let function = random.one_of(&FUNCTIONS);
    let other = 0x81 + random.below(0x7e) as u32;
    let taken = random.one_of(&[0x80, 0x80, 0x80, 0xff, other]);
    let function = match taken {
        0xff => random.below(4) as u32,
        _ => function,
    };
    let mut words = vec![mov(O5, function)];
    // The argument is a CPU number or a register number.
    if random.below(2) == 0 {
        words.push(mov(O0, random.below(92) as u32 & !2));
    }
    words.push(trap(taken));
    words
}

/// Returns a call that needs many register windows: it writes the guest's memory to the console.
fn deep(random: &mut Random) -> Vec<u32> {
    let function = random.one_of(&[0x01, 0x63, 0x70]);
    vec![
        wrpr(TL, 0),
        wrpr(GL, 0),
        computes(WRPR, 10, 0, number(random.below(8) as u32)),
        read_pc(O0),
        computes(ANDN, O0, O0, number(31)),
        mov(9, 64),
        mov(O5, function),
        trap(0x80),
    ]
}

/// Returns instructions that raise %tl without a trap, and then return from that trap level to the program's next
/// instruction.
fn climb(random: &mut Random) -> Vec<u32> {
    let level = 1 + random.below(2) as u32;
    vec![
        read_pc(L1),
        computes(ADD, L1, L1, number(7 * 4)),
        wrpr(TL, level),
        computes(WRPR, TNPC, L1, 0),
        // The bits PRIV and PEF.
        sethi(L2, 0x1400),
        computes(WRPR, TSTATE, L2, 0),
        computes(0x3e, 0, 0, 0),
        computes(RDHPR, 1, 0, 0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_in_and_around_each_memory_range() {
        let mut random = Random(1122026);
        let values: Vec<u64> = (0..4096).map(|_| value(&mut random)).collect();
        let starts = [
            0,
            0x8010_0000,
            REAL,
            END - 8,
            END,
            map::MAILBOX,
            map::ROM.start,
            map::DESCRIPTION.start,
            map::CONSOLES,
            0x84_0000_0400,
            0xd4_0000_0408,
            0xa9_0000_0000,
            0xe1_3000_4000,
            u64::MAX,
            1 << 63,
        ];
        for start in starts {
            assert!(values.contains(&start), "{start:#x}");
        }
        for start in [NEIGHBOUR, map::HYPERVISOR.start] {
            assert!(values.iter().any(|value| (start + 0x1000..start + 0x10_0000).contains(value)));
        }
        assert!(values.iter().any(|value| value % 8 != 0));
    }

    #[test]
    fn a_call_ends_with_its_trap() {
        let mut random = Random(20261201);
        let mut functions = [false; FUNCTIONS.len()];
        for _ in 0..1000 {
            let words = call(&mut random);
            let (last, first) = (words[words.len() - 1], words[0]);
            assert!((0x80..=0xff).any(|number| last == trap(number)), "{last:#x}");
            for (found, function) in functions.iter_mut().zip(FUNCTIONS) {
                *found |= last == trap(0x80) && first == mov(O5, function);
            }
        }
        assert_eq!(functions, [true; FUNCTIONS.len()]);
    }
}
