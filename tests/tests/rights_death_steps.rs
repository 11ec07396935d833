//! Tests strands that die at each step of a transfer and of a reset: before each operation on an atomic, each device access and each
//! cross-call, and after each write of %pcr. As `perfctr_service::transfer` promises, no guest reads another guest's values. Once the death
//! is reported and the interrupted step is repeated, the change completes.

use guest_abi::{Node, PerfReg};
use hv_core::sync::steps;
use perfctr_service::Unit;
use tests::board::Board;
use tests::machine::{MachineUnderTest, strand};
use tests::oracle::status::{ENOACCESS, EOK};
use tests::oracle::{Grant, Guest, Machine};

/// Guest 0's strand. Guest 0 starts with all rights.
const LOSER: u16 = 0;

/// Guest 1's strand. Guest 1 starts without rights.
const NEXT: u16 = 1;

/// The operator's strand, and a second one that acts when the first is dead.
const OPERATOR: u16 = 8;
const SECOND: u16 = 9;

const ALL: Grant = Grant::GLOBAL_HTSTRAND;
const NONE: Grant = Grant::NONE;

/// Registers of every kind: the PCR, L2, a channel, and two hubs. A Maramba has only registers below 18.
const REGISTERS: [u64; 7] = [0, 1, 2, 5, 18, 35, 89];

/// A change of rights, or the reset of a guest.
struct Change {
    /// The step that begins the change, taken by the operator.
    begin: fn(&MachineUnderTest, on: u16),
    /// The strand that has the registers after the change, and one that does not.
    holder: u16,
    other: u16,
}

const TRANSFER: Change = Change {
    begin: |machine, on| {
        let given = machine.reconfigure_on(strand(on), &[NONE, ALL]);
        assert_eq!(given, Ok(()));
    },
    holder: NEXT,
    other: LOSER,
};

const RESET: Change = Change {
    begin: |machine, on| machine.begin_reset_on(strand(on), 0),
    holder: LOSER,
    other: NEXT,
};

fn registers(machine: &MachineUnderTest) -> impl Iterator<Item = u64> {
    let machine = machine.board().machine();
    let has =
        move |id: &u64| PerfReg::new(*id).is_some_and(|register| machine.has_register(register));
    REGISTERS.into_iter().filter(has)
}

/// Runs a test on a one-node machine on which guest 0 has written to all registers.
fn on_a_machine(kind: Machine, test: impl FnOnce(&MachineUnderTest)) {
    let board = Board::new(kind, 1, &[]);
    let guests = [Guest::new([LOSER], ALL), Guest::new([NEXT], NONE)];
    let machine = MachineUnderTest::ready(&board, &guests);
    for id in registers(&machine) {
        assert_eq!(machine.set(LOSER, id, 3), EOK);
    }
    board.put_pic(LOSER, 3);
    board.before_accesses(|_| steps::step());
    board.before_cross_calls(|_| steps::step());
    board.after_pcr_writes(|_| steps::step());
    test(&machine);
}

/// Asserts that the next holder reads none of the loser's values. A dead strand may still hold a hub or L2 control.
fn nothing_is_read(machine: &MachineUnderTest) {
    for id in registers(machine) {
        let (status, value) = machine.get(NEXT, id);
        assert!(status != EOK || value == 0, "PerfReg {id}: {value}");
    }
}

/// Lets all strands that are not dead take their cross-calls.
fn acknowledge(machine: &MachineUnderTest, dead: &[u16]) {
    for _ in 0..20 {
        for number in [LOSER, NEXT, OPERATOR, SECOND] {
            if !dead.contains(&number) {
                machine.acknowledge(number);
            }
        }
    }
}

/// Reports the deaths, and lets the living strands acknowledge. Asserts that none of the loser's values can be read in the meantime.
fn report(machine: &MachineUnderTest, dead: &[u16]) {
    nothing_is_read(machine);
    for number in dead {
        machine.strand_died(SECOND, *number);
    }
    nothing_is_read(machine);
    acknowledge(machine, dead);
    nothing_is_read(machine);
}

/// Asserts that the change is complete: the holder finds zeros, and the other guest is refused.
fn is_complete(machine: &MachineUnderTest, change: &Change, dead: &[u16]) {
    assert_eq!(machine.awaited(), None);
    // The dead strands come back. Each of them takes its cross-call before it does anything else.
    for number in dead {
        machine.acknowledge(*number);
    }
    for number in [LOSER, NEXT] {
        assert_eq!(machine.negotiate(number, 1, 1), EOK);
    }
    let l2 = Unit::L2(Node::Node0);
    if !machine.unit(l2).in_service {
        // The dead strand held the lock of L2 control.
        assert_eq!(machine.get(change.holder, 1), (ENOACCESS, 0x0bad));
        assert_eq!(machine.return_to_service(SECOND, l2), Ok(()));
    }
    for id in registers(machine) {
        assert_eq!(machine.get(change.holder, id), (EOK, 0), "PerfReg {id}");
        let refused = machine.get(change.other, id);
        assert_eq!(refused, (ENOACCESS, 0x0bad), "PerfReg {id}");
    }
    assert_eq!(machine.board().pcrs()[&LOSER], 0);
    assert_eq!(machine.board().pics()[&LOSER], 0);
}

/// Repeatedly runs `before`, and then the steps of `act` on strand `dies`, which dies at each step in turn. Returns the number of steps.
fn at_each_step(
    change: &Change,
    before: impl Fn(&MachineUnderTest),
    dies: u16,
    act: impl Fn(&MachineUnderTest),
) -> usize {
    let mut number = 0;
    loop {
        let mut died = false;
        on_a_machine(Machine::Batoka, |machine| {
            before(machine);
            died = steps::die_at(number, || act(machine)).is_none();
            let dead: &[u16] = if died { &[dies] } else { &[] };
            if died {
                report(machine, dead);
                (change.begin)(machine, SECOND);
            }
            acknowledge(machine, dead);
            is_complete(machine, change, dead);
        });
        if !died {
            return number;
        }
        number += 1;
    }
}

/// The operator dies at each of the steps that begin the change. There are more than 50 steps.
fn the_operator_dies(change: &Change) {
    let steps = at_each_step(change, |_| {}, OPERATOR, |machine| (change.begin)(machine, OPERATOR));
    assert!(steps > 50, "{steps} steps");
    tests::print_line(format_args!("{steps} steps"));
}

/// The operator begins the change. The loser dies at each step of its acknowledgement and its scrub. There are more than 300 steps.
fn the_loser_dies(change: &Change) {
    let begin = |machine: &MachineUnderTest| (change.begin)(machine, OPERATOR);
    let steps = at_each_step(change, begin, LOSER, |machine| assert!(machine.acknowledge(LOSER)));
    assert!(steps > 300, "{steps} steps");
    tests::print_line(format_args!("{steps} steps"));
}

#[test]
fn the_operator_begins_a_transfer() {
    the_operator_dies(&TRANSFER);
}

#[test]
fn the_loser_acknowledges_a_transfer_and_scrubs() {
    the_loser_dies(&TRANSFER);
}

#[test]
fn the_operator_resets_a_guest() {
    the_operator_dies(&RESET);
}

#[test]
fn the_strand_of_a_guest_that_is_reset_acknowledges_and_scrubs() {
    the_loser_dies(&RESET);
}

/// The loser dies at each step of its acknowledgement. The strand that reports this death dies at every seventh step of its report,
/// starting at a step that depends on the loser's step. The test also passes with all pairs of steps, but then takes a minute.
#[test]
fn two_strands_die() {
    let (mut first, mut pairs) = (0, 0);
    let mut died = [true; 2];
    while died[0] {
        let mut second = first % 7;
        died[1] = true;
        while died[0] && died[1] {
            on_a_machine(Machine::Maramba, |machine| {
                (TRANSFER.begin)(machine, OPERATOR);
                let acknowledges = || assert!(machine.acknowledge(LOSER));
                died[0] = steps::die_at(first, acknowledges).is_none();
                let reports = || machine.strand_died(OPERATOR, LOSER);
                died[1] = steps::die_at(second, reports).is_none();
                let dead = [LOSER, OPERATOR];
                report(machine, &dead);
                (TRANSFER.begin)(machine, SECOND);
                acknowledge(machine, &dead);
                is_complete(machine, &TRANSFER, &dead);
            });
            second += 7;
            pairs += 1;
        }
        first += 1;
    }
    assert!(pairs > 1_000, "{pairs} pairs");
    tests::print_line(format_args!("{pairs} pairs of steps"));
}
