//! The privileged and hyperprivileged registers, and how traps are entered and left (UltraSPARC Architecture 2007, chapters 5 and 12).

use super::trap::{Level, Trap};
use super::word::Word;

/// The highest trap level for hyperprivileged software. For privileged software, the limit is [`MAX_PTL`].
const MAX_TL: u8 = 6;
const MAX_PTL: u8 = 2;

/// The highest global levels: MAX_GL for hyperprivileged software, MAX_PGL for privileged software.
const MAX_GL: usize = 3;
const MAX_PGL: usize = 2;

/// The trap type in %tt after power-on.
const POWER_ON_RESET: u16 = 1;

/// Masks for the bits of %pstate.
pub(super) mod pstate {
    /// Interrupts are enabled.
    pub(in super::super) const IE: u16 = 1 << 1;
    pub(in super::super) const PRIV: u16 = 1 << 2;
    /// Addresses have 32 bits.
    pub(in super::super) const AM: u16 = 1 << 3;
    /// The floating-point unit is enabled.
    pub(in super::super) const PEF: u16 = 1 << 4;
    /// Data are little-endian in trap handlers.
    pub(in super::super) const TLE: u16 = 1 << 8;
    /// Data are little-endian.
    pub(in super::super) const CLE: u16 = 1 << 9;
    /// Each transfer of control traps.
    pub(in super::super) const TCT: u16 = 1 << 12;
    /// All bits that the register has. An UltraSPARC T2 has no field for the memory model: it is always TSO.
    pub(in super::super) const ALL: u16 = IE | PRIV | AM | PEF | TLE | CLE | TCT;
}

pub(super) mod hpstate {
    /// A return to trap level 0 traps if it leaves the hyperprivileged level.
    pub(in super::super) const TLZ: u16 = 1 << 0;
    pub(in super::super) const HPRIV: u16 = 1 << 2;
    /// The strand is in RED state, as after a reset.
    pub(in super::super) const RED: u16 = 1 << 5;
    /// Instruction breakpoints are enabled.
    pub(in super::super) const IBE: u16 = 1 << 10;
    pub(in super::super) const ALL: u16 = TLZ | HPRIV | RED | IBE;
}

/// One trap level's trap registers, which hold the state at the time of the trap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TrapFrame<W = u64> {
    /// %tpc: the value of %pc before the trap.
    pub pc: u64,
    /// %tnpc: the value of %npc before the trap.
    pub npc: u64,
    /// %tstate: %gl in bits 41 to 40, %ccr in 39 to 32, %asi in 31 to 24, %pstate in 20 to 8, %cwp in 2 to 0.
    pub state: W,
    /// %tt: the trap type.
    pub number: u16,
    /// %htstate: the value of %hpstate before the trap.
    pub hpstate: u16,
}

/// A strand's privileged and hyperprivileged registers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Control<W = u64> {
    pub(super) pstate: u16,
    pub(super) hpstate: u16,
    pub(super) tl: u8,
    /// The trap registers for trap levels 1 and above.
    frames: [TrapFrame<W>; MAX_TL as usize],
    pub(super) tba: u64,
    pub(super) htba: u64,
    pub(super) pil: u8,
    pub(super) softint: u32,
    pub(super) hintp: bool,
    /// Whether an interrupt has been received but not served.
    pub(super) vector: bool,
    /// The compare registers. If bit 63 is set, the register is disabled.
    pub(super) tick_compare: u64,
    pub(super) stick_compare: u64,
    pub(super) hstick_compare: u64,
    pub(super) fprs: u8,
}

impl Control {
    /// Returns the registers of a strand that executes only nonprivileged software.
    pub(super) const fn user() -> Self {
        Self {
            pstate: pstate::IE,
            hpstate: 0,
            tl: 0,
            frames: [TrapFrame { pc: 0, npc: 0, state: 0, number: 0, hpstate: 0 }; MAX_TL as usize],
            tba: 0,
            htba: 0,
            pil: 0,
            softint: 0,
            hintp: false,
            vector: false,
            tick_compare: 1 << 63,
            stick_compare: 1 << 63,
            hstick_compare: 1 << 63,
            fprs: 0,
        }
    }

    /// Returns the registers after power-on.
    pub(super) fn reset() -> Self {
        let mut reset = Self::user();
        reset.pstate = pstate::PEF | pstate::PRIV;
        reset.hpstate = hpstate::HPRIV | hpstate::RED;
        reset.tl = MAX_TL;
        reset.frames[usize::from(MAX_TL) - 1].number = POWER_ON_RESET;
        reset
    }
}

impl<W: Word> Control<W> {
    /// Converts the registers to another kind of word. The values stay the same.
    pub(super) fn lifted<V: Word + From<W>>(&self) -> Control<V> {
        let lifted = |frame: TrapFrame<W>| TrapFrame {
            pc: frame.pc,
            npc: frame.npc,
            state: V::from(frame.state),
            number: frame.number,
            hpstate: frame.hpstate,
        };
        Control {
            frames: self.frames.map(lifted),
            pstate: self.pstate,
            hpstate: self.hpstate,
            tl: self.tl,
            tba: self.tba,
            htba: self.htba,
            pil: self.pil,
            softint: self.softint,
            hintp: self.hintp,
            vector: self.vector,
            tick_compare: self.tick_compare,
            stick_compare: self.stick_compare,
            hstick_compare: self.hstick_compare,
            fprs: self.fprs,
        }
    }

    /// Clears the trap registers above the current trap level, and the hypervisor's pending interrupts.
    pub(super) fn hide_from_guest(&mut self) {
        self.frames[usize::from(self.tl)..].fill(TrapFrame::default());
        (self.hintp, self.vector, self.hstick_compare) = (false, false, 0);
    }

    /// Returns the trap registers for trap levels 1 to the current level, and those for the levels above.
    #[must_use]
    pub fn frames(&self) -> (&[TrapFrame<W>], &[TrapFrame<W>]) {
        self.frames.split_at(self.tl.into())
    }

    #[inline(always)]
    pub(super) const fn level(&self) -> Level {
        if self.hpstate & hpstate::HPRIV != 0 {
            Level::Hyperprivileged
        } else if self.pstate & pstate::PRIV != 0 {
            Level::Privileged
        } else {
            Level::User
        }
    }

    /// Returns the current trap level's trap registers; `None` at trap level 0.
    pub(super) fn frame(&mut self) -> Option<&mut TrapFrame<W>> {
        let level = usize::from(self.tl).checked_sub(1)?;
        self.frames.get_mut(level)
    }

    /// Returns the maximum values of %tl and %gl for software at the current level.
    pub(super) fn max_levels(&self) -> (u8, usize) {
        match self.level() {
            Level::Hyperprivileged => (MAX_TL, MAX_GL),
            _ => (MAX_PTL, MAX_PGL),
        }
    }

    /// Enters a trap. `frame` has the values of all trap registers except %htstate. Returns the handler's address, and the handler's
    /// maximum %gl; `None` at the highest trap level.
    pub(super) fn enter(&mut self, trap: Trap, frame: TrapFrame<W>) -> Option<(u64, usize)> {
        if self.tl == MAX_TL {
            return None;
        }
        let to_privileged = trap.is_privileged(self.level());
        let watchdog = to_privileged && self.tl >= MAX_PTL;
        self.tl += 1;
        let hpstate = self.hpstate;
        if let Some(noted) = self.frame() {
            *noted = TrapFrame { hpstate, ..frame };
        }
        self.pstate = (self.pstate | pstate::PEF) & !(pstate::AM | pstate::IE | pstate::TCT);
        let number = u64::from(trap.number());
        if to_privileged && !watchdog {
            let cle = if self.pstate & pstate::TLE == 0 { 0 } else { pstate::CLE };
            self.pstate = self.pstate & !pstate::CLE | pstate::PRIV | cle;
            let above = if self.tl > 1 { 1 << 14 } else { 0 };
            return Some((self.tba & !0x7fff | above | number << 5, MAX_PGL));
        }
        self.pstate &= !(pstate::PRIV | pstate::CLE);
        self.hpstate = self.hpstate & !(hpstate::RED | hpstate::IBE) | hpstate::HPRIV;
        let vector = if watchdog { u64::from(Trap::WATCHDOG.number()) } else { number };
        Some((self.htba & !0x3fff | vector << 5, MAX_GL))
    }

    /// Returns from a trap to the state in its trap registers. Every return restores %hpstate, even if privileged software executes it. So
    /// the hypervisor must clear %htstate at each trap level from which privileged software can return.
    pub(super) fn leave(&mut self) -> Result<TrapFrame<W>, Trap> {
        let frame = *self.frame().ok_or(Trap::ILLEGAL_INSTRUCTION)?;
        let pstate = frame.state >> W::from(8) & W::from(pstate::ALL.into());
        self.pstate = pstate.known()? as u16;
        self.tl -= 1;
        self.hpstate = frame.hpstate;
        Ok(frame)
    }

    /// Returns the interrupt that the strand takes before its next instruction, if any.
    pub(super) fn interrupt(&self) -> Option<Trap> {
        let level = self.level();
        if self.hpstate & hpstate::TLZ != 0 && self.tl == 0 && level < Level::Hyperprivileged {
            return Some(Trap::TRAP_LEVEL_ZERO);
        }
        if level < Level::Hyperprivileged || self.pstate & pstate::IE != 0 {
            if self.hintp {
                return Some(Trap::HSTICK_MATCH);
            }
            if self.vector {
                return Some(Trap::INTERRUPT_VECTOR);
            }
        }
        if level == Level::Hyperprivileged || self.pstate & pstate::IE == 0 {
            return None;
        }
        // Bits 15:1 are interrupt levels. A compare register's match sets bit 0 or 16, which request level 14.
        let timers = if self.softint & (1 << 16 | 1) == 0 { 0 } else { 1 << 14 };
        let pending = self.softint & 0xfffe | timers;
        let highest = pending.checked_ilog2()?;
        (highest > self.pil.into()).then(|| Trap::interrupt_level(highest as u8))
    }
}
