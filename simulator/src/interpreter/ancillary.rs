//! Control registers that instructions read and write by number (UltraSPARC Architecture 2007, sections 5.5 to 5.8).

use super::control::{TrapFrame, hpstate, pstate};
use super::environment::{Counting, Environment};
use super::instruction::ControlRegister;
use super::registers::WINDOWS;
use super::strand::Strand;
use super::trap::{Level, Trap};

/// The value of %hver: the manufacturer, implementation and mask of a T2 Plus (*assumed*), the highest trap level (6), the highest
/// level of globals (3), and the last window (7).
const HVER: u64 = 0x003e << 48 | 0x0024 << 32 | 3 << 16 | 6 << 8 | 7;

impl Strand {
    /// Returns the value that hyperprivileged software reads from a control register. Returns
    /// `None` if the number has no readable register, and for the trap registers at trap level 0.
    pub fn control_register(
        &mut self,
        control: ControlRegister,
        environment: &mut impl Environment,
    ) -> Option<u64> {
        self.value(control, environment).ok()
    }

    #[inline(never)]
    pub(super) fn read(
        &mut self,
        control: ControlRegister,
        environment: &mut impl Environment,
    ) -> Result<u64, Trap> {
        self.allowed(control)?;
        self.value(control, environment)
    }

    fn value(
        &mut self,
        control: ControlRegister,
        environment: &mut impl Environment,
    ) -> Result<u64, Trap> {
        let windows = self.windows;
        Ok(match control {
            ControlRegister::Ancillary(number) => match number {
                0 => self.y.into(),
                2 => self.ccr.into(),
                3 => self.asi.into(),
                4 => environment.read(Counting::Tick, self.control.level())?,
                5 => self.effective(self.pc),
                6 => self.control.fprs.into(),
                16 => environment.read(Counting::Pcr, self.control.level())?,
                17 => environment.read(Counting::Pic, self.control.level())?,
                GSR => return Err(Trap::FP_DISABLED),
                22 => self.control.softint.into(),
                23 => self.control.tick_compare,
                24 => environment.read(Counting::Stick, self.control.level())?,
                25 => self.control.stick_compare,
                26 => environment.read(Counting::Status, self.control.level())?,
                _ => return Err(Trap::ILLEGAL_INSTRUCTION),
            },
            ControlRegister::Privileged(number) => match number {
                0 => self.frame()?.pc,
                1 => self.frame()?.npc,
                2 => self.frame()?.state,
                3 => self.frame()?.number.into(),
                4 => environment.read(Counting::Tick, self.control.level())?,
                5 => self.control.tba,
                6 => self.control.pstate.into(),
                7 => self.control.tl.into(),
                8 => self.control.pil.into(),
                9 => self.registers.window() as u64,
                10 => windows.can_save.into(),
                11 => windows.can_restore.into(),
                12 => windows.clean.into(),
                13 => windows.other.into(),
                14 => windows.state.into(),
                16 => self.registers.global() as u64,
                _ => return Err(Trap::ILLEGAL_INSTRUCTION),
            },
            ControlRegister::Hyperprivileged(number) => match number {
                0 => self.control.hpstate.into(),
                1 => self.frame()?.hpstate.into(),
                3 => self.control.hintp.into(),
                5 => self.control.htba,
                6 => HVER,
                31 => self.control.hstick_compare,
                _ => return Err(Trap::ILLEGAL_INSTRUCTION),
            },
        })
    }

    #[inline(never)]
    pub(super) fn write(
        &mut self,
        control: ControlRegister,
        value: u64,
        environment: &mut impl Environment,
    ) -> Result<(), Trap> {
        self.allowed(control)?;
        // Only the hypervisor may set clocks.
        if matches!(control, ControlRegister::Ancillary(24) | ControlRegister::Privileged(4))
            && self.control.level() < Level::Hyperprivileged
        {
            return Err(Trap::ILLEGAL_INSTRUCTION);
        }
        let window = (value % WINDOWS as u64) as u8;
        let (greatest_tl, greatest_gl) = self.control.greatest();
        match control {
            ControlRegister::Ancillary(number) => match number {
                0 => self.y = value as u32,
                2 => self.ccr = value as u8,
                3 => self.asi = value as u8,
                6 => self.control.fprs = value as u8 & 7,
                16 => environment.write(Counting::Pcr, value, self.control.level())?,
                17 => environment.write(Counting::Pic, value, self.control.level())?,
                GSR => return Err(Trap::FP_DISABLED),
                20 => self.control.softint |= value as u32 & SOFTINT,
                21 => self.control.softint &= !value as u32,
                22 => self.control.softint = value as u32 & SOFTINT,
                23 => self.control.tick_compare = value,
                24 => environment.write(Counting::Stick, value, self.control.level())?,
                25 => self.control.stick_compare = value,
                26 => environment.write(Counting::Status, value, self.control.level())?,
                _ => return Err(Trap::ILLEGAL_INSTRUCTION),
            },
            ControlRegister::Privileged(number) => match number {
                0 => self.frame()?.pc = value & !3,
                1 => self.frame()?.npc = value & !3,
                2 => self.frame()?.state = value & TSTATE,
                3 => self.frame()?.number = value as u16 & 0x1ff,
                4 => environment.write(Counting::Tick, value, self.control.level())?,
                5 => self.control.tba = value & !0x7fff,
                6 => self.control.pstate = value as u16 & pstate::ALL,
                7 => self.control.tl = value.min(greatest_tl.into()) as u8,
                8 => self.control.pil = value as u8 & 0xf,
                9 => self.registers.set_window(window.into()),
                10 => self.windows.can_save = window,
                11 => self.windows.can_restore = window,
                12 => self.windows.clean = window,
                13 => self.windows.other = window,
                14 => self.windows.state = value as u8 & 0x3f,
                16 => {
                    let global = value.min(greatest_gl as u64);
                    self.registers.set_global(global as usize);
                }
                _ => return Err(Trap::ILLEGAL_INSTRUCTION),
            },
            ControlRegister::Hyperprivileged(number) => match number {
                0 => self.control.hpstate = value as u16 & hpstate::ALL,
                1 => self.frame()?.hpstate = value as u16 & hpstate::ALL,
                3 => self.control.hintp = value & 1 != 0,
                5 => self.control.htba = value & !0x3fff,
                31 => self.control.hstick_compare = value,
                _ => return Err(Trap::ILLEGAL_INSTRUCTION),
            },
        }
        Ok(())
    }

    /// Returns the trap registers of the current trap level. Fails at trap level 0.
    fn frame(&mut self) -> Result<&mut TrapFrame, Trap> {
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

/// The number of %gsr, which belongs to the floating-point unit. Accesses trap, because guests have
/// no such unit.
const GSR: u8 = 19;

/// The bits of %softint: interrupt levels 1 to 15, and the matches of %tick_cmpr and %stick_cmpr.
const SOFTINT: u32 = 0x1_ffff;

/// The fields of %tstate: GL, CCR, ASI, PSTATE and CWP.
const TSTATE: u64 = 3 << 40 | 0xff << 32 | 0xff << 24 | (pstate::ALL as u64) << 8 | 7;
