//! Executes code once on each of its paths. If the code tests a condition that can be both true and false, the execution is repeated so
//! that both cases are covered.

use std::cell::RefCell;

use super::solver::{Condition, Solver};
use super::term::Term;

/// The path of the current execution.
struct Path {
    solver: Solver,
    /// The decisions that are given when the execution begins.
    begins: Vec<bool>,
    /// The decisions that the execution has made at conditions that can be both true and false.
    made: Vec<bool>,
    /// The conditions under which the path is taken.
    taken: Vec<Condition>,
    /// The initial decisions of each further execution.
    others: Vec<Vec<bool>>,
}

thread_local! {
    static PATH: RefCell<Option<Path>> = const { RefCell::new(None) };
}

/// Returns `true` if a condition, which is 0 or 1, is 1 on the current path. If both values are possible, chooses one of them and leaves
/// the other to a further execution.
pub(crate) fn decide(condition: Term) -> bool {
    if let Some(number) = condition.number() {
        return number != 0;
    }
    PATH.with_borrow_mut(|path| {
        let path = path.as_mut().expect("within `each`");
        if let Some((_, value)) = path.taken.iter().find(|(taken, _)| *taken == condition) {
            return *value;
        }
        let mut can_be = |value| {
            path.taken.push((condition, value));
            let answer = path.solver.can_be(&path.taken);
            path.taken.pop();
            answer
        };
        let both = match (can_be(true), can_be(false)) {
            (true, true) => None,
            (false, false) => panic!("the path is impossible: {:?}", path.taken),
            (value, _) => Some(value),
        };
        let value = both.unwrap_or_else(|| {
            let value = path.begins.get(path.made.len()).copied().unwrap_or_else(|| {
                let mut other = path.made.clone();
                other.push(false);
                path.others.push(other);
                true
            });
            path.made.push(value);
            value
        });
        path.taken.push((condition, value));
        value
    })
}

/// Returns the conditions of the current path.
pub(crate) fn conditions() -> Vec<Condition> {
    PATH.with_borrow(|path| path.as_ref().expect("within `each`").taken.clone())
}

/// Calls `work` with the current execution's solver.
pub(crate) fn with_solver<R>(work: impl FnOnce(&mut Solver) -> R) -> R {
    PATH.with_borrow_mut(|path| work(&mut path.as_mut().expect("within `each`").solver))
}

/// Repeats `execution` on each path that begins with `conditions`. Stops early if `execution` returns `false`.
pub(crate) fn for_each(
    solver: Solver,
    conditions: &[Condition],
    mut execution: impl FnMut() -> bool,
) -> Solver {
    let mut others = vec![Vec::new()];
    let mut solver = Some(solver);
    while let Some(begins) = others.pop() {
        let path = Path {
            solver: solver.take().unwrap(),
            begins,
            made: Vec::new(),
            taken: conditions.to_vec(),
            others: std::mem::take(&mut others),
        };
        PATH.set(Some(path));
        let goes_on = execution();
        let path = PATH.take().unwrap();
        solver = Some(path.solver);
        if !goes_on {
            break;
        }
        others = path.others;
    }
    solver.unwrap()
}
