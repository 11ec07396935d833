//! Finds the memory lines that move between nodes, and the threads that use each byte of these lines. Also finds how much time the program
//! would save if different nodes' bytes were in separate lines.
//!
//! A program is replayed up to three times. The first replay finds the lines that move most between nodes' L2 caches. The second replay
//! finds the threads that use the bytes of these lines. If nodes use different bytes of a line, the third replay has these bytes in
//! separate lines. A replay is deterministic, so the first and the third replay differ only because of false sharing.

mod apart;
mod report;
#[cfg(test)]
mod tests;
mod users;

use std::ops::ControlFlow;

use guest_abi::StrandId;
use platform::Machine;

use crate::machine::board::devices;
use crate::machine::configuration::Configuration;
use crate::memory::geometry::LINE_SHIFT;
use crate::memory::{
    AnyMemory, Config, Executed, LineHomes, MemoryError, MemorySystem, Moves, Quantum, Stray,
    Variant,
};
use crate::recording::{Recording, RecordingError};
use crate::replay::Progress;
use crate::replay::placement::{Placement, PlacementError};
use crate::replay::region::{Entered, Region, RegionError};
use crate::replay::scheduler::Scheduler;
use crate::run::RegionRun;
use crate::setters::setters;
use apart::Apart;
pub use report::{Cost, Separated, SharedLine, Sharing, SharingReport};
pub(crate) use users::Users;
pub use users::{Code, Use, User, byte_list};

/// The settings for examining how a program's threads share lines, and the machine that replays the program.
///
/// [`Job::new`] sets the fields to the values that most examinations need. To change a field, call the method of the same name.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Job {
    /// The machine that replays the program.
    pub machine: Machine,
    /// The machine's caches, and how long its operations take. An L2 cache line must have 64 bytes.
    pub memory: Config,
    /// The strand that executes each thread. `None` selects the [default](Placement::default_for).
    pub placement: Option<Placement>,
    /// The maximum number of lines to report.
    pub most: usize,
    /// The part of the program that is examined, and its warm-up.
    pub region: Region,
}

/// Why the program's sharing of lines cannot be examined.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum SharingError {
    Recording(#[from] RecordingError),
    Placement(#[from] PlacementError),
    Memory(#[from] MemoryError),
    Stray(#[from] Stray),
    #[error(transparent)]
    Region(#[from] RegionError),
    #[error("l2.line is {0}, expected 64: a 64-bit word has one bit for each byte of a line")]
    Lines(u64),
}

/// The number of scheduler quanta between two calls to the observer.
const PROGRESS: u64 = 1 << 16;

/// Returns the `most` lines that moved most often, in descending order of moves.
pub(crate) fn hottest(mut lines: Vec<(u64, Moves)>, most: usize) -> Vec<(u64, Moves)> {
    lines.sort_unstable_by_key(|(line, moves)| (std::cmp::Reverse(moves.all()), *line));
    lines.truncate(most);
    lines
}

struct Examined {
    cost: Cost,
    /// Whether the program was replayed to its end.
    complete: bool,
    /// Whether the observer stopped the job.
    stopped: bool,
    /// The number of lines that moved.
    lines_moved: usize,
    /// Each line that moved, as its number and its moves, in any order. If too many lines moved, only the lines that moved most are
    /// listed.
    lines: Vec<(u64, Moves)>,
    /// Maps each line to its home node.
    homes: LineHomes,
    notes: Vec<String>,
    missing: Vec<String>,
    region: Option<RegionRun>,
}

impl Job {
    /// Returns a job that examines a program on this machine. The job has T2 Plus processors, and
    /// reports at most 10 lines.
    #[must_use]
    pub fn new(machine: Machine) -> Self {
        let (memory, region) = (Config::T2_PLUS, Region::default());
        Self { machine, memory, placement: None, most: 10, region }
    }

    setters! {
        memory: Config,
        placement: Option<Placement>,
        most: usize,
        region: Region,
    }

    /// Replays the program up to three times, and reports the lines that move between nodes. Each replay calls `open` once to open the
    /// recordings of the program's processes. From time to time, `observe` receives the replay's index, from 0, and its progress. If
    /// `observe` returns [`ControlFlow::Break`], the job ends early. The report then has the results so far, and says that the job was
    /// [stopped](SharingReport::stopped).
    ///
    /// # Errors
    /// Returns an error if the recording cannot be read, if the threads cannot be placed, or if the machine has no memory.
    pub fn run<R: Into<Vec<Recording>>>(
        &self,
        mut open: impl FnMut() -> Result<R, RecordingError>,
        mut observe: impl FnMut(usize, Progress) -> ControlFlow<()>,
    ) -> Result<SharingReport, SharingError> {
        self.observed(&mut || open().map(Into::into), &mut observe)
    }

    /// Does the work of [`run`](Self::run). This function is not generic, so the replay is compiled in this crate.
    fn observed(
        &self,
        open: &mut dyn FnMut() -> Result<Vec<Recording>, RecordingError>,
        observe: &mut dyn FnMut(usize, Progress) -> ControlFlow<()>,
    ) -> Result<SharingReport, SharingError> {
        if self.memory.l2.line != 1 << LINE_SHIFT {
            return Err(SharingError::Lines(self.memory.l2.line));
        }
        let recordings = open()?;
        let program = recordings.first().map_or("", Recording::name).to_owned();
        let threads = recordings.iter().map(Recording::threads).sum();
        let named = Placement::named(&recordings);
        let placement = (self.placement.clone()).unwrap_or_else(|| Placement::default_for(&named));
        let all = (0..self.machine.strands()).filter_map(StrandId::new).collect();
        let strands = placement.strands(self.machine, all, &named)?;
        let deal = matches!(placement, Placement::Deal(_));
        let schedule = |recordings| Scheduler::placed(recordings, &strands, deal);

        let first = self.replay(&mut |at| observe(0, at), schedule(recordings), |_, _, _| ())?;
        let mut stopped = first.stopped;
        let lines_moved = first.lines_moved;
        let hottest = hottest(first.lines, self.most);

        let mut users = Users::new(hottest.iter().map(|(line, _)| *line));
        if !(hottest.is_empty() || stopped) {
            let scheduler = schedule(open()?);
            let note = |thread, quantum: &Quantum<'_>, executed: &Executed| {
                for reference in quantum.references.up_to(executed.references).iter() {
                    let reference = reference.in_image(quantum.image);
                    users.note(thread, quantum.strand, quantum.offset, &reference);
                }
            };
            stopped = self.replay(&mut |at| observe(1, at), scheduler, note)?.stopped;
        }
        let homes = first.homes;
        let numbers: Vec<_> = hottest.iter().map(|(line, _)| *line).collect();
        let lines = hottest.into_iter().map(|(line, moves)| {
            let (address, mut users) = users.users_of(line);
            if deal {
                // The program has only one thread, and each strand executes parts of it.
                users.iter_mut().for_each(|user| user.thread = 0);
            }
            SharedLine::new(address, homes.home(line), moves, users)
        });
        let lines: Vec<_> = lines.collect();

        let apart = Apart::new(numbers.into_iter().zip(&lines), homes.nodes(), users.free_region());
        let apart = if apart.lines() == 0 || stopped {
            None
        } else {
            let mut scheduler = schedule(open()?);
            let lines = apart.lines();
            scheduler.move_data(move |address| apart.address(address));
            let last = self.replay(&mut |at| observe(2, at), scheduler, |_, _, _| ())?;
            stopped = !last.complete;
            last.complete.then_some(Separated { lines, cost: last.cost })
        };
        let mut notes = first.notes;
        notes.extend(first.region.as_ref().map(RegionRun::note));
        if stopped {
            notes.push("the search was stopped: costs, lines or their users are incomplete".into());
        }
        Ok(SharingReport {
            program,
            machine: self.machine.model().name().into(),
            nodes: self.machine.nodes(),
            configuration: Configuration { machine: self.machine, memory: self.memory },
            placement,
            threads,
            region: first.region,
            cost: first.cost,
            lines_moved,
            lines,
            apart,
            notes,
            missing: first.missing,
            stopped,
        })
    }

    fn replay(
        &self,
        observe: &mut dyn FnMut(Progress) -> ControlFlow<()>,
        scheduler: Scheduler,
        each: impl FnMut(usize, &Quantum<'_>, &Executed),
    ) -> Result<Examined, SharingError> {
        match AnyMemory::new(&self.machine, &self.memory)? {
            AnyMemory::T2Plus(memory) => self.replay_on(memory, observe, scheduler, each),
            AnyMemory::Other(memory) => self.replay_on(memory, observe, scheduler, each),
        }
    }

    fn replay_on<V: Variant>(
        &self,
        mut memory: MemorySystem<V>,
        observe: &mut dyn FnMut(Progress) -> ControlFlow<()>,
        mut scheduler: Scheduler,
        mut each: impl FnMut(usize, &Quantum<'_>, &Executed),
    ) -> Result<Examined, SharingError> {
        let entered = match self.region == Region::default() {
            true => Entered::whole_program(),
            false => self.region.enter_with(&mut scheduler, &mut memory, self.machine, observe)?,
        };
        let devices = devices(self.machine, 0);
        memory.track_moves();
        let mut work = memory.work(&devices);
        let mut quanta: u64 = 0;
        let complete = loop {
            if entered.stopped {
                break false;
            }
            let Some((thread, quantum)) = scheduler.next(usize::MAX)? else { break true };
            let executed = work.replay(&quantum);
            each(thread, &quantum, &executed);
            scheduler.executed(&executed);
            quanta += 1;
            if quanta.is_multiple_of(PROGRESS)
                && observe(scheduler.progress(scheduler.passed().references)).is_break()
            {
                break false;
            }
        };
        work.finish(scheduler.now())?;
        if complete {
            entered.ensure_ended(&scheduler)?;
        }
        let references = scheduler.passed().references;
        let stopped = !complete || observe(scheduler.progress(references)).is_break();
        let lines: Vec<_> = memory.moves().collect();
        let others = memory.other_moves();
        let sum = |part: fn(&Moves) -> u64| {
            part(&others.moves) + lines.iter().map(|(_, moves)| part(moves)).sum::<u64>()
        };
        Ok(Examined {
            complete,
            stopped,
            cost: Cost {
                cycles: scheduler.now() - entered.began,
                transfers: sum(|moves| moves.transfers),
                invalidations: sum(|moves| moves.invalidations),
            },
            notes: scheduler.notes(),
            missing: scheduler.missing(),
            region: entered.run(&scheduler),
            lines_moved: others.lines + lines.len(),
            lines,
            homes: memory.line_homes(),
        })
    }
}
