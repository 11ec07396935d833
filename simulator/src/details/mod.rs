//! Details of a simulation, for those who show it in pictures: what happened when, where in memory, by which instruction, and
//! between whom.
//!
//! They are collected only if a [setup](crate::simulation::Setup::details) asks for them, because that costs time: the programs are
//! replayed reference by reference, and the guest reads its counters more often. All numbers are the truth, and not samples. They
//! take little memory, however long a program is: what has no bound by itself is merged or summed up, as each part says. An
//! observer can have them [at each sample](crate::simulation::Now::details) while a simulation runs.

mod calls;
mod code;
mod heat;
mod lines;
mod series;

use guest_abi::{Node, StrandId};
use serde::Serialize;

use crate::events::Trace;
use crate::events::summary::{Conflicts, Summary};
use crate::memory::{Moves, Waited, Watched};
use crate::recording::{Mapping, Recording, Reference};
use crate::scheduler::program_at;
pub use calls::{Calls, Durations, ShownEvent};
pub use code::{Instruction, Missed};
pub use heat::Heat;
pub use lines::Lines;
pub(crate) use series::Point;
pub use series::{
    ChannelSeries, CounterName, CounterSeries, GuestSeries, LinkSeries, Reads, Series,
};

/// Details of a simulation.
#[derive(Clone, Debug, Serialize)]
pub struct Details {
    /// The programs.
    pub programs: Vec<Program>,
    /// Counts over time.
    pub series: Series,
    /// Misses by address and time.
    pub heat: Heat,
    /// Misses by instruction: the instructions that were waited for longest, 1,024 at most, the longest first.
    pub code: Vec<Instruction>,
    /// The misses of all other instructions. (If there are more than 65,536, those that were waited for least are among them.)
    pub code_others: Missed,
    /// The lines that nodes take from each other, and who uses them.
    pub lines: Lines,
    /// The hypercalls by guest, function, class of register and status, and how long they took; none while the simulation runs.
    pub calls: Vec<Calls>,
    /// The calls that found their hub taken, by time; none while the simulation runs.
    pub conflicts: Vec<Conflicts>,
    /// The hypervisor's events for a time line, 1,000 at most, spread over the whole time; none while the simulation runs.
    pub events: Vec<ShownEvent>,
    /// How many events are in none of these three.
    pub events_lost: u64,
}

impl Details {
    /// Adds what the hypervisor's events say.
    pub(crate) fn add_events(&mut self, trace: &Trace) {
        let summary = Summary::new(trace);
        self.conflicts = summary.conflicts;
        self.events_lost = summary.lost;
        self.calls = calls::calls(trace);
        self.events = calls::shown(trace);
    }
}

/// A program.
#[derive(Clone, Debug, Serialize)]
pub struct Program {
    /// The name of the recording.
    pub name: String,
    /// The command line of the program, if the recording has it.
    pub command: Option<String>,
    /// How many threads it has.
    pub threads: usize,
    /// The files that it had in memory, if the recording has them: what instructions are called is found there.
    pub mappings: Vec<Mapping>,
}

impl Program {
    fn new(recording: &Recording) -> Self {
        Self {
            name: recording.name().to_owned(),
            command: recording.command().map(str::to_owned),
            threads: recording.threads(),
            mappings: recording.mappings().to_owned(),
        }
    }
}

/// Details until now.
pub(crate) struct Watcher {
    programs: Vec<Program>,
    points: Option<series::Points>,
    heat: heat::Map,
    misses: code::Misses,
    moved: lines::Moved,
    /// The instruction that each thread executes.
    instructions: Vec<Option<u64>>,
}

impl Watcher {
    /// Begins to watch these programs. `dealt` says that the references are of one thread that is dealt.
    pub(crate) fn new(programs: &[Recording], dealt: bool) -> Self {
        Self {
            programs: programs.iter().map(Program::new).collect(),
            points: None,
            heat: heat::Map::new(),
            misses: code::Misses::default(),
            moved: lines::Moved::new(dealt),
            instructions: Vec::new(),
        }
    }

    /// Says whose calls and which counters the [points](Self::add) have.
    pub(crate) fn name(&mut self, guests: Vec<String>, counters: Vec<CounterName>) {
        self.points = Some(series::Points::new(guests, counters));
    }

    /// Returns after how many references the next point is wanted; never if it is not [known](Self::name) what it has.
    pub(crate) fn due(&self) -> u64 {
        self.points.as_ref().map_or(u64::MAX, series::Points::due)
    }

    /// The guest has read its counters for the next point alone, with so many calls.
    pub(crate) fn note_read(&mut self, calls: u64) {
        if let Some(points) = &mut self.points {
            points.note_read(calls);
        }
    }

    /// Takes in the next point.
    pub(crate) fn add(&mut self, point: Point) {
        if let Some(points) = &mut self.points {
            points.add(point);
        }
    }

    /// A thread has executed a reference.
    pub(crate) fn note(
        &mut self,
        thread: usize,
        quantum: (StrandId, u64),
        reference: &Reference,
        watched: &Watched<'_>,
    ) {
        let (strand, offset) = quantum;
        if self.instructions.len() <= thread {
            self.instructions.resize(thread + 1, None);
        }
        if reference.kind.is_fetch() {
            self.instructions[thread] = Some(reference.address);
        }
        let (program, waited) = (program_at(offset), &watched.waited);
        if *waited != Waited::default() {
            self.misses.note(program, self.instructions[thread], waited);
            let misses = waited.served.misses();
            if misses > 0 {
                let counts = [misses, waited.served.c2c];
                self.heat
                    .note(program, reference.address, watched.now, counts);
            }
        }
        self.moved.note(thread, strand, offset, reference, watched);
    }

    /// Returns the details until the time `now`, given how often each line has moved, in any order, and where it is at home.
    pub(crate) fn details(
        &self,
        now: u64,
        moves: Vec<(u64, Moves)>,
        home: impl Fn(u64) -> Node,
    ) -> Details {
        let (code, code_others) = self.misses.code();
        let series = self.points.as_ref().map(series::Points::series);
        Details {
            programs: self.programs.clone(),
            series: series.unwrap_or_default(),
            heat: self.heat.heat(now),
            code,
            code_others,
            lines: self.moved.lines(moves, home),
            calls: Vec::new(),
            conflicts: Vec::new(),
            events: Vec::new(),
            events_lost: 0,
        }
    }
}
