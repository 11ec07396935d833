//! Replays a part of the programs' references.

mod rewind;
mod turn;

use super::error::RunError;
use super::pace::Pace;
use super::scheduler::ahead::CORES;
use super::scheduler::turns::Due;
use super::scheduler::{NextTurn, Scheduler};
use super::threads::Threads;
use crate::analysis::details::Watcher;
use crate::memory::{MAX_AHEAD_REFERENCES, MAX_OVERSHOOT, Variant, Work};

/// The maximum number of references that a core's strands execute ahead of other cores before the core waits for its turn. The
/// larger this number, the more references have to be executed again when another core takes a line from the core's caches.
const MAX_AHEAD: u64 = 512;

/// The number of references by which a core may exceed [`MAX_AHEAD`], because it stops only between instructions.
const OVERSHOOT: u64 = MAX_OVERSHOOT as u64;

// A single call must be able to execute again everything that a core has executed ahead.
const _: () = assert!(MAX_AHEAD + OVERSHOOT <= MAX_AHEAD_REFERENCES as u64);

/// The minimum number of references for which a core runs ahead. With fewer, running ahead costs more than it saves.
const MIN_AHEAD: u64 = 16;

/// The number of references before the end of a part at which cores stop running ahead.
const END: u64 = OVERSHOOT + MIN_AHEAD;

/// The number of references before the end of a part at which the first [edge](Edge) is chosen. As long as more are left, all cores
/// together execute less than half of them ahead.
const NEAR_END: u64 = 2 * CORES as u64 * MAX_AHEAD;

/// The order in which strands execute.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReplayOrder {
    /// Strands execute in the order of their turns.
    OneByOne,
    /// Cores run ahead of others, with the same outcome. The part pauses when the total number of references reaches this number.
    Ahead(u64),
}

/// A replay while it executes references.
pub(super) struct ReplayPart<'a, V: Variant> {
    scheduler: &'a mut Scheduler,
    threads: &'a mut Threads,
    work: Work<'a, V>,
    /// The number of references that have been executed and not undone.
    references: u64,
    /// The number of references at which the part ends.
    until: u64,
    /// Collects details; `None` if no details are collected.
    details: Option<&'a mut Watcher>,
    pace: &'a mut Pace,
    edge: Edge,
}

/// The place in the turn order up to which cores run ahead. A part ends after an exact number of references, and cores have to undo what
/// they have executed beyond its end. So near the end, they stop at an edge: the place at which, at the pace of the replay so far, most of
/// the remaining references have been executed. When all cores have reached it, the next edge is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    /// The end of the part is so far away that there is no edge yet.
    None,
    At(Due),
    /// The end of the part came before the latest edge. So cores do not stop at a place, but each may execute fewer references ahead.
    Missed,
}

impl Edge {
    fn place(self) -> Due {
        match self {
            Self::At(place) => place,
            Self::None | Self::Missed => Due::NEVER,
        }
    }

    /// Returns `true` if the latest turn is not before the edge. If so, neither is any later turn.
    #[inline]
    fn is_reached(self, turn: Due) -> bool {
        self.place() <= turn
    }
}

impl<'a, V: Variant> ReplayPart<'a, V> {
    /// Returns a part that begins after `references` references and executes at most `most`.
    pub(super) fn new(
        scheduler: &'a mut Scheduler,
        threads: &'a mut Threads,
        work: Work<'a, V>,
        (details, pace): (Option<&'a mut Watcher>, &'a mut Pace),
        references: u64,
        most: u64,
    ) -> Self {
        let until = references.saturating_add(most);
        Self { scheduler, threads, work, references, until, details, pace, edge: Edge::None }
    }

    /// Executes references. Returns the total number of references so far, and whether the programs continue.
    pub(super) fn replay(self, way: ReplayOrder) -> Result<(u64, bool), RunError> {
        match way {
            ReplayOrder::OneByOne => self.without_steps(),
            ReplayOrder::Ahead(pause) => self.run_ahead(pause),
        }
    }

    fn without_steps(mut self) -> Result<(u64, bool), RunError> {
        self.rewind_all(self.scheduler.next_due());
        while self.references < self.until {
            if self.scheduler.next_turn()? == NextTurn::Never {
                return Ok((self.references, false));
            }
            let core = self.scheduler.executing_due().core();
            self.execute(self.until - self.references);
            self.note_store(core);
        }
        Ok((self.references, true))
    }

    /// Executes references until their total number is at least `pause`. Cores may run ahead of others, unless the part is about to
    /// end. The total includes references that cores have executed ahead.
    fn run_ahead(mut self, pause: u64) -> Result<(u64, bool), RunError> {
        self.pace.begin(self.references, self.scheduler.now());
        loop {
            let mut left = self.left();
            if left < END {
                self.rewind_all(self.scheduler.next_due());
                self.edge = Edge::Missed;
                left = self.left();
                if left < END {
                    return self.without_steps();
                }
            }
            if left < NEAR_END && self.edge == Edge::None && !self.choose_edge() {
                return self.without_steps();
            }
            if self.references >= pause {
                return Ok((self.references, true));
            }
            let next = loop {
                match self.scheduler.next_turn()? {
                    NextTurn::Store(turn) => self.store(turn),
                    next => break next,
                }
            };
            while let Some(core) = self.scheduler.woken_core() {
                self.rewind(core, self.scheduler.current_due());
                self.scheduler.wake_strands(core);
            }
            if next == NextTurn::Woken {
                continue;
            }
            if next == NextTurn::Never {
                self.rewind_all(self.scheduler.next_due());
                return Ok((self.references, false));
            }
            let turn = self.scheduler.executing_due();
            self.work.end_ahead(turn.core());
            match self.scheduler.short_turn(MAX_OVERSHOOT) {
                Some(until) => self.short_turn(turn, until),
                // A pause can fall into the middle of a long turn.
                None => self.long_turn(turn, (pause - self.references).min(left)),
            }
            if self.scheduler.is_mid_instruction() {
                continue;
            }
            if self.edge.is_reached(turn) && !self.choose_edge() {
                return self.without_steps();
            }
        }
    }

    /// Returns a lower bound for the number of references until the part ends or the scheduler stops.
    fn left(&self) -> u64 {
        (self.until - self.references).min(self.scheduler.instructions_left())
    }

    /// Chooses the first or the next edge. Returns `false` if too few references are left for one.
    fn choose_edge(&mut self) -> bool {
        let next = self.scheduler.next_due();
        let most = self.left().saturating_sub(END) / 8 * 7;
        if next != Due::NEVER {
            let at = self.pace.at(most, self.references, next.at());
            self.edge = Edge::At(next.at_time(at));
        }
        most >= MIN_AHEAD
    }

    /// Returns the maximum number of references that a core may execute ahead now. If the latest edge was missed, all cores together may
    /// execute about half of the remaining references ahead.
    fn max_ahead(&self) -> u64 {
        let room = self.left().saturating_sub(OVERSHOOT);
        let cores = match self.edge {
            Edge::Missed => 2 * (1 + self.scheduler.cores_ahead()),
            Edge::None | Edge::At(_) => 1,
        };
        (room / cores).min(MAX_AHEAD)
    }
}
