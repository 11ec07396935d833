//! What all strands reach.

use std::collections::BTreeMap;

use guest_abi::{Node, StrandId};
use platform::Machine;

use super::calls::{Call, CallObserver};
use super::console::Console;
use super::log::Log;
use super::niagara::Niagara;
use super::physical::Physical;
use super::stores::StoreConduct;
use super::tlb::{self, Tlb};
use crate::interpreter::Level;
use crate::recording::Kind;

/// Hypercalls by strand and status.
pub type Hypercalls = BTreeMap<(StrandId, u64), u64>;

/// An access to memory or to a device, as an observer is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The strand.
    pub strand: StrandId,
    /// When its instruction began, in cycles from the start of the machine.
    pub time: u64,
    /// Who executes on it.
    pub level: Level,
    /// The physical address.
    pub physical: u64,
    /// How many bytes.
    pub size: u16,
    /// What was done: [`Kind::FetchOther`] for every fetch, and a load and a store for an atomic instruction.
    pub kind: Kind,
    /// The value of the bytes.
    pub value: u64,
}

/// Hears of every access.
pub type Observer = Box<dyn FnMut(&Observed)>;

/// What a strand does to others, which takes effect after its instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// An interrupt is on its way: to whom, when it arrives, and its vector.
    Interrupt(StrandId, u64, u8),
    /// The strands of a node that run from now on, a bit each.
    Run(Node, u64),
    /// The translation of a core has changed.
    Translation(usize),
    /// The machine is switched off.
    Off,
}

/// The translations of a core.
#[derive(Clone, Debug)]
pub(super) struct Core {
    pub(super) instructions: Tlb,
    pub(super) data: Tlb,
}

pub(super) struct Shared {
    pub(super) machine: Machine,
    pub(super) niagara: Niagara,
    pub(super) physical: Physical,
    pub(super) cores: Vec<Core>,
    pub(super) consoles: Vec<Console>,
    pub(super) log: Log,
    pub(super) orders: Vec<Order>,
    pub(super) stores: StoreConduct,
    /// The strands of each node that are not parked.
    pub(super) running: [u64; Node::ALL.len()],
    pub(super) hypercalls: Hypercalls,
    pub(super) observer: Option<Observer>,
    pub(super) call_observer: Option<CallObserver>,
}

impl Clone for Shared {
    fn clone(&self) -> Self {
        Self {
            machine: self.machine,
            niagara: self.niagara,
            physical: self.physical.clone(),
            cores: self.cores.clone(),
            consoles: self.consoles.clone(),
            log: self.log.clone(),
            orders: self.orders.clone(),
            stores: self.stores,
            running: self.running,
            hypercalls: self.hypercalls.clone(),
            observer: None,
            call_observer: None,
        }
    }
}

impl Shared {
    pub(super) fn new(
        machine: Machine,
        niagara: Niagara,
        physical: Physical,
        consoles: usize,
    ) -> Self {
        let core = Core { instructions: Tlb::new(tlb::INSTRUCTIONS), data: Tlb::new(tlb::DATA) };
        Self {
            machine,
            niagara,
            physical,
            cores: vec![core; machine.strands() / StrandId::PER_CORE],
            consoles: vec![Console::default(); consoles],
            log: Log::default(),
            orders: Vec::new(),
            stores: StoreConduct::default(),
            running: [0; Node::ALL.len()],
            hypercalls: Hypercalls::new(),
            observer: None,
            call_observer: None,
        }
    }

    /// Counts a call that has returned.
    pub(super) fn called(&mut self, call: &Call) {
        let count = self.hypercalls.entry((call.strand, call.status));
        *count.or_default() += 1;
        if let Some(observer) = &mut self.call_observer {
            observer(call);
        }
    }
}
