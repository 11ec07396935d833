//! Details of a replay for charts: counts over time, by address, by instruction, and by memory line.
//!
//! Details cost time: each miss, each store and each use of a shared line is noted, and the guest reads its counters more often. So
//! details are collected only if a [setup](crate::replay::Setup::details) requests them. All counts are exact. Details take at most about
//! 200 MB of memory. Each part's documentation says what the part merges or adds up in a long replay. During a replay, an observer can
//! read the details at each sample, in [`PausedReplay`](crate::replay::PausedReplay).
//!
//! | maximum number | of | bytes each |
//! |---|---|---|
//! | 2^19 | hypercalls of guests, with their events | 120 to 210 |
//! | 2^19 | lines that moved between nodes | 32 to 64 |
//! | 2^17 | users of such lines: thread, instruction, kind of use | 140 to 280 |
//! | 2^16 | instructions that missed, stored or waited | 72 to 144 |
//! | 2^12 | blocks of memory with misses over time | 2,100 |
//! | 256 | points in time, each with all counters | 300 to 1,600 |

mod calls;
mod code;
mod heat;
mod lines;
mod series;

use guest_abi::{Node, StrandId};
use serde::{Deserialize, Serialize};

use crate::events::Trace;
use crate::events::summary::Conflicts;
use crate::memory::{MovedLines, Moves, OtherMoves, Served, Watch};
use crate::recording::{Mapping, Recording, Reference};
use crate::replay::scheduler::program_at;
use crate::run::TimeLine;
pub use calls::{Calls, Durations, ShownEvent};
pub(crate) use code::MAX_CODE;
pub use code::{InstructionMisses, Missed};
pub use heat::Heat;
pub use lines::Lines;
pub(crate) use series::SeriesPoint;
pub use series::{
    ChannelSeries, CounterName, CounterSeries, GuestSeries, LinkSeries, Reads, Series, UseSeries,
};

/// The details of a replay, for charts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
#[non_exhaustive]
pub struct Details {
    /// The replayed programs, in the order of the recordings.
    pub programs: Vec<ProgramDetails>,
    pub series: Series,
    /// Misses by address and time.
    pub heat: Heat,
    /// The misses of the 1,024 instructions with the most waiting cycles, in descending order of these cycles.
    pub code: Vec<InstructionMisses>,
    /// The total misses of all other instructions.
    pub code_others: Missed,
    /// The lines that moved between nodes, and these lines' users.
    pub lines: Lines,
    /// The states of the threads over time.
    #[serde(default)]
    pub timeline: TimeLine,
    /// The hypercalls and their durations, by guest, function, register class and status. Empty
    /// during the replay.
    pub calls: Vec<Calls>,
    /// The number of calls that could not get their hub immediately, by time. Empty during the replay.
    pub conflicts: Vec<Conflicts>,
    /// At most 1,000 of the hypervisor's events, spread over the whole time. Empty during the replay.
    pub events: Vec<ShownEvent>,
    /// The number of lost events, which are missing from `calls`, `conflicts` and `events`.
    pub events_lost: u64,
}

impl Details {
    pub(crate) fn add_events(&mut self, trace: &Trace) {
        let known = calls::DecodedEvents::new(trace);
        self.events = known.shown(trace);
        self.events_lost = trace.lost();
        (self.calls, self.conflicts) = known.counts(trace);
    }
}

/// A replayed program: its command line and its files.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ProgramDetails {
    pub name: String,
    /// The command line; `None` if the recording does not contain it.
    pub command: Option<String>,
    pub threads: usize,
    /// The files that the program had mapped, which contain the symbols of its instructions. Empty if the recording does not name the
    /// files.
    pub mappings: Vec<Mapping>,
}

impl ProgramDetails {
    fn new(recording: &Recording) -> Self {
        Self {
            name: recording.name().to_owned(),
            command: recording.command().map(str::to_owned),
            threads: recording.threads(),
            mappings: recording.mappings().to_owned(),
        }
    }
}

pub(crate) struct Watcher {
    programs: Vec<ProgramDetails>,
    points: Option<series::Points>,
    heat: heat::Map,
    misses: code::Misses,
    moved: lines::Moved,
    /// The time at which the details begin, in cycles.
    began: u64,
    /// The total number of references that will be replayed; `None` if it is not known.
    references: Option<u64>,
}

impl Watcher {
    /// Returns empty details. `dealt` is `true` if one thread's references are [dealt](crate::replay::placement::Placement::Deal) to
    /// several strands. `whole` is `true` if all of the programs' references are replayed.
    pub(crate) fn new(programs: &[Recording], dealt: bool, whole: bool) -> Self {
        let all = || programs.iter().map(Recording::references).sum();
        Self {
            programs: programs.iter().map(ProgramDetails::new).collect(),
            points: None,
            heat: heat::Map::new(),
            misses: code::Misses::new(),
            moved: lines::Moved::new(dealt),
            began: 0,
            references: whole.then(all).flatten(),
        }
    }

    /// Sets the time at which the details begin. Must be called before the first note.
    pub(crate) fn begin(&mut self, began: u64) {
        self.began = began;
    }

    /// Sets the guests' and the counters' names. All [points](Self::add) list the guests and the counters in this order.
    pub(crate) fn name(&mut self, guests: Vec<String>, counters: Vec<CounterName>) {
        self.points = Some(series::Points::new(guests, counters, self.references));
    }

    /// Returns the number of references after which the next point is due. Returns `u64::MAX` until
    /// [`name`](Self::name) is called.
    pub(crate) fn due(&self) -> u64 {
        self.points.as_ref().map_or(u64::MAX, series::Points::due)
    }

    /// Records that the guest has made `calls` hypercalls only to read its counters for the next point.
    pub(crate) fn note_read(&mut self, calls: u64) {
        if let Some(points) = &mut self.points {
            points.note_read(calls);
        }
    }

    pub(crate) fn add(&mut self, point: SeriesPoint) {
        if let Some(points) = &mut self.points {
            points.add(point);
        }
    }

    /// Returns a [`ThreadWatcher`] for a thread's references on a strand. `offset` is the offset of the thread's addresses, and `instruction` is
    /// the address of the thread's latest instruction.
    #[inline]
    pub(crate) fn watch_thread(
        &mut self,
        thread: usize,
        strand: StrandId,
        offset: u64,
        instruction: Option<u64>,
    ) -> ThreadWatcher<'_> {
        let program = program_at(offset);
        ThreadWatcher { watcher: self, thread, strand, offset, program, instruction }
    }

    /// Returns the details up to the time `now`. `moves` has the moves of individual lines, in any order. `others` has the total moves of
    /// all other lines. `home` returns a line's home node.
    pub(crate) fn details(
        &self,
        now: u64,
        (moves, others): (Vec<(u64, Moves)>, OtherMoves),
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
            lines: self.moved.lines(moves, others, home),
            ..Details::default()
        }
    }
}

/// Notes what a thread's references do.
pub(crate) struct ThreadWatcher<'a> {
    watcher: &'a mut Watcher,
    thread: usize,
    strand: StrandId,
    offset: u64,
    program: usize,
    /// The address of the thread's latest instruction.
    instruction: Option<u64>,
}

impl Watch for ThreadWatcher<'_> {
    #[inline(always)]
    fn begins(&mut self, instruction: u64) {
        self.instruction = Some(instruction);
    }

    #[inline(always)]
    fn stored(&mut self, instruction: u64) {
        self.watcher.misses.note_stored(self.program, instruction);
    }

    fn waited(&mut self, reference: &Reference, now: u64, served: &Served, cycles: u64) {
        let program = self.program;
        let missed = Missed { misses: *served, cycles };
        self.watcher.misses.note(program, self.instruction, &missed);
        let misses = served.misses();
        if misses > 0 {
            let counts = [misses, served.c2c];
            let now = now - self.watcher.began;
            self.watcher.heat.note(program, reference.address, now, counts);
        }
    }

    fn used(&mut self, reference: &Reference, moved: &MovedLines) {
        let user = (self.thread, self.strand, self.instruction);
        self.watcher.moved.note(user, self.offset, reference, moved);
    }
}
