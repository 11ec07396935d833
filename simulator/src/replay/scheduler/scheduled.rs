//! What a scheduler knows about each program, thread and strand.

use std::collections::VecDeque;

use guest_abi::StrandId;

use super::deal::Deal;
use super::objects::Objects;
use super::orders::Wait;
use super::signals::Signals;
use crate::memory::Lane;
use crate::recording::{Chunk, CodeImage, Kind, Order, Position, Recording, RecordingError};

/// A program, with its own memory, signals and locks.
pub(super) struct ScheduledProgram {
    pub(super) source: ReferenceSource,
    pub(super) image: CodeImage,
    /// The index of the program's [`Family`](super::family::Family).
    pub(super) family: usize,
    /// The number of the program's threads that have not ended.
    pub(super) threads: usize,
    pub(super) signals: Signals,
    pub(super) objects: Objects,
    /// The number of waits that the scheduler ended because their signals are missing from the recording.
    pub(super) dropped: u64,
    /// The number of waits that the scheduler ended because all threads waited. These waits were for locks, lock sections,
    /// semaphores or barriers.
    pub(super) forced: u64,
}

pub(super) enum ReferenceSource {
    Threads(Recording),
    Dealt(Deal),
}

impl ReferenceSource {
    pub(super) fn recording(&self) -> &Recording {
        match self {
            Self::Threads(recording) => recording,
            Self::Dealt(deal) => deal.recording(),
        }
    }
}

pub(super) struct ScheduledThread {
    pub(super) program: usize,
    /// The offset of the program's addresses.
    pub(super) offset: u64,
    /// The thread's number within its program.
    pub(super) number: usize,
    pub(super) strand: StrandId,
    pub(super) chunk: Chunk,
    /// The position of the next reference in the chunk. `order` is the index of the next signal or wait.
    pub(super) next: Position,
    pub(super) order: usize,
    /// The number of the chunk's references up to the next signal, wait or watched instruction. These can be executed without a
    /// break.
    pub(super) ends: usize,
    /// The indexes of the chunk's next watched instructions, each with the index of its point.
    pub(super) watched: VecDeque<(usize, usize)>,
    pub(super) data_alone: bool,
    /// The address of the thread's last instruction before this chunk; `None` if there is none.
    pub(super) before: Option<u64>,
    pub(super) wait: Option<Wait>,
    /// The time at which the thread's latest wait ended.
    pub(super) woken: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct StrandQueue {
    /// The threads that have not ended. The first one executes.
    pub(super) threads: VecDeque<usize>,
    pub(super) ready: u64,
}

impl ScheduledThread {
    /// Returns the references that the thread can execute ahead without a break; `None` if there are none.
    #[inline(always)]
    pub(super) fn lane(&self) -> Option<Lane<'_>> {
        let left = if self.data_alone { 0 } else { self.ends - self.next.passed() };
        Lane::new(self.strand, self.offset, self.chunk.from(&self.next, left))
    }

    /// Returns the address of the thread's latest instruction; `None` if it has executed none.
    pub(super) fn instruction(&self) -> Option<u64> {
        let of_chunk = || self.chunk.instruction_before(&self.next);
        (!self.data_alone).then(of_chunk).flatten().or(self.before)
    }

    /// Returns `true` if the next reference belongs to the latest instruction and no other strand can come before it.
    #[cold]
    pub(super) fn is_mid_instruction(&self) -> bool {
        let next = self.chunk.from(&self.next, 1);
        next.first().is_some_and(|first| {
            !(first.kind.is_fetch() || first.kind == Kind::Store && next.follows_load())
        })
    }

    /// Returns the lock that the thread takes next; `None` if the thread executes a reference or ends before it takes a lock.
    pub(super) fn next_lock(&self) -> Option<u64> {
        let here = |(at, _): &&(usize, Order)| *at <= self.next.passed();
        let orders = self.chunk.order[self.order..].iter().take_while(here);
        orders.map(|(_, order)| order).find_map(|order| match order {
            Order::Acquire(acquire) => Some(acquire.lock),
            _ => None,
        })
    }
}

impl ReferenceSource {
    pub(super) fn next_chunk(
        &mut self,
        thread: usize,
        chunk: &mut Chunk,
    ) -> Result<bool, RecordingError> {
        match self {
            Self::Threads(recording) => recording.next_chunk(thread, chunk),
            Self::Dealt(deal) => deal.next_chunk(thread, chunk),
        }
    }
}
