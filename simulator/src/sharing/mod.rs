//! Which lines of memory the nodes take from each other, who uses which of their bytes, and what it would save to put these bytes
//! apart.
//!
//! A program is replayed up to three times: to find the lines that move most between the L2 caches of the nodes; to see who uses
//! their bytes; and, if nodes use different bytes of a line, once more with these bytes in lines of their own. Replays of one
//! recording are alike, so that what differs between the first and the last is what the line costs.

mod apart;
mod report;
#[cfg(test)]
mod tests;
mod users;

use guest_abi::StrandId;
use platform::Machine;

use crate::configuration::Configuration;
use crate::machine::board::devices;
use crate::memory::geometry::LINE_SHIFT;
use crate::memory::{
    AnyMemory, Config, Executed, MemoryError, MemorySystem, Moves, Quantum, Variant,
};
use crate::placement::{Placement, PlacementError};
use crate::recording::{Recording, RecordingError};
use crate::scheduler::Scheduler;
use apart::Apart;
pub use report::{Cost, Line, Report, Sharing};
pub(crate) use users::Users;
pub use users::{Use, User, byte_list};

/// A program, and the machine on which its lines are shared.
pub struct Job<'a> {
    /// Opens the recording, once for each replay.
    pub open: &'a mut dyn FnMut() -> Result<Recording, RecordingError>,
    /// The machine.
    pub machine: Machine,
    /// Its caches, whose lines have 64 bytes in the L2 cache, and how long things take.
    pub memory: Config,
    /// Which strand executes which thread; `None` for the [default](Placement::default_of).
    pub placement: Option<Placement>,
    /// How many lines are reported at most: those that move most.
    pub most: usize,
    /// Called now and then with the number of the replay, from 0, and of the bytes of the recording that it has read.
    pub progress: &'a mut dyn FnMut(usize, u64),
}

/// Why lines cannot be found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SharingError {
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The threads cannot be placed.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// The machine has no memory, or the configuration of its memory system is impossible.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Lines of the L2 cache do not have 64 bytes.
    #[error(
        "l2.line is {0}, expected 64: the bytes of a line that somebody uses are bits of a word"
    )]
    Lines(u64),
}

/// The quanta from one report of the progress to the next.
const PROGRESS: u64 = 1 << 16;

/// Returns the lines that move most, at most so many, the first most.
pub(crate) fn hottest(mut lines: Vec<(u64, Moves)>, most: usize) -> Vec<(u64, Moves)> {
    lines.sort_unstable_by_key(|(line, moves)| (std::cmp::Reverse(moves.all()), *line));
    lines.truncate(most);
    lines
}

/// What a replay shows.
struct Replayed {
    cost: Cost,
    /// By number, in no order.
    lines: Vec<(u64, Moves)>,
    notes: Vec<String>,
}

impl Job<'_> {
    /// Finds the lines.
    ///
    /// # Errors
    /// The recording cannot be read, the threads cannot be placed, or the machine has no memory.
    pub fn run(mut self) -> Result<Report, SharingError> {
        if self.memory.l2.line != 1 << LINE_SHIFT {
            return Err(SharingError::Lines(self.memory.l2.line));
        }
        let recording = (self.open)()?;
        let (program, threads) = (recording.name().to_owned(), recording.threads());
        let strand_of = |thread| recording.strand_of(thread).and_then(StrandId::new);
        let named: Vec<_> = (0..threads).map(strand_of).collect();
        let placement = (self.placement.take()).unwrap_or_else(|| Placement::default_of(&named));
        let all = (0..self.machine.strands())
            .filter_map(StrandId::new)
            .collect();
        let strands = placement.strands(self.machine, all, &named)?;
        let deal = matches!(placement, Placement::Deal(_));
        let schedule = |recording| match deal {
            true => Scheduler::dealing(recording, &strands),
            false => Scheduler::new(vec![recording], &strands),
        };

        let first = self.replay(0, schedule(recording), |_, _, _| ())?;
        let lines_moved = first.lines.len();
        let hottest = hottest(first.lines, self.most);

        let mut users = Users::new(hottest.iter().map(|(line, _)| *line));
        if !hottest.is_empty() {
            let scheduler = schedule((self.open)()?);
            self.replay(1, scheduler, |thread, quantum, executed| {
                let references = quantum.references.up_to(executed.references);
                references
                    .iter()
                    .for_each(|reference| users.note(thread, quantum.strand, 0, &reference));
            })?;
        }
        let home = MemorySystem::new(&self.machine).map_err(MemoryError::from)?;
        let lines = hottest.into_iter().map(|(line, moves)| {
            let (address, mut users) = users.of(line);
            if deal {
                // Each strand executes a part of the only thread.
                users.iter_mut().for_each(|user| user.thread = 0);
            }
            Line::new(address, home.home(line), moves, users)
        });
        let lines: Vec<_> = lines.collect();

        let apart = Apart::new(&lines, home.homes(), users.free());
        let apart = match apart.is_empty() {
            true => None,
            false => {
                let mut scheduler = schedule((self.open)()?);
                let moved = apart.lines();
                scheduler.move_data(move |address| apart.address(address));
                Some((moved, self.replay(2, scheduler, |_, _, _| ())?.cost))
            }
        };
        Ok(Report {
            program,
            configuration: Configuration {
                machine: self.machine,
                memory: self.memory,
            },
            placement,
            threads,
            cost: first.cost,
            lines_moved,
            lines,
            apart,
            notes: first.notes,
        })
    }

    fn replay(
        &mut self,
        number: usize,
        scheduler: Scheduler,
        each: impl FnMut(usize, &Quantum<'_>, &Executed),
    ) -> Result<Replayed, SharingError> {
        match AnyMemory::new(&self.machine, &self.memory)? {
            AnyMemory::T2Plus(memory) => self.replay_on(memory, number, scheduler, each),
            AnyMemory::Other(memory) => self.replay_on(memory, number, scheduler, each),
        }
    }

    fn replay_on<V: Variant>(
        &mut self,
        mut memory: MemorySystem<V>,
        number: usize,
        mut scheduler: Scheduler,
        mut each: impl FnMut(usize, &Quantum<'_>, &Executed),
    ) -> Result<Replayed, SharingError> {
        let devices = devices(self.machine, 0);
        memory.note_moves();
        let mut work = memory.work(&devices);
        let mut quanta = 0_u64;
        while let Some((thread, quantum)) = scheduler.next(usize::MAX)? {
            let executed = work.replay(&quantum);
            each(thread, &quantum, &executed);
            scheduler.executed(&executed);
            quanta += 1;
            if quanta.is_multiple_of(PROGRESS) {
                (self.progress)(number, scheduler.progress().read);
            }
        }
        work.finish(scheduler.now());
        (self.progress)(number, scheduler.progress().read);
        let lines: Vec<_> = memory.moves().collect();
        let sum = |part: fn(&Moves) -> u64| lines.iter().map(|(_, moves)| part(moves)).sum();
        Ok(Replayed {
            cost: Cost {
                cycles: scheduler.now(),
                transfers: sum(|moves| moves.transfers),
                invalidations: sum(|moves| moves.invalidations),
            },
            notes: scheduler.notes(),
            lines,
        })
    }
}
