//! Who executes what: the references of the traces, dealt to strands in turns.

use guest_abi::StrandId;

use crate::recording::{Progress, RecordingError, RecordingReader, Reference};

/// A strand executes this many references before the next one has its turn.
pub const QUANTUM: usize = 1024;

/// Programs are this far apart in physical memory: 8 GB.
const APART: u64 = 1 << 33;

/// How many traces can be replayed together: their addresses must not meet in [memory](crate::memory::geometry).
pub const MOST_PROGRAMS: usize = 48;

/// One program, and the strands that execute it by turns.
struct Program {
    reader: RecordingReader,
    block: Vec<Reference>,
    next: usize,
    strands: Vec<StrandId>,
    turn: usize,
    left_in_turn: usize,
    offset: u64,
}

/// References in the order in which the machine executes them.
///
/// Each of k programs has every k-th of the strands (one of them at least), and deals its references to them in turns
/// of [`QUANTUM`], round robin, as if its work was divided among them. The programs have turns one after the other. Each
/// has memory of its own.
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
    /// Deals these traces, at most [`MOST_PROGRAMS`], to these strands, at least one.
    #[must_use]
    pub fn new(readers: Vec<RecordingReader>, strands: &[StrandId]) -> Self {
        let count = readers.len();
        let programs = readers.into_iter().enumerate().map(|(number, reader)| {
            let first = number % strands.len();
            Program {
                reader,
                block: Vec::new(),
                next: 0,
                strands: strands.iter().skip(first).step_by(count).copied().collect(),
                turn: 0,
                left_in_turn: QUANTUM,
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
    /// A trace cannot be read any further.
    pub fn next(&mut self, most: usize) -> Result<Option<Share<'_>>, RecordingError> {
        while !self.programs.is_empty() {
            let program = &mut self.programs[self.current];
            if program.next == program.block.len() {
                program.next = 0;
                if !program.reader.next_block(&mut program.block)? {
                    self.programs.remove(self.current);
                    self.current = if self.current < self.programs.len() {
                        self.current
                    } else {
                        0
                    };
                    continue;
                }
            }
            if program.left_in_turn == 0 {
                program.left_in_turn = QUANTUM;
                program.turn = (program.turn + 1) % program.strands.len();
                self.current = (self.current + 1) % self.programs.len();
                continue;
            }
            return Ok(Some(self.programs[self.current].hand(most)));
        }
        Ok(None)
    }

    /// How far the traces have been read, together.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let all = self
            .programs
            .iter()
            .map(|program| program.reader.progress());
        all.fold(
            Progress {
                read: 0,
                total: Some(0),
            },
            |sum, one| Progress {
                read: sum.read + one.read,
                total: sum.total.zip(one.total).map(|(a, b)| a + b),
            },
        )
    }
}

impl Program {
    fn hand(&mut self, most: usize) -> Share<'_> {
        let count = most
            .min(self.left_in_turn)
            .min(self.block.len() - self.next);
        let references = &self.block[self.next..self.next + count];
        self.next += count;
        self.left_in_turn -= count;
        Share {
            strand: self.strands[self.turn],
            offset: self.offset,
            references,
        }
    }
}
