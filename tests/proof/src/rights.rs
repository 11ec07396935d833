//! Rights pass from guest to guest while strands make calls, die and come back, guests are reset, and units fault.
//!
//! **State.** A [`World`]: the state of the rights, each strand's activity, and the guest that has written each register. The service's own
//! rights code, with the shipped atomics, takes every step (`shipped.rs`).
//!
//! **Actions.** Guests, strands and the operator take any [`Action`] at any time. The strand that takes the steps of a change may die after
//! any of its operations on an atomic; then another strand starts over. Another action may also come before any of these operations. A
//! strand that has died and is not declared dead takes no further action.
//!
//! **Symmetry.** The strands of a guest are alike. The guests are alike if every guest can get the same grants. The check visits only one
//! of several machines that are alike (`packed.rs` says why this is enough).

mod packed;
mod properties;
mod shipped;
pub(crate) mod world;

use hv_core::GuestId;
use perfctr_service::decisions::protocol::Global;
use perfctr_service::{Grant, StrandRight};
use stateright::{Model, Property};

use crate::explore::{Packed, Transition};
use shipped::{Operation, Shipped};
pub use world::World;
use world::{Activity, held_by};

/// A machine with at most three guests (`G`), each with at most two strands (`S`).
#[derive(Clone, Copy, Debug)]
pub struct Rights<const G: usize, const S: usize> {
    /// The configurations that the operator can grant at any time. The machine begins with the first configuration.
    pub configurations: &'static [[Grant; G]],
    /// If `true`, an action may come between any two steps of the lock owner.
    pub interruptions: bool,
    /// If `true`, the service asks strands to scrub what the protocol says. If `false`, the service only asks strands to acknowledge, and
    /// any acknowledgement may have no effect, as if the service had asked for more. A model with `false` includes all behaviour of a model
    /// with `true`, in far fewer states. Use `false` only for configurations in which no guest has a right to strands.
    pub strands_scrub: bool,
    pub alike: Symmetry,
}

/// Which machines the check treats as alike. It visits only one of several machines that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    None,
    /// Machines are alike if they differ only in the order of one guest's strands.
    Strands,
    /// Machines are alike if they differ only in the order of guests and strands. Every guest can get the same grants.
    Guests,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Guest(GuestAction),
    /// The operator or a strand takes the lock and starts the steps of a change.
    Change(Change, Schedule),
    UnitReturns,
}

/// The change that the lock owner makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The operator grants the guests the configuration with this index.
    Configures(usize),
    /// A strand takes the pending steps of a change.
    Continues(ScrubResult),
}

/// An action of a guest or a strand. A strand is identified by its guest and its index within the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestAction {
    /// The strand begins a call, and finds that its guest has the right to the register.
    Calls(usize, usize, Register),
    /// The strand's call performs its access and ends.
    EndsCall(usize, usize),
    /// The strand takes its cross-call and scrubs what the service asks it to scrub.
    TakesCrossCall(usize, usize),
    Acknowledges(usize, usize),
    /// The strand acknowledges, but in the meantime the service has asked it to scrub more.
    AcknowledgesInVain(usize, usize),
    /// The strand is declared dead, or the operator excuses it.
    IsDeclaredDead(usize, usize),
    /// The strand comes back. Before anything else, it takes its cross-call.
    ComesBack(usize, usize),
    Resets(usize),
    UnitFaults,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    Unit,
    /// The calling strand's %pcr.
    Pcr,
    PcrWithHt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubResult {
    Succeeds,
    Busy,
    Faults,
    /// The unit is on another node, so the service asks one of the guest's strands on that node to scrub the unit.
    OnOtherNode,
}

/// The order in which the lock owner takes its steps, and what happens between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub guests: [usize; 3],
    /// If `true`, the owner asks a guest's strands in reverse order.
    pub reversed: bool,
    /// The event, if any, that comes between the steps.
    pub interruption: Interruption,
}

/// An event between the lock owner's steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    None,
    /// The owner dies after one of its operations. The number is the index of the world after this operation.
    Dies(usize),
    /// The action happens before the operation with this index.
    Acts(usize, GuestAction),
}

/// The possible orders of three guests. With one guest, only the first order is used; with two guests, the first two.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [1, 0, 2], [0, 2, 1], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

impl Schedule {
    const ALL: Self = Self { guests: ORDERS[0], reversed: false, interruption: Interruption::None };
}

fn guest(number: usize) -> GuestId {
    GuestId::new(number).expect("a machine has it")
}

impl<const G: usize, const S: usize> World<G, S> {
    pub(crate) fn unit_returns(&mut self) {
        let shipped = Shipped::new(self);
        shipped.unit_returns();
        *self = shipped.world();
    }

    pub(crate) fn act(&mut self, act: GuestAction) {
        let shipped = Shipped::new(self);
        shipped.act(act);
        *self = shipped.world();
    }

    /// Calls `each` with the possible actions of guests and strands.
    pub(crate) fn for_each_guest_action(
        &self,
        model: &Rights<G, S>,
        mut each: impl FnMut(GuestAction),
    ) {
        for (guest, strands) in self.strands.iter().enumerate() {
            let held = self.guests[guest].held;
            each(GuestAction::Resets(guest));
            for (number, strand) in strands.iter().enumerate() {
                match strand.doing {
                    Activity::Dead => {
                        each(GuestAction::ComesBack(guest, number));
                        continue;
                    }
                    Activity::Call(_) => each(GuestAction::EndsCall(guest, number)),
                    Activity::CrossCall(_) => {
                        each(GuestAction::Acknowledges(guest, number));
                        if !model.strands_scrub {
                            each(GuestAction::AcknowledgesInVain(guest, number));
                        }
                    }
                    Activity::Guest => {
                        let may = [
                            (Register::Unit, held.global && !self.unit.out),
                            (Register::Pcr, held.strand != StrandRight::None),
                            (Register::PcrWithHt, held.strand == StrandRight::HtStrand),
                        ];
                        for (register, _) in may.into_iter().filter(|(_, may)| *may) {
                            each(GuestAction::Calls(guest, number, register));
                        }
                        if strand.asked.is_asked() {
                            each(GuestAction::TakesCrossCall(guest, number));
                        }
                    }
                }
                each(GuestAction::IsDeclaredDead(guest, number));
            }
        }
        if !self.unit.out && held_by(&self.guests, |held| held.global).next().is_some() {
            each(GuestAction::UnitFaults);
        }
    }

    /// Returns `true` if this change takes no step for this guest, no matter what it does for the other guests.
    fn is_idle(&self, model: &Rights<G, S>, work: Change, number: usize) -> bool {
        let own = self.guests[number];
        let starts = self.reset[number] || self.resetting == Some(guest(number));
        let mut strands = self.strands[number].iter();
        !starts
            && match work {
                Change::Configures(to) => own.granted == model.configurations[to][number],
                Change::Continues(_) => {
                    strands.any(|strand| strand.asked.is_awaited())
                        || own.held == own.granted && !own.granted.global && !own.starting
                }
            }
    }

    /// Calls `each` with every possible change, in every order of steps that makes a difference.
    pub(crate) fn for_each_change(
        &self,
        model: &Rights<G, S>,
        mut each: impl FnMut(Change, Schedule),
    ) {
        // If the change scrubs nothing, the result of a scrub makes no difference.
        let scrubs = matches!(self.global, Global::Revoking(_) | Global::Revoked(_))
            || self.reset.contains(&true)
            || self.resetting.is_some();
        let scrubbing = [
            ScrubResult::Succeeds,
            ScrubResult::Busy,
            ScrubResult::Faults,
            ScrubResult::OnOtherNode,
        ];
        let turns = scrubbing.into_iter().take(if scrubs { 4 } else { 1 });
        let configures = (0..model.configurations.len()).map(Change::Configures);
        for work in configures.chain(turns.map(Change::Continues)) {
            let mut idle = [true; 3];
            let mut strands_differ = false;
            for (number, strands) in self.strands.iter().enumerate() {
                // An action between the steps can give the owner more work.
                idle[number] = !model.interruptions && self.is_idle(model, work, number);
                let asked = !idle[number] || self.global.user() == Some(guest(number));
                strands_differ |= asked && strands.iter().any(|strand| *strand != strands[0]);
            }
            // Skips orders that make no difference. In the remaining orders, the guests without steps come last, sorted by their indices.
            let matters = |order: &&[usize; 3]| {
                let pairs = [(0, 1), (1, 2), (0, 2)];
                pairs.iter().all(|(one, next)| {
                    let (one, next) = (order[*one], order[*next]);
                    !idle[one] || idle[next] && one < next
                })
            };
            for guests in ORDERS.iter().filter(matters) {
                for reversed in [false, true].into_iter().take(1 + usize::from(strands_differ)) {
                    let interruption = Interruption::None;
                    let guests = *guests;
                    each(work, Schedule { guests, reversed, interruption });
                }
            }
        }
    }
}

impl<const G: usize, const S: usize> Rights<G, S> {
    /// Returns the action of the lock's owner, and the world after this action.
    fn work(
        &self,
        world: &World<G, S>,
        work: Change,
        schedule: Schedule,
    ) -> Transition<Action, World<G, S>> {
        let (action, mut state) = (Action::Change(work, schedule), *world);
        state.make_change(self, work, schedule);
        Transition { action, state }
    }

    /// Adds each action that can happen between the lock owner's operations. If an operation uses none of an action's words, it makes no
    /// difference whether the action comes before or after the operation, so the action is added only once.
    fn add_interruptions(
        &self,
        world: &World<G, S>,
        (work, schedule): (Change, Schedule),
        (operations, trail): (&[Operation], &[World<G, S>]),
        actions: &mut Vec<Transition<Action, World<G, S>>>,
    ) {
        let numbered = || operations.iter().enumerate();
        for made in 0..trail.len() {
            let before = if made == 0 { world } else { &trail[made - 1] };
            if made > 0 && *before == if made == 1 { *world } else { trail[made - 2] } {
                continue;
            }
            let here: Vec<_> = numbered().filter(|(_, taken)| taken.made == made).collect();
            before.for_each_guest_action(self, |act| {
                let words = before.accessed_words(act);
                let uses = |taken: &Operation| {
                    let used = |(address, changes): &(usize, bool)| {
                        *address == taken.address && (*changes || taken.changes)
                    };
                    words.iter().any(used)
                };
                let mut met = here.iter().filter(|(_, taken)| uses(taken)).peekable();
                let first = if met.peek().is_none() { here.first() } else { None };
                for (number, _) in met.chain(first) {
                    let interruption = Interruption::Acts(*number, act);
                    actions.push(self.work(world, work, Schedule { interruption, ..schedule }));
                }
            });
        }
    }
}

impl<const G: usize, const S: usize> Model for Rights<G, S> {
    type State = World<G, S>;
    type Action = Transition<Action, World<G, S>>;

    fn init_states(&self) -> Vec<World<G, S>> {
        vec![World::new(&self.configurations[0])]
    }

    fn actions(&self, world: &World<G, S>, actions: &mut Vec<Self::Action>) {
        world.for_each_guest_action(self, |act| {
            let (action, mut state) = (Action::Guest(act), *world);
            state.act(act);
            actions.push(Transition { action, state });
        });
        if world.unit.out {
            let (action, mut state) = (Action::UnitReturns, *world);
            state.unit_returns();
            actions.push(Transition { action, state });
        }
        world.for_each_change(self, |work, schedule| {
            let (operations, trail) = world.trace_change(self, work, schedule);
            let state = trail.last().copied().unwrap_or(*world);
            actions.push(Transition { action: Action::Change(work, schedule), state });
            let mut last = *world;
            for (made, state) in trail.iter().copied().enumerate() {
                if state != last {
                    let action = Action::Change(
                        work,
                        Schedule { interruption: Interruption::Dies(made), ..schedule },
                    );
                    actions.push(Transition { action, state });
                    last = state;
                }
            }
            if self.interruptions {
                self.add_interruptions(world, (work, schedule), (&operations, &trail), actions);
            }
        });
    }

    fn next_state(&self, _: &World<G, S>, to: Self::Action) -> Option<World<G, S>> {
        Some(to.state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("one guest at most has global", Self::one_holder_of_global),
            Property::always("a guest holds no more than it is granted", Self::held_is_granted),
            Property::always(
                "whoever has global finds a unit that is scrubbed",
                Self::holders_of_global_find_nothing,
            ),
            Property::always(
                "whoever has the right to strands finds them scrubbed",
                Self::holders_of_strands_find_nothing,
            ),
            Property::always(
                "pending says none only when no change is pending",
                Self::pending_is_true,
            ),
            Property::always(
                "a change ends when each strand has acknowledged or is declared dead",
                Self::a_change_ends,
            ),
        ]
    }
}

impl<const G: usize, const S: usize> Packed<2> for Rights<G, S> {
    fn pack(&self, world: &World<G, S>) -> [u64; 2] {
        world.pack(self.alike)
    }

    fn unpack(&self, words: [u64; 2]) -> World<G, S> {
        World::unpack(words)
    }
}
