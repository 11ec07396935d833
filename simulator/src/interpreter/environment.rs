//! Defines how a strand reaches memory and device registers.

use super::instruction::Instruction;
use super::trap::{Level, Trap};
use super::word::Word;

/// Where a strand accesses memory, and at which level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At<W = u64> {
    /// The address, a multiple of the size of the access.
    pub address: W,
    /// The ASI. For two ASIs that differ only in byte order, it is the big-endian ASI.
    pub space: u8,
    /// The privilege level of the software that performs the access.
    pub level: Level,
}

/// A register of a strand whose value the environment keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// %pcr selects the events that the strand's two counters count.
    Pcr,
    /// %pic holds the strand's two counters of 32 bits.
    Pic,
    /// %tick counts the cycles of the strand.
    Tick,
    /// %stick counts the ticks of the machine's clock.
    Stick,
    /// The strand status register, %asr26 of the UltraSPARC T1. Only hyperprivileged software can access this register. A write of 0
    /// halts the strand. *Assumed* for the UltraSPARC T2 Plus.
    Status,
}

/// Memory and registers outside a strand. Values are big-endian. A failed access returns a trap.
pub trait Environment<W: Word = u64> {
    /// Fetches the instruction at an address, for software at this level.
    fn fetch(&mut self, address: u64, level: Level) -> Result<Instruction, Trap>;

    /// Loads a value of `1 << shift` bytes.
    fn load(&mut self, at: At<W>, shift: u8) -> Result<W, Trap>;

    /// Stores the low `1 << shift` bytes of a value.
    fn store(&mut self, at: At<W>, shift: u8, value: W) -> Result<(), Trap>;

    /// Changes a value in memory and returns the old value. No other strand accesses the memory between the load and the store.
    fn change(&mut self, at: At<W>, shift: u8, changed: impl FnOnce(W) -> W) -> Result<W, Trap> {
        let old = self.load(at, shift)?;
        self.store(at, shift, changed(old))?;
        Ok(old)
    }

    /// Reads a register whose value the environment keeps, for software at this level.
    fn read(&mut self, register: Counting, level: Level) -> Result<W, Trap>;

    /// Writes a register whose value the environment keeps, for software at this level.
    fn write(&mut self, register: Counting, value: W, level: Level) -> Result<(), Trap>;

    /// Executes a `membar`, whose mask has cmask in bits 6:4 and mmask in bits 3:0. Fails if an earlier store of the strand failed.
    fn membar(&mut self, _mask: u8) -> Result<(), Trap> {
        Ok(())
    }
}
