//! Code that the whole-system tests share.
#![allow(
    missing_docs,
    reason = "a comment that repeats a name says nothing, and only tests use this crate"
)]

pub mod board;
pub mod comparison;
pub mod hypercalls;
pub mod machine;
pub mod program;
#[cfg(not(any(loom, shuttle)))]
pub mod recordings;
pub mod rtl;
pub mod swept;

pub use conform::{assembler, oracle, random};

use std::fmt;
use std::io::{self, Write};
use std::thread;

/// Prints a line even if the test passes. The test harness shows what `println!` prints only if the test fails.
pub fn print_line(what: fmt::Arguments<'_>) {
    // A test must not fail because standard output is closed.
    let _ = io::stdout().write_all(format!("{what}\n").as_bytes());
}

/// Returns the number of rounds that a test makes. Under Miri, which is slow and repeats a test with many seeds, this is a hundredth of
/// `number`, but at least 5.
pub const fn rounds(number: u64) -> u64 {
    match number / 100 {
        _ if !cfg!(miri) => number,
        0..5 => 5,
        fewer => fewer,
    }
}

/// Keeps a value alive until the process ends. If a strand dies in a call, its thread never ends, and may use the value forever.
pub fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Runs `work` for each item on a thread of its own. Returns when all threads have ended.
pub fn on_threads<T: Send>(items: impl IntoIterator<Item = T>, work: impl Fn(T) + Sync) {
    thread::scope(|scope| {
        for item in items {
            let work = &work;
            scope.spawn(move || work(item));
        }
    });
}
