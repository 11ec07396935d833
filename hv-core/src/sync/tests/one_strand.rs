use guest_abi::StrandId;

use crate::GuestId;
use crate::sync::{AtomicId, OwnedLock};

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
