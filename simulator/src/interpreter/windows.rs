//! The register windows' state (UltraSPARC Architecture 2007, section 5.6.7.1).

use super::instruction::Windows;
use super::registers::WINDOWS;
use super::trap::Trap;

/// The number of register windows in each state, modulo [`WINDOWS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowState {
    /// %cansave: the number of windows that `save` may enter without a trap.
    pub can_save: u8,
    /// %canrestore: the number of windows that `restore` may return to without a trap.
    pub can_restore: u8,
    /// %otherwin: the number of windows that hold another address space's values.
    pub other: u8,
    /// %cleanwin: the number of windows that hold no other software's values.
    pub clean: u8,
    /// %wstate, which selects spill and fill traps: bits 2:0 for this address space, bits 5:3 for other address
    /// spaces.
    pub state: u8,
}

/// An instruction's or interrupt's trap, and the window in which the handler runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// The trap type, which selects the handler.
    pub trap: Trap,
    /// The distance from the instruction's window to the handler's window, modulo [`WINDOWS`].
    pub distance: u8,
}

impl From<Trap> for Exception {
    #[inline(always)]
    fn from(trap: Trap) -> Self {
        Self { trap, distance: 0 }
    }
}

/// The number of the last window, which also serves as the mask for window numbers.
const LAST: u8 = WINDOWS as u8 - 1;

impl WindowState {
    /// Returns the initial state: the current window is in use, and all other windows are free and clean.
    pub const fn new() -> Self {
        Self { can_save: LAST - 1, can_restore: 0, other: 0, clean: LAST, state: 0 }
    }

    /// Enters the next window for `save`. Traps if the window must first be stored or cleaned.
    pub(super) fn save(&mut self) -> Result<(), Exception> {
        if self.can_save == 0 {
            return Err(self.spill());
        }
        if self.clean.wrapping_sub(self.can_restore) & LAST == 0 {
            return Err(Exception { trap: Trap::CLEAN_WINDOW, distance: 1 });
        }
        self.can_save = self.can_save.wrapping_sub(1) & LAST;
        self.can_restore = self.can_restore.wrapping_add(1) & LAST;
        Ok(())
    }

    /// Returns to the previous window for `restore` or `return`. Traps if the window must first be loaded.
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

    /// Executes `flushw`, which traps while a window other than the current one still has to be stored.
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

    /// Returns the %wstate field that currently selects the spill and fill traps.
    const fn chosen(&self) -> u8 {
        let shift = if self.other == 0 { 0 } else { 3 };
        self.state >> shift & 7
    }

    /// Executes SAVED, RESTORED or another instruction that window handlers use.
    pub(super) fn change(&mut self, windows: Windows) {
        match windows {
            Windows::Saved => {
                self.can_save = self.can_save.wrapping_add(1) & LAST;
                let stored = if self.other == 0 { &mut self.can_restore } else { &mut self.other };
                *stored = stored.wrapping_sub(1) & LAST;
            }
            Windows::Restored => {
                self.can_restore = self.can_restore.wrapping_add(1) & LAST;
                if self.clean < LAST {
                    self.clean += 1;
                }
                let replaced = if self.other == 0 { &mut self.can_save } else { &mut self.other };
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
