//! The progress of grants, revocations and resets, and the lock for their steps.

use guest_abi::StrandId;
use hv_core::GuestId;
use hv_core::sync::{Ordering, OwnedGuard};

use crate::rights::Rights;
use crate::rights::protocol::Global;

/// The maximum number of rounds that one strand performs. Further rounds are left to the strands that leave marks later.
const ROUNDS: usize = 8;

impl Rights {
    /// Stores whether the trace has the beginning of a change without its end, and returns the old setting.
    pub(crate) fn set_begin_recorded(&self, recorded: bool) -> bool {
        self.begin_recorded.swap(recorded, Ordering::SeqCst)
    }

    pub(crate) fn lock(&self, on: StrandId, tries: usize) -> Option<OwnedGuard<'_>> {
        let guard = self.lock.lock(on, tries)?;
        self.lock_count.fetch_add(1, Ordering::SeqCst);
        Some(guard)
    }

    /// Returns how often the lock has been taken; `None` while the lock has an owner. If two calls return the same number, no step except a
    /// reset has begun in between.
    pub(super) fn idle_lock_count(&self) -> Option<u32> {
        let taken = self.lock_count.load(Ordering::SeqCst);
        self.lock.owner().is_none().then_some(taken)
    }

    pub(super) fn set_reset(&self, guest: GuestId) {
        if let Some(word) = self.resets.get(guest.index() / 64) {
            word.fetch_or(1 << (guest.index() % 64), Ordering::SeqCst);
        }
    }

    /// Returns `true` if a guest was reset, and no strand has begun to revoke its rights yet.
    pub(super) fn is_reset(&self, guest: GuestId) -> bool {
        let word = self.resets.get(guest.index() / 64);
        word.is_some_and(|word| word.load(Ordering::SeqCst) >> (guest.index() % 64) & 1 != 0)
    }

    /// Returns a guest that was reset and whose rights are not all revoked yet, if there is one.
    pub(super) fn next_reset(&self) -> Option<GuestId> {
        if let Some(unfinished) = self.resetting.load() {
            return Some(unfinished);
        }
        let (index, word) = self
            .resets
            .iter()
            .enumerate()
            .map(|(index, word)| (index, word.load(Ordering::SeqCst)))
            .find(|(_, word)| *word != 0)?;
        GuestId::new(64 * index + word.trailing_zeros() as usize)
    }

    pub(super) fn begin_reset(&self, guest: GuestId) {
        self.resetting.store(Some(guest));
        // Clear the bit before the work, so that a reset during the work sets it again.
        if let Some(word) = self.resets.get(guest.index() / 64) {
            word.fetch_and(!(1 << (guest.index() % 64)), Ordering::SeqCst);
        }
    }

    pub(super) fn end_reset(&self) {
        self.resetting.store(None);
    }

    /// Calls `step` under the lock until no mark is left. If another strand owns the lock, only leaves a mark. Returns `false` if other
    /// strands keep leaving marks.
    #[inline(always)]
    pub(crate) fn until_unmarked(&self, on: StrandId, mut step: impl FnMut()) -> bool {
        self.mark();
        for _ in 0..ROUNDS {
            if !self.is_marked() {
                return true;
            }
            let Some(_lock) = self.lock(on, 1) else {
                return true;
            };
            // Clear the mark before the step, because the step sees all work that has been marked until now.
            self.marked.swap(false, Ordering::SeqCst);
            step();
        }
        !self.is_marked()
    }

    /// Leaves a mark, because there is work that the owner of the lock may not have seen.
    pub(super) fn mark(&self) {
        self.marked.swap(true, Ordering::SeqCst);
    }

    pub(super) fn is_marked(&self) -> bool {
        self.marked.fetch_or(false, Ordering::SeqCst)
    }

    pub(super) fn global(&self) -> Global {
        Global::from_bits(self.global.load(Ordering::SeqCst))
    }

    pub(super) fn set_global(&self, global: Global) {
        self.global.store(global.bits(), Ordering::SeqCst);
    }

    /// Returns the guest that has lost `global`, until its units are scrubbed.
    pub(crate) fn revoked(&self) -> Option<GuestId> {
        match self.global() {
            Global::Revoked(user) => Some(user),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use platform::{Machine, Model};

    use super::*;
    use crate::rights::policy::{Grant, GuestConfig, StrandSet};

    /// Returns the rights of a machine with one guest, number 0, which has `global` or no right.
    fn rights(global: bool) -> Rights {
        let guest =
            GuestConfig { grant: Grant { global, ..Grant::NONE }, ..GuestConfig::default() };
        let rights = Rights::new();
        rights.configure(Machine::new(Model::Maramba, 1).unwrap(), &[guest]).unwrap();
        rights
    }

    /// Leaves a mark in each of the first `count` rounds. Returns the number of rounds, and whether no mark is left.
    fn rounds(count: usize) -> (usize, bool) {
        let rights = rights(false);
        let [first, other] = [3, 4].map(|number| StrandId::new(number).unwrap());
        let mut done = 0;
        let ended = rights.until_unmarked(first, || {
            done += 1;
            if done <= count {
                let left = rights.until_unmarked(other, || panic!("two strands have the lock"));
                assert!(left, "it has left a mark");
            }
        });
        assert!(rights.lock(other, 1).is_some(), "the lock is free");
        assert_eq!(rights.is_marked(), !ended);
        (done, ended)
    }

    /// If the strand that has begun to work on a reset dies, another strand finds the reset.
    #[test]
    fn a_reset_is_found_until_its_end() {
        for number in [0, 1, 63, 64, 255] {
            let rights = rights(false);
            let guest = GuestId::new(number).unwrap();
            rights.set_reset(guest);
            assert!(rights.is_reset(guest));
            assert_eq!(rights.next_reset(), Some(guest));
            rights.begin_reset(guest);
            assert!(!rights.is_reset(guest));
            assert_eq!(rights.next_reset(), Some(guest));
            rights.end_reset();
            assert_eq!(rights.next_reset(), None);
        }
    }

    #[test]
    fn every_mark_is_worked_on_or_reported() {
        let expected = [(1, true), (2, true), (8, true), (8, false), (8, false)];
        assert_eq!([0, 1, 7, 8, 100].map(rounds), expected);
    }

    /// While a strand owns the lock, a change may be pending. Two results of `idle_lock_count` show whether a strand owned the lock in between.
    #[test]
    fn the_owner_of_the_lock_may_be_at_work_on_a_change() {
        let rights = rights(true);
        let on = StrandId::new(3).unwrap();
        let before = rights.idle_lock_count().unwrap();
        assert_eq!(rights.pending(), None);
        let lock = rights.lock(on, 1);
        assert_eq!(rights.idle_lock_count(), None);
        assert_eq!(rights.pending(), Some(StrandSet::EMPTY));
        drop(lock);
        assert_ne!(rights.idle_lock_count().unwrap(), before);
        assert_eq!(rights.pending(), None);
    }
}
