//! The models by name, and the sizes in which they are checked.

use crate::check::{Report, check};
use crate::gate::{Gate, Watches};

/// A model in one size.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The model.
    pub model: &'static str,
    /// What it has how many of.
    pub size: &'static str,
    /// It takes seconds, and is checked by `cargo test`.
    pub small: bool,
    run: fn(threads: usize) -> Report,
}

impl Case {
    /// Visits every state.
    pub fn check(&self, threads: usize) -> Report {
        (self.run)(threads)
    }
}

const fn small(model: &'static str, size: &'static str, run: fn(usize) -> Report) -> Case {
    Case {
        model,
        size,
        small: true,
        run,
    }
}

const fn large(model: &'static str, size: &'static str, run: fn(usize) -> Report) -> Case {
    Case {
        model,
        size,
        small: false,
        run,
    }
}

fn wait<const STRANDS: u8>(threads: usize) -> Report {
    let watches = Watches::Wait;
    check(
        Gate {
            strands: STRANDS,
            watches,
        },
        threads,
    )
}

fn absence<const STRANDS: u8>(threads: usize) -> Report {
    let watches = Watches::Absence;
    check(
        Gate {
            strands: STRANDS,
            watches,
        },
        threads,
    )
}

/// All of them.
pub const CASES: &[Case] = &[
    small("gate-wait", "2 strands", wait::<2>),
    small("gate-wait", "3 strands", wait::<3>),
    small("gate-wait", "4 strands", wait::<4>),
    large("gate-wait", "5 strands", wait::<5>),
    large("gate-wait", "6 strands", wait::<6>),
    small("gate-absence", "2 strands", absence::<2>),
    small("gate-absence", "3 strands", absence::<3>),
    small("gate-absence", "4 strands", absence::<4>),
    small("gate-absence", "5 strands", absence::<5>),
    large("gate-absence", "6 strands", absence::<6>),
];
