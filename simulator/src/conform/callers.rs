//! Guests' strands that make calls at the same time. The registers before and after each call are recorded.

use std::collections::BTreeMap;
use std::ops::Range;

use conform::random::Random;
use guest_abi::StrandId;

use super::caller::{Request, check_preserved, outs, resume_at};
use super::guest::{ANSWERED, IDLE};
use super::watch::Watch;
use crate::execute::{Execution, Limits, Stop};
use crate::interpreter::{Level, Strand};
use crate::setters::opaque;

/// The maximum number of instructions until the next strand has booted.
const MAX_BOOT_INSTRUCTIONS: u64 = 10_000_000;

/// A completed call.
#[derive(Clone, Debug)]
pub struct CompletedCall {
    /// The strand that made the call.
    pub strand: StrandId,
    /// The call's trap and registers.
    pub request: Request,
    /// The registers %o0 to %o5 after the call.
    pub after: [u64; 6],
    /// The turns from the start of the call to its return.
    pub turns: Range<usize>,
    /// The indices of all strands' device accesses during the call.
    pub accesses: Range<usize>,
    /// When the call returned, in cycles since the machine started.
    pub returned: u64,
}

/// The strands, and the calls that they make.
pub struct Callers {
    /// The completed calls, in the order in which they returned.
    pub made: Vec<CompletedCall>,
    /// The calls in progress: the strand before the call, the request, and how many turns and accesses there were before the call.
    calling: BTreeMap<StrandId, (Strand, Request, [usize; 2])>,
    turns: usize,
    random: Random,
}

opaque!(Callers, "Callers");

impl Callers {
    /// Runs a machine from power-on until each of these strands asks for its first call. `seed` determines the registers' random values.
    ///
    /// # Errors
    /// The machine stops before all strands have asked.
    pub fn new(execution: &mut Execution, strands: &[StrandId], seed: u64) -> Result<Self, Stop> {
        execution.breakpoints().insert(ANSWERED);
        for _ in strands {
            let stop = execution.run(Limits::instructions(MAX_BOOT_INSTRUCTIONS));
            let strand = Self::asking_strand(execution, stop).ok_or(stop)?;
            resume_at(execution.strand_mut(strand), IDLE);
            execution.step(strand);
        }
        for strand in strands {
            resume_at(execution.strand_mut(*strand), ANSWERED);
        }
        Ok(Self { made: Vec::new(), calling: BTreeMap::new(), turns: 0, random: Random(seed) })
    }

    #[must_use]
    /// Returns the strand that asks for its next call; `None` if the machine stopped for another reason.
    pub fn asking_strand(execution: &Execution, stop: Stop) -> Option<StrandId> {
        match stop {
            Stop::Breakpoint(strand) => (execution.strand(strand).pc == ANSWERED).then_some(strand),
            _ => None,
        }
    }

    /// Records the return of the strand's latest call. Then starts the call `next`, or leaves the strand idle if `next` is `None`.
    ///
    /// # Errors
    /// The latest call changed more than its results. The error says in words what it changed.
    pub fn turn(
        &mut self,
        execution: &mut Execution,
        watch: &Watch,
        id: StrandId,
        next: Option<Request>,
    ) -> Result<(), String> {
        self.turns += 1;
        let now = [self.turns, watch.seen().devices.len()];
        let returned = execution.now();
        let strand = execution.strand_mut(id);
        if let Some((before, request, began)) = self.calling.remove(&id) {
            check_preserved(&before, strand)
                .map_err(|what| format!("{id}, {request:x?}: {what}"))?;
            self.made.push(CompletedCall {
                strand: id,
                request,
                after: outs(strand),
                turns: began[0]..now[0],
                accesses: began[1]..now[1],
                returned,
            });
        }
        match next {
            Some(request) => {
                request.put(strand, &mut self.random);
                self.calling.insert(id, (strand.clone(), request, now));
            }
            None => resume_at(strand, IDLE),
        }
        Ok(())
    }

    /// Makes an idle strand ask for a call again.
    pub fn wake(execution: &mut Execution, id: StrandId) {
        let strand = execution.strand_mut(id);
        if strand.pc == IDLE && strand.level() < Level::Hyperprivileged {
            resume_at(strand, ANSWERED);
        }
    }

    /// Returns `true` while one of the strand's calls is in progress.
    #[must_use]
    pub fn is_calling(&self, strand: StrandId) -> bool {
        self.calling.contains_key(&strand)
    }
}
