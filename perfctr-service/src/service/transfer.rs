//! Rights that change hands, while strands are in calls.
//!
//! # What is promised
//! Once a change is complete, no call of a guest reaches what the guest has lost, everything that it could have programmed
//! with that is stopped and scrubbed, and the next holder finds zeros:
//!
//! - who loses `strand` or `htstrand`: %pcr and %pic of its strands are 0;
//! - who has `strand` in place of `htstrand`: HT is 0 in %pcr of its strands, which count on without it;
//! - who loses `global`: PERF_CONFIG and the memory channels of its nodes, and all hubs, are 0;
//! - who starts again (a reset): all of these.
//!
//! Until then the change is *pending*: who loses a right is refused with ENOACCESS at once, and who is to have it still. What
//! neither of them has to wait for is theirs all the time. Nothing here waits. A newer change takes the place of a pending
//! one: rights that were on their way to a guest may go to another, or back, but never without having been scrubbed.
//!
//! A right that nobody had is granted without scrubbing: what it covers was scrubbed when it was last revoked. That is at once,
//! unless a strand of the guest itself has been asked for something and has not acknowledged it. At the start
//! of the service all registers are 0, as they are at power-on; whoever starts the service otherwise scrubs them first.
//!
//! # How
//! A call looks at one word of its guest and then makes its access; nothing says that it is in flight. But a strand takes no
//! interrupt within a call. So:
//!
//! 1. The right is taken from the words. Calls that begin from now on do not have it.
//! 2. Every strand of the loser gets a cross-call. When the strand takes it, the strand is in no call that has seen the old
//!    word. It scrubs its own %pcr and %pic if they are to be scrubbed, which no other strand can, and acknowledges.
//! 3. When all have acknowledged, or are dead, the units are scrubbed ([`Unit`]) by the strand that is there. L2 control is reached
//!    on its own node only, so a strand of the loser on each node gets another cross-call for it. A chip that is busy is tried
//!    again at a cross-call that the strand sends to itself.
//! 4. The words of the next holder get the right.
//!
//! A strand that is [said to be dead](PerfCounterService::strand_died) is not waited for, because it will not go on in the call
//! that it was in. Its cross-call stays: if it comes back, it scrubs itself before anything else. It must not come back before
//! that has been said, to the end.
//!
//! A unit that cannot be scrubbed is out of service and *unclean*: when the operator returns it to service it is scrubbed
//! first. So is a unit that is out of service already.
//!
//! Steps 3 and 4, and the operator's own, are made by one strand at a time, which holds a lock. Who does not get it
//! leaves a mark, and the one who has it looks again. Each of these steps can be made twice, so one that a strand has died in
//! is made again. Not so the operator's own: when a strand has died in one, it has to be told again.
//!
//! Cross-calls go out when the strand that asks is through with the lock, the mark included. Otherwise a strand that is asked
//! to scrub what only it can, and is quick, finds the lock taken by the one who asked, who sees its mark, looks and asks
//! again, and so on for ever.

use guest_abi::StrandId;
use hv_core::GuestId;
use platform::{AccessError, StrandRegisters};

use crate::environment::Environment;
use crate::rights::guest::Guest;
use crate::rights::policy::{Grant, StrandRight, StrandSet};
use crate::rights::request::{HT, PCR, Request};
use crate::service::PerfCounterService;
use crate::service::operator::ChangeError;
use crate::trace::Why;
use crate::units::Unit;

/// How often a strand tries to get the lock before a step of the operator's ends with [`ChangeError::Busy`].
pub const CHANGE_LOCK_TRIES: usize = 10_000;

pub(super) fn all_guests() -> impl Iterator<Item = GuestId> {
    (0..GuestId::COUNT).filter_map(GuestId::new)
}

impl<E: Environment> PerfCounterService<E> {
    pub(super) fn guest(&self, guest: GuestId) -> &Guest {
        &self.guests[guest.index()]
    }

    pub(super) fn request(&self, strand: StrandId) -> &Request {
        &self.strands[strand.index()].request
    }

    /// A step of the operator's, and what follows from it. The step notes whom it asks for something.
    #[inline(always)]
    pub(super) fn locked(
        &self,
        on: StrandId,
        step: impl FnOnce(&mut StrandSet) -> Result<(), ChangeError>,
    ) -> Result<(), ChangeError> {
        let lock = self.rights.lock(on, CHANGE_LOCK_TRIES);
        let lock = lock.ok_or(ChangeError::Busy)?;
        let mut asked = StrandSet::EMPTY;
        let result = step(&mut asked);
        drop(lock);
        self.work(on, asked);
        result
    }

    /// Does what is to be done, or leaves that to the one who is at it. Then calls the strands that are asked for something,
    /// by this or before.
    #[inline(always)]
    pub(super) fn work(&self, on: StrandId, mut asked: StrandSet) {
        let ended = self.rights.turns(on, || {
            if let Some(guest) = self.rights.half_revoked() {
                self.revoke_global(guest);
            }
            self.take_up_resets(&mut asked);
            self.scrub_revoked(on, &mut asked);
            self.complete(on);
        });
        if !ended {
            self.ask(on, 0, &mut asked);
        }
        for strand in asked.iter() {
            self.registers().cross_call(strand);
        }
    }

    /// Takes from a guest that has started again whatever it could use.
    #[inline(always)]
    pub(super) fn take_up_resets(&self, asked: &mut StrandSet) {
        // Each guest can be there once, and one that a strand has died in once more.
        for _ in 0..=GuestId::COUNT {
            let Some(guest) = self.rights.next_reset() else {
                return;
            };
            self.rights.begin_reset(guest);
            self.guest(guest).start();
            if self.rights.user() == Some(guest) {
                self.revoke_global(guest);
            }
            self.ask_all(guest, PCR, asked);
            self.rights.end_reset();
        }
    }

    /// Takes from a guest what it is not granted any more. It may have waited for that only, and is asked all the same.
    #[inline(always)]
    pub(super) fn revoke(&self, on: StrandId, guest: GuestId, grant: Grant, asked: &mut StrandSet) {
        let state = self.guest(guest);
        let (old, new) = (state.granted(), state.granted().both(grant));
        if new == old {
            return;
        }
        state.keep(new);
        self.note_revoked(on, guest, new);
        if !new.global && self.rights.user() == Some(guest) {
            self.revoke_global(guest);
        }
        let scrub = match (old.strand, new.strand) {
            (StrandRight::HtStrand, StrandRight::Strand) => HT,
            (old, new) if old != new => PCR,
            _ => 0,
        };
        self.ask_all(guest, scrub, asked);
        // Last: if this strand dies before, the whole step is made again.
        state.set_granted(new);
        state.refresh(self.units.out());
    }

    /// Revokes `global` from its holder.
    #[inline(always)]
    fn revoke_global(&self, guest: GuestId) {
        self.rights.begin_revoke();
        for unit in Unit::of_global(self.machine, self.guest(guest).nodes()) {
            self.units.set_unclean(unit);
        }
        self.rights.revoke();
    }

    #[inline(always)]
    fn ask_all(&self, guest: GuestId, scrub: u32, asked: &mut StrandSet) {
        for strand in self.guest(guest).strands().iter() {
            self.ask(strand, scrub, asked);
        }
    }

    #[inline(always)]
    fn ask(&self, strand: StrandId, scrub: u32, asked: &mut StrandSet) {
        self.request(strand).ask(scrub);
        asked.insert(strand);
    }

    #[inline(always)]
    fn is_awaited(&self, guest: GuestId) -> bool {
        let mut strands = self.guest(guest).strands().iter();
        strands.any(|strand| self.request(strand).is_awaited())
    }

    /// If `global` is revoked from a guest and none of its strands is awaited: scrubs what it has left behind, as far as this strand can.
    #[inline(always)]
    fn scrub_revoked(&self, on: StrandId, asked: &mut StrandSet) {
        let Some(guest) = self.rights.revoked() else {
            return;
        };
        if self.is_awaited(guest) {
            return;
        }
        let mut done = true;
        for unit in Unit::all() {
            if !self.units.is_unclean(unit) || self.units.out().has(unit) {
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
                            self.ask(strand, 0, asked);
                            false
                        }
                        None => {
                            if self.take_out_of_service(on, unit, Why::Uncleared) {
                                log::error!(
                                    "{unit} is out of service: no strand is there to scrub it"
                                );
                            }
                            true
                        }
                    }
                }
                _ => self.scrub_or_give_up(on, unit, asked),
            };
        }
        if done {
            self.rights.end_scrub();
        }
    }

    /// Scrubs a unit, or takes it out of service. `false` if it is busy and a cross-call will come.
    #[inline(always)]
    fn scrub_or_give_up(&self, on: StrandId, unit: Unit, asked: &mut StrandSet) -> bool {
        match self.scrub(on, unit) {
            Ok(()) => {
                self.units.set_clean(unit);
                true
            }
            Err(AccessError::Fault) => {
                if self.faulted(on, unit) {
                    log::error!("{unit} cannot be scrubbed and is out of service");
                }
                true
            }
            Err(AccessError::Busy) => {
                let given_up = self.found_busy(on, unit) || self.units.out().has(unit);
                if given_up {
                    // Whoever mends it may leave anything in it.
                    self.units.scrub_from_start(unit);
                } else {
                    self.ask(on, 0, asked);
                }
                given_up
            }
        }
    }

    /// Gives guests the rights that nothing stands in the way of.
    #[inline(always)]
    fn complete(&self, on: StrandId) {
        for guest in all_guests().take(self.guest_count) {
            let state = self.guest(guest);
            let (held, granted) = (state.access().grant(), state.granted());
            if self.is_awaited(guest) || self.rights.is_reset(guest) {
                continue;
            }
            let user = self.rights.user();
            let global = granted.global
                && user.is_none_or(|user| user == guest && self.rights.revoked().is_none());
            let free = Grant { global, ..granted };
            let started = free == granted && state.started(self.units.out());
            if free == held && !started {
                continue;
            }
            if free.global {
                self.rights.grant_global(guest);
            }
            // A reset that crosses this is flagged before it takes anything away.
            if !state.raise(free, || !self.rights.is_reset(guest)) {
                self.rights.mark();
                continue;
            }
            self.note_held(on, guest, free);
            state.refresh(self.units.out());
        }
    }
}
