//! The contract sweep: calls to a [`System`], and changes to the machine between the calls.
//!
//! Tests on the host make the calls on the service and on the reference model, and compare every call. A guest in QEMU makes the calls
//! through real traps and must get the same results. Guest and host each reduce all results to one number ([`digest`]). If the numbers
//! differ, both can print more detail ([`tell`]). With `simulator::conform`, guests on a simulated machine make the calls on any hypervisor
//! image, and every call is compared with the model.
//!
//! With the feature `model`, the crate also contains the reference model (`oracle`), which is for the host.
#![cfg_attr(not(feature = "model"), no_std)]
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "a comment that repeats a name says nothing")]

#[cfg(feature = "model")]
pub mod assembler;
pub mod configuration;
pub mod control;
pub mod counters;
pub mod digest;
pub mod modelled;
#[cfg(feature = "model")]
pub mod oracle;
pub mod parts;
pub mod plain;
#[cfg(feature = "model")]
pub mod random;
pub mod state;
pub mod tell;
#[cfg(feature = "model")]
pub mod translated;

use guest_abi::{Hub, Node, PerfReg, StrandId, Trap};
use perfctr_service::Unit;

pub use configuration::Configuration;
use digest::{Event, Watched};

/// A machine that has just been switched on, with its guests. The sweep makes its calls on this machine.
pub trait System {
    /// Makes a call from a strand of a guest with %o0 to %o5 in `registers`. Returns %o0 to %o5 after the call.
    fn call(&mut self, strand: StrandId, trap: Trap, registers: [u64; 6]) -> [u64; 6];

    fn change(&mut self, change: Change);

    /// Returns a digest of the machine's visible state: see [`state`].
    fn state(&mut self) -> u64;

    /// Returns a digest of all guests' statistics: see [`state::counts`].
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

/// A part of the sweep: the machines, and the calls on each machine.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The part's name in messages.
    pub name: &'static str,
    /// All configuration numbers are below this limit.
    pub limit: usize,
    /// Returns configuration number `n`, or `None` if there is no such configuration.
    pub configuration: fn(usize) -> Option<Configuration>,
    /// Makes the calls on the configuration with this number.
    pub run: fn(usize, &Configuration, &mut dyn System),
}

impl Part {
    /// Returns all configurations, each with its number.
    pub fn configurations(&self) -> impl Iterator<Item = (usize, Configuration)> {
        let configuration = self.configuration;
        (0..self.limit).filter_map(move |number| Some((number, configuration(number)?)))
    }

    /// Makes the calls on the configuration with this number. Passes each result and, at the end, the statistics to `each`.
    pub fn watch(
        &self,
        number: usize,
        configuration: &Configuration,
        system: &mut dyn System,
        each: &mut dyn FnMut(&Event),
    ) {
        let mut watched = Watched { system, each };
        (self.run)(number, configuration, &mut watched);
        watched.counts();
    }
}
