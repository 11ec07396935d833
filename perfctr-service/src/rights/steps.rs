//! The steps of grants, revocations and resets. A step adds each strand that it asks for something to the set `asked`. The
//! service sends these strands cross-calls when it is through with the lock.

use guest_abi::StrandId;
use hv_core::GuestId;

use crate::rights::access::AccessWord;
use crate::rights::grants::Grants;
use crate::rights::policy::{Grant, StrandSet};
use crate::rights::protocol::{
    Answer, Asked, Circumstances, Global, GlobalEvent, GuestEvent, Scrub,
};
use crate::rights::{Rights, STRANDS};
use crate::units::{Unit, UnitSet, Units};

/// How often a strand looks whether a newer cross-call has come while it was at work on one.
const ACKNOWLEDGE_TRIES: usize = 4;

/// How often a strand looks whether the tracer is on, while others turn it.
const TRACED_TRIES: usize = 4;

/// How often a strand looks whether no change is pending, while others make steps.
const PENDING_TRIES: usize = 4;

impl Rights {
    /// Returns what the guests are granted.
    pub(crate) fn grants(&self) -> Grants {
        let mut grants = Grants::none(self.guest_count);
        for guest in self.guests() {
            // Every one of them is there.
            let _ = grants.set(guest, self.guest(guest).granted());
        }
        grants
    }

    /// Returns what a guest holds: less than it is granted while a change is pending.
    pub(crate) fn held(&self, guest: GuestId) -> Grant {
        self.guest(guest).access().grant()
    }

    /// The tracer was turned on or off. Another strand may turn it meanwhile: what `is_traced` returns last counts.
    pub(crate) fn set_traced(&self, is_traced: impl Fn() -> bool, out: &UnitSet) {
        for guest in &self.guests {
            let settled = (0..TRACED_TRIES).any(|_| {
                let traced = is_traced();
                guest.set_traced(traced);
                is_traced() == traced
            });
            if !settled {
                // This is right in either case: the slow path looks at the tracer.
                guest.set_traced(true);
            }
            guest.refresh(out);
        }
    }

    /// Takes a unit that is out of service from the fast paths of all guests.
    pub(crate) fn withdraw(&self, unit: Unit) {
        let access = AccessWord::of_unit(unit);
        for guest in self.guests.iter().take(self.guest_count) {
            guest.withdraw(access);
        }
    }

    /// Opens the fast paths of all guests again, after a unit has returned to service.
    pub(crate) fn refresh(&self, out: &UnitSet) {
        for guest in self.guests.iter().take(self.guest_count) {
            guest.refresh(out);
        }
    }

    /// A guest starts again. Takes its rights, and calls `taken` when they are.
    #[inline(always)]
    pub(crate) fn reset(&self, guest: GuestId, taken: impl FnOnce()) {
        // Before anything is taken away, so that nobody gives it back; and after, if that has been taken up meanwhile.
        self.set_reset(guest);
        self.guest(guest).start();
        taken();
        self.set_reset(guest);
    }

    /// Takes from each guest that has started again whatever it could use.
    #[inline(always)]
    pub(crate) fn take_up_resets(&self, units: &Units, asked: &mut StrandSet) {
        // Each guest can be there once, and one that a strand has died in once more.
        for _ in 0..=GuestId::COUNT {
            let Some(guest) = self.next_reset() else {
                return;
            };
            self.begin_reset(guest);
            self.guest(guest).start();
            let (_, answer) = self.guest(guest).holding().step(GuestEvent::Reset);
            self.lost(guest, answer, units, asked);
            self.end_reset();
        }
    }

    /// Takes from a guest what `grant` does not have, and calls `taken` with what is left. The guest may have waited for
    /// that only, and its strands are asked all the same.
    #[inline(always)]
    pub(crate) fn revoke(
        &self,
        guest: GuestId,
        grant: Grant,
        units: &Units,
        asked: &mut StrandSet,
        taken: impl FnOnce(Grant),
    ) {
        let state = self.guest(guest);
        let (left, answer) = state.holding().step(GuestEvent::Revoke(grant));
        if answer == Answer::Nothing {
            return;
        }
        state.keep(left.granted);
        taken(left.granted);
        self.lost(guest, answer, units, asked);
        // Last: if this strand dies before, the whole step is made again.
        state.set_granted(left.granted);
        state.refresh(units.out());
    }

    /// Does what follows if a guest has lost something.
    #[inline(always)]
    fn lost(&self, guest: GuestId, answer: Answer, units: &Units, asked: &mut StrandSet) {
        let Answer::Lost { scrub, global } = answer else {
            return;
        };
        // Before the list is begun: if this strand dies at that, nobody scrubs while a strand is in a call of before.
        for strand in self.guest(guest).strands().iter() {
            self.ask(strand, scrub, asked);
        }
        if global && self.global().user() == Some(guest) {
            self.revoke_global(guest, units);
        }
    }

    /// Records what the guests are granted now. What they lose by it is [revoked](Self::revoke) already.
    pub(crate) fn set_granted(&self, grants: &Grants) {
        for guest in self.guests() {
            let event = GuestEvent::Grant(grants.get(guest));
            let (next, _) = self.guest(guest).holding().step(event);
            self.guest(guest).set_granted(next.granted);
        }
    }

    /// Makes a revocation of `global` again, if the strand that made it has died at that.
    #[inline(always)]
    pub(crate) fn finish_revoke(&self, units: &Units) {
        if let Global::Listed(guest) = self.global() {
            self.revoke_global(guest, units);
        }
    }

    /// Revokes `global` from its holder.
    #[inline(always)]
    fn revoke_global(&self, guest: GuestId, units: &Units) {
        self.step_global(GlobalEvent::Revoke);
        for unit in Unit::of_global(self.machine, self.guest(guest).nodes()) {
            units.set_unclean(unit);
        }
        self.step_global(GlobalEvent::ListIsWhole);
    }

    /// Asks a strand to scrub this and to acknowledge.
    #[inline(always)]
    pub(crate) fn ask(&self, strand: StrandId, scrub: Scrub, asked: &mut StrandSet) {
        self.request(strand).ask(scrub);
        asked.insert(strand);
    }

    #[inline(always)]
    fn is_awaited(&self, guest: GuestId) -> bool {
        let mut strands = self.guest(guest).strands().iter();
        strands.any(|strand| self.request(strand).read().is_awaited())
    }

    /// Returns the guest that `global` is revoked from, if none of its strands is awaited: what it has left behind can be
    /// scrubbed.
    #[inline(always)]
    pub(crate) fn next_scrub(&self) -> Option<GuestId> {
        self.revoked().filter(|guest| !self.is_awaited(*guest))
    }

    /// Returns a strand of a guest that is not said to be dead and for which `is_there` returns `true`.
    #[inline(always)]
    pub(crate) fn living_strand(
        &self,
        guest: GuestId,
        is_there: impl Fn(StrandId) -> bool,
    ) -> Option<StrandId> {
        let mut strands = self.guest(guest).strands().iter();
        strands.find(|strand| is_there(*strand) && !self.request(*strand).read().is_excused())
    }

    /// Gives guests the rights that nothing stands in the way of. Calls `given` with each guest
    /// that this serves and what it holds now.
    #[inline(always)]
    pub(crate) fn complete(&self, out: &UnitSet, given: impl Fn(GuestId, Grant)) {
        for guest in self.guests() {
            let state = self.guest(guest);
            let circumstances = Circumstances {
                guest,
                awaited: self.is_awaited(guest),
                reset: self.is_reset(guest),
                global: self.global(),
            };
            let complete = GuestEvent::Complete(circumstances);
            let (next, answer) = state.holding().step(complete);
            if answer == Answer::Nothing {
                continue;
            }
            if !next.starting {
                state.started();
            }
            if next.held.global {
                self.step_global(GlobalEvent::Grant(guest));
            }
            // A reset that crosses this is flagged before it takes anything away.
            if !state.raise(next.held, || !self.is_reset(guest)) {
                self.mark();
                continue;
            }
            given(guest, next.held);
            state.refresh(out);
        }
    }

    /// A strand takes its cross-call: calls `scrub` with what it is to scrub, and acknowledges. It does this again if it was
    /// asked for more meanwhile.
    #[inline(always)]
    pub(crate) fn acknowledge(&self, strand: StrandId, scrub: impl Fn(Scrub)) {
        let request = self.request(strand);
        for _ in 0..ACKNOWLEDGE_TRIES {
            let asked = request.take();
            scrub(asked.scrub());
            if request.acknowledge(asked) {
                break;
            }
        }
    }

    /// A strand has died: nobody waits for it, and the lock is free if the strand owned it. Returns the strands that are
    /// asked for something: it may have been about to call those that it had asked, or another that had died.
    #[must_use]
    pub(crate) fn abandon(&self, dead: StrandId) -> StrandSet {
        self.request(dead).excuse();
        self.lock.abandon(dead);
        self.strands_whose(Asked::is_asked)
    }

    /// Returns the strands that a pending change waits for, as [`pending`](crate::PerfCounterService::pending) says.
    pub(crate) fn pending(&self) -> Option<StrandSet> {
        for _ in 0..PENDING_TRIES {
            let before = self.at_rest();
            // Nobody waits for the dead.
            let awaited = self.strands_whose(Asked::is_awaited);
            if !awaited.is_empty() || self.is_incomplete() {
                return Some(awaited);
            }
            // Else a strand that was seen to have acknowledged may have been asked again before the last one had.
            if before.is_some() && before == self.at_rest() {
                return None;
            }
        }
        Some(StrandSet::EMPTY)
    }

    /// Returns `true` if there is something to do beside what strands are asked for.
    fn is_incomplete(&self) -> bool {
        self.revoked().is_some()
            || self.next_reset().is_some()
            || self
                .guests()
                .any(|guest| self.held(guest) != self.guest(guest).granted())
    }

    fn strands_whose(&self, is_such: impl Fn(Asked) -> bool) -> StrandSet {
        (0..STRANDS)
            .filter_map(StrandId::new)
            .filter(|strand| is_such(self.request(*strand).read()))
            .collect()
    }
}
