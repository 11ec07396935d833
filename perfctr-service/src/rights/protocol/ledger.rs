//! The order of the steps by which rights pass from guest to guest. The strand that makes them may die between any two: then another
//! begins again.

use guest_abi::StrandId;
use hv_core::GuestId;

use super::{Answer, Asked, Circumstances, Global, GlobalEvent, GuestEvent, Holding, Scrub};
use crate::rights::policy::Grant;

/// Where what is known of rights is read and written, one step each; and the orders of these steps. Who calls an order owns
/// the lock.
pub trait Ledger {
    /// Returns the numbers of the guests, in order.
    fn guests(&self) -> impl Iterator<Item = GuestId> + use<Self>;
    /// Returns what a guest is granted and holds.
    fn holding(&self, guest: GuestId) -> Holding;
    /// Returns the strands of a guest.
    fn strands(&self, guest: GuestId) -> impl Iterator<Item = StrandId> + use<Self>;
    /// Returns what a strand is asked for.
    fn asked(&self, strand: StrandId) -> Asked;
    /// Returns which guest has `global`.
    fn global(&self) -> Global;
    /// Returns `true` if a guest starts again and that has not been taken up.
    fn is_reset(&self, guest: GuestId) -> bool;
    /// Returns a guest whose reset has not been taken up, or not to the end.
    fn next_reset(&self) -> Option<GuestId>;
    /// Notes that the reset of a guest is taken up.
    fn begin_reset(&mut self, guest: GuestId);
    /// Notes that what was taken up is done.
    fn end_reset(&mut self);
    /// Takes all rights from a guest that starts again.
    fn start(&mut self, guest: GuestId);
    /// Notes that a guest that has started has all its rights, or gets them now.
    fn started(&mut self, guest: GuestId);
    /// Takes all rights from a guest but these.
    fn keep(&mut self, guest: GuestId, grant: Grant);
    /// Gives a guest these rights unless it is [reset](Self::is_reset) meanwhile. Returns `true` if it did.
    fn raise(&mut self, guest: GuestId, grant: Grant) -> bool;
    /// Notes what a guest is granted.
    fn set_granted(&mut self, guest: GuestId, grant: Grant);
    /// Notes which guest has `global`.
    fn set_global(&mut self, global: Global);
    /// Lists what a guest that had `global` may have left behind.
    fn list(&mut self, guest: GuestId);
    /// Asks a strand to scrub this and to acknowledge.
    fn ask(&mut self, strand: StrandId, scrub: Scrub);
    /// Leaves a mark: somebody has to look once more.
    fn mark(&mut self);
    /// Opens the fast path of what a guest may do.
    fn refresh(&mut self, guest: GuestId);

    /// Something happens to `global`.
    #[inline(always)]
    fn step_global(&mut self, event: GlobalEvent) {
        self.set_global(self.global().step(event));
    }

    /// Grants all guests what `grant` returns, and no more. Calls `taken` with each guest that loses something and what is left.
    /// All losses come before the first gain: if the strand dies in between, no right is granted twice.
    #[inline(always)]
    fn configure(
        &mut self,
        grant: impl Fn(GuestId) -> Grant,
        mut taken: impl FnMut(GuestId, Grant),
    ) {
        self.take_up_resets();
        for guest in self.guests() {
            self.revoke(guest, grant(guest), |left| taken(guest, left));
        }
        for guest in self.guests() {
            let (next, _) = self.holding(guest).step(GuestEvent::Grant(grant(guest)));
            self.set_granted(guest, next.granted);
        }
    }

    /// Takes from a guest what `grant` does not have, and calls `taken` with what is left. The guest may have waited for
    /// that only, and its strands are asked all the same.
    #[inline(always)]
    fn revoke(&mut self, guest: GuestId, grant: Grant, taken: impl FnOnce(Grant)) {
        let (left, answer) = self.holding(guest).step(GuestEvent::Revoke(grant));
        if answer == Answer::Nothing {
            return;
        }
        self.keep(guest, left.granted);
        taken(left.granted);
        self.lost(guest, answer);
        // Last: if this strand dies before, the whole step is made again.
        self.set_granted(guest, left.granted);
        self.refresh(guest);
    }

    /// Takes from each guest that has started again whatever it could use.
    #[inline(always)]
    fn take_up_resets(&mut self) {
        // Each guest can be there once, and one that a strand has died in once more.
        for _ in 0..=GuestId::COUNT {
            let Some(guest) = self.next_reset() else {
                return;
            };
            self.begin_reset(guest);
            self.start(guest);
            let (_, answer) = self.holding(guest).step(GuestEvent::Reset);
            self.lost(guest, answer);
            self.end_reset();
        }
    }

    /// Does what follows if a guest has lost something.
    #[inline(always)]
    fn lost(&mut self, guest: GuestId, answer: Answer) {
        let Answer::Lost { scrub, global } = answer else {
            return;
        };
        // Before the list is begun: if this strand dies at that, nobody scrubs while a strand is in a call of before.
        for strand in self.strands(guest) {
            self.ask(strand, scrub);
        }
        if global && self.global().user() == Some(guest) {
            self.revoke_global(guest);
        }
    }

    /// Revokes `global` from its holder.
    #[inline(always)]
    fn revoke_global(&mut self, guest: GuestId) {
        self.step_global(GlobalEvent::Revoke);
        self.list(guest);
        self.step_global(GlobalEvent::ListIsWhole);
    }

    /// Does what is to be done: ends what a strand that has died has begun, takes up resets, scrubs what `global` has left
    /// behind, and gives guests the rights that nothing stands in the way of. `scrub` scrubs what a guest has left behind,
    /// and returns `true` if all of it is scrubbed or out of service. `given` is called with each guest that gets something, and
    /// what it holds now.
    #[inline(always)]
    fn turn(
        &mut self,
        scrub: impl FnOnce(&mut Self, GuestId) -> bool,
        mut given: impl FnMut(GuestId, Grant),
    ) {
        if let Global::Listed(guest) = self.global() {
            self.revoke_global(guest);
        }
        self.take_up_resets();
        if let Global::Revoked(guest) = self.global()
            && !self.is_awaited(guest)
            && scrub(self, guest)
        {
            self.step_global(GlobalEvent::Scrubbed);
        }
        for guest in self.guests() {
            self.complete(guest, |held| given(guest, held));
        }
    }

    /// Returns `true` if one of a guest's strands is [awaited](Asked::is_awaited).
    #[inline(always)]
    fn is_awaited(&self, guest: GuestId) -> bool {
        let mut strands = self.strands(guest);
        strands.any(|strand| self.asked(strand).is_awaited())
    }

    /// Gives a guest the rights that nothing stands in the way of. Calls `given` with what it holds now, if that is new.
    #[inline(always)]
    fn complete(&mut self, guest: GuestId, given: impl FnOnce(Grant)) {
        let circumstances = Circumstances {
            guest,
            awaited: self.is_awaited(guest),
            reset: self.is_reset(guest),
            global: self.global(),
        };
        let complete = GuestEvent::Complete(circumstances);
        let (next, answer) = self.holding(guest).step(complete);
        if answer == Answer::Nothing {
            return;
        }
        if !next.starting {
            self.started(guest);
        }
        if next.held.global {
            self.step_global(GlobalEvent::Grant(guest));
        }
        // A reset that crosses this is flagged before it takes anything away.
        if !self.raise(guest, next.held) {
            self.mark();
            return;
        }
        given(next.held);
        self.refresh(guest);
    }
}
