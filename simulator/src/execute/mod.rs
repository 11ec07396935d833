//! A machine that executes instructions: the strands, memory, devices and consoles of a T5440 or a smaller machine.
//!
//! An [`Execution`] executes the software that was [loaded](Execution::load) into its memory: a hypervisor, which starts at the reset
//! vector on strand 0, and its guests. [`crate::interpreter`] executes the instructions of each strand. If there is a [memory
//! system](crate::memory), fetches, loads and stores go through it, so that the devices' counters count what the software does.
//!
//! # What software sees
//! - RAM, ROM and consoles are at the addresses of [`map`]. L2 control registers, DRAM channels and hubs are at the addresses of
//!   [`platform::address`]. At any other address, a load traps with data_access_error, and a store with store_error.
//! - At reset, strand 0 runs and all other strands are parked (*assumed* for machines with several nodes). A strand also begins at the
//!   reset vector when another strand starts it. The registers of ASI_CMP, which start and park strands, have a bit for each strand of the
//!   node.
//! - Hyperprivileged software uses physical addresses. All other software uses real addresses. The hypervisor loads the translations of
//!   real addresses into the TLBs of each core, which have 64 entries for instructions and 128 for data. An address without a translation
//!   traps with instruction_real_translation_miss or data_real_translation_miss. Virtual addresses are not modelled.
//! - An interrupt from one strand to another (ASI 0x72 to 0x74, as on the UltraSPARC T2) takes dozens of cycles to arrive.
//! - Some registers in alternate spaces have no effect in this machine. A load from such a register returns the value last stored. The
//!   [`log`] has the first load from each such register, and the first store to it.
//! - A store to a device completes late, in order with the strand's other stores to devices. `membar #Sync` waits for these stores, and a
//!   load waits for the strand's stores to the same device. A store that fails traps with store_error.
//! - Stores to memory complete immediately, unless the caller makes them [wait](Execution::set_store_buffers).
//! - A strand that writes 0 to its strand status register halts until an interrupt is pending for it.
//! - %tick and %stick count cycles. A timer matches when its register counts up to the compare value, but not when software sets the
//!   register past that value.
//! - The [PTIMER](platform::memory_map::ptimer) sends its alarm interrupt in the cycle in which the comparator matches.
//! - Clocks can [go wrong](Execution::change_clock).
//!
//! # Time
//! Every strand has its own time. The strand with the earliest time executes the next instruction (see [`crate::replay::scheduler`]).
//! Without a memory system, a strand's turn has at least 16 cycles, so the strand may be up to 15 cycles ahead of others. All effects of an
//! instruction happen at the same time. The result depends only on the software, and on the input and the operator's steps with their
//! times. Interrupting and continuing the execution does not change the result.

mod buffered_access;
pub mod buffers;
pub mod calls;
mod console;
mod cost;
mod effects;
mod executing;
mod interfaces;
mod interrupts;
pub mod log;
pub mod mailbox;
pub mod map;
mod niagara;
mod physical;
mod ptimer;
mod reach;
pub mod recorded;
pub mod records;
pub mod results;
mod running;
mod setup;
mod shared;
mod spaces;
mod stop;
mod stores;
mod strand;
mod ticks;
mod tlb;

use std::collections::BTreeSet;

use guest_abi::StrandId;
use hv_core::trace::remote::{HEARTBEAT_INTERRUPT, Memory};
use perfctr_service::mailbox::Step;
use platform::Machine;
use platform::models::Devices;

use crate::interpreter::Strand;
use crate::machine::clocks::{Change, Clock};
use crate::memory::{AnyMemory, Truth, Usage};
use crate::operator::{Answer, OperatedMachine};
use crate::setters::opaque;
use buffers::{BufferedStore, StoreBuffer, Target};
use calls::{Call, CallObserver, PendingCall};
use cost::Plain;
pub use effects::Observed;
pub use interfaces::{InterfaceError, Interfaces};
use log::Log;
use mailbox::{GuestState, OperateError};
use niagara::Niagara;
pub use physical::NoMemoryAt;
use physical::Physical;
use running::Running;
pub use setup::{Setup, SetupError};
pub use shared::{Hypercalls, Observer, Watch};
pub use stop::{Limits, Stop};
pub use stores::{StoreBehaviour, StoreLatency};
pub use strand::{Counts, State};

/// An executing machine. Methods panic if the machine does not have the given strand. A clone has no observers.
#[derive(Clone)]
pub struct Execution {
    devices: Box<Devices>,
    memory: Option<Box<AnyMemory>>,
    plain: Plain,
    running: Running,
}

/// Runs the same code with any memory system, or without one.
macro_rules! with_cost {
    ($execution:expr, $running:ident, $devices:ident, $cost:ident => $does:expr) => {{
        let Execution { devices: $devices, memory, plain, running: $running } = $execution;
        match memory.as_deref_mut() {
            None => {
                let $cost = &mut plain.work($devices);
                $does
            }
            Some(AnyMemory::T2Plus(memory)) => {
                let $cost = &mut memory.work($devices);
                $does
            }
            Some(AnyMemory::Other(memory)) => {
                let $cost = &mut memory.work($devices);
                $does
            }
        }
    }};
}

opaque!(Execution, "Execution");

impl Memory for Execution {
    fn load(&self, address: u64) -> Option<u64> {
        self.running.shared.physical.peek(address)
    }
}

impl Execution {
    /// Returns a machine after power-on. Its memory is all zeros.
    ///
    /// # Errors
    /// No machine can have this setup.
    pub fn new(setup: &Setup) -> Result<Self, SetupError> {
        let Setup { machine, partition, consoles, niagara, interfaces, .. } = *setup;
        if partition % physical::PAGE as u64 != 0 || partition > 1 << 38 {
            return Err(SetupError::Partition(partition));
        }
        if consoles > 256 {
            return Err(SetupError::Consoles(consoles));
        }
        let memory = match &setup.memory {
            Some(config) => Some(Box::new(AnyMemory::new(&machine, config)?)),
            None => None,
        };
        let physical = Physical::new([
            map::PARTITION..map::PARTITION + partition,
            map::HYPERVISOR,
            map::ROM,
            map::DESCRIPTION,
        ]);
        let shared = shared::Shared::new(machine, Niagara(niagara), physical, consoles, interfaces);
        Ok(Self {
            devices: Box::new(Devices::new(machine)),
            memory,
            plain: Plain::new(machine.strands()),
            running: Running::new(shared),
        })
    }

    /// Writes bytes to memory.
    ///
    /// # Errors
    /// An address has no memory. The bytes before this address are written.
    pub fn load(&mut self, physical: u64, bytes: &[u8]) -> Result<(), NoMemoryAt> {
        self.running.shared.physical.load(physical, bytes)
    }

    /// Reads bytes from memory.
    ///
    /// # Errors
    /// An address has no memory. The bytes before this address are read.
    pub fn read(&mut self, physical: u64, bytes: &mut [u8]) -> Result<(), NoMemoryAt> {
        self.running.shared.physical.dump(physical, bytes)
    }

    /// Executes until the machine reaches a limit or stops for another reason. Afterwards, the counters are up to date.
    pub fn run(&mut self, limits: Limits) -> Stop {
        let stop = with_cost!(self, running, devices, cost => running.run(devices, cost, limits));
        self.stray().unwrap_or(stop)
    }

    fn stray(&mut self) -> Option<Stop> {
        self.memory.as_deref_mut()?.stray().map(Stop::Stray)
    }

    /// Returns the memory pages that have been used, each with its physical address.
    pub fn pages(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.running.shared.physical.pages().into_iter()
    }

    /// If the strand's latest read of DFESR (the deferred error status register) reported a failed store, returns that store's physical
    /// address. Otherwise returns `None`.
    #[must_use]
    pub fn reported_store(&self, strand: StrandId) -> Option<u64> {
        self.running.strands[strand.index()].local.reported.map(|store| store.address)
    }

    /// Lets a strand execute one instruction or take a trap, even if another strand has an earlier time. Tests use this to try all orders
    /// of instructions. Returns `None` if the strand executes nothing: it is parked or in the error state, or it is halted and nothing that
    /// may wake it is due.
    pub fn step(&mut self, strand: StrandId) -> Option<Stop> {
        let stop = with_cost!(self, running, devices, cost => running.step(devices, cost, strand))?;
        Some(self.stray().unwrap_or(stop))
    }

    /// Sets how stores to devices behave, starting with the next store.
    pub fn set_stores(&mut self, conduct: StoreBehaviour) {
        self.running.shared.stores = conduct;
    }

    /// If `on` is set, makes each strand's stores wait until [`complete_store`](Self::complete_store) completes them (see [`buffers`]).
    /// Tests use this to try all orders of stores. If `on` is not set, completes all waiting stores, and later stores to memory complete
    /// immediately, as they do by default.
    pub fn set_store_buffers(&mut self, on: bool) {
        with_cost!(self, running, devices, cost => running.set_store_buffers(devices, cost, on));
    }

    /// Completes and returns a strand's oldest store to memory or to devices; `None` if no store waits.
    pub fn complete_store(&mut self, strand: StrandId, target: Target) -> Option<BufferedStore> {
        with_cost!(self, running, devices, cost => running.complete(devices, cost, strand, target))
    }

    /// Returns a strand's waiting stores.
    #[must_use]
    pub fn store_buffer(&self, strand: StrandId) -> &StoreBuffer {
        &self.running.strands[strand.index()].local.waiting
    }

    /// Returns a strand's waiting stores for the caller to change. Even without store buffers, added stores complete only when the caller
    /// completes them.
    pub fn store_buffer_mut(&mut self, strand: StrandId) -> &mut StoreBuffer {
        &mut self.running.strands[strand.index()].local.waiting
    }

    /// Returns the time of the earliest turn of any strand. If no strand has a turn, returns the time of the latest instruction. Times are
    /// in cycles since the machine started.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.running.now()
    }

    #[allow(missing_docs, reason = "its name says it")]
    #[must_use]
    pub fn machine(&self) -> Machine {
        self.devices.machine()
    }

    /// Returns the bytes that the software has sent to a console since the previous call; nothing if there is no such console.
    pub fn console(&mut self, number: usize) -> Vec<u8> {
        let console = self.running.shared.consoles.get_mut(number);
        console.map(console::Console::take).unwrap_or_default()
    }

    /// Returns the bytes that the hypervisor has sent to its own console since the previous call; nothing if the hypervisor has no console.
    pub fn hypervisor_console(&mut self) -> Vec<u8> {
        self.running.shared.hypervisor.take()
    }

    /// Returns the number of messages that the hypervisor has omitted from its log. The hypervisor counts them in the mailbox.
    pub fn omitted_messages(&mut self) -> u64 {
        self.running.shared.mailbox().map_or(0, |mut mailbox| mailbox.omitted_messages())
    }

    /// Sends bytes from a console to the software. The bytes are lost if there is no such console.
    pub fn input(&mut self, number: usize, bytes: &[u8]) {
        if let Some(console) = self.running.shared.consoles.get_mut(number) {
            console.put(bytes);
        }
    }

    /// Returns the hypervisor's latest failure records, oldest first, and the total number of records.
    pub fn failures(&mut self) -> (Vec<records::Failure>, u64) {
        let mailbox = self.running.shared.mailbox();
        mailbox.map_or_else(Default::default, |mut mailbox| records::failures(&mut mailbox))
    }

    /// Returns a strand's state: the registers that its instructions read and write.
    #[must_use]
    pub fn strand(&self, strand: StrandId) -> &Strand {
        &self.running.strands[strand.index()].strand
    }

    /// Returns a strand's state for the caller to change: the registers that its instructions read and write.
    pub fn strand_mut(&mut self, strand: StrandId) -> &mut Strand {
        &mut self.running.strands[strand.index()].strand
    }

    /// Returns whether a strand is running, parked, halted or in the error state.
    #[must_use]
    pub fn state(&self, strand: StrandId) -> State {
        self.running.strands[strand.index()].local.state
    }

    /// Returns how many instructions and traps a strand has executed, and how many cycles they took.
    #[must_use]
    pub fn counts(&self, strand: StrandId) -> Counts {
        self.running.strands[strand.index()].local.counts
    }

    /// Translates an address as the strand would at this moment; `None` if the address has no translation.
    #[must_use]
    pub fn physical(&self, strand: StrandId, address: u64) -> Option<u64> {
        self.running.physical(strand, address)
    }

    /// Gives an operator's step to the hypervisor, which performs the step on the strand `on`.
    ///
    /// # Errors
    /// The hypervisor has not carried out the previous step, or has no mailbox.
    pub fn operate(&mut self, on: StrandId, step: &Step) -> Result<(), OperateError> {
        let mailbox = self.running.shared.mailbox();
        mailbox.ok_or(OperateError::NoMailbox)?.put(step)?;
        self.running.interrupt(on, mailbox::VECTOR);
        Ok(())
    }

    /// Asks a strand to record a heartbeat, by sending it the [interrupt](HEARTBEAT_INTERRUPT).
    pub fn heartbeat(&mut self, strand: StrandId) {
        self.running.interrupt(strand, HEARTBEAT_INTERRUPT);
    }

    /// Sends a strand an interrupt with this vector, which must be less than 64. The interrupt arrives immediately.
    pub fn interrupt(&mut self, strand: StrandId, vector: u8) {
        self.running.interrupt(strand, vector);
    }

    /// Makes a strand take the trap for a failed store to a device before its next instruction, as if one of its earlier stores to this
    /// physical address had failed now. The device itself still works.
    pub fn fail_store(&mut self, strand: StrandId, physical: u64) {
        self.running.fail_store(strand, physical);
    }

    /// Takes the hypervisor's answer to the operator's step; `None` until the step is done.
    pub fn operated(&mut self) -> Option<Answer> {
        self.running.shared.mailbox()?.take()
    }

    /// Parks a strand before its next instruction, as another strand could.
    pub fn park(&mut self, strand: StrandId) {
        self.running.park(strand);
    }

    /// Makes a clock deviate from the true time, or ends its deviation. If the execution has stopped at its cycle limit, the change happens
    /// at this limit. Otherwise the change happens at the time of the next instruction ([`now`](Self::now)). A timer does not match a value
    /// that its clock jumps over.
    pub fn change_clock(&mut self, clock: Clock, change: Change) {
        self.running.change_clock(clock, change);
    }

    /// Returns a guest's state, as the hypervisor reports it in the mailbox.
    pub fn guest(&mut self, guest: usize) -> GuestState {
        let mailbox = self.running.shared.mailbox();
        mailbox.map_or(GuestState::Unknown, |mut mailbox| mailbox.guest(guest))
    }

    /// Returns the true counts of all events in the memory system; `None` without a memory system.
    #[must_use]
    pub fn truth(&self) -> Option<&Truth> {
        self.memory.as_deref().map(AnyMemory::truth)
    }

    /// Returns how busy channels, hubs and links were; `None` without a memory system.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.memory.as_deref().map(AnyMemory::usage)
    }

    #[allow(missing_docs, reason = "its name says it")]
    #[must_use]
    pub fn devices(&self) -> &Devices {
        &self.devices
    }

    /// Returns how many hypercalls (software traps 0x80 and 0xff) have returned, by strand and status.
    #[must_use]
    pub fn hypercalls(&self) -> &Hypercalls {
        &self.running.shared.hypercalls
    }

    /// Returns the log of software actions that this machine does not fully model.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.running.shared.log
    }

    /// Sets the function that is called for every access. It replaces the previous function.
    pub fn observe(&mut self, observer: Option<Observer>) {
        let shared = &mut self.running.shared;
        shared.observes = observer.is_some() || shared.watch.is_some();
        shared.observer = observer;
    }

    /// Sets the function that selects the accesses at which the execution stops. It replaces the previous function.
    pub fn watch(&mut self, watch: Option<Watch>) {
        let shared = &mut self.running.shared;
        shared.observes = watch.is_some() || shared.observer.is_some();
        shared.watch = watch;
    }

    /// Sets the function that is called for every hypercall that returns. It replaces the previous function.
    pub fn observe_calls(&mut self, observer: Option<CallObserver>) {
        self.running.shared.call_observer = observer;
    }

    /// Returns the hypercalls that have not returned. Some are in progress. The others never return, because the hypervisor continued
    /// elsewhere, as after mach_exit. Each strand's calls are in the order in which they began.
    pub fn unreturned(&self) -> impl Iterator<Item = Call> {
        let strands = self.running.strands.iter();
        let in_progress = strands.filter_map(|strand| strand.pending_call.as_ref());
        let left = self.running.shared.abandoned.iter().copied();
        left.chain(in_progress.map(PendingCall::unreturned))
    }

    /// Returns the breakpoints for the caller to change. A breakpoint is an instruction's address before translation, and execution stops
    /// before that instruction.
    pub fn breakpoints(&mut self) -> &mut BTreeSet<u64> {
        &mut self.running.breakpoints
    }
}

/// The operator reaches the machine's hypervisor through the mailbox.
impl OperatedMachine for Execution {
    fn devices(&self) -> &Devices {
        self.devices()
    }

    fn ask(&mut self, on: StrandId, request: &Step) -> Result<(), String> {
        self.operate(on, request).map_err(|error| error.to_string())
    }

    fn answer(&mut self) -> Option<Answer> {
        self.operated()
    }

    fn stop(&mut self, strand: StrandId) {
        self.park(strand);
    }

    fn change_clock(&mut self, clock: Clock, change: Change) -> Result<(), String> {
        Self::change_clock(self, clock, change);
        Ok(())
    }
}
