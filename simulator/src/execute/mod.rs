//! A machine that executes: strands, memory, devices and consoles of a T5440 or a smaller machine.
//!
//! An [`Execution`] runs the software that was [loaded](Execution::load) into its memory: a hypervisor, which begins at the reset
//! vector on strand 0, and its guests. What each strand is and does is that of [`crate::interpreter`]. Each fetch, load and store goes
//! through the [memory system](crate::memory), if there is one, so that the counters of the devices count what the software does.
//!
//! # What software sees
//! - RAM, ROM and consoles at the addresses of [`map`]; L2 control registers, DRAM channels and hubs at those of
//!   [`platform::address`]. Elsewhere nothing answers: a load brings data_access_error, a store store_error.
//! - At reset strand 0 runs, and all others are parked (*assumed* of machines with several nodes). A strand that another lets run
//!   begins at the reset vector, too. The registers of ASI_CMP are a bit a strand of the node.
//! - Hyperprivileged software uses physical addresses. The addresses of others are real: the hypervisor loads their translations, of
//!   which each core has 64 for instructions and 128 for data. Where none matches, it gets instruction_real_translation_miss or
//!   data_real_translation_miss. The strands' own translation of virtual addresses is not there.
//! - An interrupt that one strand sends another (ASI 0x72 to 0x74, as the UltraSPARC T2 has them) arrives dozens of cycles later.
//! - Registers in alternate spaces that have no effect here read what was written, and the first access to each is in the [`log`].
//! - A store to a device completes late, in order with the others of its strand. `membar #Sync` waits for them, and a load for
//!   those to the same device. A store that fails brings store_error.
//! - A write of 0 to the strand status register halts the strand until an interrupt waits for it.
//! - %tick and %stick count cycles.
//!
//! # Time
//! Every strand has a time of its own. The strand that is earliest executes its next instruction, as [`crate::replay::scheduler`] says.
//! Without a memory system it goes on for at least 16 cycles, so that its time may be up to 15 cycles ahead of what others have
//! done. An instruction with all it does happens at once. The same software, input and steps of the operator at the same times give the same
//! run, and it does not matter how often a run is interrupted.

pub mod calls;
mod console;
mod cost;
mod executing;
mod interrupts;
pub mod log;
pub mod mailbox;
pub mod map;
mod niagara;
mod operated;
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
use perfctr_service::mailbox::{Refusal, Seen, Step};
use platform::Machine;
use platform::models::Devices;

use crate::interpreter::{ErrorState, Strand};
use crate::memory::{AnyMemory, Config, MemoryError, Truth, Usage};
use calls::CallObserver;
use cost::Plain;
use log::Log;
use mailbox::{GuestState, StepBefore};
use niagara::Niagara;
use physical::Physical;
use running::Running;
pub use shared::{Hypercalls, Observed, Observer};
pub use stores::{StoreConduct, StoreLatency};
pub use strand::{Counts, State};

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The machine.
    pub machine: Machine,
    /// Its memory system. `None`: there is none, and each instruction takes a cycle.
    pub memory: Option<Config>,
    /// The bytes of memory for guests, a multiple of 8 KB: at most 256 GB.
    pub partition: u64,
    /// How many consoles there are: at most 256.
    pub consoles: usize,
    /// QEMU's machine `niagara` as far as the project's images use it, with one strand: no devices and no translation; %tick counts
    /// 102.4 an instruction.
    pub niagara: bool,
}

impl Setup {
    /// Returns a machine without a memory system, with 128 MB for guests and 16 consoles.
    #[must_use]
    pub const fn new(machine: Machine) -> Self {
        Self { machine, memory: None, partition: 128 << 20, consoles: 16, niagara: false }
    }
}

/// Why there is no such machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// There is no such memory system.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The size of the memory of guests.
    #[error("the memory of guests has a multiple of 8 KB, at most 256 GB, not {0} bytes")]
    Partition(u64),
    /// The number of consoles.
    #[error("there are at most 256 consoles, not {0}")]
    Consoles(usize),
}

/// No memory is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no memory is at the physical address {0:#x}")]
pub struct NoMemoryAt(pub u64);

/// How far a run goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// So many instructions and traps of all strands together.
    pub instructions: u64,
    /// No instruction begins at this time or later, in cycles from the start of the machine.
    pub cycles: u64,
}

impl Limits {
    /// A run goes on until something stops it.
    pub const NONE: Self = Self { instructions: u64::MAX, cycles: u64::MAX };

    /// So many instructions of all strands together.
    #[must_use]
    pub const fn instructions(instructions: u64) -> Self {
        Self { instructions, ..Self::NONE }
    }
}

/// Why a run has stopped. It can go on, with the same outcome as if it had not stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It has come to a limit.
    Limit,
    /// All strands are parked, or halted with nothing that would wake them.
    Ended,
    /// The hypervisor has switched the machine off.
    Off,
    /// A strand has trapped at its highest trap level. It executes nothing any more.
    ErrorState {
        /// The strand.
        strand: StrandId,
        /// Its last trap.
        state: ErrorState,
    },
    /// A strand has come to a breakpoint, and has not executed the instruction.
    Breakpoint(StrandId),
}

/// A machine that executes. A clone goes on on its own, without the observers.
#[derive(Clone)]
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
    /// There is no such machine.
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
    /// No memory is at one of the addresses: what comes before is written.
    pub fn load(&mut self, physical: u64, bytes: &[u8]) -> Result<(), NoMemoryAt> {
        let done = self.running.shared.physical.load(physical, bytes);
        if done < bytes.len() {
            return Err(NoMemoryAt(physical.wrapping_add(done as u64)));
        }
        Ok(())
    }

    /// Reads bytes of memory.
    ///
    /// # Errors
    /// No memory is at one of the addresses: what comes before is read.
    pub fn read(&mut self, physical: u64, bytes: &mut [u8]) -> Result<(), NoMemoryAt> {
        let done = self.running.shared.physical.dump(physical, bytes);
        if done < bytes.len() {
            return Err(NoMemoryAt(physical.wrapping_add(done as u64)));
        }
        Ok(())
    }

    /// Executes until a limit, or until something stops the machine. What the counters count is up to date then.
    pub fn run(&mut self, limits: Limits) -> Stop {
        with_cost!(self, running, devices, cost => running.run(devices, cost, limits))
    }

    /// Executes one instruction of a strand, or lets it take a trap, whoever's turn it is: for tests that try every order of what
    /// strands do. Returns `None` if the strand executes nothing now.
    pub fn step(&mut self, strand: StrandId) -> Option<Stop> {
        with_cost!(self, running, devices, cost => running.step(devices, cost, strand))
    }

    /// Changes how stores to devices go that are issued from now on.
    pub fn set_stores(&mut self, conduct: StoreConduct) {
        self.running.shared.stores = conduct;
    }

    /// Returns the time of the earliest strand, in cycles from the start of the machine.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.running.now()
    }

    /// Returns the machine.
    #[must_use]
    pub fn machine(&self) -> Machine {
        self.devices.machine()
    }

    /// Returns what has been sent to a console since this was asked last; nothing if there is no such console.
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
    ///
    /// # Panics
    /// The machine does not have the strand.
    #[must_use]
    pub fn strand(&self, strand: StrandId) -> &Strand {
        &self.running.strands[strand.index()].strand
    }

    /// Returns the registers of a strand, to change them.
    ///
    /// # Panics
    /// The machine does not have the strand.
    pub fn strand_mut(&mut self, strand: StrandId) -> &mut Strand {
        &mut self.running.strands[strand.index()].strand
    }

    /// Returns whether a strand executes.
    ///
    /// # Panics
    /// The machine does not have the strand.
    #[must_use]
    pub fn state(&self, strand: StrandId) -> State {
        self.running.strands[strand.index()].local.state
    }

    /// Returns what a strand has executed.
    ///
    /// # Panics
    /// The machine does not have the strand.
    #[must_use]
    pub fn counts(&self, strand: StrandId) -> Counts {
        self.running.strands[strand.index()].local.counts
    }

    /// Returns the physical address of the instruction that a strand executes next; `None` if it has no translation.
    ///
    /// # Panics
    /// The machine does not have the strand.
    #[must_use]
    pub fn physical(&self, strand: StrandId, address: u64) -> Option<u64> {
        self.running.physical(strand, address)
    }

    /// Hands a step of the operator to the hypervisor, on a strand.
    ///
    /// # Errors
    /// The hypervisor has not done the step before.
    pub fn operate(&mut self, on: StrandId, step: &Step) -> Result<(), StepBefore> {
        mailbox::put(&mut self.running.shared.physical, step)?;
        self.running.interrupt(on, mailbox::VECTOR);
        Ok(())
    }

    /// Returns what came of the step once the hypervisor has done it: what is seen, if it was a look. There is room for another then.
    pub fn operated(&mut self) -> Option<Result<Option<Seen>, Refusal>> {
        mailbox::take(&mut self.running.shared.physical)
    }

    /// Stops a strand before its next instruction, as if another had parked it.
    pub fn park(&mut self, strand: StrandId) {
        self.running.park(strand);
    }

    /// Returns what the hypervisor says of a guest.
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

    /// Returns the devices.
    #[must_use]
    pub fn devices(&self) -> &Devices {
        &self.devices
    }

    /// Returns how many hypercalls (software traps 0x80 and 0xff) of each strand returned with each status.
    #[must_use]
    pub fn hypercalls(&self) -> &Hypercalls {
        &self.running.shared.hypercalls
    }

    /// Returns what software did that this machine does not fully simulate.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.running.shared.log
    }

    /// Tells an observer of every access from now on, or nobody.
    pub fn observe(&mut self, observer: Option<Observer>) {
        self.running.shared.observer = observer;
    }

    /// Tells an observer of every hypercall that returns from now on, or nobody.
    pub fn observe_calls(&mut self, observer: Option<CallObserver>) {
        self.running.shared.call_observer = observer;
    }

    /// Returns the addresses of instructions, as strands have them, at which runs stop.
    pub fn breakpoints(&mut self) -> &mut BTreeSet<u64> {
        &mut self.running.breakpoints
    }
}
