//! Tests what can happen between two steps of a strand. Exists under the feature `steps` only, which needs `std`.
//!
//! Each operation on one of this module's atomics is a step. Each call of [`step`] is a step too; test devices call it at each access. A
//! test chooses a step by its number. Just before that step, the strand dies or another strand acts. A test tries the numbers 0, 1, 2 and
//! so on, until the tested call has no step with that number:
//!
//! ```
//! use guest_abi::StrandId;
//! use hv_core::sync::{OwnedLock, steps};
//!
//! let (dead, other) = (StrandId::new(0).unwrap(), StrandId::new(1).unwrap());
//! let deaths = (0..).take_while(|step| {
//!     let lock = OwnedLock::default();
//!     let died = steps::die_at(*step, || drop(lock.lock(dead, 1))).is_none();
//!     lock.abandon(dead);
//!     assert!(lock.lock(other, 1).is_some());
//!     died
//! });
//! assert_eq!(deaths.count(), 2);
//! ```
//!
//! A strand dies by unwinding. Its operations have no effect while it unwinds, so everything that it held stays as it was. Under
//! `cfg(loom)` and `cfg(shuttle)`, this works in each strand of a model.
//!
//! [`orders`] takes the steps of several strands in every order.

extern crate std;

#[cfg(not(any(loom, shuttle)))]
pub mod orders;
#[cfg_attr(any(loom, shuttle), allow(dead_code))]
mod word;

/// These functions do nothing, because model checkers choose the orders themselves.
#[cfg(any(loom, shuttle))]
mod orders {
    use super::word::{WordLocation, WordOperation};

    pub(super) fn perform(_: impl FnOnce() -> WordLocation, _: WordOperation) -> Option<u64> {
        None
    }

    pub(super) fn note_spin() -> bool {
        false
    }
}

/// Does the same as core's `spin_loop`. In an [`orders`] search, the strand instead waits for a change of the word that it used last, or
/// gives up.
pub fn spin_loop() {
    if !orders::note_spin() {
        super::hint::spin_loop();
    }
}

use core::cell::Cell;
use std::boxed::Box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::vec::Vec;

#[cfg(loom)]
use loom::thread_local;
#[cfg(shuttle)]
use shuttle::thread_local;
#[cfg(not(any(loom, shuttle)))]
use std::thread_local;

use super::{Ordering, atomic};
use word::{Value, WordLocation, WordOperation};

/// A planned action, and the step before which it happens: 0 is the next step.
type Plan = (usize, Box<dyn FnOnce()>);

/// A function that receives the address of each step's word, and `true` if the step may change the word.
type Observer = Box<dyn FnMut(usize, bool)>;

thread_local! {
    static PLANS: Cell<Vec<Plan>> = Cell::default();
    static DEAD: Cell<bool> = Cell::default();
    static OBSERVER: Cell<Option<Observer>> = Cell::default();
}

/// The panic payload of a dying strand.
struct Dead;

/// Calls `call`, and calls `other` just before step number `step` of the call, counted from 0. `other` stands for another
/// strand, whose steps are not counted. Returns the result of the call, and `true` if the call reached the step.
///
/// Calls of [`interleave_at`] and [`die_at`] can be nested.
pub fn interleave_at<R>(
    step: usize,
    other: impl FnOnce() + 'static,
    call: impl FnOnce() -> R,
) -> (R, bool) {
    let reached = Rc::new(Cell::new(false));
    let plan: Plan = (step, {
        let reached = Rc::clone(&reached);
        Box::new(move || {
            reached.set(true);
            other();
        })
    });
    change_plans(|plans| plans.push(plan));
    let result = call();
    if !reached.get() {
        change_plans(|plans| drop(plans.pop()));
    }
    (result, reached.get())
}

fn change_plans(change: impl FnOnce(&mut Vec<Plan>)) {
    let mut plans = PLANS.with(Cell::take);
    change(&mut plans);
    PLANS.with(|cell| cell.set(plans));
}

/// Calls `call` on a strand that dies just before step number `step` of the call, counted from 0. Returns the result of the call;
/// `None` if the strand has died. Panics if the call panics.
pub fn die_at<R>(step: usize, call: impl FnOnce() -> R) -> Option<R> {
    let die = || {
        DEAD.with(|dead| dead.set(true));
        resume_unwind(Box::new(Dead));
    };
    let ended = catch_unwind(AssertUnwindSafe(|| interleave_at(step, die, call).0));
    DEAD.with(|dead| dead.set(false));
    ended
        .map_err(|thrown| {
            if !thrown.is::<Dead>() {
                resume_unwind(thrown);
            }
        })
        .ok()
}

/// Calls `call`, and calls `observer` just before each of the call's operations on an atomic, with the word's address and `true` if the
/// operation may change the word. The observer's own steps are not counted.
pub fn with_observer<R>(
    observer: impl FnMut(usize, bool) + 'static,
    call: impl FnOnce() -> R,
) -> R {
    OBSERVER.with(|cell| cell.set(Some(Box::new(observer))));
    let result = call();
    OBSERVER.with(Cell::take);
    result
}

fn observe(address: usize, operation: WordOperation) {
    if let Some(mut observer) = OBSERVER.with(Cell::take) {
        observer(address, operation.writes());
        OBSERVER.with(|cell| cell.set(Some(observer)));
    }
}

/// Takes a step without an operation on an atomic.
pub fn step() {
    let plans = PLANS.with(Cell::take);
    if plans.is_empty() {
        return;
    }
    let (due, mut later): (Vec<Plan>, Vec<Plan>) = plans.into_iter().partition(|plan| plan.0 == 0);
    for (_, act) in due {
        act();
    }
    later.iter_mut().for_each(|plan| plan.0 -= 1);
    PLANS.with(|cell| cell.set(later));
}

/// Takes a step, and performs an operation on an atomic. If the strand is dead, only returns `otherwise`.
fn unless_dead<R>(operation: impl FnOnce() -> R, otherwise: R) -> R {
    if DEAD.with(Cell::get) {
        return otherwise;
    }
    step();
    operation()
}

/// Defines atomics that work like core's, except that their operations are steps.
macro_rules! stepped {
    ($($name:ident of $value:ty: $($operation:ident)*;)*) => {$(
        #[doc = concat!("core's `", stringify!($name), "`, whose operations are steps.")]
        #[derive(Debug, Default)]
        pub struct $name(atomic::$name);

        #[allow(missing_docs)]
        impl $name {
            $crate::const_unless_loom! {
                pub fn new(value: $value) -> Self {
                    Self(atomic::$name::new(value))
                }
            }

            fn location(&self) -> WordLocation {
                let initial = self.0.load(Ordering::SeqCst).into_word();
                WordLocation { address: &raw const *self as usize, initial, mask: <$value>::MASK }
            }

            fn perform(&self, operation: WordOperation) -> Option<$value> {
                observe(&raw const *self as usize, operation);
                orders::perform(|| self.location(), operation).map(<$value>::from_word)
            }

            pub fn load(&self, ordering: Ordering) -> $value {
                self.perform(WordOperation::Load).unwrap_or_else(|| {
                    unless_dead(|| self.0.load(ordering), Default::default())
                })
            }

            pub fn store(&self, value: $value, ordering: Ordering) {
                if self.perform(WordOperation::Swap(value.into_word())).is_none() {
                    unless_dead(|| self.0.store(value, ordering), ());
                }
            }

            pub fn compare_exchange(
                &self,
                old: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                match self.perform(WordOperation::Exchange(old.into_word(), new.into_word())) {
                    Some(found) if found == old => Ok(found),
                    Some(found) => Err(found),
                    None => unless_dead(
                        || self.0.compare_exchange(old, new, success, failure),
                        Err(Default::default()),
                    ),
                }
            }

            $(pub fn $operation(&self, value: $value, ordering: Ordering) -> $value {
                self.perform(WordOperation::$operation(value.into_word())).unwrap_or_else(|| {
                    unless_dead(|| self.0.$operation(value, ordering), Default::default())
                })
            })*
        }
    )*};
}

stepped! {
    AtomicBool of bool: swap fetch_and fetch_or fetch_xor;
    AtomicU8 of u8: swap fetch_add fetch_sub fetch_and fetch_or fetch_xor fetch_max fetch_min;
    AtomicU32 of u32: swap fetch_add fetch_sub fetch_and fetch_or fetch_xor fetch_max fetch_min;
    AtomicU64 of u64: swap fetch_add fetch_sub fetch_and fetch_or fetch_xor fetch_max fetch_min;
}
