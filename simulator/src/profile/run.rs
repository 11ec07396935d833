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

    /// Executes an instruction: its fetch, and its loads and stores. (A recording may begin with data; then the fetch is
    /// missing.) Adds to `happened` how often each sampled event happened, without use of the counters.
    fn execute(&mut self, instruction: &[Reference], happened: &mut [u64]);

    /// Completes what is under way at the end of the program.
    fn drain(&mut self) {}

    /// Lets the guest handle the interrupts that are pending, before the instruction at address `next`.
    ///
    /// # Errors
    /// The counters refuse to go on.
    fn interrupt(&mut self, guest: &mut Guest<Self::Unit>, next: u64) -> Result<(), ProfileError>;

    /// Returns the counters.
    fn unit(&mut self) -> &mut Self::Unit;

    /// Returns the time, in cycles.
    fn now(&self) -> u64;
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
    let mut happened = vec![0; events];
    let (mut address, mut next) = (0, 0);
    let mut chunk = Chunk::default();
    let began = processor.now();
    guest.start(processor.unit(), began)?;
    while program.next_chunk(0, &mut chunk)? {
        truth.references += chunk.references.len() as u64;
        for instruction in chunk.references.chunk_by(|_, later| !later.kind.is_fetch()) {
            if let Some(fetch) = instruction.first().filter(|first| first.kind.is_fetch()) {
                processor.interrupt(guest, fetch.address)?;
                address = fetch.address;
                next = address.wrapping_add(fetch.size.into());
                truth.instructions += 1;
            }
            happened.fill(0);
            processor.execute(instruction, &mut happened);
            for (exact, happened) in truth.exact.iter_mut().zip(&happened) {
                if *happened > 0 {
                    *exact.entry(address).or_default() += happened;
                }
            }
        }
        progress(program.progress().read);
    }
    if truth.instructions == 0 {
        return Err(ProfileError::NoInstruction(program.name().to_owned()));
    }
    processor.drain();
    processor.interrupt(guest, next)?;
    let ended = processor.now();
    truth.cycles = ended - began;
    guest.stop(processor.unit(), next, ended);
    Ok(truth)
}
