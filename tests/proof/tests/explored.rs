//! Tests that the explorer visits the same states as stateright. If several states are alike, the explorer must visit only one of them.

use std::collections::HashSet;
use std::fmt::Debug;

use perfctr_service::Grant;
use proof::check::check;
use proof::explore::{Packed, explore, visit};
use proof::product::Product;
use proof::rights::{Rights, Symmetry};
use stateright::{Model, Property};

/// A machine on which one guest at a time has `global`.
const GLOBAL_OF_TWO: Rights<2, 1> = Rights {
    configurations: &[[Grant::GLOBAL, Grant::NONE], [Grant::NONE, Grant::GLOBAL]],
    interruptions: false,
    strands_scrub: true,
    alike: Symmetry::None,
};

/// Asserts that the explorer visits as many states as stateright. With symmetry, it must visit exactly one of several states that are
/// alike.
fn compare<const WORDS: usize, M>(plain: M, reduced: M)
where
    M: Packed<WORDS> + Clone + Send + Sync + 'static,
    M::State: Debug + Clone + std::hash::Hash + PartialEq + Send + Sync,
    M::Action: Debug + Clone + PartialEq,
{
    let (report, visited) = visit(&plain, 1);
    let (reduced_report, visited_reduced) = visit(&reduced, 2);
    assert_eq!(check(plain.clone(), 1).states, report.states);
    let (mut expected, mut found) = (HashSet::new(), HashSet::new());
    visited.for_each(
        |_| true,
        |words| {
            let state = plain.unpack(words);
            assert_eq!(plain.pack(&state), words);
            expected.insert(reduced.pack(&state));
        },
    );
    visited_reduced.for_each(
        |_| true,
        |words| {
            found.insert(words);
        },
    );
    assert!(expected == found);
    assert_eq!(reduced_report.states, found.len());
    assert!(reduced_report.states * 3 < report.states * 2);
    assert!(report.violations.is_empty() && reduced_report.violations.is_empty());
}

#[test]
fn guests_that_are_alike() {
    let alike = Symmetry::Guests;
    compare(GLOBAL_OF_TWO, Rights { alike, ..GLOBAL_OF_TWO });
}

#[test]
fn strands_that_are_alike() {
    let plain = Rights::<1, 2> {
        configurations: &[[Grant::HTSTRAND], [Grant::NONE]],
        interruptions: false,
        strands_scrub: true,
        alike: Symmetry::None,
    };
    let alike = Symmetry::Strands;
    compare(plain, Rights { alike, ..plain });
}

/// A counter from 0 to 9. Its property says that it never shows 7, which is false.
#[derive(Clone, Copy)]
struct Counter;

impl Model for Counter {
    type State = u64;
    type Action = u64;

    fn init_states(&self) -> Vec<u64> {
        vec![0]
    }

    fn actions(&self, state: &u64, actions: &mut Vec<u64>) {
        actions.extend([0, 1, 2].map(|add| (state + add) % 10));
    }

    fn next_state(&self, _: &u64, next: u64) -> Option<u64> {
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("never 7", |_, state| *state != 7)]
    }
}

impl Packed<1> for Counter {
    fn pack(&self, state: &u64) -> [u64; 1] {
        [state + 1]
    }

    fn unpack(&self, [state]: [u64; 1]) -> u64 {
        state - 1
    }
}

#[test]
fn what_does_not_hold_is_found_on_a_shortest_path() {
    let found = explore(&Counter, 2);
    let [violation] = &*found.violations else { panic!("{found:?}") };
    assert_eq!(violation.property, "never 7");
    // The path is three steps by 2 and one by 1: four lines for the actions, one for the first state, one for the last.
    assert_eq!(violation.path.lines().count(), 6, "{}", violation.path);
    assert!(violation.path.ends_with("to 7\n"));
    assert_eq!(check(Counter, 1).violations.len(), 1);
}

/// With one strand per guest, no two states are alike.
#[test]
#[ignore = "takes half a minute: cargo xtask prove runs it"]
fn two_copies() {
    let model = Product(Rights { strands_scrub: false, ..GLOBAL_OF_TWO });
    assert_eq!(check(model, 1).states, explore(&model, 1).states);
}
