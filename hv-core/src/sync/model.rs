//! Runs models of what strands do at the same time, in every order that loom finds. Under `cfg(loom)` only.
//!
//! A model states its preemption bound: how often in a run a strand is interrupted where it could have gone on. Within
//! that, every order of the strands' accesses is tried, with every value that the memory model lets a load see. Loom orders
//! the stores of two strands only where one of them knows of the other's: a word that several strands change is exchanged
//! instead.
//!
//! The environment variable `PREEMPTIONS` takes the place of the stated numbers: 255 is no limit for strands that make fewer steps.
//! (Given no number at all, loom tries fewer orders than with a large one. It leaves out orders that it takes for equal, and
//! remembers only the last access to a word for that; with a number, it looks further back.)

extern crate std;

use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs a model in all its orders with at most so many preemptions, or as `PREEMPTIONS` says, and prints how many there were.
///
/// # Panics
/// If there are fewer than `least` orders, which is a mistake in the model, or the model panics.
pub fn explore(preemptions: usize, least: u64, model: impl Fn() + Send + Sync + 'static) {
    let preemptions = std::env::var("PREEMPTIONS").map_or(preemptions, |number| {
        number.parse().expect("a number of preemptions")
    });
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
    let said = std::format!("{name}: {orders} orders, at most {preemptions} preemptions\n");
    // Unlike `println!`, this prints also when the test passes. Nothing is lost if nobody reads it.
    let _ = std::io::stdout().write_all(said.as_bytes());
    assert!(orders >= least, "{orders} orders");
}

/// What one strand of a model does to what they share.
pub type Part<T> = fn(&T);

/// Runs what each strand does, at the same time, and waits for all. (Loom itself runs them in turn, on one thread.)
///
/// # Panics
/// If one of them does.
pub fn meet<T: 'static, const N: usize>(shared: &Rc<T>, parts: [Part<T>; N]) {
    let threads = parts.map(|part| {
        let shared = Rc::clone(shared);
        loom::thread::spawn(move || part(&shared))
    });
    for thread in threads {
        thread.join().unwrap();
    }
}
