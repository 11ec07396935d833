//! The steps of grants, revocations and resets, made in the orders of [`Ledger`]. A step adds each strand that it asks for something to
//! the set `asked`. The service sends these strands cross-calls when it is through with the lock.

use guest_abi::StrandId;
use hv_core::GuestId;

use crate::rights::access::AccessWord;
use crate::rights::grants::Grants;
use crate::rights::policy::{Grant, StrandSet};
use crate::rights::protocol::{Asked, Global, Holding, Ledger, Scrub, is_settled};
use crate::rights::{Rights, STRANDS};
use crate::units::{Unit, UnitSet, Units};

/// How often a strand looks whether a newer cross-call has come while it was at work on one.
const ACKNOWLEDGE_TRIES: usize = 4;

/// How often a strand looks whether the tracer is on, while others turn it.
const TRACED_TRIES: usize = 4;

/// How often a strand looks whether no change is pending, while others make steps.
const PENDING_TRIES: usize = 4;

/// The rights, for the strand that has the lock.
pub(crate) struct Locked<'a> {
    rights: &'a Rights,
    units: &'a Units,
    /// The strands that are asked for something.
    pub(crate) asked: &'a mut StrandSet,
}

impl<'a> Ledger for Locked<'a> {
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
    fn keep(&mut self, guest: GuestId, grant: Grant) {
        self.rights.guest(guest).keep(grant);
    }

    #[inline(always)]
    fn raise(&mut self, guest: GuestId, grant: Grant) -> bool {
        let may = || !self.rights.is_reset(guest);
        self.rights.guest(guest).raise(grant, may)
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
    fn list(&mut self, guest: GuestId) {
        let nodes = self.rights.guest(guest).nodes();
        for unit in Unit::of_global(self.rights.machine, nodes) {
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
    /// Returns the rights for the strand that has the lock.
    #[inline(always)]
    pub(crate) fn locked<'a>(&'a self, units: &'a Units, asked: &'a mut StrandSet) -> Locked<'a> {
        Locked {
            rights: self,
            units,
            asked,
        }
    }

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

    /// Asks a strand to scrub this and to acknowledge.
    #[inline(always)]
    pub(crate) fn ask(&self, strand: StrandId, scrub: Scrub, asked: &mut StrandSet) {
        self.request(strand).ask(scrub);
        asked.insert(strand);
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
            let guests = self.guests().map(|guest| self.guest(guest).holding());
            if !awaited.is_empty() || !is_settled(self.global(), self.next_reset(), guests) {
                return Some(awaited);
            }
            // Else a strand that was seen to have acknowledged may have been asked again before the last one had.
            if before.is_some() && before == self.at_rest() {
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
    extern crate std;

    use std::sync::Arc;

    use hv_core::sync::steps;
    use platform::{Machine, Model};

    use super::*;
    use crate::rights::policy::GuestConfig;

    fn guest() -> GuestId {
        GuestId::new(0).unwrap()
    }

    /// The rights of a machine whose only guest has strand 0 and is granted everything.
    fn rights() -> Rights {
        let config = GuestConfig {
            strands: StrandId::new(0).into_iter().collect(),
            grant: Grant::ALL,
            compatible: false,
        };
        Rights::new(Machine::new(Model::Batoka, 1).unwrap(), &[config]).unwrap()
    }

    /// Gives the guest what it is granted. Returns `true` if it is told so.
    fn is_given(rights: &Rights) -> bool {
        let (units, mut asked, mut given) = (Units::default(), StrandSet::EMPTY, false);
        let mut locked = rights.locked(&units, &mut asked);
        locked.complete(guest(), |held| given = held == Grant::ALL);
        given
    }

    fn holding(held: Grant, starting: bool) -> Holding {
        Holding {
            granted: Grant::ALL,
            held,
            starting,
        }
    }

    /// A reset that is taken up takes everything, whatever was given since the guest was seen to start.
    #[test]
    fn a_guest_that_starts_gets_its_rights_back_when_its_reset_is_taken_up() {
        let rights = rights();
        rights.set_reset(guest());
        let (units, mut asked) = (Units::default(), StrandSet::EMPTY);
        rights.locked(&units, &mut asked).take_up_resets();
        assert_eq!(rights.guest(guest()).holding(), holding(Grant::NONE, true));
        assert!(!is_given(&rights), "its strand has not acknowledged");
        rights.acknowledge(StrandId::new(0).unwrap(), |_| {});
        rights.set_reset(guest());
        rights.set_global(Global::Free);
        assert!(!is_given(&rights), "it starts again");
        assert_eq!(rights.guest(guest()).holding(), holding(Grant::NONE, true));
        assert_eq!(rights.global(), Global::Free);
        rights.begin_reset(guest());
        assert!(is_given(&rights));
        assert_eq!(rights.guest(guest()).holding(), holding(Grant::ALL, false));
        assert!(!is_given(&rights), "it has everything");
    }

    /// A reset crosses the gift at each of its steps: either the gift is seen to be made, or it is not and a mark is left.
    #[test]
    fn who_cannot_give_leaves_a_mark() {
        let mut marks = 0;
        for step in 0.. {
            let rights = Arc::new(rights());
            rights.guest(guest()).start();
            let crossing = Arc::clone(&rights);
            let reset = move || crossing.set_reset(guest());
            let (given, crossed) = steps::before(step, reset, || is_given(&rights));
            let (marked, held) = (rights.is_marked(), rights.held(guest()));
            assert_eq!(
                (held == Grant::ALL, given && marked),
                (given, false),
                "{step}"
            );
            marks += u8::from(marked);
            if !crossed {
                break;
            }
        }
        assert!(marks > 0);
    }
}
