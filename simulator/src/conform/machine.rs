//! A machine with the image under test, and with guests that make calls.

use std::cell::Cell;
use std::rc::Rc;

use conform::Configuration;
use conform::modelled::Hardware;
use conform::random::Random;
use guest_abi::StrandId;
use perfctr_service::StrandSet;
use perfctr_service::mailbox::Step;
use platform::memory_map::start::{ENTRY, MACHINE, machine_word};
use platform::memory_map::{REAL, RESET_CODE};

use super::caller::{Request, check_preserved, outs, resume_at};
use super::guest::{ANSWERED, REPEAT, program};
use super::image::{CheckError, Image};
use crate::execute::{Execution, Limits, Setup, Stop, StoreBehaviour, StoreLatency, map};
use crate::interpreter::Level;
use crate::interpreter::instruction::Register;
use crate::machine::description::{Description, GuestMemory};
use crate::operator::Answer;
use crate::recording::Kind;

/// The size of a guest's memory in bytes. `vfalls boot` has the same default, so an image may expect this size.
const GUEST_MEMORY: u64 = 128 << 20;

/// A strand that has not begun after [`MAX_BOOT_INSTRUCTIONS`] instructions is assumed never to begin. [`BOOT_CHECK_INTERVAL`] is the number of instructions between two
/// checks.
const MAX_BOOT_INSTRUCTIONS: u64 = 16_000_000;
const BOOT_CHECK_INTERVAL: u64 = 100_000;

/// The maximum number of instructions in a call. This includes what the calling strand executes both in the guest and in the
/// hypervisor.
const MAX_CALL_INSTRUCTIONS: u32 = 200_000;

/// The hypervisor must perform an operator's step within [`MAX_STEP_INSTRUCTIONS`] instructions. (Meanwhile, strands without a guest may still
/// begin.) [`STEP_CHECK_INTERVAL`] is the number of instructions between two checks.
const MAX_STEP_INSTRUCTIONS: u64 = 16_000_000;
const STEP_CHECK_INTERVAL: u64 = 10_000;

/// How stores to devices behave while calls are made one at a time.
pub(super) const STORES: StoreBehaviour =
    StoreBehaviour { latency: StoreLatency::Fixed(STORE_LATENCY), without_address: false };
const STORE_LATENCY: u64 = 20;

/// A machine whose strands all wait for calls to make.
#[derive(Clone)]
pub(super) struct Machine {
    pub(super) execution: Execution,
    random: Random,
    /// The strands that have begun to execute their guest's program.
    pub(super) begun: StrandSet,
}

/// A call that has returned.
pub(super) struct CallResult {
    /// %o0 to %o5 after the call.
    pub(super) after: [u64; 6],
    /// `Ok` if the call changed only its results. The error says what else it changed.
    pub(super) preserved: Result<(), String>,
    /// The number of hyperprivileged instructions that the strand executed during the call.
    pub(super) instructions: u64,
}

/// Why a call has not returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallFailure {
    /// The call takes too many instructions.
    Endless,
    /// The strand does not run.
    Stopped,
}

impl Machine {
    /// Boots the image with the guests of a configuration. Skips entries without strands.
    pub(super) fn boot(image: &Image, configuration: &Configuration) -> Result<Self, CheckError> {
        let execution = loaded(image, configuration, GUEST_MEMORY)?;
        Self::run_in(execution, strands(configuration))
    }

    /// Boots the image, and returns whether it reads the machine description.
    pub(super) fn reads_description(
        image: &Image,
        configuration: &Configuration,
    ) -> Result<bool, CheckError> {
        let mut execution = loaded(image, configuration, GUEST_MEMORY)?;
        let reads = Rc::new(Cell::new(false));
        let noted = Rc::clone(&reads);
        execution.observe(Some(Box::new(move |access| {
            let of_data = access.kind == Kind::Load;
            noted.set(noted.get() || of_data && map::DESCRIPTION.contains(&access.physical));
        })));
        Self::run_in(execution, strands(configuration))?;
        Ok(reads.get())
    }

    /// Runs until all these strands wait for calls, or until [`MAX_BOOT_INSTRUCTIONS`] instructions have been executed. A strand that does not wait by then
    /// is assumed never to begin.
    fn run_in(mut execution: Execution, all: StrandSet) -> Result<Self, CheckError> {
        let mut begun = StrandSet::EMPTY;
        for _ in 0..MAX_BOOT_INSTRUCTIONS / BOOT_CHECK_INTERVAL {
            let stop = execution.run(Limits::instructions(BOOT_CHECK_INTERVAL));
            for strand in all.iter().filter(|strand| waits(&execution, *strand)) {
                begun.insert(strand);
            }
            if begun == all || stop != Stop::Limit {
                break;
            }
        }
        if begun.is_empty() {
            return Err(CheckError::NoGuest(MAX_BOOT_INSTRUCTIONS));
        }
        execution.set_stores(STORES);
        Ok(Self { execution, random: Random(1), begun })
    }

    /// Makes a call on a strand, while all other strands stand still.
    pub(super) fn call(
        &mut self,
        id: StrandId,
        request: Request,
    ) -> Result<CallResult, CallFailure> {
        self.begin(id, request);
        let before = self.execution.strand(id).clone();
        let instructions = self.finish(id)?;
        // The call's last store may still be on its way.
        for _ in 0..if is_fast_set(request) { STORE_LATENCY } else { 0 } {
            self.step(id)?;
        }
        self.finish(id)?;
        let strand = self.execution.strand(id);
        Ok(CallResult {
            after: outs(strand),
            preserved: check_preserved(&before, strand),
            instructions,
        })
    }

    /// Prepares a strand for a call, so that the strand's next instruction is the trap.
    pub(super) fn begin(&mut self, id: StrandId, request: Request) {
        request.put(self.execution.strand_mut(id), &mut self.random);
    }

    /// Executes a strand until its call returns. Returns the number of hyperprivileged instructions.
    pub(super) fn finish(&mut self, id: StrandId) -> Result<u64, CallFailure> {
        let mut instructions = 0;
        for _ in 0..MAX_CALL_INSTRUCTIONS {
            let waited = waits(&self.execution, id);
            instructions += u64::from(self.step(id)?);
            // The call has returned only if the strand still waits after one more step, in which it may take a trap that changes the
            // call's answer.
            if waited && waits(&self.execution, id) {
                return Ok(instructions);
            }
        }
        Err(CallFailure::Endless)
    }

    /// Executes one of a strand's instructions. Returns whether the instruction was hyperprivileged. While an instruction waits for a
    /// device, returns `false`.
    pub(super) fn step(&mut self, id: StrandId) -> Result<bool, CallFailure> {
        let strand = self.execution.strand(id);
        let (pc, level) = (strand.pc, strand.level());
        match self.execution.step(id) {
            Some(Stop::Limit) => {}
            _ => return Err(CallFailure::Stopped),
        }
        Ok(level == Level::Hyperprivileged && self.execution.strand(id).pc != pc)
    }

    /// Lets a strand execute its guest for a while, so that a failing store is reported.
    pub(super) fn settle(&mut self, id: StrandId) {
        for _ in 0..2000 {
            if self.step(id).is_err() {
                return;
            }
        }
        let _ = self.finish(id);
    }

    /// Makes the hypervisor perform an operator's step on this strand. Returns the hypervisor's answer; `None` if there is none.
    pub(super) fn operate(&mut self, on: StrandId, step: &Step) -> Option<Answer> {
        self.catch_up();
        self.execution.operate(on, step).ok()?;
        for _ in 0..MAX_STEP_INSTRUCTIONS / STEP_CHECK_INTERVAL {
            if self.execution.run(Limits::instructions(STEP_CHECK_INTERVAL)) != Stop::Limit {
                return None;
            }
            if let Some(answer) = self.execution.operated() {
                return Some(answer);
            }
        }
        None
    }

    /// Lets all strands execute until each of them waits for a call again.
    pub(super) fn run_on(&mut self) -> bool {
        self.catch_up();
        for _ in 0..MAX_BOOT_INSTRUCTIONS / BOOT_CHECK_INTERVAL {
            self.execution.run(Limits::instructions(BOOT_CHECK_INTERVAL));
            if self.begun.iter().all(|strand| waits(&self.execution, strand)) {
                return true;
            }
        }
        false
    }

    /// Brings all strands to the time of the strand that is furthest ahead. Otherwise, the other strands would execute their waiting
    /// loops up to this time.
    fn catch_up(&mut self) {
        for strand in self.begun.iter() {
            self.execution.step(strand);
        }
    }

    /// Makes a strand repeat a call forever, starting with the machine's next run.
    pub(super) fn repeat(&mut self, id: StrandId, argument: u64, function: u64) {
        let strand = self.execution.strand_mut(id);
        strand.registers.set(Register::new(17), argument);
        strand.registers.set(Register::new(18), function);
        resume_at(strand, REPEAT);
    }

    /// Returns a register's content; `None` if the register faults.
    pub(super) fn held(&self, cell: conform::Cell) -> Option<u64> {
        self.execution.devices().holds(cell)
    }

    pub(super) fn pcr(&self, strand: StrandId) -> u64 {
        self.execution.devices().strand_unit(strand).pcr()
    }
}

fn waits(execution: &Execution, strand: StrandId) -> bool {
    let strand = execution.strand(strand);
    strand.pc == ANSWERED && strand.level() < Level::Hyperprivileged
}

fn strands(configuration: &Configuration) -> StrandSet {
    configuration.guests.iter().flat_map(|guest| guest.strands.iter()).collect()
}

/// Returns a machine with the image and a configuration's guests, before the first instruction. Each guest has `memory` bytes.
pub(super) fn loaded(
    image: &Image,
    configuration: &Configuration,
    memory: u64,
) -> Result<Execution, CheckError> {
    let guests = configuration.guests.iter().filter(|guest| !guest.strands.is_empty());
    let count = guests.clone().count() as u64;
    let setup = Setup::new(configuration.machine).partition(memory * count);
    let setup = setup.interfaces(image.interfaces);
    let mut execution = Execution::new(&setup)?;
    let mut description = Description::for_machine(
        configuration.machine,
        guests.clone().map(|guest| ("guest", *guest)),
    );
    let nodes = 0..description.nodes.len();
    let nodes: Vec<usize> = nodes.filter(|node| description.nodes[*node].name == "guest").collect();
    for (number, (node, guest)) in (0..).zip(nodes.into_iter().zip(guests)) {
        let base = map::PARTITION + number * memory;
        let memory = GuestMemory { base, size: memory, real: REAL, entry: REAL };
        // The assignment of memory cannot fail, because the description is new.
        let _ = description.assign_memory(node, memory);
        execution.load(base, &program(guest.strands.len()))?;
    }
    execution.load(map::DESCRIPTION.start, &description.build()?)?;
    execution.load(map::RESET, RESET_CODE.map(u32::to_be_bytes).as_flattened())?;
    execution.load(MACHINE, &machine_word(configuration.machine).to_be_bytes())?;
    execution.load(ENTRY, &REAL.to_be_bytes())?;
    for (address, bytes) in &image.segments {
        execution.load(*address, bytes)?;
    }
    Ok(execution)
}

/// Returns whether a call may end before its store to a device completes.
const fn is_fast_set(request: Request) -> bool {
    matches!((request.trap, request.registers), (0x80, [2..=17, .., 0x107]))
}
