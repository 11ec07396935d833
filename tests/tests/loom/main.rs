//! What strands do to each other's words, in every order that they can: models for loom, which takes the place of the
//! atomics of `hv_core::sync` under `cfg(loom)`. `cargo xtask test` runs them; alone they are run by
//!
//! ```console
//! $ RUSTFLAGS="--cfg loom" cargo test --release --package tests --test loom --target-dir target/loom
//! ```
//!
//! A model states its preemption bound: how often in a run a strand is interrupted where it could have gone on. Within
//! that, every order of the strands' accesses is tried, with every value that the memory model lets a load see. Loom orders
//! the stores of two strands only where one of them knows of the other's: a word that several strands change is exchanged
//! instead.
//!
//! Under `cfg(loom)` there are 2 guests and 4 strands, and a lock is tried once: so a strand that gives up is in the models
//! too.
#![cfg(loom)]

mod faults;
mod hub;
mod machine;
mod negotiation;
mod statistics;
mod transfer;

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs a model in all its orders with at most so many preemptions. Fewer than `least` orders are a mistake in the model.
fn explore(preemptions: usize, least: u64, model: impl Fn() + Send + Sync + 'static) {
    let orders = Arc::new(AtomicU64::new(0));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000; // steps of one run
    builder.check({
        let orders = Arc::clone(&orders);
        move || {
            orders.fetch_add(1, Ordering::Relaxed);
            model();
        }
    });
    let orders = orders.load(Ordering::Relaxed);
    let test = std::thread::current();
    let name = test.name().unwrap_or_default();
    tests::tell(format_args!(
        "{name}: {orders} orders, at most {preemptions} preemptions"
    ));
    assert!(orders >= least, "{orders} orders");
}

/// What one strand of a model does to what they share.
type Part<T> = fn(&T);

/// Runs what each strand does, at the same time, and waits for all. (Loom itself runs them in turn, on one thread.)
fn meet<T: 'static, const N: usize>(shared: &Rc<T>, parts: [Part<T>; N]) {
    let threads = parts.map(|part| {
        let shared = Rc::clone(shared);
        loom::thread::spawn(move || part(&shared))
    });
    for thread in threads {
        thread.join().unwrap();
    }
}
