//! Tests of [`AtomicId`] and [`OwnedLock`]: with one strand, with a dead strand, and with several strands in every order.

extern crate std;

use std::rc::Rc;
use std::vec::Vec;

use guest_abi::StrandId;

use super::{AtomicId, AtomicU32, Ordering, OwnedLock, steps};
use crate::GuestId;

#[cfg(loom)]
mod loom_owned_lock;

const FIRST: StrandId = StrandId::new(0).unwrap();
const LAST: StrandId = StrandId::new(255).unwrap();

#[test]
fn an_id_or_nobody() {
    let strand = AtomicId::default();
    assert_eq!(strand.load(), None);
    for id in [FIRST, LAST] {
        strand.store(Some(id));
        assert_eq!(strand.load(), Some(id));
    }
    assert!(!strand.replace(None, Some(FIRST)));
    assert!(!strand.replace(Some(FIRST), None));
    assert_eq!(strand.load(), Some(LAST));
    assert!(strand.replace(Some(LAST), Some(FIRST)));
    assert!(strand.clear());
    assert!(!strand.clear());
    assert_eq!(strand.load(), None);
    let guest = AtomicId::new(GuestId::new(255));
    assert_eq!(guest.load(), GuestId::new(255));
    guest.store(None);
    assert_eq!(guest.load(), None);
}

#[test]
fn a_lock_has_one_owner_until_its_guard_is_dropped() {
    let lock = OwnedLock::default();
    assert_eq!(lock.owner(), None);
    let guard = lock.lock(LAST, 1).expect("a free lock");
    assert_eq!(lock.owner(), Some(LAST));
    assert!(lock.lock(FIRST, 1_000).is_none());
    drop(guard);
    assert_eq!(lock.owner(), None);
    assert!(lock.lock(FIRST, 0).is_none(), "no try");
    assert!(lock.lock(FIRST, 1).is_some());
}

#[test]
fn the_lock_of_a_dead_strand_is_freed() {
    let lock = OwnedLock::default();
    assert!(!lock.abandon(FIRST));
    core::mem::forget(lock.lock(FIRST, 1));
    assert!(!lock.abandon(LAST), "another strand owns it");
    assert_eq!(lock.owner(), Some(FIRST));
    assert!(lock.abandon(FIRST));
    assert!(!lock.abandon(FIRST));
    let guard = lock.lock(LAST, 1);
    assert!(guard.is_some());
    lock.reset();
    assert_eq!(lock.owner(), None);
}

/// A strand takes a free lock in one step, and frees it in another. If the strand dies before the first step, it does not own the
/// lock. If the strand dies before the second step, it owns the lock.
#[test]
fn at_each_step_of_a_lock() {
    let mut owners = Vec::new();
    let deaths = (0..).take_while(|step| {
        let lock = OwnedLock::default();
        let died = steps::die_at(*step, || drop(lock.lock(FIRST, 1))).is_none();
        owners.push(lock.owner());
        lock.abandon(FIRST);
        assert!(lock.lock(LAST, 1).is_some());
        died
    });
    assert_eq!(deaths.count(), 2);
    assert_eq!(owners, [None, Some(FIRST), None]);
}

/// The lock's owner dies just before a step of `lock`, which another strand is executing. Once the death is reported, the next try
/// succeeds.
#[test]
fn a_death_between_two_tries() {
    for (step, taken) in [(0, true), (1, true), (2, true), (3, false)] {
        let lock = Rc::new(OwnedLock::default());
        core::mem::forget(lock.lock(FIRST, 1));
        let reported = {
            let lock = Rc::clone(&lock);
            move || assert!(lock.abandon(FIRST))
        };
        let (guard, came) = steps::interleave_at(step, reported, || lock.lock(LAST, 3));
        assert_eq!((guard.is_some(), came), (taken, taken), "step {step}");
    }
}

/// While a strand unwinds from a panic, its operations have no effect.
#[test]
fn a_dead_strand_does_nothing() {
    struct Last<'a>(&'a AtomicU32);
    impl Drop for Last<'_> {
        fn drop(&mut self) {
            self.0.store(7, Ordering::SeqCst);
            self.0.fetch_add(1, Ordering::SeqCst);
            let _ = (self.0).compare_exchange(1, 9, Ordering::SeqCst, Ordering::SeqCst);
        }
    }
    let word = AtomicU32::new(0);
    let died = steps::die_at(1, || {
        let _last = Last(&word);
        word.store(1, Ordering::SeqCst);
        steps::step();
    });
    assert_eq!((died, word.load(Ordering::SeqCst)), (None, 1));
    let lived = steps::die_at(5, || drop(Last(&word)));
    assert_eq!((lived, word.load(Ordering::SeqCst)), (Some(()), 8));
}
