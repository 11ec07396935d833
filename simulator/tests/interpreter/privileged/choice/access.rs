//! Chooses loads, stores and atomic instructions.

use simulator::interpreter::Level;

use tests::assembler::{ACCESSES, OR, TWINS, accesses, accesses_space, computes, mov, number};

use super::super::memory::SCRATCH;
use super::Choice;

impl Choice<'_> {
    pub(super) fn access(&mut self) -> Vec<u32> {
        let level = self.walk.level();
        let at = self.scratch();
        let address = SCRATCH + self.random().next_u64() % 0x3ff / 16 * 16;
        let (high, low) = self.far(at, address);
        let rd = self.register();
        let any = self.random().below(8);
        if any == 0 && level > Level::User {
            let space = if level == Level::Hyperprivileged { 0x4f } else { 0x20 };
            // A guest has scratchpad registers 0x00 to 0x18, 0x30 and 0x38.
            let register = self.random().one_of(&[0, 8, 0x10, 0x18, 0x30, 0x38]);
            let op3 = self.random().one_of(&[0x1b, 0x1e]);
            return vec![mov(at, register), accesses_space(op3, rd, at, 0, space)];
        }
        let (op3, size) = match self.random().below(8) {
            0 => (0x0f, 4),
            1 => return self.compare(level, high, at, low),
            _ => self.random().one_of(&ACCESSES[..14]),
        };
        let rd = if TWINS.contains(&op3) { rd & !1 } else { rd };
        let low = low + (self.random().next_u64() % 16 / size * size) as u32;
        let or = computes(OR, at, at, number(low));
        match any {
            1 | 2 => {
                let space = self.space(level);
                vec![high, or, accesses_space(op3 | 0x10, rd, at, 0, space)]
            }
            3 => {
                let space = self.space(level);
                let asi = computes(0x30, 3, 0, number(space));
                vec![high, asi, accesses(op3 | 0x10, rd, at, number(low))]
            }
            _ => vec![high, accesses(op3, rd, at, number(low))],
        }
    }

    /// Returns a random CASA or CASXA, preceded by the instructions that compute its address.
    fn compare(&mut self, level: Level, high: u32, at: u32, low: u32) -> Vec<u32> {
        let (rd, rs2) = (self.register(), self.register());
        let (op3, space) = (self.random().one_of(&[0x3c, 0x3e]), self.space(level));
        let or = computes(OR, at, at, number(low));
        vec![high, or, accesses_space(op3, rd, at, rs2, space)]
    }

    /// Returns an ASI for memory that code at this level may use, in either byte order. For all other ASIs, QEMU translates addresses even
    /// while the MMU is off.
    fn space(&mut self, level: Level) -> u32 {
        match level {
            Level::User => self.random().one_of(&[0x80, 0x88]),
            _ => self.random().one_of(&[0x14, 0x1c, 0x80, 0x88]),
        }
    }
}
