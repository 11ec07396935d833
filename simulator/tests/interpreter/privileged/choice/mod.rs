//! Chooses the next instructions of a random walk (`walk.rs`).

mod access;
mod control;

use simulator::interpreter::Level;
use simulator::interpreter::instruction::ControlRegister::Privileged;
use tests::random::Random;

use tests::assembler::{COMPUTES, NOP, accesses, computes, number, sethi, shortened, wrpr};

use super::memory::{HTBAS, SCRATCH, TBAS};
use super::walk::{IE, PEF, PSTATES, Walk};

/// Returns a %tstate value whose %gl is at most `most`.
pub(crate) fn state_value(random: &mut Random, most: usize) -> u64 {
    let any = random.next_u64();
    let pstate = any >> 20 & PSTATES & !if random.below(3) == 0 { 0 } else { IE };
    let global = random.below(most + 1) as u64;
    global << 40 | (any & 0xffff) << 24 | (pstate | PEF) << 8 | any >> 40 & 7
}

/// Chooses the next instructions at a strand's current address.
pub(crate) struct Choice<'w> {
    pub(crate) walk: &'w mut Walk,
    pub(crate) pc: u64,
    /// Whether the address is a delay slot.
    pub(crate) delayed: bool,
}

impl Choice<'_> {
    /// Returns one instruction, or several that must stay together.
    pub(crate) fn plan(&mut self) -> Vec<u32> {
        let (in_htba, in_tba) = (within(&HTBAS, 0x4000, self.pc), within(&TBAS, 0x8000, self.pc));
        // Because of Deviation::TrapPstate, a hypervisor handler writes %pstate first.
        if in_htba && self.pc.is_multiple_of(32) {
            let pstate = self.random().next_u64() & PSTATES;
            return vec![wrpr(6, pstate as u32)];
        }
        if self.delayed {
            return vec![self.simple()];
        }
        if (in_htba || in_tba) && self.pc % 32 >= 0x10 {
            return self.jump();
        }
        let level = self.walk.level();
        let tl = self.walk.control(Privileged(7)).unwrap_or(0);
        let back = tl > 0 && level > Level::User;
        let global = self.walk.control(Privileged(16)).unwrap_or(0);
        // The walk returns from traps before it runs out of trap levels.
        let (most_tl, most_gl) = if level == Level::Hyperprivileged { (5, 3) } else { (2, 2) };
        if back && (tl >= most_tl || global >= most_gl) && self.random().below(8) != 0 {
            return match self.random().below(2) {
                0 => self.back(),
                _ => self.settle(),
            };
        }
        match self.random().below(100) {
            0..22 => vec![self.simple()],
            22..30 => vec![self.branch(), self.simple()],
            30..34 => self.jump(),
            34..42 => vec![self.window()],
            42..50 => self.access(),
            50..53 => self.fault(level),
            53..58 => vec![self.trap(level)],
            58..64 => vec![self.ancillary()],
            64..66 if level == Level::User => vec![self.trap(level)],
            64..72 if back => self.back(),
            72..75 if level == Level::Privileged => self.interrupt(),
            72..75 if level == Level::Hyperprivileged => self.down(),
            75..90 if level > Level::User => self.privileged(level),
            90..98 if level == Level::Hyperprivileged => self.hyperprivileged(),
            // Privileged and hyperprivileged instructions, which trap at lower levels.
            98 => self.privileged(level),
            99 if level == Level::User => self.hyperprivileged(),
            _ => vec![self.simple()],
        }
    }

    fn random(&mut self) -> &mut Random {
        &mut self.walk.random
    }

    fn register(&mut self) -> u32 {
        self.random().below(32) as u32
    }

    /// Returns a register other than %g0.
    fn scratch(&mut self) -> u32 {
        1 + self.random().below(31) as u32
    }

    fn second(&mut self) -> u32 {
        match self.random().below(2) {
            0 => self.register(),
            _ => number(self.random().below(0x2000) as u32 ^ 0x1000),
        }
    }

    /// Returns a NOP, or an instruction that computes a value or moves one.
    fn simple(&mut self) -> u32 {
        let (rd, rs1, second) = (self.register(), self.register(), self.second());
        let any = self.random().next_u64() as u32;
        match any >> 28 {
            0 => sethi(rd, self.random().next_u64() as u32),
            1 | 2 => {
                let extended = any & 1;
                let op3 = 0x25 + any / 2 % 3;
                let second = shortened(second, 5 + extended);
                computes(op3, rd, rs1, second) | extended << 12
            }
            // MOVcc and MOVr.
            3 => {
                computes(0x2c, rd, 1 << 4 | any & 15, shortened(second, 11)) | (any >> 4 & 1) << 12
            }
            4 => {
                computes(0x2f, rd, rs1, shortened(second, 10))
                    | [1, 2, 3, 5, 6, 7][any as usize % 6] << 10
            }
            5 => computes(0x2e, rd, 0, second),
            6 => NOP,
            _ => {
                let op3 = self.random().one_of(&COMPUTES);
                computes(op3, rd, rs1, second)
            }
        }
    }

    fn branch(&mut self) -> u32 {
        let any = self.random().next_u64() as u32;
        let words = 2 + any % 6;
        let (annul, condition) = ((any >> 8 & 1) << 29, (any >> 9 & 15) << 25);
        match any >> 13 & 7 {
            0 => annul | condition | 2 << 22 | words,
            1..=3 => {
                annul
                    | condition
                    | 1 << 22
                    | (any >> 16 & 3) << 20 & 2 << 20
                    | (any >> 18 & 1) << 19
                    | words
            }
            4 | 5 => {
                let condition = [1, 2, 3, 5, 6, 7][(any >> 9) as usize % 6] << 25;
                annul | condition | 3 << 22 | self.register() << 14 | words
            }
            _ => {
                let target = self.walk.fresh();
                1 << 30 | (target.wrapping_sub(self.pc) / 4) as u32 & 0x3fff_ffff
            }
        }
    }

    /// Returns an instruction that sets a register to an address without its low ten bits, and those ten bits.
    fn far(&mut self, register: u32, address: u64) -> (u32, u32) {
        (sethi(register, address as u32), (address & 0x3ff) as u32)
    }

    fn jump(&mut self) -> Vec<u32> {
        let target = self.walk.fresh();
        let (at, rd) = (self.scratch(), self.register());
        let (high, low) = self.far(at, target);
        let jump = match self.random().below(4) {
            0 => computes(0x39, 0, at, number(low)),
            _ => computes(0x38, rd, at, number(low)),
        };
        vec![high, jump, self.simple()]
    }

    fn window(&mut self) -> u32 {
        let (rd, rs1, second) = (self.register(), self.register(), self.second());
        match self.random().below(10) {
            0..3 => computes(0x3c, rd, rs1, second),
            3..6 => computes(0x3d, rd, rs1, second),
            6 => computes(0x2b, 0, 0, 0),
            _ => computes(0x31, self.random().below(6) as u32, 0, 0),
        }
    }

    /// Returns a Tcc. Numbers up to 0x7f trap to the guest's operating system.
    fn trap(&mut self, level: Level) -> u32 {
        let any = self.random().next_u64() as u32;
        let condition = if any & 1 == 0 { 8 } else { any >> 1 & 15 };
        let codes = (any >> 5 & 1) << 12;
        let second = match (any >> 6 & 3, level) {
            (0, _) => self.register(),
            (1, Level::User) => number(any >> 8 & 0x7f),
            _ => number(any >> 8 & 0xff),
        };
        let rs1 = if any >> 16 & 3 == 0 { self.register() } else { 0 };
        computes(0x3a, condition, rs1, second) | codes
    }

    /// Returns instructions that cause a trap.
    fn fault(&mut self, level: Level) -> Vec<u32> {
        let rare = level == Level::Hyperprivileged || self.random().below(8) == 0;
        let (rd, rs1) = (self.register(), self.register());
        match self.random().below(6) {
            // An access to an address that is not aligned.
            0 if rare => {
                let at = self.scratch();
                let (high, _) = self.far(at, SCRATCH);
                let (op3, off) =
                    self.random().one_of(&[(0x0b, 4), (0x00, 2), (0x02, 1), (0x0e, 4), (0x06, 1)]);
                vec![high, accesses(op3, rd, at, number(off))]
            }
            1 if rare => vec![self.random().one_of(&[1, 0x3f, 0x81f8_0000, 0xc0e0_0000])],
            // One of fadds %f0, %f0, %f0; ldf [%g0], %f0; fble.
            2 => vec![self.random().one_of(&[0x81a0_0820, 0xc100_0000, 0x0b80_0002])],
            3 => vec![computes(self.random().one_of(&[0x0d, 0x0e, 0x0f, 0x2d]), rd, rs1, 0)],
            4 => vec![computes(self.random().one_of(&[0x22, 0x23]), rd, rs1, number(1))],
            _ => {
                let (rd, second) = (self.random().below(2) as u32, 0);
                match level {
                    Level::User => vec![computes(0x3e, rd, 0, second)],
                    _ => vec![self.simple()],
                }
            }
        }
    }
}

/// Returns whether an address is in one of the tables. Each table has `size` bytes.
fn within(tables: &[u64], size: u64, address: u64) -> bool {
    tables.iter().any(|table| (*table..*table + size).contains(&address))
}
