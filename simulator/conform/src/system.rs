//! The machine under test, as the sweep sees it.

use guest_abi::{Hub, Node, PerfReg, StrandId, Trap};
use perfctr_service::Unit;

/// A machine that has just been switched on, with its guests. The sweep makes its calls on this machine.
pub trait System {
    /// Makes a call from a strand of a guest with %o0 to %o5 in `registers`. Returns %o0 to %o5 after the call.
    fn call(&mut self, strand: StrandId, trap: Trap, registers: [u64; 6]) -> [u64; 6];

    fn change(&mut self, change: Change);

    /// Returns a digest of the machine's visible state: see [`state`](crate::state).
    fn state(&mut self) -> u64;

    /// Returns a digest of all guests' statistics: see [`state::counts`](crate::state::counts).
    fn counts(&mut self) -> u64;
}

/// A change to the machine between two calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Resets the guest with this index.
    Reset(usize),
    /// Makes a hub answer "busy" to every access (`true`), or serve every access (`false`).
    Busy(Hub, bool),
    /// Makes all devices of a unit fault when they are accessed.
    Break(Unit),
    /// Makes a node's L2 control registers fault, from this bank (0 to 7) upward.
    BreakBanks(Node, usize),
    /// Repairs all hardware and frees every hub. Units that are out of service stay out of service.
    Repair,
    /// Returns a unit to service, as the operator does after a repair.
    Return(Unit),
    /// Repairs all hardware and returns every unit to service.
    Mend,
    /// Stores a value in a register, as the hardware does.
    Put(Cell, u64),
}

/// A device register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// The L2 control register of a node's bank (0 to 7).
    L2(Node, usize),
    /// A DRAM or hub register.
    Register(PerfReg),
}

impl Cell {
    /// Returns every device register of the largest machine.
    pub fn all() -> impl Iterator<Item = Self> {
        let banks = Node::ALL
            .iter()
            .flat_map(|node| (0..platform::address::L2_BANKS).map(|bank| Self::L2(*node, bank)));
        // Skips register 0, which is a strand's register, and register 1, which stands for all L2 banks of a node.
        banks.chain(PerfReg::ALL.into_iter().skip(2).map(Self::Register))
    }
}
