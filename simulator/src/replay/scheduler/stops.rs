//! Stops the scheduler at certain points of the programs, and skips references.

use std::collections::VecDeque;

use super::Scheduler;
use crate::memory::Executed;
use crate::recording::{Chunk, RecordingError, ShapeMemo};
use crate::run::Covered;

/// The number of points that a scheduler can watch.
pub(crate) const POINTS: usize = 3;

/// The maximum number of references that a strand skips in one turn.
const MAX_SKIPPED: usize = 1 << 10;

/// The points that the scheduler watches, and the numbers of references and instructions scheduled so far.
#[derive(Debug)]
pub(super) struct Stops {
    /// The watched instructions, in ascending order: the address, the program's number, and the point's index.
    wanted: Vec<(u64, usize, usize)>,
    /// How often threads have reached each point.
    seen: [u64; POINTS],
    /// For each point, the number of instructions that had been executed when a thread last reached it.
    last: [u64; POINTS],
    /// Remembers, for each program, which shapes contain a watched instruction.
    memos: Vec<ShapeMemo>,
    pub(super) passed: Covered,
    /// The number of instructions after which the scheduler stops; [`u64::MAX`] if it does not stop.
    pub(super) stop_after: u64,
    /// The point at which the scheduler stops, and how often threads must have reached it.
    stop_when: Option<(usize, u64)>,
    pub(super) stopped: bool,
}

impl Stops {
    pub(super) fn new() -> Self {
        Self {
            wanted: Vec::new(),
            seen: [0; POINTS],
            last: [u64::MAX; POINTS],
            memos: Vec::new(),
            passed: Covered::default(),
            stop_after: u64::MAX,
            stop_when: None,
            stopped: false,
        }
    }

    /// Finds the watched instructions in the next chunk of a program's thread. Stores each instruction's index with the index of
    /// its point.
    pub(super) fn find(
        &mut self,
        program: usize,
        chunk: &Chunk,
        found: &mut VecDeque<(usize, usize)>,
    ) {
        found.clear();
        if self.wanted.is_empty() {
            return;
        }
        if self.memos.len() <= program {
            self.memos.resize_with(program + 1, ShapeMemo::default);
        }
        let (wanted, memo) = (&self.wanted, &mut self.memos[program]);
        let is_wanted = |address: u64| {
            let at = wanted.partition_point(|(other, ..)| *other < address);
            wanted.get(at).is_some_and(|(other, ..)| *other == address)
        };
        chunk.find_fetches(memo, is_wanted, |index, address| {
            let at = wanted.partition_point(|(other, ..)| *other < address);
            let same = wanted[at..].iter().take_while(|(other, ..)| *other == address);
            let points = same.filter(|(_, of, _)| *of == program);
            found.extend(points.map(|(.., point)| (index, *point)));
        });
    }

    /// Notes that a thread is about to execute one of a point's instructions.
    pub(super) fn reach(&mut self, point: usize) {
        self.seen[point] += 1;
        self.last[point] = self.passed.instructions;
        self.stopped |= self.stop_when == Some((point, self.seen[point]));
    }
}

impl Scheduler {
    /// Watches up to three points. Each point is a list of instructions, given by program number and address. Must be called before
    /// the first quantum.
    pub(crate) fn watch(&mut self, points: [&[(usize, u64)]; POINTS]) {
        let wanted = (points.iter().enumerate()).flat_map(|(point, addresses)| {
            addresses.iter().map(move |(program, address)| (*address, *program, point))
        });
        self.stops.wanted = wanted.collect();
        self.stops.wanted.sort_unstable();
    }

    /// Returns how often threads have reached a point.
    pub(crate) fn seen(&self, point: usize) -> u64 {
        self.stops.seen[point]
    }

    /// Returns how many references and instructions have been scheduled so far.
    pub(crate) fn passed(&self) -> Covered {
        self.stops.passed
    }

    /// Returns `true` if the scheduler has reached the stop that was set, and `false` if the programs ended before it.
    pub(crate) fn has_stopped(&self) -> bool {
        self.stops.stopped
    }

    /// Removes the stop.
    pub(crate) fn clear_stop(&mut self) {
        (self.stops.stop_after, self.stops.stop_when) = (u64::MAX, None);
        self.stops.stopped = false;
    }

    /// Makes the scheduler stop after all threads together have executed this number of instructions. Replaces the previous stop.
    /// Returns `false` if more instructions have already been executed.
    pub(crate) fn stop_after(&mut self, instructions: u64) -> bool {
        self.clear_stop();
        self.stops.stop_after = instructions;
        instructions >= self.stops.passed.instructions
    }

    /// Makes the scheduler stop when threads have reached a point `number` times. Replaces the previous stop. Returns `false` if
    /// the threads are already past the new stop.
    pub(crate) fn stop_when_reached(&mut self, point: usize, number: u64) -> bool {
        self.clear_stop();
        let stops = &mut self.stops;
        stops.stop_when = Some((point, number));
        let is_now = stops.last[point] == stops.passed.instructions;
        stops.stopped = is_now && stops.seen[point] == number;
        stops.stopped || stops.seen[point] < number
    }

    /// Counts states and waits from the time `began` on, which must be the current time.
    pub(crate) fn count_from(&mut self, began: u64) {
        self.accounts.count_from(began);
    }

    /// Skips some references of the strand that has the next turn. Each instruction takes one cycle. In a recording without
    /// instructions, each datum takes one cycle. Returns `false` if the scheduler has stopped or all threads have ended.
    pub(crate) fn skip(&mut self) -> Result<bool, RecordingError> {
        let Some((_, quantum)) = self.next(MAX_SKIPPED)? else { return Ok(false) };
        let instructions = quantum.references.fetches();
        let cycles =
            if quantum.data_alone { quantum.references.len() as u64 } else { instructions };
        let ends = quantum.begins + cycles;
        let executed = Executed {
            references: quantum.references.len(),
            issued: if cycles == 0 { 0 } else { ends - 1 },
            ends,
            instructions,
        };
        self.executed(&executed);
        Ok(true)
    }
}
