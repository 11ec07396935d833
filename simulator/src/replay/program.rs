//! Replays the programs on their strands.

use guest_abi::event::SparcEvent;

use super::error::RunError;
use super::progress::Progress;
use super::setup::Prepared;
use super::threads::Threads;
use crate::analysis::details::{Details, Watcher};
use crate::machine::board::Board;
use crate::memory::{
    AnyMemory, Config, Executed, MemorySystem, Quantum, Truth, Usage, Variant, Work,
};
use crate::recording::Recording;
use crate::replay::placement::Placement;
use crate::replay::scheduler::Scheduler;
use crate::run::{ThreadRun, Waits};

/// The maximum number of references without a pause, on a machine whose DRAM channels are as fast as the channels of a T2 Plus.
const PAUSE: u64 = 1 << 14;

/// The maximum number of references between two reads of the counters. With more, a counter of 31 bits could wrap twice.
const LONGEST_UNREAD: u64 = 1_000_000;

/// The maximum number of cycles that lines may spend in a DRAM channel's queue between two reads of the counters. With more, a counter
/// of 31 bits could wrap twice.
const MOST_UNREAD_CYCLES: u64 = 1 << 30;

/// The events that never happen in a recording without control flow.
const BRANCHES: [SparcEvent; 2] = [SparcEvent::BranchesCompleted, SparcEvent::BranchesTaken];

/// Returns the maximum number of references without a pause. Slow DRAM channels need more pauses: lines wait longer, so
/// [`MOST_UNREAD_CYCLES`] pass sooner.
fn pause(memory: &Config) -> u64 {
    let slower = |config: &Config| config.timing.channel_read.max(config.timing.channel_write);
    let (own, usual) = (slower(memory), slower(&Config::T2_PLUS));
    PAUSE * usual / own.max(usual)
}

pub(super) struct Replay {
    scheduler: Scheduler,
    memory: AnyMemory,
    pause: u64,
    pub(super) references: u64,
    threads: Threads,
    details: Option<Box<Watcher>>,
    /// A sentence for each program whose recording has no branches; empty if the guest does not count branches.
    notes: Vec<String>,
    /// The state when the counters were last read: the number of replayed references, and the number of cycles that lines had spent in a
    /// queue.
    read: (u64, u64),
}

/// Replays a quantum of a thread. Collects details about it.
#[cold]
#[inline(never)]
fn watch<V: Variant>(
    details: &mut Watcher,
    thread: usize,
    quantum: &Quantum<'_>,
    work: &mut Work<'_, V>,
) -> Executed {
    work.watch(quantum, |reference, watched| {
        let place = (quantum.strand, quantum.offset);
        details.note(thread, place, reference, watched);
    })
}

impl Replay {
    /// Returns a replay before its first reference.
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
        let mut memory = prepared.memory.clone();
        let details = (prepared.setup.details).then(|| {
            memory.note_moves();
            Box::new(Watcher::new(&programs, dealt))
        });
        let number = |number| if dealt { 0 } else { number };
        let threads = placed.iter().enumerate();
        let mut scheduler = Scheduler::placed(programs, placed, dealt);
        if prepared.setup.details {
            scheduler.collect_time_line();
        }
        if prepared.setup.late > 0 {
            scheduler.start_late(prepared.setup.late);
        }
        Self {
            threads: Threads::new(threads.map(|(thread, strand)| (number(thread), *strand))),
            scheduler,
            memory,
            pause: pause(&prepared.setup.memory),
            details,
            references: 0,
            notes,
            read: (0, 0),
        }
    }

    /// Replays at most `most` references. Replays fewer if the caller should report its progress or [read the
    /// counters](Self::is_long_unread). Returns `false` if all threads have ended.
    pub(super) fn next(&mut self, most: u64, board: &Board<'_>) -> Result<bool, RunError> {
        let unread = LONGEST_UNREAD - (self.references - self.read.0);
        let part = Part {
            scheduler: &mut self.scheduler,
            threads: &mut self.threads,
            details: self.details.as_deref_mut(),
            most: most.min(self.pause).min(unread),
        };
        let replayed = match &mut self.memory {
            AnyMemory::T2Plus(memory) => part.replay(memory, board),
            AnyMemory::Other(memory) => part.replay(memory, board),
        }?;
        self.references += replayed;
        Ok(replayed > 0)
    }

    /// Adds all events so far to the counters of the devices.
    pub(super) fn catch_up(&mut self, board: &Board<'_>) -> Result<(), RunError> {
        let (now, devices) = (self.scheduler.now(), board.devices());
        match &mut self.memory {
            AnyMemory::T2Plus(memory) => memory.work(devices).finish(now)?,
            AnyMemory::Other(memory) => memory.work(devices).finish(now)?,
        }
        Ok(self.threads.stray().map_or(Ok(()), Err)?)
    }

    /// Returns `true` if the counters have to be read before the replay continues. Otherwise a counter could wrap twice.
    pub(super) fn is_long_unread(&self) -> bool {
        let (references, cycles) = self.read;
        self.references - references == LONGEST_UNREAD
            || self.truth().most_queued() - cycles > MOST_UNREAD_CYCLES
    }

    pub(super) fn note_read(&mut self) {
        self.read = (self.references, self.truth().most_queued());
    }

    pub(super) fn progress(&self) -> Progress {
        self.scheduler.progress(self.references)
    }

    pub(super) fn notes(&self) -> Vec<String> {
        [self.scheduler.notes(), self.notes.clone()].concat()
    }

    /// Returns the collector of details; `None` if no details are collected.
    pub(super) fn watcher(&mut self) -> Option<&mut Watcher> {
        self.details.as_deref_mut()
    }

    /// Returns the details so far; `None` if no details are collected.
    pub(super) fn details(&self) -> Option<Details> {
        let (now, memory) = (self.truth().cycles(), &self.memory);
        let (details, homes) = (self.details.as_ref()?, memory.line_homes());
        let timeline = self.scheduler.time_line();
        Some(Details { timeline, ..details.details(now, memory.moves(), |line| homes.home(line)) })
    }

    pub(super) fn usage(&self) -> Usage {
        self.memory.usage()
    }

    pub(super) fn threads(&self) -> Vec<ThreadRun> {
        let mut threads = self.threads.results(self.truth());
        for (thread, states) in threads.iter_mut().zip(self.scheduler.states()) {
            thread.states = states;
        }
        threads
    }

    pub(super) fn waits(&self) -> Waits {
        self.scheduler.waits()
    }

    pub(super) fn truth(&self) -> &Truth {
        self.memory.truth()
    }
}

/// All parts of a replay except the memory system, and the maximum number of references to replay.
struct Part<'a> {
    scheduler: &'a mut Scheduler,
    threads: &'a mut Threads,
    details: Option<&'a mut Watcher>,
    most: u64,
}

impl Part<'_> {
    fn replay<V: Variant>(
        self,
        memory: &mut MemorySystem<V>,
        board: &Board<'_>,
    ) -> Result<u64, RunError> {
        let Self { scheduler, threads, mut details, most } = self;
        let mut replayed = 0;
        let mut work = memory.work(board.devices());
        while replayed < most {
            let Some((thread, quantum)) = scheduler.next((most - replayed) as usize)? else {
                break;
            };
            let begins = quantum.begins;
            threads.begin(thread, quantum.strand, work.truth());
            let executed = match &mut details {
                None => work.replay(&quantum),
                Some(details) => watch(details, thread, &quantum, &mut work),
            };
            let cycles = scheduler.executed(&executed);
            replayed += executed.references as u64;
            threads.executed(thread, &executed, begins, cycles);
        }
        Ok(replayed)
    }
}
