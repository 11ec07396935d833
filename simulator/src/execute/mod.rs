//! A machine that executes: strands, memory, devices and consoles of a T5440 or a smaller machine.
//!
//! An [`Execution`] executes the software that was [loaded](Execution::load) into its memory: a hypervisor, which starts at the reset
//! vector on strand 0, and its guests. [`crate::interpreter`] executes the instructions of each strand. Each fetch, load and store goes
//! through the [memory system](crate::memory), if there is one, so that the counters of the devices count what the software does.
//!
//! # What software sees
//! - RAM, ROM and consoles are at the addresses of [`map`]; L2 control registers, DRAM channels and hubs at the addresses of
//!   [`platform::address`]. Elsewhere nothing answers: a load traps with data_access_error, a store with store_error.
//! - At reset strand 0 runs, and all others are parked (*assumed* of machines with several nodes). A strand that another strand
//!   starts begins at the reset vector, too. The registers of ASI_CMP have a bit for each strand of the node.
//! - Hyperprivileged software uses physical addresses. All other software uses real addresses: the hypervisor loads translations, of
//!   which each core holds 64 for instructions and 128 for data. An address that no translation matches traps with
//!   instruction_real_translation_miss or data_real_translation_miss. Virtual addresses are not modelled.
//! - An interrupt from one strand to another (ASI 0x72 to 0x74, as on the UltraSPARC T2) arrives dozens of cycles later.
//! - Registers in alternate spaces that have no effect here read what was written, and the first access to each is in the [`log`].
//! - A store to a device completes late, in order with the other stores of its strand. `membar #Sync` waits for these stores, and a
//!   load waits for the stores to the same device. A store that fails traps with store_error.
//! - A write of 0 to the strand status register halts the strand until an interrupt is pending for it.
//! - %tick and %stick count cycles.
//!
//! # Time
//! Every strand has a time of its own. The strand that is earliest executes its next instruction, as [`crate::replay::scheduler`] says.
//! Without a memory system it goes on for at least 16 cycles, so that its time may be up to 15 cycles ahead of what others have
//! done. All effects of an instruction happen at once. The same software, input and operator's steps at the same times give the same
//! result, however often an execution is interrupted.

pub mod calls;
mod console;
mod cost;
mod executing;
mod interrupts;
pub mod log;
pub mod mailbox;
pub mod map;
mod niagara;
mod physical;
mod reach;
pub mod results;
mod running;
mod shared;
mod spaces;
mod stores;
mod strand;
mod tlb;

use std::collections::BTreeSet;

use guest_abi::StrandId;
use perfctr_service::mailbox::Step;
use platform::Machine;
use platform::models::Devices;

use crate::interpreter::{ErrorState, Strand};
use crate::memory::{AnyMemory, Config, MemoryError, Truth, Usage};
use crate::operator::{Answer, Operated};
use calls::CallObserver;
use cost::Plain;
use log::Log;
use mailbox::{GuestState, StepBefore};
use niagara::Niagara;
pub use physical::NoMemoryAt;
use physical::Physical;
use running::Running;
pub use shared::{Hypercalls, Observed, Observer, Watch};
pub use strand::{Counts, State};

/// The parts of a machine that executes.
#[derive(Clone, Debug)]
pub struct Setup {
    #[allow(missing_docs, reason = "its name says it")]
    pub machine: Machine,
    /// Without a memory system each instruction takes a cycle.
    pub memory: Option<Config>,
    /// The size of the guests' memory in bytes: a multiple of 8 KB, at most 256 GB.
    pub partition: u64,
    /// The number of consoles: at most 256.
    pub consoles: usize,
    /// Behaves like QEMU's machine `niagara` as far as the project's images use it, with one strand: no devices and no translation;
    /// %tick counts 102.4 per instruction.
    pub niagara: bool,
}

impl Setup {
    /// Returns a machine without a memory system, with 128 MB for guests and 16 consoles.
    #[must_use]
    pub const fn new(machine: Machine) -> Self {
        Self { machine, memory: None, partition: 128 << 20, consoles: 16, niagara: false }
    }
}

/// Why a setup is impossible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum SetupError {
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error("the memory of guests has a multiple of 8 KB, at most 256 GB, not {0} bytes")]
    Partition(u64),
    #[error("there are at most 256 consoles, not {0}")]
    Consoles(usize),
}

/// How far [`Execution::run`] goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most instructions and traps of all strands together.
    pub instructions: u64,
    /// No instruction begins at this time or later, in cycles from the start of the machine.
    pub cycles: u64,
}

impl Limits {
    /// The machine executes until something stops it.
    pub const NONE: Self = Self { instructions: u64::MAX, cycles: u64::MAX };

    /// Limits the instructions of all strands together.
    #[must_use]
    pub const fn instructions(instructions: u64) -> Self {
        Self { instructions, ..Self::NONE }
    }
}

/// Why an execution has stopped. It can go on, with the same outcome as if it had not stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A limit is reached.
    Limit,
    /// All strands are parked, or halted with nothing that would wake them.
    Ended,
    /// The hypervisor has switched the machine off.
    Off,
    /// A strand has trapped at its highest trap level, and executes nothing more.
    #[allow(missing_docs, reason = "the names say it")]
    ErrorState { strand: StrandId, state: ErrorState },
    /// The next instruction of a strand is at a breakpoint.
    Breakpoint(StrandId),
    /// An instruction has made this access, which is [watched](Execution::watch).
    Watched(Observed),
}

/// A machine that executes. A method that takes a strand panics if the machine does not have it.
pub struct Execution {
    devices: Box<Devices>,
    memory: Option<Box<AnyMemory>>,
    plain: Plain,
    running: Running,
}

/// Does the same with either kind of memory system, or without one.
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

impl Execution {
    /// Returns a machine that has been switched on. Its memory is zero.
    ///
    /// # Errors
    /// The setup is impossible.
    pub fn new(setup: &Setup) -> Result<Self, SetupError> {
        let Setup { machine, partition, consoles, niagara, .. } = *setup;
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
        let shared = shared::Shared::new(machine, Niagara(niagara), physical, consoles);
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
    /// No memory is at one of the addresses: the bytes before it are written.
    pub fn load(&mut self, physical: u64, bytes: &[u8]) -> Result<(), NoMemoryAt> {
        self.running.shared.physical.load(physical, bytes)
    }

    /// Reads bytes of memory.
    ///
    /// # Errors
    /// No memory is at one of the addresses: the bytes before it are read.
    pub fn read(&mut self, physical: u64, bytes: &mut [u8]) -> Result<(), NoMemoryAt> {
        self.running.shared.physical.dump(physical, bytes)
    }

    /// Executes until a limit, or until something stops the machine. The counters are up to date then.
    pub fn run(&mut self, limits: Limits) -> Stop {
        with_cost!(self, running, devices, cost => running.run(devices, cost, limits))
    }

    /// Executes one instruction of a strand, or lets it take a trap, even if another strand is earlier: for tests that try every order
    /// of what strands do. Returns `None` if the strand is not running.
    pub fn step(&mut self, strand: StrandId) -> Option<Stop> {
        with_cost!(self, running, devices, cost => running.step(devices, cost, strand))
    }

    /// Returns the time of the earliest strand, in cycles from the start of the machine.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.running.now()
    }

    #[allow(missing_docs, reason = "its name says it")]
    #[must_use]
    pub fn machine(&self) -> Machine {
        self.devices.machine()
    }

    /// Returns what the software has sent to a console since the last call; nothing if there is no such console.
    pub fn console(&mut self, number: usize) -> Vec<u8> {
        let console = self.running.shared.consoles.get_mut(number);
        console.map(console::Console::take).unwrap_or_default()
    }

    /// Sends bytes from a console to the software. They are lost if there is no such console.
    pub fn input(&mut self, number: usize, bytes: &[u8]) {
        if let Some(console) = self.running.shared.consoles.get_mut(number) {
            console.put(bytes);
        }
    }

    /// Returns the registers of a strand.
    #[must_use]
    pub fn strand(&self, strand: StrandId) -> &Strand {
        &self.running.strands[strand.index()].strand
    }

    /// As [`strand`](Self::strand).
    pub fn strand_mut(&mut self, strand: StrandId) -> &mut Strand {
        &mut self.running.strands[strand.index()].strand
    }

    /// Returns whether a strand executes.
    #[must_use]
    pub fn state(&self, strand: StrandId) -> State {
        self.running.strands[strand.index()].local.state
    }

    /// Returns what a strand has executed.
    #[must_use]
    pub fn counts(&self, strand: StrandId) -> Counts {
        self.running.strands[strand.index()].local.counts
    }

    /// Returns the physical address of an address as a strand uses it now; `None` if it has no translation.
    #[must_use]
    pub fn physical(&self, strand: StrandId, address: u64) -> Option<u64> {
        self.running.physical(strand, address)
    }

    /// Hands a step of the operator to the hypervisor, which does it on the strand `on`.
    ///
    /// # Errors
    /// The hypervisor has not done the previous step.
    pub fn operate(&mut self, on: StrandId, step: &Step) -> Result<(), StepBefore> {
        mailbox::put(&mut self.running.shared.physical, step)?;
        self.running.interrupt(on, mailbox::VECTOR);
        Ok(())
    }

    /// Returns the hypervisor's answer once it has done the step: what it saw, if the step was a look. The next step can be given then.
    pub fn operated(&mut self) -> Option<Answer> {
        mailbox::take(&mut self.running.shared.physical)
    }

    /// Stops a strand before its next instruction, as if another had parked it.
    pub fn park(&mut self, strand: StrandId) {
        self.running.park(strand);
    }

    /// Returns the state of a guest, as the hypervisor reports it in the mailbox.
    pub fn guest(&mut self, guest: usize) -> GuestState {
        mailbox::guest(&mut self.running.shared.physical, guest)
    }

    /// Returns what happened in the memory system; `None` if there is none.
    #[must_use]
    pub fn truth(&self) -> Option<&Truth> {
        self.memory.as_deref().map(AnyMemory::truth)
    }

    /// Returns how channels, hubs and links were used; `None` if there is no memory system.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.memory.as_deref().map(AnyMemory::usage)
    }

    #[allow(missing_docs, reason = "its name says it")]
    #[must_use]
    pub fn devices(&self) -> &Devices {
        &self.devices
    }

    /// Returns the numbers of hypercalls (software traps 0x80 and 0xff) that have returned.
    #[must_use]
    pub fn hypercalls(&self) -> &Hypercalls {
        &self.running.shared.hypercalls
    }

    /// Returns what software did that this machine does not fully model.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.running.shared.log
    }

    /// Calls an observer at every access from now on, instead of the previous observer.
    pub fn observe(&mut self, observer: Option<Observer>) {
        let shared = &mut self.running.shared;
        shared.observes = observer.is_some() || shared.watch.is_some();
        shared.observer = observer;
    }

    /// Stops at the accesses that this function chooses from now on, instead of the previous function.
    pub fn watch(&mut self, watch: Option<Watch>) {
        let shared = &mut self.running.shared;
        shared.observes = watch.is_some() || shared.observer.is_some();
        shared.watch = watch;
    }

    /// Calls an observer at every return of a hypercall from now on, instead of the previous observer.
    pub fn observe_calls(&mut self, observer: Option<CallObserver>) {
        self.running.shared.call_observer = observer;
    }

    /// Returns the addresses of instructions, as their strands address them, at which the execution stops.
    pub fn breakpoints(&mut self) -> &mut BTreeSet<u64> {
        &mut self.running.breakpoints
    }
}

/// The operator reaches the executing hypervisor through its mailbox.
impl Operated for Execution {
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
}
