//! A strand's interrupts and timer matches (UltraSPARC Architecture 2007, chapter 5, and chapter 12, Trap Control).

use super::control::pstate;
use super::strand::Strand;
use super::trap::{Level, Trap};
use super::word::Word;

/// A strand's compare register. It matches when a clock reaches its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// %tick_cmpr. A match sets bit 0 of %softint.
    Tick,
    /// %stick_cmpr. A match sets bit 16 of %softint.
    Stick,
    /// %hstick_cmpr. A match sets %hintp.
    HyperStick,
}

impl Timer {
    /// All of a strand's timers.
    pub const ALL: [Self; 3] = [Self::Tick, Self::Stick, Self::HyperStick];
}

/// The %softint bit for a performance counter's overflow, which is a level 15 interrupt.
const OVERFLOW: u32 = 1 << 15;

impl<W: Word> Strand<W> {
    /// Returns the interrupt that the strand takes before its next instruction, if any.
    #[inline(always)]
    pub fn interrupt(&self) -> Option<Trap> {
        self.control.interrupt()
    }

    /// Returns the privilege level at which the strand executes.
    #[inline(always)]
    pub const fn level(&self) -> Level {
        self.control.level()
    }

    /// Returns `true` if the strand takes level 15 interrupts: PSTATE.IE is 1 and %pil is below 15.
    pub const fn takes_overflows(&self) -> bool {
        self.control.pstate & pstate::IE != 0 && self.control.pil < 15
    }

    /// Returns `true` if an interrupt is pending, even if it is masked.
    pub const fn is_woken(&self) -> bool {
        self.control.vector || self.control.hintp || self.control.softint != 0
    }

    /// Sets or clears the pending interrupt vector. While it is set, the strand takes interrupt_vector, except in hyperprivileged
    /// software with PSTATE.IE clear.
    pub const fn set_vector(&mut self, pending: bool) {
        self.control.vector = pending;
    }

    /// Returns whether an overflow interrupt is pending: bit 15 of %softint.
    pub const fn overflow(&self) -> bool {
        self.control.softint & OVERFLOW != 0
    }

    /// Sets or clears bit 15 of %softint.
    pub const fn set_overflow(&mut self, set: bool) {
        self.control.softint = self.control.softint & !OVERFLOW | if set { OVERFLOW } else { 0 };
    }

    /// Returns the clock value at which a timer matches; `None` if the timer is disabled.
    pub const fn compare(&self, timer: Timer) -> Option<u64> {
        let register = match timer {
            Timer::Tick => self.control.tick_compare,
            Timer::Stick => self.control.stick_compare,
            Timer::HyperStick => self.control.hstick_compare,
        };
        if register >> 63 == 0 { Some(register) } else { None }
    }

    /// Makes the timer's interrupt pending. Must be called when the timer matches.
    pub const fn matched(&mut self, timer: Timer) {
        match timer {
            Timer::Tick => self.control.softint |= 1,
            Timer::Stick => self.control.softint |= 1 << 16,
            Timer::HyperStick => self.control.hintp = true,
        }
    }
}
