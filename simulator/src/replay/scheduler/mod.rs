//! The scheduler decides which strand executes which references, and when.
//!
//! Every strand has its own time. The strand with the earliest time executes next; among strands with the same time, the one with
//! the lowest number comes first. A strand executes a quantum, which lasts until another strand's turn. The strands of a pipeline
//! together issue one instruction per cycle. The strand that has been ready longest issues first.
//!
//! A strand executes a thread until the thread ends, sleeps, or waits for another thread. The waiting thread continues when the
//! other thread issues its next instruction after the signal. A free lock goes to the thread whose turn to take it comes first. The
//! schedule depends only on the recordings and the machine, not on where a caller pauses.

pub(crate) mod ahead;
mod calendar;
mod core_run;
mod deal;
mod family;
mod objects;
mod orders;
mod program_addresses;
mod report;
mod scheduled;
mod shared;
mod signals;
mod sleepers;
mod states;
mod stops;
#[cfg(test)]
mod tests;
mod timeline;
pub(crate) mod turns;

use std::collections::VecDeque;

use guest_abi::StrandId;

use crate::memory::broken::{Map, mapped};
use crate::memory::{Executed, Quantum};
use crate::recording::{Chunk, CodeImage, Position, Recording, RecordingError};
use crate::run::State;
use crate::setters::opaque;
use ahead::Ahead;
use deal::Deal;
use family::{Family, families};
use objects::Objects;
pub use program_addresses::MAX_PROGRAMS;
use program_addresses::offset_of;
pub(crate) use program_addresses::program_at;
use scheduled::{ReferenceSource, ScheduledProgram, ScheduledThread, StrandQueue};
use shared::SharedMemory;
use signals::Signals;
use sleepers::Sleepers;
use states::Accounts;
use stops::Stops;
use turns::{Due, Turns};

/// What is executed next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextTurn {
    /// A thread's [quantum](Scheduler::quantum).
    Strand,
    /// A deferred store of a core that runs ahead, with the place of the store's turn.
    Store(Due),
    /// Nothing: the caller must first wake the [woken](Scheduler::woken_core) strands.
    Woken,
    /// Nothing: all threads have ended, or the scheduler has stopped at a watched point.
    Never,
}

/// Decides in which order the machine executes the references of all threads. A caller gets a [quantum](Self::next), executes all
/// of it or only its first instructions, and reports [how much was executed](Self::executed). To execute a single instruction, the
/// caller stops where the [second instruction begins](Quantum::begins_at).
pub struct Scheduler {
    programs: Vec<ScheduledProgram>,
    families: Vec<Family>,
    /// The memory that programs share with each other.
    shared: SharedMemory,
    threads: Vec<ScheduledThread>,
    strands: Vec<StrandQueue>,
    turns: Turns,
    sleepers: Sleepers,
    accounts: Accounts,
    /// The number of cycles by which each thread's start is delayed; empty if no thread is delayed. See
    /// [`delay_starts`](Self::delay_starts).
    delays: Vec<u64>,
    /// The thread that executes the current quantum.
    executing: usize,
    /// The number of references in the executing thread's chunk up to the end of the quantum.
    quantum_ends: usize,
    /// Whether the latest quantum ended in the middle of an instruction.
    mid_instruction: bool,
    /// The time at which the executing thread's quantum begins.
    begins: u64,
    /// The time of the latest turn, or the time at which the last strand ended if all threads have ended.
    time: u64,
    /// Maps the data's physical addresses to other addresses; `None` if the data keep their addresses.
    moved: Option<Box<dyn Fn(u64) -> u64>>,
    stops: Stops,
    ahead: Ahead,
}

opaque!(Scheduler, "Scheduler");

/// Returns the strand that executes a thread that was placed on `strand`.
fn executing(strand: StrandId) -> StrandId {
    StrandId::new(mapped(Map::Placement, strand.index())).unwrap_or(strand)
}

impl Scheduler {
    /// Schedules the threads of at most [`MAX_PROGRAMS`] recordings. `strands` holds each thread's strand, in the order of the
    /// recordings.
    #[must_use]
    pub fn new(recordings: Vec<Recording>, strands: &[StrandId]) -> Self {
        let images = CodeImage::of_all(recordings.iter().map(Recording::mappings));
        let sources = recordings.into_iter().map(|recording| {
            let threads = recording.threads();
            (ReferenceSource::Threads(recording), threads)
        });
        Self::with_sources(sources.collect(), images, strands)
    }

    /// Schedules a one-thread recording. Its references are dealt to `strands` in
    /// [turns](crate::replay::placement::Placement::DEAL_LENGTH), one turn after the other.
    #[must_use]
    pub fn new_dealt(recording: Recording, strands: &[StrandId]) -> Self {
        let deal = Deal::new(recording, strands.len());
        let images = vec![CodeImage::default()];
        Self::with_sources(vec![(ReferenceSource::Dealt(deal), strands.len())], images, strands)
    }

    /// Schedules recordings on these strands. If `dealt` is set, the references of the only recording are [dealt](Self::new_dealt).
    pub(crate) fn placed(
        mut recordings: Vec<Recording>,
        strands: &[StrandId],
        dealt: bool,
    ) -> Self {
        match recordings.pop() {
            Some(recording) if dealt => Self::new_dealt(recording, strands),
            last => {
                recordings.extend(last);
                Self::new(recordings, strands)
            }
        }
    }

    fn with_sources(
        sources: Vec<(ReferenceSource, usize)>,
        images: Vec<CodeImage>,
        placed: &[StrandId],
    ) -> Self {
        let numbers = (sources.iter().enumerate())
            .flat_map(|(program, (_, threads))| (0..*threads).map(move |number| (program, number)));
        let threads = numbers.zip(placed).map(|((program, number), strand)| ScheduledThread {
            program,
            offset: offset_of(program),
            number,
            strand: executing(*strand),
            chunk: Chunk::default(),
            next: Position::default(),
            order: 0,
            ends: 0,
            watched: VecDeque::new(),
            data_alone: false,
            before: None,
            wait: None,
            woken: 0,
        });
        let threads: Vec<_> = threads.collect();
        let mut strands = vec![StrandQueue::default(); StrandId::COUNT];
        let mut turns = Turns::new();
        for (number, thread) in threads.iter().enumerate() {
            strands[thread.strand.index()].threads.push_back(number);
            turns.set(thread.strand, Some(0));
        }
        let recordings = || sources.iter().map(|(source, _)| source.recording());
        let shared = SharedMemory::new(recordings());
        let (families, family) = families(recordings());
        let program = |(((source, threads), family), image)| ScheduledProgram {
            source,
            image,
            family,
            threads,
            signals: Signals::default(),
            objects: Objects::default(),
            dropped: 0,
            forced: 0,
        };
        Self {
            shared,
            families,
            programs: sources.into_iter().zip(family).zip(images).map(program).collect(),
            sleepers: Sleepers::default(),
            accounts: Accounts::new(threads.len()),
            delays: Vec::new(),
            threads,
            strands,
            turns,
            executing: 0,
            quantum_ends: 0,
            mid_instruction: false,
            begins: 0,
            time: 0,
            moved: None,
            stops: Stops::new(),
            ahead: Ahead::new(),
        }
    }

    /// Moves the recordings' data. `moved` maps their physical addresses to new ones.
    pub(crate) fn move_data(&mut self, moved: impl Fn(u64) -> u64 + 'static) {
        self.moved = Some(Box::new(moved));
    }

    /// Returns the number of the next thread, and its quantum of at most `most` references; `None` if all threads have ended or the
    /// scheduler has stopped at a watched point.
    ///
    /// # Errors
    /// Returns an error if a recording cannot be read.
    pub fn next(&mut self, most: usize) -> Result<Option<(usize, Quantum<'_>)>, RecordingError> {
        Ok(match self.next_turn()? {
            NextTurn::Strand => Some(self.quantum(most)),
            // A caller of `next` never lets a core run ahead, so there is no deferred store and no strand to wake.
            NextTurn::Store(_) | NextTurn::Woken | NextTurn::Never => None,
        })
    }

    /// Finds what is executed next. If it is a thread, first carries out the orders (such as signals and waits) that precede its
    /// next reference.
    pub(crate) fn next_turn(&mut self) -> Result<NextTurn, RecordingError> {
        let left = self.stops.stop_after.saturating_sub(self.stops.passed.instructions);
        self.stops.stopped |= left == 0 && !self.mid_instruction;
        if self.stops.stopped {
            return Ok(NextTurn::Never);
        }
        if self.mid_instruction {
            let strand = self.threads[self.executing].strand;
            self.begins = self.strands[strand.index()].ready;
            return Ok(NextTurn::Strand);
        }
        loop {
            if self.woken_core().is_some() {
                return Ok(NextTurn::Woken);
            }
            let turn = self.turns.first();
            if let Some((thread, at)) = self.sleepers.next_before(turn.map(|turn| turn.at)) {
                self.ahead.note_wake(at);
                self.time = self.time.max(at);
                self.wake(thread, thread, at);
                continue;
            }
            let Some(turn) = turn else {
                if self.break_deadlock() {
                    continue;
                }
                return Ok(NextTurn::Never);
            };
            let first = self.turns.first_due();
            self.ahead.begin_turn(first);
            if self.turns.is_store() {
                return Ok(NextTurn::Store(first));
            }
            self.commit_core(turn.strand.core());
            (self.time, self.begins) = (turn.at, turn.at);
            self.executing = self.strands[turn.strand.index()].threads[0];
            let thread = &self.threads[self.executing];
            if thread.next.passed() < thread.ends || self.prepare(turn.strand, turn.at)? {
                return Ok(if self.stops.stopped { NextTurn::Never } else { NextTurn::Strand });
            }
        }
    }

    /// Returns `true` if the latest quantum ended within an instruction because the caller limited the number of references. The
    /// rest of that instruction is executed next.
    pub(crate) fn is_mid_instruction(&self) -> bool {
        self.mid_instruction
    }

    /// Returns the address of the instruction to which the next reference belongs; `None` if the next thread is about to begin an
    /// instruction, or has not executed any.
    pub(crate) fn instruction(&self) -> Option<u64> {
        let thread = &self.threads[self.executing];
        match thread.chunk.is_fetch(&thread.next) {
            true => None,
            false => thread.instruction(),
        }
    }

    /// Returns the number of the thread that a strand executes, and the offset of the thread's addresses. The strand must have a
    /// thread.
    #[inline]
    pub(crate) fn first_thread(&self, strand: StrandId) -> (usize, u64) {
        let number = self.strands[strand.index()].threads[0];
        (number, self.threads[number].offset)
    }

    /// Returns the number of the thread that executes next, and its quantum of at most `most` references.
    pub(crate) fn quantum(&mut self, most: usize) -> (usize, Quantum<'_>) {
        let thread = &self.threads[self.executing];
        let until = match self.mid_instruction {
            true => self.begins,
            false => self.turns.until(thread.strand).min(self.sleepers.first()),
        };
        // Each instruction has at least one reference, so this limit keeps the quantum from beginning more instructions than are
        // left.
        let left = self.stops.stop_after.saturating_sub(self.stops.passed.instructions);
        let most = most.min(usize::try_from(left.max(1)).unwrap_or(usize::MAX));
        let length = most.min(thread.ends - thread.next.passed());
        self.quantum_ends = thread.next.passed() + length;
        let quantum = Quantum {
            strand: thread.strand,
            offset: thread.offset,
            image: self.programs[thread.program].image,
            begins: self.begins,
            until,
            data_alone: thread.data_alone,
            references: thread.chunk.from(&thread.next, length),
        };
        (self.executing, quantum)
    }

    /// Records how much of the quantum was executed. Returns the number of cycles since the strand was ready.
    pub fn executed(&mut self, executed: &Executed) -> u64 {
        let took = self.executed_without_reorder(executed);
        self.turns.renew_strand(self.threads[self.executing].strand);
        took
    }

    /// Does the same as [`executed`](Self::executed), except for the order of the core's turns relative to other cores' turns. To
    /// update this order, the caller must call [`set_store`](Self::set_store) before the next turn.
    pub(crate) fn executed_without_reorder(&mut self, executed: &Executed) -> u64 {
        self.stops.passed.references += executed.references as u64;
        self.stops.passed.instructions += executed.instructions;
        let thread = &mut self.threads[self.executing];
        thread.next.advance(&thread.chunk, executed.references);
        // If the quantum ended within an instruction because the caller limited the number of references, the instruction continues
        // immediately. The exception is a store that follows a load: other strands can execute before such a store.
        self.mid_instruction = thread.next.passed() == self.quantum_ends
            && self.quantum_ends < thread.ends
            && !thread.data_alone
            && thread.is_mid_instruction();
        let strand = &mut self.strands[thread.strand.index()];
        let took = executed.ends - strand.ready;
        strand.ready = executed.ends;
        self.turns.issued_without_reorder(thread.strand, executed.issued, executed.ends);
        took
    }

    /// Returns the earliest time, in cycles, at which a strand can execute or a thread stops sleeping; nothing more happens before
    /// that time. If all threads have ended, returns the time at which the last strand ended.
    #[must_use]
    pub fn now(&self) -> u64 {
        let sleeper = Some(self.sleepers.first()).filter(|at| *at != u64::MAX);
        let turn = self.turns.first().map(|turn| turn.at);
        turn.into_iter().chain(sleeper).min().unwrap_or(self.time)
    }

    /// Delays the start of each thread by 0 to 255 cycles. The delay depends on `seed` and on the thread's number. It changes
    /// nothing but the order of threads.
    pub(crate) fn delay_starts(&mut self, seed: u64) {
        let delay = |thread: u64| {
            let mixed = (thread ^ seed << 32).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 56
        };
        self.delays = (0..self.threads.len() as u64).map(delay).collect();
        for (thread, delay) in self.threads.iter_mut().zip(&self.delays) {
            thread.woken = *delay;
        }
        for thread in 0..self.threads.len() {
            self.change_thread(self.threads[thread].strand);
        }
    }

    /// Returns each thread's strand. Threads are numbered from 0, in the order of the recordings.
    pub fn strands(&self) -> impl Iterator<Item = StrandId> {
        self.threads.iter().map(|thread| thread.strand)
    }

    /// Handles signals, waits and the ends of chunks before the executing thread's next references. `now` is the time of the
    /// strand's turn. Returns `false` if another strand or thread is next.
    #[cold]
    fn prepare(&mut self, strand: StrandId, now: u64) -> Result<bool, RecordingError> {
        loop {
            let thread = &mut self.threads[self.executing];
            let program = &mut self.programs[thread.program];
            match thread.chunk.order.get(thread.order) {
                Some((at, order)) if *at <= thread.next.passed() => {
                    let order = *order;
                    thread.order += 1;
                    if !self.order(order, strand, now) {
                        return Ok(false);
                    }
                }
                next if thread.next.passed() < thread.chunk.len() => {
                    let all = thread.chunk.len();
                    let passed = thread.next.passed();
                    thread.ends = next.map_or(all, |(before, _)| all.min(*before));
                    while let Some((at, point)) = thread.watched.front().copied() {
                        if at > passed {
                            thread.ends = thread.ends.min(at);
                            break;
                        }
                        thread.watched.pop_front();
                        self.stops.reach(point);
                    }
                    if self.stops.stopped {
                        thread.ends = passed;
                        return Ok(true);
                    }
                    self.run(self.executing, strand);
                    return Ok(true);
                }
                _ => {
                    thread.before = thread.instruction();
                    (thread.next, thread.order, thread.ends) = (Position::default(), 0, 0);
                    if !program.source.next_chunk(thread.number, &mut thread.chunk)? {
                        let ended = &mut self.strands[strand.index()];
                        ended.threads.pop_front();
                        self.time = self.time.max(ended.ready);
                        let (thread, at) = (self.executing, ended.ready);
                        self.begin(thread);
                        self.accounts.enter(thread, State::Ended, at);
                        self.end_thread(thread, at);
                        self.change_thread(strand);
                        return Ok(false);
                    }
                    let first = thread.chunk.references().first();
                    thread.data_alone = first.is_some_and(|first| !first.kind.is_fetch());
                    self.shared.move_data(thread.program, &mut thread.chunk);
                    self.stops.find(thread.program, &thread.chunk, &mut thread.watched);
                    if let Some(moved) = &self.moved {
                        let offset = thread.offset;
                        thread.chunk.move_data(|address| {
                            moved(address.wrapping_add(offset)).wrapping_sub(offset)
                        });
                    }
                }
            }
        }
    }
}
