//! The contract sweep: calls to a [`System`], and changes of the machine between them.
//!
//! Tests on the host make them on the service and on the reference model, and compare every call. A guest in QEMU makes them
//! by real traps, and must get the same results: the guest and the host each reduce all results to one number ([`digest`])
//! and, where the numbers differ, print more ([`tell`]).
#![no_std]
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "a comment that repeats a name says nothing, and only tests use this crate"
)]

pub mod configuration;
pub mod control;
pub mod counters;
pub mod digest;
pub mod modelled;
pub mod parts;
pub mod plain;
pub mod state;
pub mod tell;

use guest_abi::{Hub, Node, PerfReg, StrandId, Trap};
use perfctr_service::Unit;

pub use configuration::Configuration;
use digest::{Event, Watched};

/// A machine with guests, which has just been switched on.
pub trait System {
    /// Makes a call from a strand of a guest with %o0 to %o5 in `registers`. Returns %o0 to %o5 afterwards.
    fn call(&mut self, strand: StrandId, trap: Trap, registers: [u64; 6]) -> [u64; 6];

    fn change(&mut self, change: Change);

    /// Returns a digest of the visible state of the machine: see [`state`].
    fn state(&mut self) -> u64;

    /// Returns a digest of the statistics of all guests: see [`state::counts`].
    fn counts(&mut self) -> u64;
}

/// A change between calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Resets the guest of this number.
    Reset(usize),
    /// From now on a hub answers every access with "busy" (`true`) or serves every access (`false`).
    Busy(Hub, bool),
    /// From now on all devices of a unit fault.
    Break(Unit),
    /// From now on the L2 control registers of a node fault in this bank (0 to 7) and all higher ones.
    BreakBanks(Node, usize),
    /// All hardware works again, and every hub is free. Units that are out of service stay so.
    Repair,
    /// Returns a unit to service.
    Return(Unit),
    /// Repairs all hardware and returns every unit to service.
    Mend,
    /// Puts a value into a register, as the hardware does.
    Put(Cell, u64),
}

/// A device register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// The L2 control register of a node's bank, 0 to 7.
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
        // Register 0 is the strand's own, and register 1 stands for the banks.
        banks.chain(PerfReg::all().skip(2).map(Self::Register))
    }
}

/// A part of the sweep: machines, and the calls on each.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The name in messages.
    pub name: &'static str,
    /// The numbers of configurations are below this.
    pub limit: usize,
    /// Returns the configuration of a number; `None` if there is none.
    pub configuration: fn(usize) -> Option<Configuration>,
    /// Makes the calls on the configuration of a number.
    pub run: fn(usize, &Configuration, &mut dyn System),
}

impl Part {
    /// Returns all configurations with their numbers.
    pub fn configurations(&self) -> impl Iterator<Item = (usize, Configuration)> {
        let configuration = self.configuration;
        (0..self.limit).filter_map(move |number| Some((number, configuration(number)?)))
    }

    /// Makes the calls on the configuration of a number, and gives each result to `each`; last the statistics.
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
