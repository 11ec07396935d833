//! The state that all strands share.

use std::collections::BTreeMap;

use guest_abi::{Node, StrandId};
use platform::Machine;
use platform::interfaces::Interface;

use super::calls::{Call, CallObserver};
use super::console::Console;
use super::effects::{Effect, Observed};
use super::interfaces::Interfaces;
use super::log::Log;
use super::mailbox::{self, Mailbox};
use super::niagara::Niagara;
use super::physical::Physical;
use super::ptimer::Ptimer;
use super::stores::StoreBehaviour;
use super::tlb::CoreTlbs;
use crate::machine::clocks::Changes;

/// How many hypercalls have returned, by strand and status.
pub type Hypercalls = BTreeMap<(StrandId, u64), u64>;

/// Receives every access.
pub type Observer = Box<dyn FnMut(&Observed)>;

/// Returns `true` for an access at which the execution stops.
pub type Watch = Box<dyn Fn(&Observed) -> bool>;

pub(super) struct Shared {
    pub(super) machine: Machine,
    pub(super) niagara: Niagara,
    pub(super) physical: Physical,
    mailbox: Option<u64>,
    /// The address of the mailbox word that switches the machine off; `u64::MAX`, where there is no memory, if there is no
    /// mailbox.
    pub(super) power: u64,
    pub(super) cores: Vec<CoreTlbs>,
    pub(super) consoles: Vec<Console>,
    /// The address of the hypervisor's console; `None` if the hypervisor has no console.
    pub(super) log_address: Option<u64>,
    pub(super) hypervisor: Console,
    pub(super) log: Log,
    pub(super) effects: Vec<Effect>,
    pub(super) stores: StoreBehaviour,
    /// Whether stores wait until the caller completes them.
    pub(super) buffers: bool,
    pub(super) ptimer: Ptimer,
    /// The changes that a scenario has made to clocks so far.
    pub(super) clock_changes: Changes,
    /// For each node, one bit per strand: 1 if the strand is not parked.
    pub(super) running: [u64; Node::ALL.len()],
    pub(super) hypercalls: Hypercalls,
    /// The hypercalls that will not return, because the hypervisor continued elsewhere.
    pub(super) abandoned: Vec<Call>,
    pub(super) observer: Option<Observer>,
    pub(super) watch: Option<Watch>,
    /// Whether there is an observer or a watch.
    pub(super) observes: bool,
    pub(super) call_observer: Option<CallObserver>,
}

impl Clone for Shared {
    fn clone(&self) -> Self {
        Self {
            machine: self.machine,
            niagara: self.niagara,
            physical: self.physical.clone(),
            mailbox: self.mailbox,
            power: self.power,
            cores: self.cores.clone(),
            consoles: self.consoles.clone(),
            log_address: self.log_address,
            hypervisor: self.hypervisor.clone(),
            log: self.log.clone(),
            effects: self.effects.clone(),
            stores: self.stores,
            buffers: self.buffers,
            ptimer: self.ptimer.clone(),
            clock_changes: self.clock_changes.clone(),
            running: self.running,
            hypercalls: self.hypercalls.clone(),
            abandoned: self.abandoned.clone(),
            observer: None,
            watch: None,
            observes: false,
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
        interfaces: Interfaces,
    ) -> Self {
        let mailbox = interfaces.at(Interface::Mailbox);
        Self {
            machine,
            niagara,
            physical,
            mailbox,
            power: mailbox.map_or(u64::MAX, mailbox::power),
            cores: vec![CoreTlbs::new(); machine.strands() / StrandId::PER_CORE],
            consoles: vec![Console::default(); consoles],
            log_address: interfaces.at(Interface::Log),
            hypervisor: Console::default(),
            log: Log::default(),
            effects: Vec::new(),
            stores: StoreBehaviour::default(),
            buffers: false,
            ptimer: Ptimer::new(machine.strands()),
            clock_changes: Changes::default(),
            running: [0; Node::ALL.len()],
            hypercalls: Hypercalls::new(),
            abandoned: Vec::new(),
            observer: None,
            watch: None,
            observes: false,
            call_observer: None,
        }
    }

    /// Returns the mailbox; `None` if the hypervisor has none.
    pub(super) fn mailbox(&mut self) -> Option<Mailbox<'_>> {
        let address = self.mailbox?;
        Some(Mailbox { memory: &mut self.physical, address })
    }

    pub(super) fn called(&mut self, call: &Call) {
        let count = self.hypercalls.entry((call.strand, call.status));
        *count.or_default() += 1;
        if let Some(observer) = &mut self.call_observer {
            observer(call);
        }
    }
}
