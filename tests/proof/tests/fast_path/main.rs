//! The fast path for all inputs: the instructions of the image that ships, from the trap to the guest's next instruction or to the
//! slow path, do what the contract says, for all values of registers, words of rights, rows of the table, versions and states of hubs.
//!
//! The interpreter executes the instructions on [terms](term) in place of numbers, on each [path](paths). The contract is a
//! [function](contract) of the same terms. z3 decides whether a word of the result can differ.

mod call;
mod contract;
mod image;
mod paths;
mod solver;
mod term;
mod world;

use std::collections::BTreeSet;
use std::rc::Rc;

use call::{Call, Guest};
use image::Image;
use simulator::interpreter::Word as _;
use solver::{Condition, Solver};
use term::Term;
use world::{LAYOUT, State};

/// A path through the veneers and through the contract, on which both agree.
struct Path {
    conditions: Vec<Condition>,
    executed: Vec<u64>,
}

/// Returns a call that stands for all calls. The structures in memory are anywhere, or in one place each.
fn any_call(image: &Image, guest: Guest, anywhere: bool) -> Call<Term> {
    let word = |name, zeros| match LAYOUT.iter().find(|(structure, _)| *structure == name) {
        Some((_, address)) if !anywhere => Term::from(*address),
        _ => Term::named(name, zeros),
    };
    let state = Rc::new(State::new(image, word));
    Call::new(image, &state, guest, 0, Term::named)
}

/// Returns the condition that two words of one of the pairs differ.
fn differ(pairs: &[(Term, Term)]) -> Condition {
    let all = pairs.iter().fold(Term::from(0), |all, (a, b)| all | (*a ^ *b));
    (all.zero_bit(), false)
}

/// Compares a call with the contract, on the current path.
fn agrees(image: &Image, call: &Call<Term>, change: Option<(u64, u32)>) -> Result<Path, String> {
    let done = call.execute(image, change);
    let expected = contract::served(&call.state, 0);
    let pairs = call.compare(image, &done, &expected)?;
    let conditions = paths::taken();
    if !pairs.is_empty() {
        let differs = differ(&pairs);
        let all = [&*conditions, &[differs]].concat();
        if differs.0 != Term::from(1) && paths::with_solver(|solver| solver.can_be(&all)) {
            return Err(format!("{pairs:?}"));
        }
    }
    Ok(Path { conditions, executed: done.executed })
}

fn solver(state: &State<Term>) -> Solver {
    let mut solver = Solver::default();
    solver.assume(state.assumptions.clone(), state.memory.clone());
    solver
}

#[test]
#[ignore = "needs z3: cargo xtask test runs it"]
fn each_path_does_what_the_contract_says() {
    let image = Image::bundled();
    let call = any_call(&image, Guest::KERNEL, false);
    let mut found = Vec::new();let began=std::time::Instant::now();
    let solver = paths::each(solver(&call.state), &[], || {
        let path = agrees(&image, &call, None).unwrap_or_else(|wrong| panic!("{wrong}"));
        found.push(path);
        eprintln!("{} {:?}", found.len(), began.elapsed());
    });
    let executed: BTreeSet<u64> =
        found.iter().flat_map(|path| path.executed.iter().copied()).collect();
    let missing: Vec<String> = image
        .instructions()
        .into_iter()
        .filter(|at| !executed.contains(at))
        .map(|at| format!("{at:#x}"))
        .collect();
    println!(
        "{} paths, {} instructions, {} questions; not executed: {missing:?}",
        found.len(),
        executed.len(),
        solver.asked
    );
}
