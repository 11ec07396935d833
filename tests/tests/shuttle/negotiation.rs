//! Tests strands that negotiate while the guest's other strands make calls. Each call must be answered in a version that can be in force
//! during the call.

use std::sync::Mutex;

use hv_core::sync::schedules::{explore, random_below, run_concurrently};
use tests::board::Board;
use tests::machine::MachineUnderTest;
use tests::oracle::{Grant, Guest, Machine, Trap};

/// The versions that strands negotiate. Version 0.0 releases the API group.
const VERSIONS: [[u64; 2]; 3] = [[0, 0], [1, 0], [1, 1]];

/// Registers, each with the status of a `get` in each version. A `get` of a hub register may also return EWOULDBLOCK.
const STATUS: [(u64, [u64; 3]); 3] = [(2, [7, 0, 0]), (18, [7, 13, 0]), (90, [7, 6, 6])];

/// The negotiations so far, each with the index of its version in [`VERSIONS`] and the times at which the call began and ended.
#[derive(Default)]
struct History {
    now: usize,
    negotiations: Vec<(usize, usize, usize)>,
}

impl History {
    fn tick(&mut self) -> usize {
        self.now += 1;
        self.now
    }

    /// Returns the indexes of the versions that can have been in force at some time since `began`. A negotiation is excluded if a later
    /// one, which began after the end of the first, ended before `began`.
    fn possible(&self, began: usize) -> Vec<usize> {
        let followed = |end: usize| {
            let mut all = self.negotiations.iter();
            all.any(|(_, other, other_end)| *other > end && *other_end < began)
        };
        let all = self.negotiations.iter();
        all.filter(|(_, _, end)| !followed(*end)).map(|(version, ..)| *version).collect()
    }
}

fn negotiate(machine: &MachineUnderTest, history: &Mutex<History>, strand: u16) {
    let version = random_below(VERSIONS.len());
    let number = {
        let mut history = history.lock().unwrap();
        let began = history.tick();
        history.negotiations.push((version, began, usize::MAX));
        history.negotiations.len() - 1
    };
    let [major, minor] = VERSIONS[version];
    assert_eq!(machine.negotiate(strand, major, minor), 0);
    let mut history = history.lock().unwrap();
    history.negotiations[number].2 = history.tick();
}

fn version(machine: &MachineUnderTest, strand: u16) -> [u64; 2] {
    let (registers, _) = machine.trap(strand, Trap::Core, [0x205, 0, 0, 0, 0, 3]);
    assert_eq!(registers[0], 0);
    [registers[1], registers[2]]
}

/// Reads the negotiated version, or makes a call. The answer must fit a version that can be in force during the call.
fn look(machine: &MachineUnderTest, history: &Mutex<History>, strand: u16) {
    let began = history.lock().unwrap().tick();
    let which = random_below(STATUS.len() + 1);
    let is_expected: &dyn Fn(usize) -> bool = match STATUS.get(which) {
        None => {
            let found = version(machine, strand);
            &move |version| VERSIONS[version] == found
        }
        Some((id, statuses)) => {
            let (status, _) = machine.get(strand, *id);
            &move |version| status == statuses[version] || *id == 18 && version == 2 && status == 9
        }
    };
    let possible = history.lock().unwrap().possible(began);
    assert!(possible.iter().any(|version| is_expected(*version)), "{which}: {possible:?}");
}

/// Runs strands that each negotiate or call `rounds` times.
fn negotiation(schedules: usize, strands: u16, rounds: usize) {
    explore(schedules, move || {
        let board = Board::new(Machine::Batoka, 1, &[]).with_slow_hubs(1);
        let machine = MachineUnderTest::new(&board, &[Guest::new(0..strands, Grant::GLOBAL)]);
        let history = Mutex::new(History { now: 0, negotiations: vec![(0, 0, 0)] });
        run_concurrently(strands.into(), |strand| {
            for _ in 0..rounds {
                match random_below(3) {
                    0 => negotiate(&machine, &history, strand as u16),
                    _ => look(&machine, &history, strand as u16),
                }
            }
        });
        // After all negotiations, the same version is in force on the fast path and on the slow path.
        let found = version(&machine, 0);
        let version = VERSIONS.iter().position(|version| *version == found);
        let version = version.expect("a version that was negotiated");
        for (id, statuses) in STATUS {
            // At first, the hub may still be waiting for strands that it has refused and that no longer call.
            let mut answers = (0..10_000).map(|_| machine.get(strands - 1, id).0);
            for _ in 0..2 {
                let answer = answers.find(|status| *status != 9);
                assert_eq!(answer, Some(statuses[version]));
            }
        }
    });
}

#[test]
fn eight_strands() {
    negotiation(1_500, 8, 4);
}

#[test]
fn sixty_four_strands() {
    negotiation(200, 64, 2);
}

/// Two strands release the API group. From then on, their calls are refused. Simultaneous negotiations close the fast path, and a third
/// strand's call may open it again.
#[test]
fn giving_up() {
    explore(1_000, || {
        let board = Board::new(Machine::Batoka, 1, &[]);
        let machine = MachineUnderTest::new(&board, &[Guest::new(0..3, Grant::GLOBAL)]);
        run_concurrently(2, |strand| {
            assert_eq!(machine.negotiate(strand as u16, 1, 1), 0);
        });
        run_concurrently(3, |strand| {
            let strand = strand as u16;
            if strand == 0 {
                machine.get(strand, 2);
            } else {
                assert_eq!(machine.negotiate(strand, 0, 0), 0);
                assert_eq!(machine.get(strand, 2).0, 7);
            }
        });
    });
}
