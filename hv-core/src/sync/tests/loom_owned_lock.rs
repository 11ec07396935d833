extern crate std;

use std::rc::Rc;

use guest_abi::StrandId;
use loom::cell::UnsafeCell;

use crate::sync::model::{explore, run_concurrently};
use crate::sync::{OwnedLock, steps};

/// The value that the lock guards. Loom reports an error if two accesses to the value are not ordered.
#[derive(Default)]
struct Guarded {
    lock: OwnedLock,
    value: UnsafeCell<()>,
}

impl Guarded {
    /// Changes the value, if the strand gets the lock on its first try. Returns `true` if the value was changed.
    fn change_locked(&self, strand: usize) -> bool {
        let guard = self.lock.lock(StrandId::new(strand).unwrap(), 1);
        if guard.is_some() {
            self.change();
        }
        guard.is_some()
    }

    fn change(&self) {
        self.value.with_mut(|_| ());
    }
}

fn takes<const STRAND: usize>(guarded: &Guarded) {
    guarded.change_locked(STRAND);
}

/// Three strands take the lock, which never has two owners at the same time. Each order has at most 3 preemptions.
#[test]
fn three_owners() {
    explore(3, 20, || {
        let guarded = Rc::new(Guarded::default());
        run_concurrently(&guarded, [takes::<0>, takes::<1>, takes::<2>]);
        assert_eq!(guarded.lock.owner(), None);
        assert!(guarded.change_locked(3));
    });
}

/// Strand 0 has died as the owner. Two other strands report the death, which frees the lock, and then try to take the lock. All of the dead
/// strand's accesses happen before the other strands' changes. Each order has at most 4 preemptions.
#[test]
fn two_strands_report_a_death() {
    fn reports_and_takes<const STRAND: usize>(guarded: &Guarded) {
        guarded.lock.abandon(StrandId::new(0).unwrap());
        guarded.change_locked(STRAND);
    }
    explore(4, 20, || {
        let guarded = Rc::new(Guarded::default());
        core::mem::forget(guarded.lock.lock(StrandId::new(0).unwrap(), 1));
        guarded.change();
        run_concurrently(&guarded, [reports_and_takes::<1>, reports_and_takes::<2>]);
        assert_eq!(guarded.lock.owner(), None);
        assert!(guarded.change_locked(1));
    });
}

/// Strand 0 dies at some step while it takes the lock, changes the value and frees the lock. Its
/// death is reported. Meanwhile strand 1 takes the lock. Each order has at most 4 preemptions.
#[test]
fn an_owner_dies_at_each_step() {
    fn dies_at<const STEP: usize>(guarded: &Guarded) {
        if steps::die_at(STEP, || guarded.change_locked(0)).is_none() {
            guarded.lock.abandon(StrandId::new(0).unwrap());
        }
    }
    for dies in [dies_at::<0> as fn(&Guarded), dies_at::<1>, dies_at::<2>] {
        explore(4, 20, move || {
            let guarded = Rc::new(Guarded::default());
            run_concurrently(&guarded, [dies, takes::<1>]);
            assert_eq!(guarded.lock.owner(), None);
            assert!(guarded.change_locked(1));
        });
    }
}
