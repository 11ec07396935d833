//! A hub stays busy, and a strand declares it broken. Only a hub that serves no strand may be declared broken.
//!
//! **State.** The gate's [`Turns`] and words (`hubs/gate.rs`), and the [`Watch`] of strand 0. Watches do not depend on each other. A
//! refused strand looks at the hub: its watch compares the hub's counts with the counts of the strand's last look. Only a difference matters. So
//! in the model, the current counts are always 0, and a count from the last look is 0 if the count has not changed since, and `OTHER` if it
//! has.
//!
//! **Actions.** Strands ask on either path, end their accesses, find the chip busy, stop in the gate, and are declared dead. Between
//! two looks, the clock of strand 0 stands still, advances by the longest time that is not a pause, jumps, or steps back.

use guest_abi::StrandId;
use perfctr_service::decisions::judgement::{Counts, Found, Watch};
use perfctr_service::decisions::turns::{Answer, HubEvent, Turns};
use perfctr_service::{BUSY_LIMIT_TICKS, BUSY_PAUSE_TICKS};
use stateright::{Model, Property};

#[derive(Clone, Copy, Debug)]
pub struct BusyHub {
    pub strands: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    turns: Turns,
    /// The strand whose access is in flight, and whether the strand took the hub on the fast path.
    holder: Option<(StrandId, bool)>,
    /// Whether the fast path is closed.
    closed: bool,
    /// Whether the latest access on the fast path has been counted.
    counted: bool,
    /// The strand that has stopped in the gate.
    inside: Option<StrandId>,
    /// Whether a strand has stopped during a decision and no strand has decided since. In this
    /// state, no strand is refused without the lock (`hubs/atomic_turns.rs`).
    deciding: bool,
    watch: Watch,
    /// Whether an access has ended since strand 0 began to wait.
    ended: bool,
    /// Whether strand 0 has declared the hub broken although an access had ended.
    wrong: bool,
}

/// An action. The number is the time since the previous look of strand 0, by that strand's clock. It matters only if strand 0 looks at a
/// busy hub now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Asks(StrandId, u64),
    /// A strand enters the gate and stops there, before or during its decision.
    StopsInside(StrandId, bool),
    Ends,
    ChipBusy(u64),
    IsDeclaredDead(StrandId),
}

/// The times between two looks: zero, the longest time that is not a pause, the shortest pause, and a step back.
const CLOCK: [u64; 4] = [0, BUSY_PAUSE_TICKS, BUSY_PAUSE_TICKS + 1, u64::MAX];

/// A count that differs from the current count.
const OTHER: u32 = u32::MAX;

impl State {
    fn count_end(&mut self) {
        self.watch.counts.ended = OTHER;
    }

    /// A strand on the slow path closes the fast path, and counts the latest access on the fast path.
    fn shut(&mut self) {
        self.closed = true;
        if !self.counted {
            self.count_end();
            self.counted = true;
        }
    }

    fn step(&mut self, event: HubEvent) -> Answer {
        let (turns, answer) = self.turns.step(event);
        self.turns = turns;
        answer
    }

    /// After a refusal, strand 0 looks at the hub.
    fn look(&mut self, found: Found, clock: u64) {
        let now = self.watch.last.wrapping_add(clock);
        let (watch, stuck) = self.watch.step(found, Counts::default(), now);
        self.wrong |= stuck && self.ended;
        // Stores times relative to this look, because only differences matter.
        self.watch = Watch { last: 0, ..watch };
        if watch.waited.is_none_or(|waited| waited == 0) {
            self.ended = false;
        }
    }

    fn asks(&mut self, strand: StrandId, clock: u64, watched: bool) {
        if self.holder.is_none() && !self.counted && !self.closed {
            self.holder = Some((strand, true));
            return;
        }
        let (found, event) = match (self.holder, self.inside) {
            (Some(_), _) => (Found::Busy, HubEvent::AsksTaken(strand)),
            (None, _) if self.is_turn_of_another(strand) => {
                (Found::Turn, HubEvent::AsksFree(strand))
            }
            (None, Some(_)) => (Found::Locked, HubEvent::AsksTaken(strand)),
            (None, None) => {
                self.watch.counts.entered = OTHER;
                self.deciding = false;
                (Found::Turn, HubEvent::AsksFree(strand))
            }
        };
        // A strand that is refused without the lock also closes the fast path.
        self.shut();
        if self.step(event) == Answer::Served {
            self.holder = Some((strand, false));
            self.closed = !self.turns.remembered.is_empty();
        } else if watched {
            self.look(found, clock);
        }
    }

    /// Returns `true` if the gate would refuse this strand without the lock.
    fn is_turn_of_another(&self, strand: StrandId) -> bool {
        let (next, answer) = self.turns.step(HubEvent::AsksFree(strand));
        let turn = self.turns.turn.filter(|turn| *turn != strand);
        self.counted
            && !self.deciding
            && answer == Answer::Refused
            && turn.is_some_and(|turn| next.turn == Some(turn))
    }
}

impl Model for BusyHub {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            turns: Turns::NEW,
            holder: None,
            closed: false,
            counted: false,
            inside: None,
            deciding: false,
            watch: Watch::default(),
            ended: false,
            wrong: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let holder = state.holder.map(|(holder, _)| holder);
        for strand in (0..self.strands).filter_map(StrandId::new) {
            let clock = if strand.index() == 0 { CLOCK.as_slice() } else { &CLOCK[..1] };
            if Some(strand) != holder && Some(strand) != state.inside {
                actions.extend(clock.iter().map(|clock| Action::Asks(strand, *clock)));
                if state.inside.is_none() && strand.index() != 0 {
                    let decides = [false, true];
                    actions.extend(decides.map(|decides| Action::StopsInside(strand, decides)));
                }
            }
            if Some(strand) == holder {
                actions.push(Action::Ends);
                actions.extend(clock.iter().map(|clock| Action::ChipBusy(*clock)));
            }
            actions.push(Action::IsDeclaredDead(strand));
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut state = *state;
        match action {
            Action::Asks(strand, clock) => state.asks(strand, clock, strand.index() == 0),
            Action::StopsInside(strand, decides) => {
                state.watch.counts.entered = OTHER;
                state.shut();
                state.inside = Some(strand);
                state.deciding |= decides;
            }
            Action::Ends => {
                let (_, fast) = state.holder.take()?;
                state.ended = true;
                if !fast {
                    state.count_end();
                    if state.closed {
                        state.step(HubEvent::Ended);
                        state.deciding = false;
                    }
                }
                state.counted = !fast && state.closed;
            }
            Action::ChipBusy(clock) => {
                let (holder, _) = state.holder.take()?;
                state.step(HubEvent::ChipBusy(holder));
                state.deciding = false;
                (state.closed, state.counted) = (true, true);
                state.watch.counts.chip_busy = OTHER;
                if holder.index() == 0 {
                    state.look(Found::Busy, clock);
                }
            }
            Action::IsDeclaredDead(dead) => {
                let held = state.holder.is_some_and(|(holder, _)| holder == dead);
                if held || state.inside == Some(dead) {
                    state.count_end();
                    state.ended = true;
                }
                if held {
                    (state.holder, state.counted) = (None, false);
                }
                state.step(HubEvent::Died(dead));
                state.inside = state.inside.filter(|inside| *inside != dead);
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(
                "a hub is taken for broken only if no access has ended while the strand waited",
                |_, state: &State| !state.wrong,
            ),
            Property::always(
                "a hub is taken for broken when the strand has waited the whole limit, and not before",
                |_, state: &State| {
                    CLOCK.into_iter().all(|clock| {
                        let (after, stuck) =
                            state.watch.step(Found::Busy, Counts::default(), clock);
                        stuck == (after.waited.map(u64::from) == Some(BUSY_LIMIT_TICKS))
                    })
                },
            ),
            Property::always(
                "a strand waits only while somebody finds the chip busy, or nobody enters the gate",
                |_, state: &State| {
                    let before = state.watch;
                    let now = Counts::default();
                    CLOCK.into_iter().all(|clock| {
                        let waits = |found| before.step(found, now, clock).0.waited > before.waited;
                        (before.counts.chip_busy != now.chip_busy || !waits(Found::Turn))
                            && (before.counts.entered == now.entered || !waits(Found::Locked))
                    })
                },
            ),
            Property::always(
                "a look adds no more than the longest time that is no pause, whatever the clock shows",
                |_, state: &State| {
                    CLOCK.into_iter().all(|clock| {
                        let before = state.watch.waited.unwrap_or(0);
                        let counts = Counts::default();
                        let (after, _) = state.watch.step(Found::Busy, counts, clock);
                        after.waited.is_none_or(|waited| {
                            u64::from(waited) <= u64::from(before) + BUSY_PAUSE_TICKS
                        })
                    })
                },
            ),
        ]
    }
}
