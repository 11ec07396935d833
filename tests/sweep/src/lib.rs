//! The contract sweep: calls, and changes of the machine between them, that a [`System`] serves.
//!
//! The tests on the host make them of the service beside the reference model, which compares every call. A guest in QEMU
//! makes them by real traps, and must get the same answers: it and the host each boil them down to one number
//! ([`digest`]) and, where that differs, [`tell`] more.
#![no_std]
#![forbid(unsafe_code)]

pub mod configuration;
pub mod control;
pub mod counters;
pub mod digest;
pub mod modelled;
pub mod parts;
pub mod state;
pub mod tell;

use guest_abi::{Hub, Node, PerfReg, StrandId, Trap};
use perfctr_service::Unit;

pub use configuration::Configuration;

/// Where calls go, and changes. It has just been switched on.
pub trait System {
    /// Makes a call from a strand of a guest: %o0 to %o5 before it; the same afterwards.
    fn call(&mut self, strand: StrandId, trap: Trap, registers: [u64; 6]) -> [u64; 6];

    /// Changes something.
    fn change(&mut self, change: Change);

    /// All that can be seen of the machine, in one number: see [`state`].
    fn state(&mut self) -> u64;
}

/// A change between calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The guest of this number starts again.
    Reset(usize),
    /// From now on a hub answers every access with "busy", or none.
    Busy(Hub, bool),
    /// From now on all devices of a unit fault.
    Break(Unit),
    /// From now on the L2 control registers of a node fault, from this bank (0 to 7) on.
    BreakBanks(Node, usize),
    /// All hardware works again, and every hub is free. What is out of service stays so.
    Repair,
    /// A unit returns to service.
    Return(Unit),
    /// All hardware works again, and every unit returns to service.
    Mend,
    /// The hardware puts a value into a register.
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
    /// Every one that the largest machine has.
    pub fn all() -> impl Iterator<Item = Self> {
        let banks = Node::ALL
            .iter()
            .flat_map(|node| (0..platform::address::L2_BANKS).map(|bank| Self::L2(*node, bank)));
        // Registers 0 and 1 are the strand's own, and the banks.
        banks.chain(PerfReg::all().skip(2).map(Self::Register))
    }
}

/// One part of the sweep: machines, and what is called on each.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// What it is about.
    pub name: &'static str,
    /// Configurations have numbers below this.
    pub limit: usize,
    /// The configuration of a number, if there is one.
    pub configuration: fn(usize) -> Option<Configuration>,
    /// What is called there.
    pub run: fn(usize, &Configuration, &mut dyn System),
}

impl Part {
    /// All configurations, and their numbers.
    pub fn configurations(&self) -> impl Iterator<Item = (usize, Configuration)> {
        let Self {
            limit,
            configuration,
            ..
        } = *self;
        (0..limit).filter_map(move |number| Some((number, configuration(number)?)))
    }
}
