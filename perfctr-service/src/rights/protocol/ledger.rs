//! The order of the steps with which rights pass from guest to guest. If a strand dies between two steps, another strand repeats the
//! steps.

use guest_abi::StrandId;
use hv_core::GuestId;

use super::{Asked, Circumstances, Consequence, Global, GlobalEvent, GuestEvent, Holding, Scrub};
use crate::rights::policy::Grant;

/// The state of the protocol. Each required method is one step. A provided method makes several steps; its caller owns the lock.
pub trait Ledger {
    /// Returns the numbers of the guests, in order.
    fn guests(&self) -> impl Iterator<Item = GuestId> + use<Self>;
    /// Returns what a guest is granted and holds.
    fn holding(&self, guest: GuestId) -> Holding;
    /// Returns the strands of a guest.
    fn strands(&self, guest: GuestId) -> impl Iterator<Item = StrandId> + use<Self>;
    /// Returns what a strand is asked to do, and whether it is dead.
    fn asked(&self, strand: StrandId) -> Asked;
    /// Returns the guest that has `global`.
    fn global(&self) -> Global;
    /// Returns `true` if a guest was reset, and no strand has begun to revoke its rights.
    fn is_reset(&self, guest: GuestId) -> bool;
    /// Returns a guest that was reset, and whose rights are not all revoked yet.
    fn next_reset(&self) -> Option<GuestId>;
    /// Begins the work on the reset of a guest.
    fn begin_reset(&mut self, guest: GuestId);
    /// Ends the work on a reset.
    fn end_reset(&mut self);
    /// Marks a guest as reset, and revokes its rights.
    fn start(&mut self, guest: GuestId);
    /// Marks a reset guest as started: it has all its rights, or gets them in the next step.
    fn started(&mut self, guest: GuestId);
    /// Revokes all rights of a guest outside of `grant`.
    fn keep(&mut self, guest: GuestId, grant: Grant);
    /// Gives a guest the rights of `grant`, unless the guest is [reset](Self::is_reset) meanwhile. Returns `true` if the guest now has
    /// them.
    fn raise(&mut self, guest: GuestId, grant: Grant) -> bool;
    /// Sets what a guest is granted.
    fn set_granted(&mut self, guest: GuestId, grant: Grant);
    /// Sets the guest that has `global`.
    fn set_global(&mut self, global: Global);
    /// Lists, for scrubbing, the units that a guest could program with `global`.
    fn list(&mut self, guest: GuestId);
    /// Asks a strand to scrub this and to acknowledge.
    fn ask(&mut self, strand: StrandId, scrub: Scrub);
    /// Sets a mark, so that the owner of the lock makes another round.
    fn mark(&mut self);
    /// Opens the fast path for what a guest may do.
    fn refresh(&mut self, guest: GuestId);

    /// Changes the state of `global` by one event.
    #[inline(always)]
    fn step_global(&mut self, event: GlobalEvent) {
        self.set_global(self.global().step(event));
    }

    /// Grants each guest what `grant` returns, and no more. Calls `revoked` with each guest that loses a right, and with its remaining
    /// rights. All revocations come before the first grant: if the strand dies in between, no right has two holders.
    #[inline(always)]
    fn configure(
        &mut self,
        grant: impl Fn(GuestId) -> Grant,
        mut revoked: impl FnMut(GuestId, Grant),
    ) {
        self.take_up_resets();
        for guest in self.guests() {
            self.revoke(guest, grant(guest), |left| revoked(guest, left));
        }
        for guest in self.guests() {
            let (next, _) = self.holding(guest).step(GuestEvent::Grant(grant(guest)));
            self.set_granted(guest, next.granted);
        }
    }

    /// Revokes all rights outside of `grant`, held or not. Asks the guest's strands to scrub, and calls `revoked` with the
    /// remaining rights.
    #[inline(always)]
    fn revoke(&mut self, guest: GuestId, grant: Grant, revoked: impl FnOnce(Grant)) {
        let (left, consequence) = self.holding(guest).step(GuestEvent::Revoke(grant));
        if consequence == Consequence::Nothing {
            return;
        }
        self.keep(guest, left.granted);
        revoked(left.granted);
        self.lose(guest, consequence);
        // This comes last: if this strand dies earlier, another strand repeats the whole step.
        self.set_granted(guest, left.granted);
        self.refresh(guest);
    }

    /// Revokes all rights of each reset guest.
    #[inline(always)]
    fn take_up_resets(&mut self) {
        // Each guest can be reset once, and a dead strand may have left one more reset unfinished.
        for _ in 0..=GuestId::COUNT {
            let Some(guest) = self.next_reset() else {
                return;
            };
            self.begin_reset(guest);
            self.start(guest);
            let (_, consequence) = self.holding(guest).step(GuestEvent::Reset);
            self.lose(guest, consequence);
            self.end_reset();
        }
    }

    /// Makes the steps that a [loss](Consequence::Lost) of rights requires.
    #[inline(always)]
    fn lose(&mut self, guest: GuestId, consequence: Consequence) {
        let Consequence::Lost { scrub, global } = consequence else {
            return;
        };
        // Ask before the units are listed. Otherwise, if this strand dies, another strand could scrub the units while a strand of the guest
        // is still in an older call.
        for strand in self.strands(guest) {
            self.ask(strand, scrub);
        }
        if global && self.global().user() == Some(guest) {
            self.revoke_global(guest);
        }
    }

    /// Revokes `global`, and lists the units of its loser.
    #[inline(always)]
    fn revoke_global(&mut self, guest: GuestId) {
        self.step_global(GlobalEvent::Revoke);
        self.list(guest);
        self.step_global(GlobalEvent::ListIsWhole);
    }

    /// Makes a round: ends the step of a strand that has died, revokes the rights of reset guests, scrubs the units of the loser of
    /// `global`, and completes the grants of all guests. `scrub` scrubs the units of a guest, and returns `true` if all are scrubbed or out
    /// of service. Calls `given` with each guest that gains a right, and with the rights that the guest holds now.
    #[inline(always)]
    fn round(
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

    /// Completes the grant of a guest as far as possible. If the guest gains a right, calls `given` with the rights that it holds now.
    #[inline(always)]
    fn complete(&mut self, guest: GuestId, given: impl FnOnce(Grant)) {
        let circumstances = Circumstances {
            guest,
            awaited: self.is_awaited(guest),
            reset: self.is_reset(guest),
            global: self.global(),
        };
        let complete = GuestEvent::Complete(circumstances);
        let (next, consequence) = self.holding(guest).step(complete);
        if consequence == Consequence::Nothing {
            return;
        }
        if !next.starting {
            self.started(guest);
        }
        if next.held.global {
            self.step_global(GlobalEvent::Grant(guest));
        }
        // `raise` fails if the guest is reset meanwhile: a reset is marked before it revokes any right, and `raise` tests the mark.
        if !self.raise(guest, next.held) {
            self.mark();
            return;
        }
        given(next.held);
        self.refresh(guest);
    }
}
