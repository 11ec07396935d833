//! Rights that change hands, while strands are in calls.
//!
//! # What is promised
//! Once a change is complete, no call of a guest reaches what the guest has lost, everything that it could have programmed
//! with that is stopped and cleared, and the next holder finds zeros:
//!
//! - who loses `strand` or `htstrand`: %pcr and %pic of its strands are 0;
//! - who has `strand` in place of `htstrand`: HT is 0 in %pcr of its strands, which count on without it;
//! - who loses `global`: PERF_CONFIG and the memory channels of its nodes, and all hubs, are 0;
//! - who starts again (a reset): all of these.
//!
//! Until then the change is *pending*: who loses a right is refused with ENOACCESS at once, and who is to have it still. What
//! neither of them has to wait for is theirs all the time. Nothing here waits. A newer change takes the place of a pending
//! one: rights that were on their way to a guest may go to another, or back, but never without having been cleared.
//!
//! What a guest is granted that lost nothing to anyone needs no clearing: what is not held by anyone was cleared when it was
//! lost. At the start of the service all registers are 0, as they are at power-on; who starts the service otherwise clears
//! them first.
//!
//! # How
//! A call looks at one word of its guest and then makes its access; nothing says that it is in flight. But a strand takes no
//! interrupt within a call. So:
//!
//! 1. The right is taken from the words. Calls that begin from now on do not have it.
//! 2. Every strand of the loser gets a cross-call. When the strand takes it, the strand is in no call that has seen the old
//!    word. It clears its own %pcr and %pic, which nobody else can, and answers.
//! 3. When all have answered, or are dead, the units are cleared ([`Unit`]) by the strand that is there. L2 control is reached
//!    on its own node only, so a strand of the loser on each node gets another cross-call for it. A chip that is busy is tried
//!    again at a cross-call that the strand sends to itself.
//! 4. The words of the next holder get the right.
//!
//! A unit that cannot be cleared is out of service and *unclean*: when the operator returns it to service it is cleared
//! first. So is a unit that is out of service already.
//!
//! Steps 3 and 4, and the operator's own, are made by one strand at a time, which holds a lock. Who does not get it
//! leaves a mark, and the one who has it looks again. Each step can be made twice, so one that a strand has died in is made
//! again.

use core::fmt;

use guest_abi::StrandId;
use guest_abi::layout::SparcPcr;
use hv_core::GuestId;
use hv_core::sync::{Ordering, spin_loop};
use hv_core::trace::Trace;
use platform::{AccessError, Bus, StrandRegisters};

use crate::grants::Grants;
use crate::guest::Guest;
use crate::policy::{ConfigError, Grant, StrandRight, StrandSet};
use crate::request::{HT, PCR, Request};
use crate::service::{PerfCounterService, STRANDS};
use crate::trace::Why;
use crate::units::Unit;

/// How often a strand tries to get the lock before a step of the operator's ends with [`ChangeError::Busy`].
pub const CHANGE_LOCK_TRIES: usize = 10_000;

/// How often a strand looks whether a newer cross-call has come while it was at work on one.
const ANSWER_TRIES: usize = 4;

/// Why a step of the operator's did not happen. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// The configuration is not valid.
    Config(ConfigError),
    /// It is for another number of guests than there are.
    OtherGuests {
        /// How many it is for.
        given: usize,
        /// How many there are.
        there_are: usize,
    },
    /// Another strand is at work on a change.
    Busy,
    /// The unit is cleared on a strand of its own node only.
    OtherNode(Unit),
    /// The unit cannot be cleared, and stays out of service. If it is busy, it is to be tried again: what is clear already
    /// counts.
    NotClean(Unit, AccessError),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::OtherGuests { given, there_are } => {
                write!(
                    f,
                    "the configuration is for {given} guests; there are {there_are}"
                )
            }
            Self::Busy => f.write_str("another strand is at work on a change"),
            Self::OtherNode(unit) => write!(f, "{unit} is cleared on its own node only"),
            Self::NotClean(unit, error) => write!(f, "{unit} cannot be cleared: {error}"),
        }
    }
}

impl core::error::Error for ChangeError {}

/// What the operator of the machine does. `on` is the strand that executes it.
impl<B: Bus, R: StrandRegisters, T: Trace> PerfCounterService<B, R, T> {
    /// What the guests are granted.
    pub fn grants(&self) -> Grants {
        let mut grants = Grants::none(self.guest_count);
        for guest in all_guests().take(self.guest_count) {
            // Every one of them is there.
            let _ = grants.set(guest, self.guest(guest).granted());
        }
        grants
    }

    /// What a guest holds at this moment: less than it is granted while a change is pending.
    pub fn held(&self, guest: GuestId) -> Grant {
        self.guest(guest).access().grant()
    }

    /// Grants all guests what the configuration says, and no more. It is checked as a whole first; one that is rejected
    /// changes nothing. `Some` if the change is [pending](Self::pending) when this returns.
    pub fn reconfigure(
        &self,
        on: StrandId,
        grants: &Grants,
    ) -> Result<Option<StrandSet>, ChangeError> {
        if grants.guests() != self.guest_count {
            return Err(ChangeError::OtherGuests {
                given: grants.guests(),
                there_are: self.guest_count,
            });
        }
        grants.check().map_err(ChangeError::Config)?;
        self.locked(on, || {
            self.take_up_resets();
            for guest in all_guests().take(self.guest_count) {
                let grant = grants.get(guest);
                if grant != self.guest(guest).granted() {
                    self.note_granted(on, guest, grant);
                }
            }
            // All losses before the first gain: if this strand dies here, no right is granted twice.
            for guest in all_guests().take(self.guest_count) {
                self.lose(on, guest, grants.get(guest));
            }
            for guest in all_guests().take(self.guest_count) {
                self.guest(guest).set_granted(grants.get(guest));
            }
            Ok(())
        })?;
        self.note_begun(on);
        Ok(self.pending())
    }

    /// The strands that a pending change waits for: they have not taken their cross-call yet. `None` if no change is pending.
    ///
    /// Nothing waits for ever unless one of these has died; then that has to be [said](Self::strand_died).
    pub fn pending(&self) -> Option<StrandSet> {
        let awaited: StrandSet = (0..STRANDS)
            .filter_map(StrandId::new)
            .filter(|strand| self.request(*strand).is_awaited())
            .collect();
        let changes = &self.changes;
        let incomplete = || {
            changes.leaving().is_some()
                || changes.next_reset().is_some()
                || all_guests()
                    .take(self.guest_count)
                    .any(|guest| self.held(guest) != self.guest(guest).granted())
        };
        (!awaited.is_empty() || incomplete()).then_some(awaited)
    }

    /// A strand takes a cross-call that this service has sent. To be called on that strand, between two of its calls and
    /// before it next executes guest code.
    pub fn cross_called(&self, strand: StrandId) {
        let request = self.request(strand);
        for _ in 0..ANSWER_TRIES {
            let asked = request.read();
            if asked & PCR != 0 {
                self.registers.set_pcr(strand, 0);
                self.registers.set_pic(strand, 0);
            } else if asked & HT != 0 {
                let pcr = self.registers.pcr(strand);
                self.registers.set_pcr(strand, pcr & !SparcPcr::HT);
            }
            if request.answer(asked) {
                break;
            }
        }
        self.work(strand);
        self.note_progress(strand);
    }

    /// A strand has died, and will not go on in the call that it may have been in. What it held is free: hubs, locks. An L2
    /// control that it was at work on is out of service, since its banks may differ. No change waits for the strand any more;
    /// if it comes back, it takes its cross-call before anything else.
    pub fn strand_died(&self, on: StrandId, strand: StrandId) {
        for (gate, unit) in self.hubs.iter().zip(guest_abi::Hub::ALL) {
            if gate.strand_died(strand) {
                self.access_ended(Unit::Hub(*unit));
            }
        }
        for (lock, node) in self.l2.iter().zip(guest_abi::Node::ALL) {
            let unit = Unit::L2(*node);
            if lock.is_held_by(strand) {
                self.units.unclean.add(unit);
                if self.take_out_of_service(on, unit, Why::Died) {
                    log::error!("{unit} is out of service: strand {strand} died at work on it");
                }
                lock.strand_died(strand);
                self.access_ended(unit);
            }
        }
        let request = self.request(strand);
        request.excuse();
        self.registers.cross_call(strand);
        self.changes.strand_died(strand);
        self.work(on);
        self.note_progress(on);
    }

    /// The operator has mended a unit. If there may be something in it of a guest that has lost it, it is cleared first. A
    /// guest that was reset while it was a hub that was missing sees the hubs from its next reset on.
    pub fn return_to_service(&self, on: StrandId, unit: Unit) -> Result<(), ChangeError> {
        self.locked(on, || {
            // While a guest leaves, nobody has it, and it is cleared when that guest has gone.
            if self.units.unclean.has(unit) && self.changes.leaving().is_none() {
                if let Unit::L2(node) = unit
                    && node != self.node(on)
                {
                    return Err(ChangeError::OtherNode(unit));
                }
                if let Err(error) = self.clear(on, unit) {
                    if error == AccessError::Fault {
                        self.units.count_fault(unit);
                    }
                    return Err(ChangeError::NotClean(unit, error));
                }
                self.units.unclean.remove(unit);
            }
            self.access_ended(unit);
            self.units.out.remove(unit);
            self.note_returned(on, unit);
            for guest in self.guests.iter().take(self.guest_count) {
                guest.refresh(self.machine, &self.units.out);
            }
            Ok(())
        })
    }

    /// The guest starts again.
    pub(crate) fn reset(&self, guest: GuestId, on: StrandId) {
        self.guest(guest).reset(&self.units.out);
        self.note_revoked(on, guest, Grant::NONE);
        self.changes.reset(guest);
        self.work(on);
        self.note_begun(on);
    }
}

fn all_guests() -> impl Iterator<Item = GuestId> {
    (0..GuestId::COUNT).filter_map(GuestId::new)
}

/// The steps.
impl<B: Bus, R: StrandRegisters, T: Trace> PerfCounterService<B, R, T> {
    pub(crate) fn guest(&self, guest: GuestId) -> &Guest {
        &self.guests[guest.index()]
    }

    fn request(&self, strand: StrandId) -> &Request {
        &self.strands[strand.index()].request
    }

    /// A step of the operator's, and what follows from it.
    fn locked(
        &self,
        on: StrandId,
        step: impl FnOnce() -> Result<(), ChangeError>,
    ) -> Result<(), ChangeError> {
        let taken = (0..CHANGE_LOCK_TRIES).any(|_| {
            let taken = self.changes.take(on);
            if !taken {
                spin_loop();
            }
            taken
        });
        if !taken {
            return Err(ChangeError::Busy);
        }
        let result = step();
        self.changes.release();
        self.work(on);
        result
    }

    /// Does what is to be done, or leaves that to the one who is at it.
    fn work(&self, on: StrandId) {
        self.changes.mark();
        // Each turn but the first is for a mark that another strand has left, of which each leaves one at a time.
        for _ in 0..=StrandId::COUNT {
            if !self.changes.take(on) {
                return;
            }
            self.changes.look();
            self.take_up_resets();
            self.clear_up(on);
            self.complete(on);
            self.changes.release();
            if !self.changes.is_marked() {
                return;
            }
        }
    }

    /// Takes from a guest that has started again whatever it could use.
    fn take_up_resets(&self) {
        // Each guest can be there once, and one that a strand has died in once more.
        for _ in 0..=GuestId::COUNT {
            let Some(guest) = self.changes.next_reset() else {
                return;
            };
            self.changes.begin_reset(guest);
            self.guest(guest).start();
            if self.changes.user() == Some(guest) {
                self.leave(guest);
            }
            self.ask_all(guest, PCR);
            self.changes.end_reset();
        }
    }

    /// Takes from a guest what it is not granted any more. It may have waited for that only, and is asked all the same.
    fn lose(&self, on: StrandId, guest: GuestId, grant: Grant) {
        let state = self.guest(guest);
        let (old, new) = (state.granted(), state.granted().both(grant));
        if new == old {
            return;
        }
        state.keep(new);
        self.note_revoked(on, guest, new);
        if !new.global && self.changes.user() == Some(guest) {
            self.leave(guest);
        }
        let clear = match (old.strand, new.strand) {
            (StrandRight::HtStrand, StrandRight::Strand) => HT,
            (old, new) if old != new => PCR,
            _ => 0,
        };
        self.ask_all(guest, clear);
        // Last: if this strand dies before, the whole step is made again.
        state.set_granted(new);
        state.refresh(self.machine, &self.units.out);
    }

    /// The holder of `global` has lost it.
    fn leave(&self, guest: GuestId) {
        let nodes = self.guest(guest).nodes();
        let units = Unit::all().filter(|unit| {
            unit.is_in(self.machine)
                && match unit {
                    Unit::Mcu(node, _) | Unit::L2(node) => nodes.has(*node),
                    Unit::Hub(_) => true,
                }
        });
        for unit in units {
            self.changes.cleared(unit).store(0, Ordering::Relaxed);
            self.units.unclean.add(unit);
        }
        self.changes.leave();
    }

    fn ask_all(&self, guest: GuestId, clear: u32) {
        for strand in self.guest(guest).strands().iter() {
            self.ask(strand, clear);
        }
    }

    fn ask(&self, strand: StrandId, clear: u32) {
        self.request(strand).ask(clear);
        self.registers.cross_call(strand);
    }

    fn is_awaited(&self, guest: GuestId) -> bool {
        let mut strands = self.guest(guest).strands().iter();
        strands.any(|strand| self.request(strand).is_awaited())
    }

    /// If a guest leaves and none of its strands is awaited: clears what it has left behind, as far as this strand can.
    fn clear_up(&self, on: StrandId) {
        let Some(guest) = self.changes.leaving() else {
            return;
        };
        if self.is_awaited(guest) {
            return;
        }
        let mut done = true;
        for unit in Unit::all() {
            if !self.units.unclean.has(unit) || self.units.out.has(unit) {
                continue;
            }
            done &= match unit {
                Unit::L2(node) if node != self.node(on) => {
                    let mut there = self.guest(guest).strands().iter();
                    let able = |strand: &StrandId| {
                        self.node(*strand) == node && !self.request(*strand).is_excused()
                    };
                    match there.find(able) {
                        Some(strand) => {
                            self.ask(strand, 0);
                            false
                        }
                        None => {
                            if self.take_out_of_service(on, unit, Why::Uncleared) {
                                log::error!(
                                    "{unit} is out of service: no strand is there to clear it"
                                );
                            }
                            true
                        }
                    }
                }
                _ => self.clear_or_give_up(on, unit),
            };
        }
        if done {
            self.changes.left();
        }
    }

    /// Clears a unit, or takes it out of service. `false` if it is busy and a cross-call will come.
    fn clear_or_give_up(&self, on: StrandId, unit: Unit) -> bool {
        match self.clear(on, unit) {
            Ok(()) => {
                self.units.unclean.remove(unit);
                true
            }
            Err(AccessError::Fault) => {
                if self.faulted(on, unit) {
                    log::error!("{unit} cannot be cleared and is out of service");
                }
                true
            }
            Err(AccessError::Busy) => {
                let _ = self.found_busy(on, unit);
                let given_up = self.units.out.has(unit);
                if !given_up {
                    self.ask(on, 0);
                }
                given_up
            }
        }
    }

    /// Gives guests the rights that nothing stands in the way of.
    fn complete(&self, on: StrandId) {
        for guest in all_guests().take(self.guest_count) {
            let state = self.guest(guest);
            let (held, granted) = (state.access().grant(), state.granted());
            if self.is_awaited(guest) {
                continue;
            }
            let user = self.changes.user();
            let global = granted.global
                && user.is_none_or(|user| user == guest && self.changes.leaving().is_none());
            let free = Grant { global, ..granted };
            let started = free == granted && state.started(&self.units.out);
            if free == held && !started {
                continue;
            }
            if free.global {
                self.changes.enter(guest);
            }
            state.raise(free);
            self.note_held(on, guest, free);
            state.refresh(self.machine, &self.units.out);
        }
    }
}
