//! Proves for all inputs that the shipped image's fast path does what the contract says. The proof covers the instructions from the trap to
//! the guest's next instruction, or to the slow path. An input consists of the values of all registers, the access words, the table rows,
//! the versions, and the hubs' states.
//!
//! The interpreter executes the instructions on [terms](term) in place of numbers, on each [path](paths). The contract is a
//! [function](contract) of the same terms. z3 decides whether any word of the result can differ.

mod call;
mod change;
mod contract;
mod functions;
mod handlers;
mod image;
mod inputs;
mod late;
mod paths;
mod scene;
mod scenes;
mod slow_path;
mod solver;
mod state;
mod strands;
mod sweep;
mod table;
mod term;
mod trapped;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use call::{Call, EntryPoint, Guest};
use change::{Change, Changed};
use contract::Expected;
use guest_abi::{Node, PerfReg, RegisterKind};
use image::Image;
use platform::{PhysicalAddress, address};
use simulator::interpreter::{Instruction, Word as _};
use solver::{Condition, Solver};
use state::State;
use term::{Model, Term};
use tests::random::Random;

/// The points where an execution can begin.
const ENTRY_POINTS: [EntryPoint; 3] =
    [EntryPoint::Trap, EntryPoint::Fault, EntryPoint::FaultWithLock];

/// A path through the instructions and through the contract. Both have the same result on this path.
struct Path {
    conditions: Vec<Condition>,
    /// The executed instructions, each with the number of conditions that hold before it.
    executed: Vec<(u64, usize)>,
}

/// Returns a call made of terms, which stands for all calls. Each structure in memory has one fixed address.
fn any_call(image: &Image, guest: Guest, begins: EntryPoint) -> Call<Term> {
    let state = Rc::new(State::any());
    Call::new(image, &state, guest, begins, Term::named)
}

/// Returns the condition that the two words of each pair are equal.
fn equal(pairs: &[(Term, Term)]) -> Term {
    pairs.iter().fold(Term::from(0), |all, (a, b)| all | (*a ^ *b)).zero_bit()
}

/// A description of a difference from the contract, and the conditions under which the difference occurs.
type Difference = (String, Vec<Condition>);

/// Compares a call with the contract, on the current path.
fn agrees(
    image: &Image,
    call: &Call<Term>,
    change: Option<(u64, u32)>,
) -> Result<Path, Difference> {
    let (done, expected) = (call.execute(image, change), call.contract());
    let conditions = paths::conditions();
    let compared = call.compare(image, &done, &expected);
    let pairs = compared.map_err(|differs| (differs, conditions.clone()))?;
    let equal = equal(&pairs);
    let differ = [&*conditions, &[(equal, false)]].concat();
    if equal != Term::from(1) && paths::with_solver(|solver| solver.can_be(&differ)) {
        return Err((format!("{pairs:?}"), differ));
    }
    Ok(Path { conditions, executed: done.executed })
}

fn solver(state: &State<Term>) -> Solver {
    let mut solver = Solver::default();
    solver.assume(state.assumptions.clone(), state.memory.clone());
    solver
}

/// Returns all paths of a call. Asserts that the call does what the contract says on each path.
fn all_paths(image: &Image, call: &Call<Term>, solver: Solver) -> (Vec<Path>, Solver) {
    let mut found = Vec::new();
    let solver = paths::for_each(solver, &[], || {
        found.push(agrees(image, call, None).unwrap_or_else(|wrong| panic!("{wrong:?}")));
        true
    });
    (found, solver)
}

/// Asserts that every instruction is on some path. The guest's window, globals, trap level and %pstate are plain numbers, not terms,
/// because no instruction reads them. For all tested values of these numbers, there must be as many paths as before and no new questions to
/// z3.
#[test]
#[ignore = "needs z3: cargo xtask test runs it"]
fn each_path_does_what_the_contract_says() {
    let image = Image::bundled();
    let mut executed = BTreeSet::new();
    for begins in ENTRY_POINTS {
        let call = any_call(&image, Guest::KERNEL, begins);
        let (paths, mut solver) = all_paths(&image, &call, solver(&call.state));
        executed.extend(paths.iter().flat_map(|path| path.executed.iter().map(|(at, _)| *at)));
        println!("{begins:?}: {} paths, {} questions", paths.len(), solver.asked);
        for guest in Guest::all() {
            let (asked, others);
            asked = solver.asked;
            let call = any_call(&image, guest, begins);
            (others, solver) = all_paths(&image, &call, solver);
            assert_eq!((others.len(), solver.asked), (paths.len(), asked), "{guest:?}");
        }
    }
    assert!(image.instructions().into_iter().eq(executed));
}

/// The proof assumes two things about a row: it has the address of a device register, and its third word is the place of the register's
/// hub.
#[test]
fn the_rows_of_the_image_are_as_assumed() {
    let image = Image::bundled();
    let mut rows = image.rows.iter();
    for caller in Node::ALL {
        for id in 0..90 {
            let register = PerfReg::new(id).unwrap();
            let [found, mask, place, _] = *rows.next().unwrap();
            let (address, expected) = match register.kind() {
                RegisterKind::Strand => (Some(PhysicalAddress(0)), 0),
                RegisterKind::L2 => (address::l2_control(0), 1),
                RegisterKind::Dram { node, .. } if node == *caller => {
                    (address::local(register), id)
                }
                RegisterKind::Dram { .. } => (address::global(register), id),
                RegisterKind::Hub { hub, .. } => {
                    (address::global(register), 18 + hub.index() as u64)
                }
            };
            assert_eq!(Some(PhysicalAddress(found)), address, "{caller:?} {id}");
            assert_eq!((mask, place), (register.info().write_mask, expected), "{caller:?} {id}");
            let alignment = if id == 1 { 512 } else { 8 };
            let is_device = found % alignment == 0 && found >> 39 == 1;
            assert_eq!(is_device, id != 0, "{caller:?} {id}");
            let hub = (id.max(18) - 18) / 18;
            assert!(id < 18 || place == 18 + hub, "{caller:?} {id}");
        }
    }
    assert_eq!(rows.next(), None);
}

/// A call made of numbers, and the result that the contract requires for it.
struct Input {
    call: Call<u64>,
    expected: Expected<u64>,
}

/// The paths that contain an instruction, and the calls (made of numbers) that execute it.
#[derive(Default)]
struct Reached {
    inputs: Vec<usize>,
    /// The indices of the paths. A key holds the index of a call made of terms, and the conditions that hold before the instruction.
    paths: BTreeMap<(usize, Vec<Condition>), Vec<usize>>,
}

/// The paths on which the image is proved, and the calls made of numbers with their expected results.
struct Proved {
    image: Image,
    calls: Vec<Call<Term>>,
    solvers: Vec<Option<Solver>>,
    /// The conditions of all paths.
    paths: Vec<Vec<Condition>>,
    inputs: Vec<Input>,
    reached: BTreeMap<u64, Reached>,
}

impl Proved {
    fn new(random: &mut Random) -> Self {
        const RANDOM: usize = 2_000;
        let image = Image::bundled();
        let mut new = Self {
            calls: Vec::new(),
            solvers: Vec::new(),
            paths: Vec::new(),
            inputs: Vec::new(),
            reached: BTreeMap::new(),
            image,
        };
        for (number, begins) in ENTRY_POINTS.into_iter().enumerate() {
            let call = any_call(&new.image, Guest::KERNEL, begins);
            let (paths, solver) = all_paths(&new.image, &call, solver(&call.state));
            for path in paths {
                for (at, decisions) in path.executed {
                    let key = (number, path.conditions[..decisions].to_vec());
                    let reached = new.reached.entry(at).or_default();
                    reached.paths.entry(key).or_default().push(new.paths.len());
                }
                new.paths.push(path.conditions);
            }
            for model in &solver.models {
                let call = inputs::from_model(&new.image, model, begins, random);
                new.add(call);
            }
            for _ in 0..RANDOM {
                let call = inputs::random(&new.image, begins, random);
                new.add(call);
            }
            new.calls.push(call);
            new.solvers.push(Some(solver));
        }
        new
    }

    /// Adds a call made of numbers. Asserts that the call does what the contract says.
    fn add(&mut self, call: Call<u64>) {
        let (done, expected) = (call.execute(&self.image, None), call.contract());
        assert_eq!(call.compare(&self.image, &done, &expected), Ok(Vec::new()), "{call:#x?}");
        for (at, _) in done.executed {
            let inputs = &mut self.reached.entry(at).or_default().inputs;
            if inputs.last() != Some(&self.inputs.len()) {
                inputs.push(self.inputs.len());
            }
        }
        self.inputs.push(Input { call, expected });
    }

    /// Returns `true` if this change makes one of the calls made of numbers violate the contract.
    fn is_found(&self, change: Change) -> bool {
        self.reached[&change.at].inputs.iter().any(|input| {
            let Input { call, expected } = &self.inputs[*input];
            let done = call.execute(&self.image, Some((change.at, change.word)));
            call.compare(&self.image, &done, expected) != Ok(Vec::new())
        })
    }

    /// Proves that a change has no effect on any path with the changed instruction. If the change has an effect, returns a description of
    /// the difference, the index of the call, and a model in which the difference occurs.
    fn changes_nothing(&mut self, change: Change) -> Result<(), Box<(String, usize, Model)>> {
        let Self { image, calls, solvers, reached, paths, .. } = self;
        let changed = (change.at, change.word);
        for ((number, before), with) in &reached[&change.at].paths {
            let call = &calls[*number];
            let mut under = |conditions: &[Condition], execution: &mut dyn FnMut() -> bool| {
                let solver = solvers[*number].take().unwrap();
                solvers[*number] = Some(paths::for_each(solver, conditions, execution));
            };
            let mut is_unchanged = false;
            under(before, &mut || {
                is_unchanged = call.is_unchanged(image, changed);
                is_unchanged
            });
            if is_unchanged {
                continue;
            }
            for path in with {
                let mut all = Ok(());
                under(&paths[*path], &mut || {
                    all = agrees(image, call, Some(changed)).map(|_| ());
                    all.is_ok()
                });
                if let Err((differs, conditions)) = all {
                    let model = solvers[*number].as_mut().unwrap().model(&conditions);
                    return Err(Box::new((differs, *number, model)));
                }
            }
        }
        Ok(())
    }
}

/// Returns random numbers, and prints their seed. The environment variable `PROOF_SEED` chooses another seed.
fn random() -> Random {
    let seed = std::env::var("PROOF_SEED").map_or(2024, |seed| seed.parse().unwrap());
    println!("PROOF_SEED={seed}");
    Random(seed)
}

/// The number of changed words with each result, for one kind of field. A changed word differs from the image in one field of one
/// instruction.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// The changed word encodes the same instruction.
    same: usize,
    /// With the changed word, one of the known calls made of numbers violates the contract.
    found: usize,
    /// With the changed word, a call violates the contract, but z3 had to find the numbers for it.
    solved: usize,
    /// With the changed word, the call still does what the contract says on all paths.
    unchanged: usize,
    /// The changed instruction writes a term to a control register, which can hold only numbers. No execution with numbers differs.
    undecided: usize,
    /// Enough other changes of the same field have been tried, or decided by the solver.
    omitted: usize,
}

/// If a field of a fast-path instruction is changed, either a call violates the contract or the change has no effect. The test changes a
/// few instructions, which the seed chooses. With `ALL` in the environment, the test changes all instructions.
#[test]
#[ignore = "needs z3: cargo xtask test runs it"]
fn each_change_is_found_or_changes_nothing() {
    const DRAWN: usize = 4;
    let mut random = random();
    let mut proved = Proved::new(&mut random);
    let mut instructions = proved.image.instructions();
    if std::env::var_os("ALL").is_none() {
        instructions = (0..DRAWN).map(|_| random.one_of(&instructions)).collect();
    }
    let mut counts = BTreeMap::<Changed, Counts>::new();
    let mut wrong = Vec::new();
    for at in instructions {
        let original = proved.image.instruction(at).unwrap();
        let is_near = |to| proved.image.is_in_call(to) || to == proved.image.general;
        for change in change::changes(&proved.image, at, is_near) {
            let Change { kind, word, number, .. } = change;
            let counts = counts.entry(kind).or_default();
            let changed = Instruction::decode(word);
            if changed == original {
                counts.same += number;
            } else if proved.is_found(change) {
                counts.found += number;
            } else if let Err(differs) = proved.changes_nothing(change) {
                let (differs, begins, model) = *differs;
                counts.solved += number;
                let call =
                    inputs::from_model(&proved.image, &model, ENTRY_POINTS[begins], &mut random);
                proved.add(call);
                if !proved.is_found(change) {
                    wrong.push(format!("{at:#x}: {original:?} to {changed:?}: {differs:.300}"));
                }
            } else {
                counts.unchanged += number;
            }
        }
    }
    println!("{counts:#?}");
    assert!(wrong.is_empty(), "{}: {wrong:#?}", wrong.len());
}
