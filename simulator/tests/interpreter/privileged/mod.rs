//! Compares the interpreter with QEMU's niagara machine. On random walks through privileged and hyperprivileged instructions, traps and
//! interrupts, both must have the same registers before each instruction.

mod choice;
mod coverage;
mod deviations;
mod memory;
mod niagara;
mod setup;
mod state;
mod walk;

use std::env;
use std::fs;
use std::path::Path;
use std::process;

use coverage::Coverage;
use niagara::Niagara;
use simulator::interpreter::Level;
use state::{GL, PSTATE, State, TL};
use walk::{IE, PEF, PRIV, Step, Walk};

/// The number of walks, and the maximum number of steps of a walk.
const WALKS: u64 = 200;
const STEPS: usize = 2000;

/// A state on a walk, and the step that follows it.
struct Stage {
    state: State,
    step: Option<Step>,
}

/// Returns the state that QEMU should report after a step, or `None` if QEMU continues at another address.
fn theirs(before: &State, after: &State, step: Step) -> Option<State> {
    let Step::Trapped(number) = step else {
        return Some(after.clone());
    };
    // QEMU deviates here: Deviation::GlobalLevelOfTrap.
    if after.get(GL) == before.get(GL) {
        return None;
    }
    let mut theirs = after.clone();
    let (from, to) = (before.level(), after.level());
    if to == Level::Hyperprivileged {
        // QEMU deviates here: Deviation::HypervisorTraps and Deviation::GuestWatchdog.
        if from < to && number < 0x180 {
            return None;
        }
        // QEMU deviates here: Deviation::TrapPstate, until the handler writes %pstate, and Deviation::RedState.
        let red = if after.get(TL) == 6 { 1 << 5 } else { 0 };
        let pstate = if number < 0x180 { PEF | PRIV } else { before.get(PSTATE) | red };
        theirs.set(PSTATE, pstate);
    }
    Some(theirs)
}

/// Executes a walk, and returns its stages. The walk ends at a trap at the highest trap level, when QEMU continues at another address, or
/// after [`STEPS`] steps.
fn stages(walk: &mut Walk, coverage: &mut Coverage) -> Vec<Stage> {
    let mut stages = Vec::new();
    let mut next = Some(walk.state());
    while let Some(state) = next.take() {
        let before = walk.state();
        let step = if stages.len() < STEPS { walk.step() } else { None };
        stages.push(Stage { state, step });
        if let Some(step) = step {
            next = theirs(&before, &walk.state(), step);
            if next.is_some() {
                coverage.note(step, before.level());
            }
        }
    }
    stages
}

/// Compares a walk's states with QEMU's.
fn compare(seed: u64, walk: &Walk, stages: &[Stage], directory: &Path) {
    let mut machine = Niagara::boot(directory, &walk.image());
    let (mut theirs, mut last) = (String::new(), String::new());
    let begin = format!("pc: {:016x}", walk.begin());
    while !theirs.starts_with(&begin) {
        assert!(machine.next(&mut theirs), "seed {seed}: QEMU has ended");
    }
    for (number, stage) in stages.iter().enumerate() {
        let ours = stage.state.to_string();
        // QEMU logs a state twice if it stops before it executes the next instruction.
        for _ in 0..3 {
            if theirs == last {
                assert!(machine.next(&mut theirs), "seed {seed}: QEMU has ended");
            }
        }
        // QEMU may omit the state before an interrupt.
        let may_interrupt = match stage.step {
            Some(Step::Trapped(number)) => (0x41..=0x4f).contains(&number),
            Some(Step::Executed(_)) => false,
            None => stage.state.get(PSTATE) & IE != 0,
        };
        if ours == theirs {
            last = ours;
        } else if !may_interrupt {
            let from = number.saturating_sub(8);
            for stage in &stages[from..number] {
                println!("{:#x}: {:x?}", stage.state.pc, stage.step);
            }
            let lines = ours.lines().zip(theirs.lines());
            let different: Vec<_> = lines.filter(|(ours, theirs)| ours != theirs).collect();
            panic!(
                "seed {seed}, step {number} ({:x?}): here and under QEMU: {different:#?}",
                stage.step
            );
        }
    }
}

#[test]
#[ignore = "needs qemu-system-sparc64: cargo xtask test runs it"]
fn random_walks_are_as_under_qemu() {
    let directory = env::temp_dir().join(format!("interpreter-niagara-{}", process::id()));
    fs::create_dir_all(&directory).expect("a directory");
    let mut coverage = Coverage::default();
    for seed in 0..WALKS {
        let mut walk = Walk::new(seed);
        let stages = stages(&mut walk, &mut coverage);
        compare(seed, &walk, &stages, &directory);
    }
    fs::remove_dir_all(&directory).expect("the directory");
    assert_eq!(coverage.missing(), (vec![], vec![]), "opcodes and traps that no walk had");
}
