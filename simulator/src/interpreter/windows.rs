//! The windows that a strand may use before it traps (UltraSPARC Architecture 2007, section 5.6.7.1).

use super::instruction::Windows;
use super::registers::WINDOWS;
use super::trap::Trap;

/// The state of the register windows: how many there are of each kind. Each number counts modulo [`WINDOWS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowState {
    /// %cansave: windows that `save` may enter.
    pub can_save: u8,
    /// %canrestore: windows that `restore` may go back to.
    pub can_restore: u8,
    /// %otherwin: windows with values of another address space.
    pub other: u8,
    /// %cleanwin: windows that have no values of others.
    pub clean: u8,
    /// %wstate: bits 2 to 0 choose among the traps for one's own windows, 5 to 3 among those for others'.
    pub state: u8,
}

/// An instruction traps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// The trap.
    pub trap: Trap,
    /// The handler's window is so many after the instruction's, modulo [`WINDOWS`].
    pub distance: u8,
}

impl From<Trap> for Exception {
    #[inline(always)]
    fn from(trap: Trap) -> Self {
        Self { trap, distance: 0 }
    }
}

/// The last window, and the mask of a number of windows.
const LAST: u8 = WINDOWS as u8 - 1;

impl WindowState {
    /// Returns the state of a strand that may use all windows, and has used one.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            can_save: LAST - 1,
            can_restore: 0,
            other: 0,
            clean: LAST,
            state: 0,
        }
    }

    /// `save`: goes to the next window.
    pub(super) fn save(&mut self) -> Result<(), Exception> {
        if self.can_save == 0 {
            return Err(self.spill());
        }
        if self.clean.wrapping_sub(self.can_restore) & LAST == 0 {
            return Err(Exception {
                trap: Trap::CLEAN_WINDOW,
                distance: 1,
            });
        }
        self.can_save = self.can_save.wrapping_sub(1) & LAST;
        self.can_restore = self.can_restore.wrapping_add(1) & LAST;
        Ok(())
    }

    /// `restore` or `return`: goes back to the window before.
    pub(super) fn restore(&mut self) -> Result<(), Exception> {
        if self.can_restore == 0 {
            return Err(Exception {
                trap: Trap::fill(self.other != 0, self.chosen()),
                distance: LAST,
            });
        }
        self.can_save = self.can_save.wrapping_add(1) & LAST;
        self.can_restore = self.can_restore.wrapping_sub(1) & LAST;
        Ok(())
    }

    /// `flushw`: has all windows but the current one stored.
    pub(super) fn flush(&self) -> Result<(), Exception> {
        if self.can_save == LAST - 1 {
            return Ok(());
        }
        Err(self.spill())
    }

    fn spill(&self) -> Exception {
        Exception {
            trap: Trap::spill(self.other != 0, self.chosen()),
            distance: self.can_save.wrapping_add(2) & LAST,
        }
    }

    /// Returns the field of %wstate that chooses among the traps.
    const fn chosen(&self) -> u8 {
        let shift = if self.other == 0 { 0 } else { 3 };
        self.state >> shift & 7
    }

    /// An instruction of a handler.
    pub(super) fn change(&mut self, windows: Windows) {
        match windows {
            Windows::Saved => {
                self.can_save = self.can_save.wrapping_add(1) & LAST;
                let stored = if self.other == 0 {
                    &mut self.can_restore
                } else {
                    &mut self.other
                };
                *stored = stored.wrapping_sub(1) & LAST;
            }
            Windows::Restored => {
                self.can_restore = self.can_restore.wrapping_add(1) & LAST;
                if self.clean < LAST {
                    self.clean += 1;
                }
                let replaced = if self.other == 0 {
                    &mut self.can_save
                } else {
                    &mut self.other
                };
                *replaced = replaced.wrapping_sub(1) & LAST;
            }
            Windows::AllClean => self.clean = LAST,
            Windows::Otherw => (self.other, self.can_restore) = (self.can_restore, 0),
            Windows::Normalw => (self.can_restore, self.other) = (self.other, 0),
            Windows::Invalw => (self.can_save, self.can_restore) = (LAST - 1, 0),
        }
    }
}

impl Default for WindowState {
    fn default() -> Self {
        Self::new()
    }
}
