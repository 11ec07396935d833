//! What a strand reaches beyond its registers.

use super::control::Level;
use super::instruction::Instruction;
use super::trap::Trap;

/// Where a strand accesses memory. The address is a multiple of the access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The address.
    pub address: u64,
    /// The number of the space, that in big-endian order of two.
    pub space: u8,
    /// Who accesses it.
    pub level: Level,
}

/// A register that a strand has, and that something else keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// %pcr.
    Pcr,
    /// %pic.
    Pic,
    /// %tick.
    Tick,
    /// %stick.
    Stick,
    /// The strand status register, %asr26 of the UltraSPARC T1: hyperprivileged. A write of 0 halts the strand. *Assumed* for the
    /// UltraSPARC T2 Plus.
    Status,
}

/// What a strand reaches beyond its registers. Values are as memory in big-endian order has them.
pub trait Environment {
    /// Returns the instruction at an address.
    ///
    /// # Errors
    /// The trap, where there is none.
    fn fetch(&mut self, address: u64, level: Level) -> Result<Instruction, Trap>;

    /// Returns the value of `1 << shift` bytes.
    ///
    /// # Errors
    /// The trap, where nothing can be loaded.
    fn load(&mut self, at: At, shift: u8) -> Result<u64, Trap>;

    /// Writes a value, of which the low `1 << shift` bytes count.
    ///
    /// # Errors
    /// The trap, where nothing can be stored.
    fn store(&mut self, at: At, shift: u8, value: u64) -> Result<(), Trap>;

    /// Changes a value in one step, and returns what it was. No other strand comes between its load and its store.
    ///
    /// # Errors
    /// The trap, where that cannot be done.
    fn change(&mut self, at: At, shift: u8, changed: impl FnOnce(u64) -> u64) -> Result<u64, Trap> {
        let old = self.load(at, shift)?;
        self.store(at, shift, changed(old))?;
        Ok(old)
    }

    /// Returns the value of a register.
    ///
    /// # Errors
    /// The trap, if software of this level cannot read it.
    fn read(&mut self, register: Counting, level: Level) -> Result<u64, Trap>;

    /// Writes a register.
    ///
    /// # Errors
    /// The trap, if software of this level cannot write it.
    fn write(&mut self, register: Counting, value: u64, level: Level) -> Result<(), Trap>;

    /// Executes a `membar`: bits 6 to 4 of the mask are cmask, 3 to 0 mmask.
    ///
    /// # Errors
    /// A store that the strand has made before has failed.
    fn membar(&mut self, _mask: u8) -> Result<(), Trap> {
        Ok(())
    }
}
