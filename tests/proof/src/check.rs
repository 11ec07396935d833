//! Visits every state of a model with the stateright crate.

use std::fmt;
use std::hash::Hash;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model};

#[derive(Debug)]
pub struct CheckedModel {
    pub states: usize,
    pub time: Duration,
    pub violations: Vec<Violation>,
}

#[derive(Debug)]
pub struct Violation {
    pub property: &'static str,
    /// The first state, the actions that lead to a state in which the property does not hold, and that state.
    pub path: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "does not hold: {}\n{}", self.property, self.path)
    }
}

/// Visits every state of a model in breadth-first order, with this number of threads. Stops early if a property does not hold.
pub fn check<M>(model: M, threads: usize) -> CheckedModel
where
    M: Model + Send + Sync + 'static,
    M::State: fmt::Debug + Clone + Hash + PartialEq + Send + Sync,
    M::Action: fmt::Debug + Clone + PartialEq,
{
    let start = Instant::now();
    let checker = model
        .checker()
        .threads(threads)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    let time = start.elapsed();
    let discoveries = checker.discoveries().into_iter();
    let violations = discoveries
        .map(|(property, path)| Violation { property, path: described(path.into_vec()) });
    CheckedModel { states: checker.unique_state_count(), time, violations: violations.collect() }
}

/// Formats a path as lines: the first state, the actions (one per line), and the last state.
pub(crate) fn described<S: fmt::Debug, A: fmt::Debug>(path: Vec<(S, Option<A>)>) -> String {
    let mut text = String::new();
    for (number, (state, action)) in path.iter().enumerate() {
        if number == 0 {
            text += &format!("  from {state:?}\n");
        }
        text += &match action {
            Some(action) => format!("  {:>3}. {action:?}\n", number + 1),
            None => format!("  to {state:?}\n"),
        };
    }
    text
}
