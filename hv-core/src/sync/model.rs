//! Runs models of concurrent strands in every order that loom finds. Exists under `cfg(loom)` only.
//!
//! - A model states its preemption bound. A preemption interrupts a strand that could continue, and the bound is the maximum
//!   number of preemptions in a run. Within the bound, loom tries every order of the strands' accesses, and every value that the
//!   memory model allows for a load.
//! - Loom orders two strands' stores to a word only if one strand has seen the other's store. For this reason, strands use exchanges on
//!   words that several strands change.
//!
//! - The environment variable `PREEMPTIONS` replaces the stated bounds. The value 255 does not limit a model
//!   with fewer steps. (Without any bound, loom tries fewer orders than with a large bound, because it then
//!   compares only the last accesses to a word.)

extern crate std;

use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs a model in all orders with at most `preemptions` preemptions, and prints the number of orders. Panics if the model panics, or if it
/// has fewer than `min_orders` orders, which means that the model is wrong.
pub fn explore(preemptions: usize, min_orders: u64, model: impl Fn() + Send + Sync + 'static) {
    let preemptions = std::env::var("PREEMPTIONS")
        .map_or(preemptions, |number| number.parse().expect("a number of preemptions"));
    let orders = Arc::new(AtomicU64::new(0));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000; // steps per run
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
    // Unlike `println!`, a direct write shows the text even if the test passes. A failed write does no harm.
    let _ = std::io::stdout().write_all(said.as_bytes());
    assert!(orders >= min_orders, "{orders} orders");
}

/// The code of one strand of a model. Its argument is the data that the strands share.
pub type StrandCode<T> = fn(&T);

/// Runs the strands concurrently, and waits for all of them. Panics if a strand panics.
pub fn run_concurrently<T: 'static, const N: usize>(shared: &Rc<T>, parts: [StrandCode<T>; N]) {
    let threads = parts.map(|part| {
        let shared = Rc::clone(shared);
        loom::thread::spawn(move || part(&shared))
    });
    for thread in threads {
        thread.join().unwrap();
    }
}
