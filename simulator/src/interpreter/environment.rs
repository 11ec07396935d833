//! Defines how a strand reaches memory and device registers.

use super::instruction::Instruction;
use super::trap::{Level, Trap};
use super::word::Word;

/// Where a strand accesses memory, and at which level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At<W = u64> {
    /// The address, which is a multiple of the access's size.
    pub address: W,
    /// The ASI. If two ASIs differ only in byte order, this is the big-endian one.
    pub space: u8,
    /// The privilege level of the software that performs the access.
    pub level: Level,
}

/// A register that belongs to a strand, but whose value the environment keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterRegister {
    /// %pcr selects the events that the strand's two counters count.
    Pcr,
    /// %pic holds the strand's two 32-bit counters.
    Pic,
    /// %tick counts the strand's cycles.
    Tick,
    /// %stick counts the ticks of the machine's clock.
    Stick,
    /// The strand status register, the UltraSPARC T1's %asr26. Only hyperprivileged software can access this register. A write of 0
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

    /// Changes a value in memory and returns the old value. No other strand accesses the memory in between.
    fn change(&mut self, at: At<W>, shift: u8, changed: impl FnOnce(W) -> W) -> Result<W, Trap> {
        let old = self.load(at, shift)?;
        self.store(at, shift, changed(old))?;
        Ok(old)
    }

    /// Reads a register whose value the environment keeps, for software at this level.
    fn read(&mut self, register: CounterRegister, level: Level) -> Result<W, Trap>;

    /// Writes a register whose value the environment keeps, for software at this level.
    fn write(&mut self, register: CounterRegister, value: W, level: Level) -> Result<(), Trap>;

    /// Executes a `membar`, whose mask has cmask in bits 6:4 and mmask in bits 3:0. Fails if one of the strand's earlier stores
    /// failed.
    fn membar(&mut self, _mask: u8) -> Result<(), Trap> {
        Ok(())
    }
}
