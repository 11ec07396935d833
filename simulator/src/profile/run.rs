//! Execution of the program: instruction by instruction, with interrupts in between.

use std::collections::HashMap;

use guest_abi::sampling::CounterUnit;

use super::error::ProfileError;
use super::guest::Guest;
use crate::recording::{Chunk, Recording, Reference};

/// A processor that executes recorded instructions and has counters.
pub trait Processor {
    /// The counters, as code on the processor drives them.
    type Unit: CounterUnit;

    /// Takes an instruction to execute: its fetch, and its loads and stores. (A recording may begin with data; then the fetch is
    /// missing.) Lets `guest` handle the interrupts, and adds to `truth` which events happened, without use of the counters.
    ///
    /// # Errors
    /// The counters refuse to go on.
    fn execute(
        &mut self,
        instruction: &[Reference],
        guest: &mut Guest<Self::Unit>,
        truth: &mut Truth,
    ) -> Result<(), ProfileError>;

    /// Completes what is under way at the end of the program.
    ///
    /// # Errors
    /// The counters refuse to go on.
    fn finish(
        &mut self,
        guest: &mut Guest<Self::Unit>,
        truth: &mut Truth,
    ) -> Result<(), ProfileError>;

    /// Returns the counters.
    fn unit(&mut self) -> &mut Self::Unit;

    /// Returns the time, in cycles.
    fn now(&self) -> u64;

    /// Returns the address of the instruction that completes next.
    fn next(&self) -> u64;
}

/// How many events of one kind happened, by the address of the instruction.
pub type Exact = HashMap<u64, u64>;

/// What really happened.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    /// Instructions executed.
    pub instructions: u64,
    /// References replayed, instructions included.
    pub references: u64,
    /// Cycles passed.
    pub cycles: u64,
    /// Where the events happened, for each event that is sampled.
    pub exact: Vec<Exact>,
}

impl Truth {
    /// Adds `n` events of the kind with this place among those that are sampled, which an instruction at this address caused.
    pub fn add(&mut self, place: usize, address: u64, n: u64) {
        if n > 0 {
            *self.exact[place].entry(address).or_default() += n;
        }
    }
}

/// Runs the program to its end, while `guest` samples `events` events.
///
/// # Errors
/// The recording cannot be read or has no instruction, or the counters refuse to go on.
pub fn run<P: Processor>(
    processor: &mut P,
    guest: &mut Guest<P::Unit>,
    events: usize,
    program: &mut Recording,
    progress: &mut dyn FnMut(u64),
) -> Result<Truth, ProfileError> {
    let mut truth = Truth {
        exact: vec![Exact::new(); events],
        ..Truth::default()
    };
    let mut chunk = Chunk::default();
    let began = processor.now();
    guest.start(processor.unit(), began)?;
    while program.next_chunk(0, &mut chunk)? {
        truth.references += chunk.references.len() as u64;
        for instruction in chunk.references.chunk_by(|_, later| !later.kind.is_fetch()) {
            truth.instructions += u64::from(instruction[0].kind.is_fetch());
            processor.execute(instruction, guest, &mut truth)?;
        }
        progress(program.progress().read);
    }
    if truth.instructions == 0 {
        return Err(ProfileError::NoInstruction(program.name().to_owned()));
    }
    processor.finish(guest, &mut truth)?;
    let ended = processor.now();
    truth.cycles = ended - began;
    let next = processor.next();
    guest.stop(processor.unit(), next, ended);
    Ok(truth)
}
