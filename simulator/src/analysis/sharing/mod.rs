//! Sharing of memory lines between nodes: which lines move, which threads use which bytes of a line, and what separate lines for
//! these bytes would save.
//!
//! A program is replayed up to three times. The first replay finds the lines that move most between the L2 caches of nodes. The
//! second finds which threads use the bytes of these lines. If nodes use different bytes of a line, the third has these bytes in
//! separate lines. A replay is deterministic, so the first and the last replay differ by the cost of false sharing.

mod apart;
mod report;
#[cfg(test)]
mod tests;
mod users;

use guest_abi::StrandId;
use platform::Machine;

use crate::machine::board::devices;
use crate::machine::configuration::Configuration;
use crate::memory::geometry::LINE_SHIFT;
use crate::memory::{
    AnyMemory, Config, Executed, MemoryError, MemorySystem, Moves, Quantum, Stray, Variant,
};
use crate::recording::{Recording, RecordingError};
use crate::replay::placement::{Placement, PlacementError};
use crate::replay::scheduler::Scheduler;
use apart::Apart;
pub use report::{Cost, Separated, SharedLine, Sharing, SharingReport};
pub(crate) use users::Users;
pub use users::{Code, Use, User, byte_list};

/// A program to examine, and the machine that replays it.
pub struct Job<'a> {
    /// Opens the recording. Each replay calls this once.
    pub open: &'a mut dyn FnMut() -> Result<Recording, RecordingError>,
    /// The machine that replays the program.
    pub machine: Machine,
    /// The machine's caches, and how long its actions take. A line of the L2 cache must have 64 bytes.
    pub memory: Config,
    /// Which strand executes which thread; `None` for the [default](Placement::default_for).
    pub placement: Option<Placement>,
    /// The maximum number of lines to report.
    pub most: usize,
    /// Receives, from time to time, the number of the replay (from 0) and the number of bytes of the recording read so far.
    pub progress: &'a mut dyn FnMut(usize, u64),
}

/// Why sharing cannot be examined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum SharingError {
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error(transparent)]
    Placement(#[from] PlacementError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error(transparent)]
    Stray(#[from] Stray),
    #[error(
        "l2.line is {0}, expected 64: the bytes of a line that somebody uses are bits of a word"
    )]
    Lines(u64),
}

/// The number of quanta between two calls of [`Job::progress`].
const PROGRESS: u64 = 1 << 16;

/// Returns the `most` lines with the most moves, in descending order.
pub(crate) fn hottest(mut lines: Vec<(u64, Moves)>, most: usize) -> Vec<(u64, Moves)> {
    lines.sort_unstable_by_key(|(line, moves)| (std::cmp::Reverse(moves.all()), *line));
    lines.truncate(most);
    lines
}

struct Replayed {
    cost: Cost,
    /// The lines that moved, each with its number, in no particular order.
    lines: Vec<(u64, Moves)>,
    notes: Vec<String>,
}

impl Job<'_> {
    /// Replays the program up to three times, and reports the lines that move between nodes.
    ///
    /// # Errors
    /// The recording cannot be read, the threads cannot be placed, or the machine has no memory.
    pub fn run(mut self) -> Result<SharingReport, SharingError> {
        if self.memory.l2.line != 1 << LINE_SHIFT {
            return Err(SharingError::Lines(self.memory.l2.line));
        }
        let recording = (self.open)()?;
        let (program, threads) = (recording.name().to_owned(), recording.threads());
        let named = Placement::named(std::slice::from_ref(&recording));
        let placement = (self.placement.take()).unwrap_or_else(|| Placement::default_for(&named));
        let all = (0..self.machine.strands()).filter_map(StrandId::new).collect();
        let strands = placement.strands(self.machine, all, &named)?;
        let deal = matches!(placement, Placement::Deal(_));
        let schedule = |recording| Scheduler::placed(vec![recording], &strands, deal);

        let first = self.replay(0, schedule(recording), |_, _, _| ())?;
        let lines_moved = first.lines.len();
        let hottest = hottest(first.lines, self.most);

        let mut users = Users::new(hottest.iter().map(|(line, _)| *line));
        if !hottest.is_empty() {
            let scheduler = schedule((self.open)()?);
            self.replay(1, scheduler, |thread, quantum, executed| {
                for reference in quantum.references.up_to(executed.references).iter() {
                    users.note(thread, quantum.strand, 0, &reference);
                }
            })?;
        }
        let home = MemorySystem::new(&self.machine).map_err(MemoryError::from)?;
        let lines = hottest.into_iter().map(|(line, moves)| {
            let (address, mut users) = users.users_of(line);
            if deal {
                // The program has only one thread, which all strands execute.
                users.iter_mut().for_each(|user| user.thread = 0);
            }
            SharedLine::new(address, home.home(line), moves, users)
        });
        let lines: Vec<_> = lines.collect();

        let apart = Apart::new(&lines, home.homes(), users.free());
        let apart = if apart.lines() == 0 {
            None
        } else {
            let mut scheduler = schedule((self.open)()?);
            let lines = apart.lines();
            scheduler.move_data(move |address| apart.address(address));
            let cost = self.replay(2, scheduler, |_, _, _| ())?.cost;
            Some(Separated { lines, cost })
        };
        Ok(SharingReport {
            program,
            machine: self.machine.model().name().into(),
            nodes: self.machine.nodes(),
            configuration: Configuration { machine: self.machine, memory: self.memory },
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
        work.finish(scheduler.now())?;
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
