//! Replays the programs on their strands.

use guest_abi::event::SparcEvent;

use super::error::RunError;
use super::part::{ReplayOrder, ReplayPart};
use super::pause::{MAX_UNREAD_CYCLES, MAX_UNREAD_REFERENCES};
use super::progress::Progress;
use super::region::Entered;
use super::region::Region;
use super::setup::{Prepared, Setup};
use super::threads::Threads;
use std::borrow::Cow;
use std::ops::ControlFlow;

use crate::analysis::details::{Details, Watcher};
use crate::counts::Counts;
use crate::machine::board::Board;
use crate::memory::{AnyMemory, Truth, Usage};
use crate::recording::Recording;
use crate::replay::pace::Pace;
use crate::replay::placement::Placement;
use crate::replay::scheduler::Scheduler;
use crate::run::{ProcessRun, RegionRun, ThreadRun, Waits};

/// The events that never happen in a recording without control flow.
const BRANCHES: [SparcEvent; 2] = [SparcEvent::BranchesCompleted, SparcEvent::BranchesTaken];

pub(super) struct Replay {
    scheduler: Scheduler,
    memory: Box<AnyMemory>,
    pause: u64,
    pace: Pace,
    pub(super) references: u64,
    threads: Threads,
    details: Option<Box<Watcher>>,
    /// A sentence for each program whose recording has no branches; empty if the guest does not count branches.
    notes: Vec<String>,
    /// The processes, with all counts 0; empty if there is only one process.
    processes: Vec<ProcessRun>,
    /// The state when the counters were last read: the number of references replayed by then, and the number of cycles that lines
    /// had spent in a queue.
    read: (u64, u64),
    /// The region, and how the replay reached it.
    entered: Entered,
    /// Whether strands execute in the order of their turns and no core runs ahead.
    is_one_by_one: bool,
    /// The counts at the region's start; `None` if the region starts with the programs.
    before: Option<Box<Before>>,
}

/// A replay's counts at the start of its region.
struct Before {
    truth: Truth,
    usage: Usage,
    threads: Vec<ThreadRun>,
}

/// Returns the processes, with all counts 0.
fn processes(programs: &[Recording]) -> Vec<ProcessRun> {
    let process = |first: &mut usize, program: &Recording| {
        let (first_thread, threads) = (*first, program.threads());
        *first += threads;
        Some(ProcessRun {
            name: program.name().to_owned(),
            command: program.command().map(str::to_owned),
            first_thread,
            threads,
            instructions: 0,
            cycles: 0,
        })
    };
    programs.iter().scan(0, process).collect()
}

impl Replay {
    /// Returns a replay that has executed no reference yet.
    pub(super) fn new(prepared: &mut Prepared) -> Self {
        let programs = std::mem::take(&mut prepared.setup.programs);
        let placed = &prepared.placed;
        let dealt = matches!(prepared.placement, Placement::Deal(_));
        let pic = prepared.setup.selection.pic.as_ref();
        let counts_branches =
            pic.is_some_and(|choice| choice.events().any(|event| BRANCHES.contains(&event)));
        let branches_unknown =
            programs.iter().filter(|program| counts_branches && !program.has_flow());
        let note = |program: &Recording| {
            let name = program.name();
            format!("{name} does not say which instructions are branches: none is counted as one")
        };
        let notes = branches_unknown.map(note).collect();
        let processes = match programs.len() {
            0 | 1 => Vec::new(),
            _ => processes(&programs),
        };
        let mut memory = prepared.memory.take().expect("a replay begins once");
        let is_whole = prepared.setup.region == Region::default();
        let watcher = || Box::new(Watcher::new(&programs, dealt, is_whole));
        let details = prepared.setup.details.then(watcher);
        if details.is_some() {
            memory.track_moves();
        }
        let number = |number| if dealt { 0 } else { number };
        let threads = placed.iter().enumerate();
        let mut scheduler = Scheduler::placed(programs, placed, dealt);
        if prepared.setup.details {
            scheduler.collect_time_line();
        }
        if prepared.setup.late > 0 {
            scheduler.delay_starts(prepared.setup.late);
        }
        Self {
            threads: Threads::new(threads.map(|(thread, strand)| (number(thread), *strand))),
            scheduler,
            memory,
            pause: prepared.pause,
            pace: Pace::default(),
            details,
            references: 0,
            notes,
            processes,
            read: (0, 0),
            entered: Entered::whole_program(),
            is_one_by_one: prepared.is_one_by_one,
            before: None,
        }
    }

    /// Brings the replay to the start of its region. Earlier events are not counted.
    pub(super) fn enter(
        &mut self,
        prepared: &Prepared,
        observe: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), RunError> {
        let Setup { region, machine, .. } = &prepared.setup;
        if *region == Region::default() {
            return Ok(());
        }
        self.entered = region.enter(&mut self.scheduler, &mut self.memory, *machine, observe)?;
        if self.entered.before() == 0 {
            return Ok(());
        }
        let truth = self.memory.truth();
        let before = Before {
            truth: truth.clone(),
            usage: self.memory.usage(),
            threads: self.threads.results(truth),
        };
        self.before = Some(Box::new(before));
        self.note_read();
        if let Some(details) = &mut self.details {
            self.memory.track_moves();
            details.begin(self.entered.began);
        }
        Ok(())
    }

    /// Returns `true` if the observer stopped the replay before its region.
    pub(super) fn is_stopped(&self) -> bool {
        self.entered.stopped
    }

    /// Returns an error if the programs ended before the region's end.
    pub(super) fn ensure_ended(&self) -> Result<(), RunError> {
        Ok(self.entered.ensure_ended(&self.scheduler)?)
    }

    pub(super) fn region(&self) -> Option<RegionRun> {
        self.entered.run(&self.scheduler)
    }

    /// Replays at most `most` references. Stops earlier if the caller should report its progress or
    /// [read the counters](Self::is_long_unread). Returns `false` if all threads have ended. If fewer than `most` references were
    /// replayed, some cores may be ahead of others until [`synchronize`](Self::synchronize) is called.
    pub(super) fn next(&mut self, most: u64, board: &Board<'_>) -> Result<bool, RunError> {
        let unread = MAX_UNREAD_REFERENCES - (self.references - self.read.0);
        let pause = self.pause - (self.references - self.read.0) % self.pause;
        // Near the limit, the counters must be read after the same reference whether or not cores run ahead.
        let is_near = self.unread_cycles() > MAX_UNREAD_CYCLES / 2;
        let way = match self.is_one_by_one || is_near {
            true => ReplayOrder::OneByOne,
            false => ReplayOrder::Ahead(self.references + pause),
        };
        let most = match way {
            ReplayOrder::OneByOne => most.min(unread).min(pause),
            ReplayOrder::Ahead(_) => most.min(unread),
        };
        self.replay(way, most, board)
    }

    /// Undoes what cores have executed ahead of others, so that all cores are at the same point in time.
    fn synchronize(&mut self, board: &Board<'_>) -> Result<(), RunError> {
        self.replay(ReplayOrder::OneByOne, 0, board).map(drop)
    }

    fn replay(&mut self, way: ReplayOrder, most: u64, board: &Board<'_>) -> Result<bool, RunError> {
        let (devices, references) = (board.devices(), self.references);
        let (scheduler, threads) = (&mut self.scheduler, &mut self.threads);
        let (details, pace) = (self.details.as_deref_mut(), &mut self.pace);
        let (references, goes_on) = match &mut *self.memory {
            AnyMemory::T2Plus(memory) => {
                let work = memory.work(devices);
                ReplayPart::new(scheduler, threads, work, (details, pace), references, most)
                    .replay(way)
            }
            AnyMemory::Other(memory) => {
                let work = memory.work(devices);
                ReplayPart::new(scheduler, threads, work, (details, pace), references, most)
                    .replay(way)
            }
        }?;
        self.references = references;
        Ok(goes_on)
    }

    /// Adds all events so far to the devices' counters.
    pub(super) fn update_counters(&mut self, board: &Board<'_>) -> Result<(), RunError> {
        self.synchronize(board)?;
        let (now, devices) = (self.scheduler.now(), board.devices());
        match &mut *self.memory {
            AnyMemory::T2Plus(memory) => memory.work(devices).finish(now)?,
            AnyMemory::Other(memory) => memory.work(devices).finish(now)?,
        }
        Ok(self.threads.stray().map_or(Ok(()), Err)?)
    }

    /// Returns `true` if the counters must be read before the replay continues, because otherwise a counter could wrap twice.
    pub(super) fn is_long_unread(&self) -> bool {
        self.references - self.read.0 == MAX_UNREAD_REFERENCES
            || self.unread_cycles() > MAX_UNREAD_CYCLES
    }

    /// Returns the number of cycles that lines have spent in a queue since the counters were last read.
    fn unread_cycles(&self) -> u64 {
        self.memory.truth().most_queued() - self.read.1
    }

    pub(super) fn note_read(&mut self) {
        self.read = (self.references, self.memory.truth().most_queued());
    }

    pub(super) fn progress(&self) -> Progress {
        self.scheduler.progress(self.scheduler.passed().references)
    }

    pub(super) fn notes(&self) -> Vec<String> {
        let region = self.region().map(|region| region.note());
        let mut notes = [self.scheduler.notes(), self.notes.clone()].concat();
        notes.extend(region);
        notes
    }

    /// Returns the object that collects details; `None` if no details are collected.
    pub(super) fn watcher(&mut self) -> Option<&mut Watcher> {
        self.details.as_deref_mut()
    }

    /// Returns the details so far; `None` if no details are collected.
    pub(super) fn details(&self) -> Option<Details> {
        let (now, memory) = (self.truth().cycles(), &self.memory);
        let (details, homes) = (self.details.as_ref()?, memory.line_homes());
        let timeline = self.scheduler.time_line();
        let moves = (memory.moves(), memory.other_moves());
        Some(Details { timeline, ..details.details(now, moves, |line| homes.home(line)) })
    }

    pub(super) fn usage(&self) -> Usage {
        let mut usage = self.memory.usage();
        if let Some(before) = &self.before {
            usage.subtract(&before.usage);
        }
        usage
    }

    pub(super) fn threads(&self) -> Vec<ThreadRun> {
        let mut threads = self.threads.results(self.memory.truth());
        if let Some(before) = &self.before {
            threads.subtract(&before.threads);
        }
        for (thread, states) in threads.iter_mut().zip(self.scheduler.states()) {
            thread.states = states;
        }
        threads
    }

    /// Returns each process's work so far; empty if there is only one process.
    pub(super) fn processes(&self) -> Vec<ProcessRun> {
        let threads = if self.processes.is_empty() { Vec::new() } else { self.threads() };
        let of = |process: &ProcessRun| {
            let all = process.first_thread..process.first_thread + process.threads;
            let of = threads.get(all).unwrap_or_default();
            let sum = |part: fn(&ThreadRun) -> u64| of.iter().map(part).sum();
            let (instructions, cycles) = (sum(|one| one.instructions), sum(|one| one.cycles));
            ProcessRun { instructions, cycles, ..process.clone() }
        };
        self.processes.iter().map(of).collect()
    }

    /// Returns sentences about program actions that are missing from the recordings.
    pub(super) fn missing(&self) -> Vec<String> {
        self.scheduler.missing()
    }

    pub(super) fn waits(&self) -> Waits {
        self.scheduler.waits()
    }

    /// Returns the record of what has happened in the region.
    pub(super) fn truth(&self) -> Cow<'_, Truth> {
        let truth = self.memory.truth();
        match &self.before {
            Some(before) => Cow::Owned(truth.since(&before.truth)),
            None => Cow::Borrowed(truth),
        }
    }
}
