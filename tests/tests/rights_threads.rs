//! Tests threads that use the registers of `global` and `strand` while the operator transfers both rights from guest to guest. Every
//! written value carries its guest's mark, and no guest ever reads another guest's mark.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use perfctr_service::ChangeError;
use tests::board::Board;
use tests::machine::MachineUnderTest;
use tests::oracle::{Cell, Grant, Guest, Machine};

/// The registers that each guest uses, each with the position of the lowest bit of the guest's mark in it. Each register stores the whole
/// mark.
const REGISTERS: [(u64, u32); 7] = [(1, 0), (2, 0), (3, 0), (9, 32), (18, 8), (19, 0), (89, 40)];

const ROUNDS: usize = tests::rounds(150) as usize;

/// The operator's strand. It belongs to no guest, because a strand cannot make a guest's calls while it performs the operator's changes.
const OPERATOR: u16 = 63;

/// Ends the guests' threads when it is dropped, even if the operator's part of the test fails.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Makes calls on a guest's strand until `done`, and counts the reads that are served.
fn play(machine: &MachineUnderTest, strand: u16, guest: u64, done: &AtomicBool, seen: &AtomicU64) {
    let mark = guest + 1;
    while !done.load(Ordering::SeqCst) {
        for (id, shift) in REGISTERS {
            machine.acknowledge(strand);
            let status = machine.set(strand, id, mark << shift);
            assert!([0, 7, 9, 10].contains(&status), "set {id}: {status}");
            machine.acknowledge(strand);
            let (status, value) = machine.get(strand, id);
            assert!([0, 7, 9, 10].contains(&status), "get {id}: {status}");
            if status == 0 {
                seen.fetch_add(1, Ordering::Relaxed);
                assert!(
                    value == 0 || value == mark << shift,
                    "guest {guest} reads {value:#x} in PerfReg {id}"
                );
            }
        }
        machine.acknowledge(strand);
        // Bit 3 of the PCR is HT.
        let status = machine.set(strand, 0, mark << 4 | 8);
        assert!([0, 7, 10].contains(&status));
        machine.acknowledge(strand);
        // The guest may have been reset in the meantime.
        if machine.get(strand, 90).0 == 7 {
            assert_eq!(machine.negotiate(strand, 1, 1), 0);
        }
    }
}

#[test]
fn nobody_reads_what_another_guest_has_written() {
    let board = Board::new(Machine::Batoka, 2, &[]);
    let [first, second] = Grant::divided(0, 1);
    let guests = [Guest::new([0, 64], first), Guest::new([1, 65], second)];
    let machine = MachineUnderTest::new(&board, &guests).with_operator(OPERATOR);
    let done = AtomicBool::new(false);
    let seen = [const { AtomicU64::new(0) }; 2];
    thread::scope(|scope| {
        let players = [0, 64, 1, 65].map(|strand| {
            let (machine, done, seen) = (&machine, &done, &seen);
            scope.spawn(move || {
                let guest = usize::from(strand % 64);
                play(machine, strand, guest as u64, done, &seen[guest]);
            })
        });
        let wait_while = |condition: &dyn Fn() -> bool| {
            // A player (a guest's thread) that ends before `done` has failed.
            while condition() && !players.iter().any(|player| player.is_finished()) {
                thread::yield_now();
            }
        };
        let over = SetOnDrop(&done);
        for round in 0..ROUNDS {
            let holder = round / 2 % 2;
            // While another strand works on the transfer, the operator tries again, because the host may have paused that strand's thread.
            wait_while(&|| {
                machine.acknowledge(OPERATOR);
                let result = machine.reconfigure(&Grant::divided(holder, round % 2));
                assert!(matches!(result, Ok(()) | Err(ChangeError::Busy)));
                result.is_err()
            });
            if round % 5 == 4 {
                machine.begin_reset(holder);
            }
            // Every third transfer is replaced by the next one. The others complete.
            if round % 3 != 0 {
                wait_while(&|| {
                    machine.acknowledge(OPERATOR);
                    machine.awaited().is_some()
                });
                let before = seen[holder].load(Ordering::Relaxed);
                wait_while(&|| seen[holder].load(Ordering::Relaxed) < before + 5);
            }
        }
        drop(over);
    });
    machine.reconfigure(&[Grant::NONE; 2]).expect("no other strand works on a transfer");
    machine.complete_transfer();
    for (cell, value) in board.cells() {
        assert_eq!(value, 0, "{cell:?}");
    }
    assert!(board.cells().contains_key(&Cell::L2 { node: 1, bank: 7 }));
    assert!(board.pcrs().values().all(|pcr| *pcr == 0));
    tests::print_line(format_args!("{ROUNDS} transfers; reads that were served: {seen:?}"));
}
