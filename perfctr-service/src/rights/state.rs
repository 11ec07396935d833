//! How far grants and revocations have come, and the lock of the strands that make them.

use guest_abi::StrandId;
use hv_core::GuestId;
use hv_core::sync::{Ordering, OwnedGuard};

use crate::rights::Rights;
use crate::rights::protocol::Global;

/// How often a strand looks what there is to do, if others leave marks all the time.
const TURNS: usize = 8;

impl Rights {
    /// Sets whether the end of this change is recorded. Returns the old setting.
    pub(crate) fn set_noted(&self, noted: bool) -> bool {
        self.noted.swap(noted, Ordering::SeqCst)
    }

    /// Takes the lock, in at most so many tries.
    pub(crate) fn lock(&self, on: StrandId, tries: usize) -> Option<OwnedGuard<'_>> {
        let guard = self.lock.lock(on, tries)?;
        self.taken.fetch_add(1, Ordering::SeqCst);
        Some(guard)
    }

    /// If nobody has the lock: how often it has been taken. As long as that is the same nothing is begun but resets.
    pub(super) fn at_rest(&self) -> Option<u32> {
        let taken = self.taken.load(Ordering::SeqCst);
        self.lock.owner().is_none().then_some(taken)
    }

    /// Notes that a guest starts again.
    pub(super) fn set_reset(&self, guest: GuestId) {
        if let Some(word) = self.resets.get(guest.index() / 64) {
            word.fetch_or(1 << (guest.index() % 64), Ordering::SeqCst);
        }
    }

    /// Returns `true` if a guest starts again and that has not been taken up.
    pub(super) fn is_reset(&self, guest: GuestId) -> bool {
        let word = self.resets.get(guest.index() / 64);
        word.is_some_and(|word| word.load(Ordering::SeqCst) >> (guest.index() % 64) & 1 != 0)
    }

    /// A guest whose reset has not been taken up, or not to the end.
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

    /// The reset of a guest is taken up.
    pub(super) fn begin_reset(&self, guest: GuestId) {
        self.resetting.store(Some(guest));
        // Before anything is done, so that a reset that comes now is taken up once more.
        if let Some(word) = self.resets.get(guest.index() / 64) {
            word.fetch_and(!(1 << (guest.index() % 64)), Ordering::SeqCst);
        }
    }

    /// What was taken up is done.
    pub(super) fn end_reset(&self) {
        self.resetting.store(None);
    }

    /// Runs `step` under the lock until no mark is left, or leaves a mark for the strand that has the lock. Returns `false` if
    /// marks keep coming: somebody has to look once more, later.
    #[inline(always)]
    pub(crate) fn turns(&self, on: StrandId, mut step: impl FnMut()) -> bool {
        self.mark();
        for _ in 0..TURNS {
            if !self.is_marked() {
                return true;
            }
            let Some(_lock) = self.lock(on, 1) else {
                return true;
            };
            // All that was marked until now is looked at.
            self.again.swap(false, Ordering::SeqCst);
            step();
        }
        !self.is_marked()
    }

    /// Leaves a mark: there is work that the owner of the lock may not have seen.
    pub(super) fn mark(&self) {
        self.again.swap(true, Ordering::SeqCst);
    }

    /// Returns `true` if there is something to do that nobody has looked at.
    pub(super) fn is_marked(&self) -> bool {
        self.again.fetch_or(false, Ordering::SeqCst)
    }

    /// Returns which guest has `global`.
    pub(super) fn global(&self) -> Global {
        Global::from_bits(self.global.load(Ordering::SeqCst))
    }

    /// Notes which guest has `global`.
    pub(super) fn set_global(&self, global: Global) {
        self.global.store(global.bits(), Ordering::SeqCst);
    }

    /// Returns the user, if `global` is revoked from it.
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

    /// The rights of a machine whose only guest, 0, has `global` or nothing.
    fn rights(global: bool) -> Rights {
        let guest = GuestConfig {
            grant: Grant {
                global,
                ..Grant::NONE
            },
            ..GuestConfig::default()
        };
        Rights::new(Machine::new(Model::Maramba, 1).unwrap(), &[guest]).unwrap()
    }

    /// `count` strands leave a mark, one in each turn; how many turns there are, and whether that was the end.
    fn turns(count: usize) -> (usize, bool) {
        let rights = rights(false);
        let [first, other] = [3, 4].map(|number| StrandId::new(number).unwrap());
        let mut done = 0;
        let ended = rights.turns(first, || {
            done += 1;
            if done <= count {
                let left = rights.turns(other, || panic!("two strands have the lock"));
                assert!(left, "it has left a mark");
            }
        });
        assert!(rights.lock(other, 1).is_some(), "the lock is free");
        assert_eq!(rights.is_marked(), !ended);
        (done, ended)
    }

    /// Of any guest: also if the strand that has taken it up dies.
    #[test]
    fn a_reset_that_is_taken_up_is_known_until_its_end() {
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
    fn every_mark_is_looked_at_or_said_to_be_left() {
        assert_eq!(turns(0), (1, true));
        assert_eq!(turns(1), (2, true));
        assert_eq!(turns(7), (8, true));
        assert_eq!(turns(8), (8, false));
        assert_eq!(turns(100), (8, false));
    }

    /// Nothing is pending while nobody has the lock. Whoever looks twice sees if somebody had it in between.
    #[test]
    fn a_strand_that_has_the_lock_may_be_at_work_on_a_change() {
        let rights = rights(true);
        let on = StrandId::new(3).unwrap();
        let before = rights.at_rest().unwrap();
        assert_eq!(rights.pending(), None);
        let lock = rights.lock(on, 1);
        assert_eq!(rights.at_rest(), None);
        assert_eq!(rights.pending(), Some(StrandSet::EMPTY));
        drop(lock);
        assert_ne!(rights.at_rest().unwrap(), before);
        assert_eq!(rights.pending(), None);
    }
}
