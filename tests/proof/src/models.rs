//! The models, and the sizes in which they are checked.

use crate::check::{CheckedModel, check};
use crate::explore::explore;
use crate::gate::{Bound, Gate};
use crate::product::{Handover, Product};
use crate::rights::{Rights, Symmetry};
use perfctr_service::Grant;

/// A model and one of its sizes.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub model: &'static str,
    /// A description of the size: the numbers of strands and guests, and the model's limits.
    pub size: &'static str,
    /// Whether the check takes only seconds and is part of `cargo test`.
    pub small: bool,
    run: fn(threads: usize) -> CheckedModel,
}

impl Case {
    pub fn check(&self, threads: usize) -> CheckedModel {
        (self.run)(threads)
    }
}

const fn small(model: &'static str, size: &'static str, run: fn(usize) -> CheckedModel) -> Case {
    Case { model, size, small: true, run }
}

const fn large(model: &'static str, size: &'static str, run: fn(usize) -> CheckedModel) -> Case {
    Case { small: false, ..small(model, size, run) }
}

fn wait<const STRANDS: u8>(threads: usize) -> CheckedModel {
    let (strands, bound) = (STRANDS, Bound::Wait);
    check(Gate { strands, bound }, threads)
}

fn absence<const STRANDS: u8>(threads: usize) -> CheckedModel {
    let (strands, bound) = (STRANDS, Bound::Absence);
    check(Gate { strands, bound }, threads)
}

const NONE: Grant = Grant::NONE;
const GLOBAL: Grant = Grant::GLOBAL;
const STRAND: Grant = Grant::STRAND;
const HTSTRAND: Grant = Grant::HTSTRAND;

const HT_TO_NONE: &[[Grant; 1]] = &[[HTSTRAND], [STRAND], [NONE]];
const STRAND_OF_TWO: &[[Grant; 2]] = &[[STRAND, NONE], [NONE, STRAND]];
const STRAND_OF_THREE: &[[Grant; 3]] =
    &[[STRAND, NONE, NONE], [NONE, STRAND, NONE], [NONE, NONE, STRAND]];
const HTSTRAND_AND_STRAND: &[[Grant; 2]] = &[[HTSTRAND, NONE], [NONE, STRAND]];
const GLOBAL_OF_TWO: &[[Grant; 2]] = &[[GLOBAL, NONE], [NONE, GLOBAL]];
const GLOBAL_OF_THREE: &[[Grant; 3]] =
    &[[GLOBAL, NONE, NONE], [NONE, GLOBAL, NONE], [NONE, NONE, GLOBAL]];
const ALL_AND_BOTH: &[[Grant; 2]] = &[[Grant::ALL, NONE], [STRAND, GLOBAL]];

/// Returns a model in which the operator switches between these configurations, so that rights pass
/// from guest to guest. No other action happens between two steps of a change.
const fn passing<const G: usize, const S: usize>(
    configurations: &'static [[Grant; G]],
    alike: Symmetry,
) -> Rights<G, S> {
    Rights { configurations, interruptions: false, strands_scrub: true, alike }
}

/// Checks a model in which each guest can get every other guest's rights.
fn around<const G: usize, const S: usize>(
    configurations: &'static [[Grant; G]],
    strands_scrub: bool,
    threads: usize,
) -> CheckedModel {
    let model = passing::<G, S>(configurations, Symmetry::Guests);
    explore(&Rights { strands_scrub, ..model }, threads)
}

fn crossed<const G: usize, const S: usize>(
    configurations: &'static [[Grant; G]],
    alike: Symmetry,
    threads: usize,
) -> CheckedModel {
    explore(&Rights { interruptions: true, ..passing::<G, S>(configurations, alike) }, threads)
}

fn product<const S: usize>(configurations: &'static [[Grant; 2]], threads: usize) -> CheckedModel {
    explore(&Product(passing::<2, S>(configurations, Symmetry::Strands)), threads)
}

fn handover<const STRANDS: usize>(threads: usize) -> CheckedModel {
    check(Handover { strands: STRANDS }, threads)
}

// This is a static so that only this crate compiles the models: every crate that uses a constant would compile them again.
#[rustfmt::skip]
pub static CASES: &[Case] = &[
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
    small("rights-global", "2 guests, 1 strand each", |threads| around::<2, 1>(GLOBAL_OF_TWO, true, threads)),
    large("rights-global", "2 guests, 2 strands each, no scrub", |threads| around::<2, 2>(GLOBAL_OF_TWO, false, threads)),
    large("rights-global", "2 guests, 2 strands each", |threads| around::<2, 2>(GLOBAL_OF_TWO, true, threads)),
    large("rights-global", "2 guests, 1 strand each, crossings", |threads| crossed::<2, 1>(GLOBAL_OF_TWO, Symmetry::Guests, threads)),
    large("rights-global", "3 guests, 1 strand each", |threads| around::<3, 1>(GLOBAL_OF_THREE, true, threads)),
    large("rights-global", "3 guests, 2 strands each, no scrub", |threads| around::<3, 2>(GLOBAL_OF_THREE, false, threads)),
    small("rights-strand", "1 guest, 1 strand, crossings", |threads| crossed::<1, 1>(HT_TO_NONE, Symmetry::Strands, threads)),
    small("rights-strand", "1 guest, 2 strands", |threads| around::<1, 2>(HT_TO_NONE, true, threads)),
    large("rights-strand", "1 guest, 2 strands, crossings", |threads| crossed::<1, 2>(HT_TO_NONE, Symmetry::Strands, threads)),
    large("rights-strand", "2 guests, 2 strands each", |threads| around::<2, 2>(STRAND_OF_TWO, true, threads)),
    large("rights-strand", "3 guests, 1 strand each", |threads| around::<3, 1>(STRAND_OF_THREE, true, threads)),
    large("rights-both", "2 guests, 1 strand each", |threads| explore(&passing::<2, 1>(ALL_AND_BOTH, Symmetry::Strands), threads)),
    small("product-hub", "2 guests, 2 strands each", handover::<2>),
    large("product-hub", "2 guests, 3 strands each", handover::<3>),
    large("product-global", "2 guests, 1 strand each", |threads| product::<1>(GLOBAL_OF_TWO, threads)),
    large("product-global", "2 guests, 2 strands each", |threads| product::<2>(GLOBAL_OF_TWO, threads)),
    large("product-strand", "2 guests, 1 strand each", |threads| product::<1>(HTSTRAND_AND_STRAND, threads)),
];
