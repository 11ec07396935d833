//! Which strand executes next, and for how long.

use guest_abi::StrandId;

use crate::recording::{Chunk, Progress, Recording, RecordingError, Reference};

/// A strand executes this many references before the next one does.
pub const QUANTUM: usize = 1024;

/// Programs are this far apart in physical memory: 8 GB.
const APART: u64 = 1 << 33;

/// How many recordings can be replayed together: their addresses must not meet in [memory](crate::memory::geometry).
pub const MOST_PROGRAMS: usize = 48;

/// One program, and the strands that execute it.
struct Program {
    reader: Recording,
    chunk: Chunk,
    next: usize,
    strands: Vec<StrandId>,
    /// The strand that executes, by its place in `strands`.
    executing: usize,
    left_in_quantum: usize,
    offset: u64,
}

/// References in the order in which the machine executes them.
///
/// Each of k programs has every k-th of the strands, and one of them at least. One of its strands after the other executes
/// a [`QUANTUM`] of its references, round robin, as if the program's work was divided among them. The programs take turns
/// after each quantum. Each has memory of its own.
pub struct Scheduler {
    programs: Vec<Program>,
    current: usize,
}

/// What a strand executes next.
pub struct Share<'a> {
    /// The strand.
    pub strand: StrandId,
    /// What to add to the addresses.
    pub offset: u64,
    /// The references.
    pub references: &'a [Reference],
}

impl Scheduler {
    /// Schedules these recordings, at most [`MOST_PROGRAMS`], on these strands, at least one.
    #[must_use]
    pub fn new(readers: Vec<Recording>, strands: &[StrandId]) -> Self {
        let count = readers.len();
        let programs = readers.into_iter().enumerate().map(|(number, reader)| {
            let first = number % strands.len();
            Program {
                reader,
                chunk: Chunk::default(),
                next: 0,
                strands: strands.iter().skip(first).step_by(count).copied().collect(),
                executing: 0,
                left_in_quantum: QUANTUM,
                offset: number as u64 * APART,
            }
        });
        Self {
            programs: programs.collect(),
            current: 0,
        }
    }

    /// The next references, at most `most`; `None` when all programs have ended.
    ///
    /// # Errors
    /// A recording cannot be read any further.
    pub fn next(&mut self, most: usize) -> Result<Option<Share<'_>>, RecordingError> {
        while !self.programs.is_empty() {
            let program = &mut self.programs[self.current];
            if program.next == program.chunk.references.len() {
                program.next = 0;
                if !program.reader.next_chunk(0, &mut program.chunk)? {
                    self.programs.remove(self.current);
                    if self.current == self.programs.len() {
                        self.current = 0;
                    }
                    continue;
                }
            }
            if program.left_in_quantum == 0 {
                program.left_in_quantum = QUANTUM;
                program.executing = (program.executing + 1) % program.strands.len();
                self.current = (self.current + 1) % self.programs.len();
                continue;
            }
            return Ok(Some(self.programs[self.current].share(most)));
        }
        Ok(None)
    }

    /// How far the recordings have been read, together.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let all = || {
            self.programs
                .iter()
                .map(|program| program.reader.progress())
        };
        Progress {
            read: all().map(|one| one.read).sum(),
            total: all().map(|one| one.total).sum(),
        }
    }
}

impl Program {
    fn share(&mut self, most: usize) -> Share<'_> {
        let count = most
            .min(self.left_in_quantum)
            .min(self.chunk.references.len() - self.next);
        let references = &self.chunk.references[self.next..self.next + count];
        self.next += count;
        self.left_in_quantum -= count;
        Share {
            strand: self.strands[self.executing],
            offset: self.offset,
            references,
        }
    }
}
