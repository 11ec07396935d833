//! The control registers that instructions read and write by number (UltraSPARC Architecture 2007, sections 5.5 to 5.8).

use super::control::{TrapFrame, hpstate, pstate};
use super::environment::{CounterRegister, Environment};
use super::instruction::ControlRegister;
use super::registers::WINDOWS;
use super::strand::Strand;
use super::trap::{Level, Trap};
use super::word::Word;

/// The value of %hver: the manufacturer, implementation and mask of a T2 Plus (*assumed*), the highest trap level (6), the highest
/// global level (3), and the last window (7).
const HVER: u64 = 0x003e << 48 | 0x0024 << 32 | 3 << 16 | 6 << 8 | 7;

impl<W: Word> Strand<W> {
    /// Returns the value that hyperprivileged software reads from a control register. Returns `None` if no readable register has
    /// this number, or if the register is a trap register and the trap level is 0.
    pub fn control_register(
        &mut self,
        control: ControlRegister,
        environment: &mut impl Environment<W>,
    ) -> Option<W> {
        self.value(control, environment).ok()
    }

    #[inline(never)]
    pub(super) fn read(
        &mut self,
        control: ControlRegister,
        environment: &mut impl Environment<W>,
    ) -> Result<W, Trap> {
        self.allowed(control)?;
        self.value(control, environment)
    }

    fn value(
        &mut self,
        control: ControlRegister,
        environment: &mut impl Environment<W>,
    ) -> Result<W, Trap> {
        let windows = self.windows;
        Ok(match control {
            ControlRegister::Ancillary(number) => match number {
                0 => W::from_half(self.y),
                2 => W::from_byte(self.ccr),
                3 => W::from_byte(self.asi),
                4 => environment.read(CounterRegister::Tick, self.control.level())?,
                5 => W::from(self.effective(self.pc)),
                6 => W::from(self.control.fprs.into()),
                16 => environment.read(CounterRegister::Pcr, self.control.level())?,
                17 => environment.read(CounterRegister::Pic, self.control.level())?,
                GSR => return Err(Trap::FP_DISABLED),
                22 => W::from(self.control.softint.into()),
                23 => W::from(self.control.tick_compare),
                24 => environment.read(CounterRegister::Stick, self.control.level())?,
                25 => W::from(self.control.stick_compare),
                26 => environment.read(CounterRegister::Status, self.control.level())?,
                _ => return Err(Trap::ILLEGAL_INSTRUCTION),
            },
            ControlRegister::Privileged(number) => match number {
                0 => W::from(self.frame()?.pc),
                1 => W::from(self.frame()?.npc),
                2 => self.frame()?.state,
                3 => W::from(self.frame()?.number.into()),
                4 => environment.read(CounterRegister::Tick, self.control.level())?,
                5 => W::from(self.control.tba),
                6 => W::from(self.control.pstate.into()),
                7 => W::from(self.control.tl.into()),
                8 => W::from(self.control.pil.into()),
                9 => W::from(self.registers.window() as u64),
                10 => W::from(windows.can_save.into()),
                11 => W::from(windows.can_restore.into()),
                12 => W::from(windows.clean.into()),
                13 => W::from(windows.other.into()),
                14 => W::from(windows.state.into()),
                16 => W::from(self.registers.global() as u64),
                _ => return Err(Trap::ILLEGAL_INSTRUCTION),
            },
            ControlRegister::Hyperprivileged(number) => match number {
                0 => W::from(self.control.hpstate.into()),
                1 => W::from(self.frame()?.hpstate.into()),
                3 => W::from(self.control.hintp.into()),
                5 => W::from(self.control.htba),
                6 => W::from(HVER),
                31 => W::from(self.control.hstick_compare),
                _ => return Err(Trap::ILLEGAL_INSTRUCTION),
            },
        })
    }

    #[inline(never)]
    pub(super) fn write(
        &mut self,
        control: ControlRegister,
        value: W,
        environment: &mut impl Environment<W>,
    ) -> Result<(), Trap> {
        self.allowed(control)?;
        // Only the hypervisor may set clocks.
        if matches!(control, ControlRegister::Ancillary(24) | ControlRegister::Privileged(4))
            && self.control.level() < Level::Hyperprivileged
        {
            return Err(Trap::ILLEGAL_INSTRUCTION);
        }
        let known = || value.known();
        let window = || Ok::<_, Trap>((value.known()? % WINDOWS as u64) as u8);
        let (greatest_tl, greatest_gl) = self.control.max_levels();
        match control {
            ControlRegister::Ancillary(number) => match number {
                0 => self.y = value.half(),
                2 => self.ccr = value.byte(),
                3 => self.asi = value.byte(),
                6 => self.control.fprs = known()? as u8 & 7,
                16 => environment.write(CounterRegister::Pcr, value, self.control.level())?,
                17 => environment.write(CounterRegister::Pic, value, self.control.level())?,
                GSR => return Err(Trap::FP_DISABLED),
                20 => self.control.softint |= known()? as u32 & SOFTINT,
                21 => self.control.softint &= !known()? as u32,
                22 => self.control.softint = known()? as u32 & SOFTINT,
                23 => self.control.tick_compare = known()?,
                24 => environment.write(CounterRegister::Stick, value, self.control.level())?,
                25 => self.control.stick_compare = known()?,
                26 => environment.write(CounterRegister::Status, value, self.control.level())?,
                _ => return Err(Trap::ILLEGAL_INSTRUCTION),
            },
            ControlRegister::Privileged(number) => match number {
                0 => self.frame()?.pc = known()? & !3,
                1 => self.frame()?.npc = known()? & !3,
                2 => self.frame()?.state = value & W::from(TSTATE),
                3 => self.frame()?.number = known()? as u16 & 0x1ff,
                4 => environment.write(CounterRegister::Tick, value, self.control.level())?,
                5 => self.control.tba = known()? & !0x7fff,
                6 => self.control.pstate = known()? as u16 & pstate::ALL,
                7 => self.control.tl = known()?.min(greatest_tl.into()) as u8,
                8 => self.control.pil = known()? as u8 & 0xf,
                9 => self.registers.set_window(window()?.into()),
                10 => self.windows.can_save = window()?,
                11 => self.windows.can_restore = window()?,
                12 => self.windows.clean = window()?,
                13 => self.windows.other = window()?,
                14 => self.windows.state = known()? as u8 & 0x3f,
                16 => {
                    let global = known()?.min(greatest_gl as u64);
                    self.registers.set_global(global as usize);
                }
                _ => return Err(Trap::ILLEGAL_INSTRUCTION),
            },
            ControlRegister::Hyperprivileged(number) => match number {
                0 => self.control.hpstate = known()? as u16 & hpstate::ALL,
                1 => self.frame()?.hpstate = known()? as u16 & hpstate::ALL,
                3 => self.control.hintp = known()? & 1 != 0,
                5 => self.control.htba = known()? & !0x3fff,
                31 => self.control.hstick_compare = known()?,
                _ => return Err(Trap::ILLEGAL_INSTRUCTION),
            },
        }
        Ok(())
    }

    /// Returns the current trap level's trap registers. Fails at trap level 0.
    fn frame(&mut self) -> Result<&mut TrapFrame<W>, Trap> {
        self.control.frame().ok_or(Trap::ILLEGAL_INSTRUCTION)
    }

    /// Returns a trap if software at the current level may not access the register.
    fn allowed(&self, control: ControlRegister) -> Result<(), Trap> {
        let level = self.control.level();
        match control {
            ControlRegister::Hyperprivileged(_) | ControlRegister::Ancillary(26)
                if level < Level::Hyperprivileged =>
            {
                Err(Trap::ILLEGAL_INSTRUCTION)
            }
            ControlRegister::Privileged(_) | ControlRegister::Ancillary(16 | 20..=23 | 25)
                if level == Level::User =>
            {
                Err(Trap::PRIVILEGED_OPCODE)
            }
            _ => Ok(()),
        }
    }
}

/// The number of %gsr, which belongs to the floating-point unit. Guests have no such unit, so accesses trap.
const GSR: u8 = 19;

/// The bits of %softint: interrupt levels 1 to 15, and the match bits of %tick_cmpr and %stick_cmpr.
const SOFTINT: u32 = 0x1_ffff;

/// The fields of %tstate: GL, CCR, ASI, PSTATE and CWP.
const TSTATE: u64 = 3 << 40 | 0xff << 32 | 0xff << 24 | (pstate::ALL as u64) << 8 | 7;
