//! Defines the order of the steps in which rights pass from guest to guest. If a strand dies between two steps, another strand repeats the
//! steps.

use guest_abi::StrandId;
use hv_core::GuestId;

use super::{Asked, Circumstances, Consequence, Global, GlobalEvent, GuestEvent, Holding, Scrub};
use crate::rights::policy::Grant;

/// The state of the protocol. Each required method is one step. A provided method takes several steps, and only the owner of the lock may
/// call it.
pub trait Ledger {
    /// Returns the numbers of all guests, in ascending order.
    fn guests(&self) -> impl Iterator<Item = GuestId> + use<Self>;
    /// Returns the rights that a guest is granted, and the rights that it holds.
    fn holding(&self, guest: GuestId) -> Holding;
    /// Returns a guest's strands. When the guest loses a right, each of these strands is asked to acknowledge the loss.
    fn strands(&self, guest: GuestId) -> impl Iterator<Item = StrandId> + use<Self>;
    /// Returns what a strand is asked to scrub, and whether it is dead.
    fn asked(&self, strand: StrandId) -> Asked;
    /// Returns the state of `global`: which guest has it, or how far its revocation has come.
    fn global(&self) -> Global;
    /// Returns `true` if a guest was reset, and no strand has begun to revoke its rights.
    fn is_reset(&self, guest: GuestId) -> bool;
    /// Returns a guest that was reset and whose rights are not all revoked yet, if there is one.
    fn next_reset(&self) -> Option<GuestId>;
    /// Records that the caller begins to revoke the rights of a reset guest. From now on, `is_reset` returns `true` only after a new reset.
    /// If the caller dies, another strand finds the guest with `next_reset`.
    fn begin_reset(&mut self, guest: GuestId);
    /// Records that all rights of the guest in `begin_reset` are revoked.
    fn end_reset(&mut self);
    /// Marks a reset guest as starting, and removes all its rights. The mark stays until `started`.
    fn start(&mut self, guest: GuestId);
    /// Removes the mark of `start`: the guest has all its rights again, or gets them in the next step.
    fn started(&mut self, guest: GuestId);
    /// Removes each of a guest's rights that `grant` does not contain. Does not ask the guest's strands to scrub.
    fn restrict_to(&mut self, guest: GuestId, grant: Grant);
    /// Gives a guest the rights in `grant`. Fails, and returns `false`, if the guest has been [reset](Self::is_reset) or if other strands
    /// keep changing the guest's rights.
    fn add_rights(&mut self, guest: GuestId, grant: Grant) -> bool;
    /// Stores the rights that a guest is granted. The guest holds a new right only after `add_rights`.
    fn set_granted(&mut self, guest: GuestId, grant: Grant);
    /// Stores the state of `global`: which guest has it, or how far its revocation has come.
    fn set_global(&mut self, global: Global);
    /// Marks all units that a guest could program with `global`, so that a `round` scrubs them.
    fn mark_units(&mut self, guest: GuestId);
    /// Asks a strand to scrub the registers that `scrub` names, and then to acknowledge the request.
    fn ask(&mut self, strand: StrandId, scrub: Scrub);
    /// Leaves a mark, so that the owner of the lock performs another `round`.
    fn mark(&mut self);
    /// Opens the fast path for the registers that a guest may access now.
    fn refresh(&mut self, guest: GuestId);

    /// Applies an event to the state of `global`, and stores the new state.
    #[inline(always)]
    fn step_global(&mut self, event: GlobalEvent) {
        self.set_global(self.global().step(event));
    }

    /// Grants each guest exactly the rights that `grant` returns. Calls `revoked` with each guest that loses a right, and with the guest's
    /// remaining rights. All revocations come before the first grant: if the calling strand dies in between, no right has two holders.
    #[inline(always)]
    fn configure(
        &mut self,
        grant: impl Fn(GuestId) -> Grant,
        mut revoked: impl FnMut(GuestId, Grant),
    ) {
        self.process_resets();
        for guest in self.guests() {
            self.revoke(guest, grant(guest), |left| revoked(guest, left));
        }
        for guest in self.guests() {
            let (next, _) = self.holding(guest).step(GuestEvent::Grant(grant(guest)));
            self.set_granted(guest, next.granted);
        }
    }

    /// Revokes each of a guest's rights that `grant` does not contain, including rights that the guest is granted but does not hold yet. If
    /// there is such a right, asks the guest's strands to scrub, and calls `revoked` with the rights that the guest is still granted.
    /// Otherwise does nothing.
    #[inline(always)]
    fn revoke(&mut self, guest: GuestId, grant: Grant, revoked: impl FnOnce(Grant)) {
        let (left, consequence) = self.holding(guest).step(GuestEvent::Revoke(grant));
        if consequence == Consequence::Nothing {
            return;
        }
        self.restrict_to(guest, left.granted);
        revoked(left.granted);
        self.apply_loss(guest, consequence);
        // The store comes last: if this strand dies earlier, the old grant is still stored, and another strand repeats the whole
        // revocation.
        self.set_granted(guest, left.granted);
        self.refresh(guest);
    }

    /// Revokes all rights of each reset guest.
    #[inline(always)]
    fn process_resets(&mut self) {
        // Each guest can have one waiting reset, and a dead strand may have left one more reset unfinished.
        for _ in 0..=GuestId::COUNT {
            let Some(guest) = self.next_reset() else {
                return;
            };
            self.begin_reset(guest);
            self.start(guest);
            let (_, consequence) = self.holding(guest).step(GuestEvent::Reset);
            self.apply_loss(guest, consequence);
            self.end_reset();
        }
    }

    /// If a guest has [lost](Consequence::Lost) rights, asks its strands to scrub. Also revokes `global` if the guest has lost it.
    #[inline(always)]
    fn apply_loss(&mut self, guest: GuestId, consequence: Consequence) {
        let Consequence::Lost { scrub, global } = consequence else {
            return;
        };
        // Ask the strands before the units are marked. Otherwise, if this strand dies, another strand could scrub the units while one of
        // the guest's strands is still in an older call.
        for strand in self.strands(guest) {
            self.ask(strand, scrub);
        }
        if global && self.global().user() == Some(guest) {
            self.revoke_global(guest);
        }
    }

    /// Revokes `global` from a guest, and marks the units that the guest could program, so that a round scrubs them.
    #[inline(always)]
    fn revoke_global(&mut self, guest: GuestId) {
        self.step_global(GlobalEvent::Revoke);
        self.mark_units(guest);
        self.step_global(GlobalEvent::UnitsMarked);
    }

    /// Advances all pending changes as far as possible:
    /// - If a strand has died while it revoked `global`, ends this revocation.
    /// - Revokes the rights of reset guests.
    /// - If a guest has lost `global` and none of its strands is awaited, scrubs the units that the guest could program.
    /// - Completes the grants of all guests.
    ///
    /// `scrub` scrubs a guest's units, and returns `true` if all of them are scrubbed or out of service. `given` is called for each guest
    /// that gains a right, with the rights that the guest holds now.
    #[inline(always)]
    fn round(
        &mut self,
        scrub: impl FnOnce(&mut Self, GuestId) -> bool,
        mut given: impl FnMut(GuestId, Grant),
    ) {
        if let Global::Revoking(guest) = self.global() {
            self.revoke_global(guest);
        }
        self.process_resets();
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

    /// Completes a guest's grant as far as possible. If the guest gains a right, calls `given` with the rights that it holds now.
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
        // `add_rights` fails if the guest is reset meanwhile: it tests the mark of the reset, which is set before any right is revoked.
        if !self.add_rights(guest, next.held) {
            self.mark();
            return;
        }
        given(next.held);
        self.refresh(guest);
    }
}
