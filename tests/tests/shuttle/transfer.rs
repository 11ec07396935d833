//! Tests rights that pass from guest to guest while both guests' strands make calls, guests are reset, and strands die.

use std::collections::BTreeMap;
use std::sync::Mutex;

use hv_core::sync::schedules::{explore, pause, random_below, run_concurrently};
use hv_core::sync::{spin_loop, steps};
use perfctr_service::{ChangeError, StrandRight};
use tests::board::Board;
use tests::machine::{MachineUnderTest, guest_id};
use tests::oracle::{Action, Cell, Grant, Guest, Machine, Target};

/// Registers that `global` covers (L2, memory channels, a hub), each with the position of the lowest bit of a guest's mark in it.
const REGISTERS: [(u64, u32); 5] = [(1, 0), (2, 0), (3, 32), (18, 8), (19, 0)];

const OPERATOR: u16 = 63;

/// Returns the value that a guest's strands write. It is never 0, and differs from guest to guest.
fn mark(guest: usize) -> u64 {
    guest as u64 + 1
}

/// Acknowledges the strand's cross-call. Then makes a call that reads or writes a shared register, or writes the strand's own PCR. Asserts
/// that the strand does not read the other guest's value.
fn play(machine: &MachineUnderTest, number: u16, guest: usize) {
    machine.acknowledge(number);
    let (id, shift) = REGISTERS[random_below(REGISTERS.len())];
    let status = match random_below(3) {
        0 => {
            let (status, value) = machine.get(number, id);
            let mine = mark(guest) << shift;
            assert!(status != 0 || value == 0 || value == mine, "{id}: {value:#x}");
            status
        }
        1 => machine.set(number, id, mark(guest) << shift),
        // Bit 3 of the PCR is HT.
        _ => machine.set(number, 0, mark(guest) << 4 | 8),
    };
    assert!([0, 7, 9, 10].contains(&status), "{status}");
    if status == 7 {
        assert_eq!(machine.negotiate(number, 1, 1), 0);
    }
}

/// Changes rights, or resets a guest. A strand that dies during a change keeps the lock until its death is reported.
fn operate(machine: &MachineUnderTest, report_deaths: impl Fn()) {
    if random_below(4) == 0 {
        return machine.begin_reset(random_below(2));
    }
    let grants = Grant::divided(random_below(2), random_below(2));
    while let Err(error) = machine.reconfigure(&grants) {
        assert_eq!(error, ChangeError::Busy);
        report_deaths();
        machine.acknowledge(OPERATOR);
        spin_loop();
    }
}

/// If no change is pending, asserts that the PCR is 0 on every living strand without the right to it. A
/// dead strand scrubs its PCR when it comes back. The operator must not take a step during the check.
fn check_scrubbed(
    machine: &MachineUnderTest,
    guest_of: impl Fn(usize) -> usize,
    dead: &Mutex<Vec<u16>>,
) {
    if machine.awaited().is_none() {
        for (number, pcr) in machine.board().pcrs() {
            let grant = machine.service().held(guest_id(guest_of(number.into())));
            let may = grant.strand != StrandRight::None || dead.lock().unwrap().contains(&number);
            assert!(pcr == 0 || may, "{number}");
        }
    }
}

/// Asserts that each register is scrubbed between two guests' writes. If it is, two guests never use a register at the same time, and no
/// access of the first guest follows the scrub.
fn check_log(board: &Board, guest_of: impl Fn(usize) -> usize) {
    let mut written: BTreeMap<Target, usize> = BTreeMap::new();
    for (strand, access) in board.take_log() {
        match access.action {
            Action::Write(0) => {
                written.remove(&access.target);
            }
            Action::Write(_) if access.target != Target::Pcr => {
                let guest = guest_of(strand.index());
                let before = written.insert(access.target, guest);
                assert!(before.is_none_or(|before| before == guest), "{access:?}");
            }
            _ => {}
        }
    }
}

/// Each strand of two guests plays `rounds` rounds. In each round, a strand dies with probability 1 / `dies`, or never if `dies` is 0. The
/// operator makes `changes` changes.
fn transfers(schedules: usize, strands: u16, rounds: usize, changes: usize, dies: usize) {
    explore(schedules, move || {
        let board = Board::new(Machine::Batoka, 1, &[]).with_slow_hubs(1);
        // An access takes time, and a strand may die during it.
        board.before_accesses(|_| {
            steps::step();
            pause();
        });
        let half = strands / 2;
        let [first, second] = Grant::divided(0, 1);
        let guests = [Guest::new(0..half, first), Guest::new(half..strands, second)];
        let guest_of = |strand: usize| usize::from(strand >= half.into());
        let machine = MachineUnderTest::ready(&board, &guests).with_operator(OPERATOR);
        let dead = Mutex::new(Vec::new());
        let report = |on| {
            let dead = dead.lock().unwrap().clone();
            for number in dead {
                machine.strand_died(on, number);
            }
        };
        run_concurrently(1 + usize::from(strands), |number| {
            if number == strands.into() {
                for _ in 0..changes {
                    operate(&machine, || report(OPERATOR));
                    report(OPERATOR);
                    check_scrubbed(&machine, guest_of, &dead);
                }
                return;
            }
            for _ in 0..rounds {
                let step = match dies {
                    0 => usize::MAX,
                    _ if random_below(dies) == 0 => random_below(40),
                    _ => usize::MAX,
                };
                let round = || play(&machine, number as u16, guest_of(number));
                if steps::die_at(step, round).is_none() {
                    return dead.lock().unwrap().push(number as u16);
                }
            }
        });
        report(OPERATOR);
        // A change is complete when all living strands have acknowledged their cross-calls. It does not wait for dead strands.
        let lives = |number: &u16| !dead.lock().unwrap().contains(number);
        let ends = || {
            let next = || board.cross_calls().into_iter().find(lives);
            let calls = (0..10_000).map_while(|_| next().map(|next| machine.acknowledge(next)));
            assert!(calls.count() < 10_000, "no end of cross-calls");
            assert_eq!(machine.awaited(), None);
        };
        ends();
        assert_eq!(machine.reconfigure(&[Grant::NONE; 2]), Ok(()));
        ends();
        // A strand that dies while it holds L2 control leaves L2 control out of service, and perhaps not scrubbed.
        let scrubbed = |cell: &Cell| dies == 0 || !matches!(cell, Cell::L2 { .. });
        for (cell, value) in board.cells() {
            assert!(value == 0 || !scrubbed(&cell), "{cell:?}: {value:#x}");
        }
        // The dead strands come back. They acknowledge their cross-calls before they do anything else.
        machine.complete_transfer();
        let pcrs = board.pcrs();
        assert!(pcrs.values().all(|pcr| *pcr == 0), "{pcrs:x?}");
        check_log(&board, guest_of);
    });
}

#[test]
fn eight_strands() {
    transfers(1_300, 8, 5, 3, 0);
}

#[test]
fn eight_strands_of_which_some_die() {
    transfers(1_300, 8, 5, 3, 8);
}

#[test]
fn sixty_three_strands() {
    transfers(200, 62, 2, 2, 0);
}
