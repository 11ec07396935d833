//! The turns of three strands in every state that they come to, whatever happens, with the accounts of both bounds: r, for each
//! turn, and b, for one strand.

extern crate std;

use std::collections::BTreeSet;
use std::vec;
use std::vec::Vec;

use guest_abi::StrandId;

use super::super::turns::{Answer, Event, Turns};

const STRANDS: u8 = 3;

/// The strand whose wait is accounted for.
const WAITS: u8 = 1;

fn strand(number: u8) -> StrandId {
    // On both sides of a word's end.
    StrandId::new(63 + usize::from(number)).unwrap()
}

/// A hub that three strands use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    remembered: [bool; STRANDS as usize],
    turn: Option<u8>,
    refusals: u32,
    last: u32,
    /// The strand whose access is in flight.
    holder: Option<u8>,
    wait: Option<Wait>,
}

/// Since strand [`WAITS`] was refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Wait {
    /// Accesses that others were granted.
    accesses: u8,
    /// Asks of others since it asked last.
    asks: u8,
    /// It was waiting when the access in flight was granted.
    in_flight: bool,
}

#[derive(Clone, Copy, Debug)]
enum Move {
    Asks(u8),
    Ends,
    ChipBusy,
    Dies(u8),
}

impl State {
    fn turns(&self) -> Turns {
        let number = |index: usize| strand(index as u8);
        let remembered = (0..STRANDS.into()).filter(|index| self.remembered[*index]);
        Turns {
            remembered: remembered.map(number).collect(),
            turn: self.turn.map(strand),
            refusals: self.refusals,
            last: self.last,
        }
    }

    fn with(mut self, turns: Turns) -> Self {
        self.remembered = [0, 1, 2].map(|number| turns.remembered.has(strand(number)));
        self.turn = turns.turn.map(|turn| turn.index() as u8 - 63);
        (self.refusals, self.last) = (turns.refusals, turns.last);
        self
    }

    /// What follows from a move; `None` if it cannot be made, or if it ends the account of the strand that waits, because the
    /// strand asks too seldom.
    fn after(mut self, made: Move) -> Option<Self> {
        let event = match (made, self.holder) {
            (Move::Asks(asks), Some(holder)) if asks == holder => return None,
            (Move::Asks(asks), Some(_)) => Event::AsksTaken(strand(asks)),
            (Move::Asks(asks), None) => Event::AsksFree(strand(asks)),
            (Move::Ends, holder) => {
                holder?;
                self.holder = None;
                return Some(self);
            }
            (Move::ChipBusy, holder) => Event::ChipBusy(strand(holder?)),
            (Move::Dies(dies), _) => Event::Died(strand(dies)),
        };
        let before = self;
        let (turns, answer) = self.turns().step(event);
        self = self.with(turns);
        match made {
            Move::Asks(asks) if answer == Answer::Served => {
                assert_eq!(before.holder, None, "two accesses in flight");
                self.holder = Some(asks);
            }
            Move::Asks(asks) => {
                assert!(
                    self.remembered[usize::from(asks)],
                    "a refused strand is lost"
                );
                let others = before.remembered.iter().enumerate();
                let waiting = others.filter(|(other, is)| **is && *other != usize::from(asks));
                assert!(
                    before.holder.is_some() || waiting.count() > 0,
                    "refused on nobody's behalf"
                );
            }
            Move::ChipBusy => self.holder = None,
            Move::Dies(dies) if before.holder == Some(dies) => self.holder = None,
            _ => {}
        }
        // The first bound: r = 2w refusals on behalf of one strand, in one turn.
        if let Event::AsksFree(_) = event {
            let w = self.remembered.iter().filter(|is| **is).count() as u32;
            assert!(answer == Answer::Served || self.refusals <= 2 * w);
        }
        self.wait = self.wait_after(&before, made, answer)?;
        Some(self)
    }

    /// The account of the strand that waits; `None` if it asks too seldom.
    fn wait_after(&self, before: &Self, made: Move, answer: Answer) -> Option<Option<Wait>> {
        let served = answer == Answer::Served;
        let mut wait = match (before.wait, made) {
            (_, Move::Dies(WAITS)) => return Some(None),
            (_, Move::Asks(WAITS)) if served => return Some(None),
            (None, Move::Asks(WAITS)) => return Some(Some(Wait::default())),
            (None, Move::ChipBusy) if before.holder == Some(WAITS) => {
                return Some(Some(Wait::default()));
            }
            (None, _) => return Some(None),
            (Some(wait), _) => wait,
        };
        match made {
            Move::Asks(WAITS) => wait.asks = 0,
            Move::Asks(_) => {
                wait.asks += 1;
                // The fewest that r can be while it and another strand are remembered.
                if wait.asks > 4 {
                    return None;
                }
                if served {
                    wait.accesses += 1;
                    wait.in_flight = true;
                }
            }
            // There was no access after all.
            Move::ChipBusy if wait.in_flight => {
                wait.accesses -= 1;
                wait.in_flight = false;
            }
            _ => {}
        }
        // The second bound: b = N - 1 accesses of others.
        assert!(wait.accesses < STRANDS, "{before:?}, {made:?}");
        Some(Some(wait))
    }
}

#[test]
fn both_bounds_hold_in_every_state() {
    let new = State {
        remembered: [false; STRANDS as usize],
        turn: None,
        refusals: 0,
        last: 255,
        holder: None,
        wait: None,
    };
    assert_eq!(new.turns(), Turns::NEW);
    let mut moves = vec![Move::Ends, Move::ChipBusy];
    moves.extend((0..STRANDS).flat_map(|number| [Move::Asks(number), Move::Dies(number)]));
    let mut seen = BTreeSet::from([new]);
    let mut next = vec![new];
    while let Some(state) = next.pop() {
        let after = moves.iter().filter_map(|made| state.after(*made));
        let new: Vec<State> = after.filter(|state| seen.insert(*state)).collect();
        next.extend(new);
    }
    assert!(seen.len() > 2_000, "{} states", seen.len());
}

/// From every state, a strand that is alone from then on is served for good after at most r refusals for each strand that has
/// gone: 6 and 4.
#[test]
fn a_strand_that_is_alone_is_served_for_good() {
    for remembered in 0..8_u8 {
        for turn in [None, Some(0), Some(1), Some(2)] {
            for refusals in 0..=6 {
                for last in [63, 64, 65, 255] {
                    let state = State {
                        remembered: [0, 1, 2].map(|number| remembered >> number & 1 != 0),
                        turn,
                        refusals,
                        last,
                        holder: None,
                        wait: None,
                    };
                    let mut turns = state.turns();
                    let mut refused = 0;
                    for _ in 0..40 {
                        let (next, answer) = turns.step(Event::AsksFree(strand(1)));
                        refused += usize::from(answer == Answer::Refused);
                        turns = next;
                    }
                    assert!(refused <= 6 + 4, "{state:?}: {refused}");
                    assert!(turns.remembered.is_empty());
                }
            }
        }
    }
}
