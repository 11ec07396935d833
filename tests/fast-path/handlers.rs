//! Tests of the trap handlers: everything that the hypervisor executes in assembly, except the fast path and the code from reset to the
//! guest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::rc::Rc;

use simulator::interpreter::Instruction;
use xtask::qemu::build::{self, Devices};
use xtask::qemu::toolchain::Toolchain;

use super::change::Changed;
use super::image::Image;
use super::scene::{Machine, Source, Terms};
use super::scenes::{Scene, States, functions, interrupted, scenes};
use super::solver::{Condition, Solver};
use super::state::State;
use super::sweep::Sweep;
use super::term::Term;
use super::{Counts, equal, paths, random, solver};

/// Returns `true` if the tests check all cases, and not only those that the seed chooses.
fn is_all() -> bool {
    std::env::var_os("ALL").is_some()
}

/// A difference from what the documentation says.
#[derive(Debug)]
pub(crate) struct Mismatch {
    pub(crate) differs: String,
    /// The conditions under which the difference occurs.
    pub(crate) conditions: Vec<Condition>,
    pub(crate) solver: Solver,
}

/// Executes a scene on all paths, with terms in place of numbers. `prepare` sets up the machine, and `see` inspects it after each path.
/// Fails if the scene differs from what the handler's documentation says.
pub(crate) fn prove(
    image: &Image,
    state: &Rc<State<Term>>,
    scene: &Scene,
    solver: Solver,
    prepare: &dyn Fn(&mut Machine<'_, Term>),
    see: &mut dyn FnMut(&Machine<'_, Term>),
) -> Result<Solver, Box<Mismatch>> {
    let mut wrong = None;
    let solver = paths::for_each(solver, &[], || {
        let mut machine = Machine::new(image, state, &Terms as &dyn Source<Term>);
        prepare(&mut machine);
        let played = scene.play(&mut machine);
        see(&machine);
        let conditions = paths::conditions();
        let pairs = match played {
            Ok(pairs) => pairs,
            Err(differs) => {
                wrong = Some((differs, conditions));
                return false;
            }
        };
        let equal = equal(&pairs);
        let differ = [&*conditions, &[(equal, false)]].concat();
        if equal != Term::from(1) && paths::with_solver(|solver| solver.can_be(&differ)) {
            let pairs: Vec<_> = pairs.into_iter().filter(|(a, b)| a != b).collect();
            wrong = Some((format!("{pairs:?}"), differ));
            return false;
        }
        true
    });
    match wrong {
        None => Ok(solver),
        Some((differs, conditions)) => Err(Box::new(Mismatch { differs, conditions, solver })),
    }
}

/// Every instruction of the handlers and of the trap table is in some execution, except those that cannot be reached in an image with a
/// fast path.
#[test]
#[ignore = "needs z3: cargo xtask test runs it"]
fn each_handler_does_what_its_documentation_says() {
    let image = Image::bundled();
    let state = Rc::new(State::any());
    let mut z3 = solver(&state);
    let mut executed: BTreeSet<u64> = BTreeSet::new();
    let (mut paths, scenes) =
        (0, scenes(&image, if is_all() { States::All } else { States::Many }));
    for scene in &scenes {
        let mut see = |machine: &Machine<'_, Term>| {
            paths += 1;
            executed.extend(&machine.executed);
        };
        let proved = prove(&image, &state, scene, z3, &|_| (), &mut see);
        z3 = proved.unwrap_or_else(|wrong| panic!("{scene:?}: {:.3000}", wrong.differs));
    }
    println!("{} executions, {paths} paths, {} questions", scenes.len(), z3.asked);
    let never: Vec<u64> = image.handled().filter(|at| !executed.contains(at)).collect();
    assert!(never.is_empty(), "{never:#x?}");
}

/// In an image that claims software traps, the claimed traps take the slow path, and all others return EBADTRAP. Without `ALL` in the
/// environment, the test does nothing, because it would have to build such an image.
#[test]
#[ignore = "needs z3: cargo xtask test runs it"]
fn each_claimed_trap_takes_the_slow_path() {
    if !is_all() {
        return;
    }
    // The image that QEMU boots (`tests/images/board`) claims these.
    let claims = vec![0x84, 0xfe];
    let built = build::hypervisor(&Toolchain::find().unwrap(), Devices::Mmio).unwrap();
    let image = Image::new(&fs::read(built).unwrap(), claims);
    let state = Rc::new(State::any());
    let mut z3 = solver(&state);
    for scene in functions(&image) {
        let proved = prove(&image, &state, &scene, z3, &|_| (), &mut |_| ());
        z3 = proved.unwrap_or_else(|wrong| panic!("{scene:?}: {:.3000}", wrong.differs));
    }
}

/// Finds the first execution that a report changes. Returns the number of reports that change nothing, and a description of the scene, the
/// number of instructions before the report, and the difference.
fn changed_by_report(image: &Image, scenes: &[Scene]) -> (usize, Option<String>) {
    let state = Rc::new(State::any());
    let (mut z3, mut reports) = (solver(&state), 0);
    for scene in scenes {
        // Executes the scene with a report after this number of instructions.
        for number in 0.. {
            let mut is_within = false;
            let prepare = |machine: &mut Machine<'_, Term>| machine.report = Some(number);
            let mut see = |machine: &Machine<'_, Term>| {
                is_within |= machine.reported.is_some() || machine.report.is_none();
            };
            match prove(image, &state, scene, z3, &prepare, &mut see) {
                Ok(solver) => z3 = solver,
                Err(wrong) => {
                    let Mismatch { differs, .. } = *wrong;
                    return (reports, Some(format!("{scene:?}, {number}: {differs:.1000}")));
                }
            }
            if !is_within {
                break;
            }
            reports += 1;
        }
    }
    (reports, None)
}

/// If a failed store is reported before any instruction of a handler, nothing changes except the note of the report. The test interrupts a
/// few executions, which the seed chooses. With `ALL` in the environment, it interrupts executions of all kinds.
#[test]
#[ignore = "needs z3: cargo xtask test runs it"]
fn a_report_before_any_instruction_of_a_handler_changes_nothing() {
    const DRAWN: usize = 16;
    let (mut random, image) = (random(), Image::bundled());
    let mut scenes = interrupted(&image);
    if !is_all() {
        scenes = (0..DRAWN).map(|_| random.one_of(&scenes)).collect();
    }
    let (reports, wrong) = changed_by_report(&image, &scenes);
    println!("{} executions, {reports} reports", scenes.len());
    assert_eq!(wrong, None);
}

/// If a field of a handler's instruction is changed, either an execution differs from the documentation or the change has no effect. The
/// test changes a few instructions, which the seed chooses. With `ALL` in the environment, it changes all instructions.
#[test]
#[ignore = "needs z3: cargo xtask test runs it"]
fn each_change_of_a_handler_is_found_or_changes_nothing() {
    const DRAWN: usize = 4;
    let mut random = random();
    let image = Image::bundled();
    let mut instructions: Vec<u64> = image.handled().collect();
    if !is_all() {
        instructions = (0..DRAWN).map(|_| random.one_of(&instructions)).collect();
    }
    let scenes = scenes(&image, States::Few);
    let mut sweep = Sweep::new(image, scenes, &mut random);
    let mut counts = BTreeMap::<Changed, Counts>::new();
    let mut wrong = Vec::new();
    for (number, at) in instructions.iter().enumerate() {
        eprintln!("{at:#x}: {number} of {} instructions changed", instructions.len());
        wrong.extend(sweep.changes(*at, &mut counts, &mut random));
    }
    println!("{counts:#?}");
    assert!(wrong.is_empty(), "{}: {wrong:#?}", wrong.len());
}

/// If any one of the restartable sequences did not begin again, a report would change what a handler does.
#[test]
#[ignore = "needs z3: cargo xtask test runs it"]
fn each_sequence_must_begin_again() {
    let mut image = Image::bundled();
    let state = Rc::new(State::any());
    let mut z3 = Some(solver(&state));
    let (rows, first) = (image.handlers.restarts.clone(), image.handlers.restarts_at);
    let scenes = interrupted(&image);
    let mut is_right = |image: &Image, scene: &Scene, report, executed: &mut Vec<u64>| {
        let prepare = |machine: &mut Machine<'_, Term>| machine.report = report;
        let mut see = |machine: &Machine<'_, Term>| executed.clone_from(&machine.executed);
        let proved = prove(image, &state, scene, z3.take().unwrap(), &prepare, &mut see);
        let is_right = proved.is_ok();
        z3 = Some(proved.unwrap_or_else(|wrong| wrong.solver));
        is_right
    };
    for (row, at) in rows.into_iter().zip((first..).step_by(24)) {
        let [begins, ends, _] = row;
        // An empty sequence contains no instruction.
        image.set_constant(at + 8, begins);
        let is_found = scenes.iter().any(|scene| {
            let mut executed = Vec::new();
            let is_right_without = is_right(&image, scene, None, &mut executed);
            let within = executed.iter().enumerate().filter(|(_, at)| (begins..ends).contains(at));
            let mut reports = within.take(20).map(|(number, _)| number);
            is_right_without
                && reports.any(|number| !is_right(&image, scene, Some(number), &mut Vec::new()))
        });
        assert!(is_found, "{row:x?}");
        image.set_constant(at + 8, ends);
    }
}

/// %g7 belongs to the report handlers, so compiled code does not use it.
#[test]
fn compiled_code_does_not_use_the_register_of_reports() {
    let image = Image::bundled();
    let uses =
        |(_, instruction): &(u64, Instruction)| format!("{instruction:?}").contains("Register(7)");
    let found: Vec<_> = image.compiled().filter(uses).collect();
    assert_eq!(found, []);
    assert!(image.compiled().count() > 10_000);
}
