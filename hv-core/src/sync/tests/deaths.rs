//! Strands that die at each step of a lock, or meet another strand there.

extern crate std;

use std::rc::Rc;
use std::vec::Vec;

use guest_abi::StrandId;

use crate::sync::{AtomicU32, Ordering, OwnedLock, steps};

const DEAD: StrandId = StrandId::new(0).unwrap();
const OTHER: StrandId = StrandId::new(255).unwrap();

/// Taking a free lock is one step, and giving it back another: a strand that dies before the first does not own it, and one that
/// dies before the second does.
#[test]
fn at_each_step_of_a_lock() {
    let mut owners = Vec::new();
    let deaths = (0..).take_while(|step| {
        let lock = OwnedLock::default();
        let died = steps::die_at(*step, || drop(lock.lock(DEAD, 1))).is_none();
        owners.push(lock.owner());
        lock.abandon(DEAD);
        assert!(lock.lock(OTHER, 1).is_some());
        died
    });
    assert_eq!(deaths.count(), 2);
    assert_eq!(owners, [None, Some(DEAD), None]);
}

/// The owner dies while another strand tries for the lock, before each of its tries. If the death is reported at once, the
/// next try succeeds.
#[test]
fn a_death_between_two_tries() {
    for (step, taken) in [(0, true), (1, true), (2, true), (3, false)] {
        let lock = Rc::new(OwnedLock::default());
        core::mem::forget(lock.lock(DEAD, 1));
        let reported = {
            let lock = Rc::clone(&lock);
            move || assert!(lock.abandon(DEAD))
        };
        let (guard, came) = steps::before(step, reported, || lock.lock(OTHER, 3));
        assert_eq!((guard.is_some(), came), (taken, taken), "step {step}");
    }
}

/// What a strand would do while it unwinds has no effect.
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
