//! Chooses accesses to control registers, interrupts, returns from traps, and changes of the privilege level.

use simulator::interpreter::Level;
use simulator::interpreter::instruction::ControlRegister::Privileged;

use tests::assembler::{WRPR, computes, mov, number, set, wrpr};

use super::super::memory::{HTBAS, TBAS};
use super::super::walk::{HPRIV, IE, PEF, PRIV, PSTATES};
use super::{Choice, state_value};

impl Choice<'_> {
    /// Returns an access to an ancillary state register.
    pub(super) fn ancillary(&mut self) -> u32 {
        let (rd, rs1, second) = (self.register(), self.register(), self.second());
        let small = number(self.random().next_u64() as u32 & 0xfff);
        match self.random().below(9) {
            0..3 => computes(0x28, rd, self.random().one_of(&[0, 2, 3, 5, 6]), 0),
            3 => computes(0x28, rd, self.random().one_of(&[22, 23, 25]), 0),
            4 => computes(0x30, self.random().one_of(&[0, 2, 3]), rs1, second),
            5 => computes(0x30, 6, 0, number(rd & 7)),
            6 => computes(0x30, self.random().one_of(&[23, 25]), rs1, second),
            _ => computes(0x30, self.random().one_of(&[20, 21, 22]), 0, small),
        }
    }

    /// Returns instructions that raise and enable an interrupt with a random level.
    pub(super) fn interrupt(&mut self) -> Vec<u32> {
        let level = 1 + self.random().below(15);
        let pil = self.random().below(level) as u32;
        let pstate = (PRIV | PEF | IE) as u32;
        let at = self.scratch();
        vec![
            mov(at, 1),
            computes(0x25, at, at, number(level as u32)),
            computes(0x30, 20, at, number(0)),
            wrpr(8, pil),
            wrpr(6, pstate),
        ]
    }

    /// Returns instructions that return from a trap.
    pub(super) fn back(&mut self) -> Vec<u32> {
        let taken = self.walk.control(Privileged(3));
        let taken = taken.unwrap_or(0);
        let none = 0;
        let (done, retry) = (computes(0x3e, 0, 0, none), computes(0x3e, 1, 0, none));
        let change = |number| computes(0x31, number, 0, none);
        let clean = wrpr(12, 7);
        match (taken, self.random().below(4)) {
            (0x80..0xc0, 0..3) => vec![change(0), retry],
            (0xc0..0x100, 0..3) => vec![change(1), retry],
            (0x24, 0..3) => vec![clean, retry],
            (0x41..0x50, 0..3) => {
                let at = self.scratch();
                let (high, _) = self.far(at, 0x1_fc00);
                vec![high, computes(0x30, 21, at, number(0x3ff)), retry]
            }
            (_, 0 | 1) => vec![done],
            _ => {
                // The trap returns to an arbitrary address, with an arbitrary state.
                let (pc, npc, at) = (self.walk.fresh(), self.walk.fresh(), self.scratch());
                let (high, low) = self.far(at, pc);
                let (higher, lower) = self.far(at, npc);
                let mut plan = vec![high, computes(0x32, 0, at, number(low))];
                if self.random().below(2) == 0 {
                    plan.push(computes(0x32, 1, at, number(low + 4)));
                } else {
                    plan.extend([higher, computes(0x32, 1, at, number(lower))]);
                }
                plan.push(retry);
                plan
            }
        }
    }

    /// Returns instructions that lower %tl and %gl.
    pub(super) fn settle(&mut self) -> Vec<u32> {
        let (tl, global) = (self.random().below(2) as u32, self.random().below(2) as u32);
        vec![wrpr(16, global), wrpr(7, tl)]
    }

    /// Returns instructions that leave the hyperprivileged level.
    pub(super) fn down(&mut self) -> Vec<u32> {
        let pstate = self.random().one_of(&[PEF, PEF | PRIV]);
        vec![
            wrpr(16, 0),
            wrpr(7, self.random().below(2) as u32),
            wrpr(6, pstate as u32),
            computes(0x33, 0, 0, number(0)),
        ]
    }

    pub(super) fn privileged(&mut self, level: Level) -> Vec<u32> {
        let rd = self.register();
        if self.random().below(3) == 0 {
            let number = self.random().one_of(&[0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16]);
            return vec![computes(0x2a, rd, number, 0)];
        }
        let highest = if level == Level::Hyperprivileged { 6 } else { 2 };
        let any = self.random().next_u64() as u32;
        let (number, value) = match self.random().below(14) {
            0 => return self.far_written(0x32, 5, &TBAS),
            1 => {
                let most = if level == Level::Hyperprivileged { 3 } else { 2 };
                let value = state_value(self.random(), most);
                return self.wide(2, value);
            }
            2 => (3, any & 0x1ff),
            3 | 4 => (6, any & PSTATES as u32 | if any & 0x3000 == 0 { 0 } else { PRIV as u32 }),
            5 => (7, self.random().below(highest + 1) as u32),
            6 => (8, any & 15),
            7 => (14, any & 0x3f),
            8 => (16, if any & 0xf0 == 0 { any & 3 } else { 0 }),
            9 => (9, any & 7),
            10 => {
                // CANSAVE, CANRESTORE and OTHERWIN add up to 6. Often, no window is free; sometimes, none is clean.
                let saved = if any & 0x100 == 0 { (any & 0xff) % 7 } else { 0 };
                let other = (any >> 9 & 0xff) % (7 - saved);
                let restored = 6 - saved - other;
                let clean = if any & 0x3_0000 == 0 { restored } else { 6 };
                let numbers =
                    [(14, any >> 18 & 0x3f), (10, saved), (13, other), (11, restored), (12, clean)];
                return numbers.map(|(register, value)| wrpr(register, value)).to_vec();
            }
            11 => (10 + any % 2, any >> 8 & 7),
            12 => (12 + any % 2, any >> 8 & 7),
            _ => (any % 2, 0),
        };
        if number < 2 {
            let place = self.walk.fresh();
            return self.far_written(0x32, number, &[place]);
        }
        vec![wrpr(number, value)]
    }

    pub(super) fn hyperprivileged(&mut self) -> Vec<u32> {
        let rd = self.register();
        match self.random().below(6) {
            0 => self.far_written(0x33, 5, &HTBAS),
            1 => vec![computes(0x33, 31, 0, number(0x1fff))],
            2 => vec![computes(0x33, 3, 0, number(0))],
            3 => vec![computes(0x33, 0, 0, number(HPRIV as u32))],
            _ => vec![computes(0x29, rd, self.random().one_of(&[0, 3, 5, 31]), 0)],
        }
    }

    /// Returns instructions that write an address to a privileged or hyperprivileged register.
    fn far_written(&mut self, op3: u32, register: u32, places: &[u64]) -> Vec<u32> {
        let (at, place) = (self.scratch(), self.random().one_of(places));
        let (high, low) = self.far(at, place);
        vec![high, computes(op3, register, at, number(low))]
    }

    /// Returns instructions that write a 64-bit value to a privileged register.
    fn wide(&mut self, register: u32, value: u64) -> Vec<u32> {
        let (a, b) = (self.scratch(), self.scratch());
        let (upper, lower) = (set(a, (value >> 32) as u32), set(b, value as u32));
        let shifted = computes(0x25, a, a, number(32)) | 1 << 12;
        let written = computes(WRPR, register, a, b);
        [&upper[..], &[shifted], &lower, &[written]].concat()
    }
}
