//! Tests strands that negotiate while the guest's other strands make calls.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use tests::board::Board;
use tests::machine::MachineUnderTest;
use tests::oracle::{Grant, Guest, Machine, Trap};

const ROUNDS: u64 = tests::rounds(1_500);

fn get_version(machine: &MachineUnderTest, strand: u16) -> [u64; 3] {
    let (registers, _) = machine.trap(strand, Trap::Core, [0x205, 0xa, 0xb, 0xc, 0xd, 3]);
    assert_eq!(registers[3..], [0xc, 0xd, 3]);
    [registers[0], registers[1], registers[2]]
}

/// Runs `negotiator` on strand 0. Meanwhile, strands 1 to 3 run `caller` repeatedly.
fn while_negotiating(negotiator: impl FnOnce() + Send, caller: impl Fn(u16) + Sync) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for strand in 1..4 {
            let (done, caller) = (&done, &caller);
            scope.spawn(move || {
                while !done.load(Ordering::SeqCst) {
                    caller(strand);
                }
            });
        }
        let negotiator = scope.spawn(negotiator);
        let result = negotiator.join();
        done.store(true, Ordering::SeqCst);
        result.unwrap();
    });
}

#[test]
fn a_version_is_never_a_mixture() {
    let board = Board::new(Machine::Batoka, 1, &[]);
    let guest = Guest::new(0..4, Grant::GLOBAL_HTSTRAND);
    let machine = MachineUnderTest::new(&board, &[guest]);
    while_negotiating(
        || {
            for round in 0..ROUNDS {
                let (major, minor) = [(1, 0), (1, 1), (0, 0), (1, 1), (2, 0)][round as usize % 5];
                let status = if major == 2 { 13 } else { 0 };
                assert_eq!(machine.negotiate(0, major, minor), status);
            }
        },
        |strand| {
            let version = get_version(&machine, strand);
            assert!([[0, 0, 0], [0, 1, 0], [0, 1, 1]].contains(&version), "{version:?}");
            // A call gets the status that its register has in one of the versions, but never ENOACCESS.
            assert!([0, 7].contains(&machine.get(strand, 2).0));
            assert!([0, 7].contains(&machine.set(strand, 0, 9)));
            assert!([0, 7, 9, 13].contains(&machine.get(strand, 18).0));
            assert!([6, 7].contains(&machine.get(strand, 90).0));
        },
    );
}

/// HT depends only on the grant. A guest with the right never gets ENOACCESS, in any version.
#[test]
fn ht_does_not_depend_on_the_version() {
    let board = Board::new(Machine::Maramba, 1, &[]);
    let machine = MachineUnderTest::new(&board, &[Guest::new(0..4, Grant::HTSTRAND)]);
    let calls = AtomicU64::new(0);
    while_negotiating(
        || {
            for round in 0.. {
                assert_eq!(machine.negotiate(0, round % 2, 0), 0);
                if calls.load(Ordering::Relaxed) >= 1_000 * ROUNDS {
                    break;
                }
            }
        },
        |strand| {
            calls.fetch_add(1, Ordering::Relaxed);
            assert!([0, 7].contains(&machine.set(strand, 0, 9)));
        },
    );
}

/// Only version 1.1 has hub registers. While 1.0 is in force, no call to a hub register is served.
#[test]
fn no_call_is_served_beyond_the_version_in_force() {
    let board = Board::new(Machine::Batoka, 1, &[]);
    let machine = MachineUnderTest::new(&board, &[Guest::new(0..4, Grant::GLOBAL)]);
    // The epoch is odd while 1.0 is certainly in force. At all other times it is even.
    let epoch = AtomicU64::new(0);
    let compared = AtomicU64::new(0);
    while_negotiating(
        || {
            for _ in 0..ROUNDS {
                assert_eq!(machine.negotiate(0, 1, 1), 0);
                assert_eq!(machine.negotiate(0, 1, 0), 0);
                let so_far = compared.load(Ordering::SeqCst);
                epoch.fetch_add(1, Ordering::SeqCst);
                for _ in 0..1_000 {
                    if compared.load(Ordering::SeqCst) != so_far {
                        break;
                    }
                    thread::yield_now();
                }
                epoch.fetch_add(1, Ordering::SeqCst);
            }
        },
        |strand| {
            let before = epoch.load(Ordering::SeqCst);
            let (status, value) = machine.get(strand, 18);
            let after = epoch.load(Ordering::SeqCst);
            if before == after && before % 2 == 1 {
                assert_eq!((status, value), (13, 0x0bad));
                compared.fetch_add(1, Ordering::SeqCst);
            }
        },
    );
    assert!(compared.load(Ordering::SeqCst) > 0);
}

/// Two strands negotiate. Each gets the minor version that it asks for, and the guest ends up with one of the two.
#[test]
fn two_strands_negotiate() {
    let board = Board::new(Machine::Batoka, 1, &[]);
    let machine = MachineUnderTest::new(&board, &[Guest::new(0..2, Grant::NONE)]);
    tests::on_threads(0..2, |minor| {
        for _ in 0..100 * ROUNDS {
            let strand = minor as u16;
            let call = [0x205, 1, minor, 0xc, 0xd, 0];
            let (registers, _) = machine.trap(strand, Trap::Core, call);
            assert_eq!(registers, [0, minor, minor, 0xc, 0xd, 0]);
            let version = get_version(&machine, strand);
            assert!([[0, 1, 0], [0, 1, 1]].contains(&version), "{version:?}");
        }
    });
}
