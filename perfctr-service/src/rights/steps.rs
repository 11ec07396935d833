//! The steps of grants, revocations and resets, on the atomic words of [`Rights`]. A step that asks a strand to scrub or to acknowledge
//! adds the strand to the set `asked`. The service sends cross-calls to these strands after it has released the lock.

use guest_abi::StrandId;
use hv_core::GuestId;

use crate::rights::access::AccessWord;
use crate::rights::guest::GuestRights;
use crate::rights::protocol::{Asked, Global, Holding, Ledger, Scrub, is_settled};
use crate::rights::{Rights, STRANDS};
use crate::units::{Unit, UnitSet, Units};
use crate::{Grant, Grants, StrandSet};

/// The maximum number of times that a strand tries a step that other strands can make fail, such as an acknowledgement.
pub(crate) const TRIES: usize = 4;

/// The [`Ledger`] of the strand that owns the lock.
pub(crate) struct LockedLedger<'a> {
    rights: &'a Rights,
    units: &'a Units,
    /// The strands that the owner has asked to scrub or to acknowledge, and that need a cross-call.
    pub(crate) asked: &'a mut StrandSet,
}

impl<'a> Ledger for LockedLedger<'a> {
    #[inline(always)]
    fn guests(&self) -> impl Iterator<Item = GuestId> + use<'a> {
        self.rights.guests()
    }

    #[inline(always)]
    fn holding(&self, guest: GuestId) -> Holding {
        self.rights.guest(guest).holding()
    }

    #[inline(always)]
    fn strands(&self, guest: GuestId) -> impl Iterator<Item = StrandId> + use<'a> {
        self.rights.guest(guest).strands().iter()
    }

    #[inline(always)]
    fn asked(&self, strand: StrandId) -> Asked {
        self.rights.request(strand).read()
    }

    #[inline(always)]
    fn global(&self) -> Global {
        self.rights.global()
    }

    #[inline(always)]
    fn is_reset(&self, guest: GuestId) -> bool {
        self.rights.is_reset(guest)
    }

    #[inline(always)]
    fn next_reset(&self) -> Option<GuestId> {
        self.rights.next_reset()
    }

    #[inline(always)]
    fn begin_reset(&mut self, guest: GuestId) {
        self.rights.begin_reset(guest);
    }

    #[inline(always)]
    fn end_reset(&mut self) {
        self.rights.end_reset();
    }

    #[inline(always)]
    fn start(&mut self, guest: GuestId) {
        self.rights.guest(guest).start();
    }

    #[inline(always)]
    fn started(&mut self, guest: GuestId) {
        self.rights.guest(guest).started();
    }

    #[inline(always)]
    fn restrict_to(&mut self, guest: GuestId, grant: Grant) {
        self.rights.guest(guest).restrict_to(grant);
    }

    #[inline(always)]
    fn add_rights(&mut self, guest: GuestId, grant: Grant) -> bool {
        let may = || !self.rights.is_reset(guest);
        self.rights.guest(guest).add_rights(grant, may)
    }

    #[inline(always)]
    fn set_granted(&mut self, guest: GuestId, grant: Grant) {
        self.rights.guest(guest).set_granted(grant);
    }

    #[inline(always)]
    fn set_global(&mut self, global: Global) {
        self.rights.set_global(global);
    }

    #[inline(always)]
    fn mark_units(&mut self, guest: GuestId) {
        let nodes = self.rights.guest(guest).nodes();
        for unit in Unit::under_global(nodes).filter(|unit| self.rights.has_unit(*unit)) {
            self.units.set_unclean(unit);
        }
    }

    #[inline(always)]
    fn ask(&mut self, strand: StrandId, scrub: Scrub) {
        self.rights.ask(strand, scrub, self.asked);
    }

    #[inline(always)]
    fn mark(&mut self) {
        self.rights.mark();
    }

    #[inline(always)]
    fn refresh(&mut self, guest: GuestId) {
        self.rights.guest(guest).refresh(self.units.out());
    }
}

impl Rights {
    #[inline(always)]
    pub(crate) fn ledger<'a>(
        &'a self,
        units: &'a Units,
        asked: &'a mut StrandSet,
    ) -> LockedLedger<'a> {
        LockedLedger { rights: self, units, asked }
    }

    pub(crate) fn grants(&self) -> Grants {
        let mut grants = Grants::none_saturating(self.guest_count());
        for guest in self.guests() {
            // The configuration has this guest, so `set` cannot fail.
            let _ = grants.set(guest, self.guest(guest).granted());
        }
        grants
    }

    pub(crate) fn held(&self, guest: GuestId) -> Grant {
        self.guest(guest).access().grant()
    }

    /// Starts to record calls if the tracer is on, and stops otherwise. If another strand switches the tracer meanwhile, the last setting
    /// takes effect.
    pub(crate) fn set_traced(&self, is_traced: impl Fn() -> bool, out: &UnitSet) {
        for guest in &self.guests {
            let settled = (0..TRIES).any(|_| {
                let traced = is_traced();
                guest.set_traced(traced);
                is_traced() == traced
            });
            if !settled {
                // `true` is correct for either setting, because the slow path tests the tracer.
                guest.set_traced(true);
            }
            guest.refresh(out);
        }
    }

    /// Closes the fast paths to a unit that has gone out of service.
    pub(crate) fn withdraw(&self, unit: Unit, out: &UnitSet) {
        let access = AccessWord::from_unit(unit);
        for guest in self.guests.iter().take(self.guest_count()) {
            guest.withdraw(access);
            guest.update_refusals(TRIES, out);
        }
    }

    /// Puts a unit back into service, and then calls `noted`. Afterwards opens the fast paths of all guests again. The caller must own the
    /// lock.
    pub(crate) fn return_to_service(&self, units: &Units, unit: Unit, noted: impl FnOnce()) {
        let guests = || self.guests.iter().take(self.guest_count());
        guests().for_each(GuestRights::hold);
        units.return_to_service(unit);
        noted();
        for guest in guests() {
            guest.release();
            guest.refresh(units.out());
        }
    }

    #[inline(always)]
    pub(crate) fn reset(&self, guest: GuestId, revoked: impl FnOnce()) {
        // Mark the reset before the revocation, so that no strand restores a right. Mark it again afterwards, because a strand may
        // already have worked on the reset.
        self.set_reset(guest);
        self.guest(guest).start();
        revoked();
        self.set_reset(guest);
    }

    #[inline(always)]
    pub(crate) fn ask(&self, strand: StrandId, scrub: Scrub, asked: &mut StrandSet) {
        self.request(strand).ask(scrub);
        asked.insert(strand);
    }

    /// Returns one of a guest's strands whose death was not reported, and for which `is_there` returns `true`.
    #[inline(always)]
    pub(crate) fn living_strand(
        &self,
        guest: GuestId,
        is_there: impl Fn(StrandId) -> bool,
    ) -> Option<StrandId> {
        let mut strands = self.guest(guest).strands().iter();
        strands.find(|strand| is_there(*strand) && !self.request(*strand).read().is_dead())
    }

    /// Serves a cross-call: calls `scrub`, and then acknowledges. If another strand changes the request before the
    /// acknowledgement, does both again, at most [`TRIES`] times in all.
    #[inline(always)]
    pub(crate) fn acknowledge(&self, strand: StrandId, scrub: impl Fn(Scrub)) {
        let request = self.request(strand);
        for _ in 0..TRIES {
            let asked = request.take();
            scrub(asked.scrub());
            if request.acknowledge(asked) {
                break;
            }
        }
    }

    /// Marks a strand as dead, so that no change waits for it. Frees the lock if the dead strand owned it. Returns all strands that have
    /// not acknowledged a request, because the dead strand may not have sent the cross-calls to these strands.
    #[must_use]
    pub(crate) fn abandon(&self, dead: StrandId) -> StrandSet {
        self.request(dead).mark_dead();
        self.lock.abandon(dead);
        self.strands_whose(Asked::is_asked)
    }

    /// Returns the strands that a pending change waits for. See [`pending`](crate::PerfCounterService::pending).
    pub(crate) fn pending(&self) -> Option<StrandSet> {
        for _ in 0..TRIES {
            let before = self.idle_lock_count();
            let awaited = self.strands_whose(Asked::is_awaited);
            let guests = self.guests().map(|guest| self.guest(guest).holding());
            if !awaited.is_empty() || !is_settled(self.global(), self.next_reset(), guests) {
                return Some(awaited);
            }
            // The strands are read one after another. If the lock was taken since `before`, its owner may have asked a strand again that
            // was already read, before the last strand acknowledged. Then a change may have been pending the whole time.
            if before.is_some() && before == self.idle_lock_count() {
                return None;
            }
        }
        Some(StrandSet::EMPTY)
    }

    fn strands_whose(&self, is_such: impl Fn(Asked) -> bool) -> StrandSet {
        (0..STRANDS)
            .filter_map(StrandId::new)
            .filter(|strand| is_such(self.request(*strand).read()))
            .collect()
    }
}

#[cfg(test)]
#[cfg(not(any(loom, shuttle)))]
mod tests {
    use std::sync::Arc;

    use hv_core::sync::steps;
    use platform::{Machine, Model};

    use super::*;
    use crate::rights::policy::GuestConfig;

    fn guest() -> GuestId {
        GuestId::new(0).unwrap()
    }

    /// Returns a machine with one guest, which has strand 0 and all rights.
    fn rights() -> Rights {
        let config = GuestConfig::new(StrandId::new(0).into_iter().collect(), Grant::ALL);
        let rights = Rights::new();
        rights.configure(Machine::new(Model::Batoka, 1).unwrap(), &[config]).unwrap();
        rights
    }

    /// Completes the guest's grant. Returns `true` if the guest then has all rights.
    fn is_given(rights: &Rights) -> bool {
        let (units, mut asked, mut given) = (Units::new(), StrandSet::EMPTY, false);
        let mut locked = rights.ledger(&units, &mut asked);
        locked.complete(guest(), |held| given = held == Grant::ALL);
        given
    }

    fn holding(held: Grant, starting: bool) -> Holding {
        Holding { granted: Grant::ALL, held, starting }
    }

    /// After a reset, a guest gets no rights until a strand begins to process the reset, because the processing revokes all of the guest's
    /// rights.
    #[test]
    fn a_reset_guest_gets_its_rights_back_after_its_reset_is_worked_on() {
        let rights = rights();
        rights.set_reset(guest());
        let (units, mut asked) = (Units::new(), StrandSet::EMPTY);
        rights.ledger(&units, &mut asked).process_resets();
        assert_eq!(rights.guest(guest()).holding(), holding(Grant::NONE, true));
        assert!(!is_given(&rights), "its strand has not acknowledged");
        rights.acknowledge(StrandId::new(0).unwrap(), |_| {});
        rights.set_reset(guest());
        rights.set_global(Global::Free);
        assert!(!is_given(&rights), "it was reset again");
        assert_eq!(rights.guest(guest()).holding(), holding(Grant::NONE, true));
        assert_eq!(rights.global(), Global::Free);
        rights.begin_reset(guest());
        assert!(is_given(&rights));
        assert_eq!(rights.guest(guest()).holding(), holding(Grant::ALL, false));
        assert!(!is_given(&rights), "it has everything");
    }

    /// The test resets a guest at each step of a strand that completes the guest's grant. The strand gives the guest its rights, or leaves
    /// a mark, or does nothing because it has seen the reset. It never both gives the rights and leaves a mark.
    #[test]
    fn a_strand_that_cannot_complete_a_grant_leaves_a_mark() {
        let mut marks = 0;
        for step in 0.. {
            let rights = Arc::new(rights());
            rights.guest(guest()).start();
            let crossing = Arc::clone(&rights);
            let reset = move || crossing.set_reset(guest());
            let (given, crossed) = steps::interleave_at(step, reset, || is_given(&rights));
            let (marked, held) = (rights.is_marked(), rights.held(guest()));
            assert_eq!(held == Grant::ALL, given, "{step}");
            assert!(!(given && marked), "{step}");
            marks += u8::from(marked);
            if !crossed {
                break;
            }
        }
        assert!(marks > 0);
    }
}
