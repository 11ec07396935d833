//! The models by name, and the sizes in which they are checked.

use crate::busy::BusyHub;
use crate::check::{Report, check};
use crate::gate::{Gate, Watches};
use crate::product::{Handover, Product};
use crate::rights::Rights;
use perfctr_service::{Grant, StrandRight};

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

const NONE: Grant = Grant::NONE;
const GLOBAL: Grant = Grant {
    strand: StrandRight::None,
    global: true,
};
const STRAND: Grant = Grant {
    strand: StrandRight::Strand,
    global: false,
};
const HTSTRAND: Grant = Grant {
    strand: StrandRight::HtStrand,
    global: false,
};

fn global_of_two<const S: usize, const CROSSINGS: bool>(threads: usize) -> Report {
    let model = Rights::<2, S> {
        configurations: &[[GLOBAL, NONE], [NONE, GLOBAL]],
        crossings: CROSSINGS,
    };
    check(model, threads)
}

fn strands_of_one<const S: usize, const CROSSINGS: bool>(threads: usize) -> Report {
    let model = Rights::<1, S> {
        configurations: &[[HTSTRAND], [STRAND], [NONE]],
        crossings: CROSSINGS,
    };
    check(model, threads)
}

fn both_of_two<const S: usize, const CROSSINGS: bool>(threads: usize) -> Report {
    let model = Rights::<2, S> {
        configurations: &[[Grant::ALL, NONE], [STRAND, GLOBAL]],
        crossings: CROSSINGS,
    };
    check(model, threads)
}

fn product_of_global<const S: usize>(threads: usize) -> Report {
    let model = Rights {
        configurations: &[[GLOBAL, NONE], [NONE, GLOBAL]],
        crossings: false,
    };
    check(Product::<S>(model), threads)
}

fn product_of_strands<const S: usize>(threads: usize) -> Report {
    let model = Rights {
        configurations: &[[HTSTRAND, NONE], [NONE, STRAND]],
        crossings: false,
    };
    check(Product::<S>(model), threads)
}

fn handover<const STRANDS: usize>(threads: usize) -> Report {
    check(Handover { strands: STRANDS }, threads)
}

fn busy<const STRANDS: usize>(threads: usize) -> Report {
    check(BusyHub { strands: STRANDS }, threads)
}

/// All of them.
#[rustfmt::skip]
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
    small("busy", "2 strands", busy::<2>),
    large("busy", "3 strands", busy::<3>),
    small("rights-global", "2 guests, 1 strand each", global_of_two::<1, false>),
    large("rights-global", "2 guests, 1 strand each, crossings", global_of_two::<1, true>),
    large("rights-global", "2 guests, 2 strands each", global_of_two::<2, false>),
    small("rights-strand", "1 guest, 1 strand, crossings", strands_of_one::<1, true>),
    small("rights-strand", "1 guest, 2 strands", strands_of_one::<2, false>),
    large("rights-strand", "1 guest, 2 strands, crossings", strands_of_one::<2, true>),
    large("rights-both", "2 guests, 1 strand each", both_of_two::<1, false>),
    small("product-hub", "2 guests, 2 strands each", handover::<2>),
    large("product-hub", "2 guests, 3 strands each", handover::<3>),
    small("product-global", "2 guests, 1 strand each", product_of_global::<1>),
    large("product-strand", "2 guests, 1 strand each", product_of_strands::<1>),
];
