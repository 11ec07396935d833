//! The CPC back end configures, enables and loses the counters of its strand.

use tests::board::Board;
use tests::machine::MachineUnderTest;
use tests::oracle::Trap::{Core, Fast};
use tests::oracle::{Cell, Grant, Guest, Machine};

use super::{GETPERF, P, SET_VERSION, SETPERF, X, play};

/// The CPC back end: an L2 event, the probe for HT, then stop, configure and enable, all with the right to do so.
#[test]
#[rustfmt::skip]
fn cpc_with_every_right() {
    let board = Board::new(Machine::Maramba, 1, &[]);
    let guest = Guest::new(0..64, Grant::GLOBAL_HTSTRAND);
    let machine = MachineUnderTest::new(&board, &[guest]);
    play(
        &machine,
        7,
        &[
            (Core, SET_VERSION, [0x205, 1, 0, X, P], [0, 0, 0, X, P]),
            // L2_dmiss_ld served from remote memory.
            (Fast, SETPERF, [1, 2, X, X, P], [0, 2, X, X, P]),
            (Fast, GETPERF, [1, X, X, X, P], [0, 2, X, X, P]),
            // The probe for HT, and back.
            (Fast, SETPERF, [0, 0xc000_0000_0000_0009, X, X, P], [0, 0xc000_0000_0000_0009, X, X, P]),
            (Fast, GETPERF, [0, X, X, X, P], [0, 0xc000_0000_0000_0009, X, X, P]),
            (Fast, SETPERF, [0, 0xc000_0000_0000_0001, X, X, P], [0, 0xc000_0000_0000_0001, X, X, P]),
            // L2_dmiss_ld (0x320) on PIC0, Instr_cnt (0x2fd) on PIC1, TOE1, HT, UT, ST, PRIV.
            (Fast, SETPERF, [0, 0x0000_0000_17e8_c82f, X, X, P], [0, 0x0000_0000_17e8_c82f, X, X, P]),
            (Fast, GETPERF, [0, X, X, X, P], [0, 0x0000_0000_17e8_c82f, X, X, P]),
            // Stop.
            (Fast, SETPERF, [0, 0xc000_0000_0000_0001, X, X, P], [0, 0xc000_0000_0000_0001, X, X, P]),
        ],
    );
    for bank in 0..8 {
        assert_eq!(board.holds(Cell::L2 { node: 0, bank }), 0x20_0000_0000);
    }
    // The PCR is the strand's own.
    play(
        &machine,
        8,
        &[(Fast, GETPERF, [0, X, X, X, P], [0, 0, X, X, P])],
    );
}

/// The same with `strand` only: no L2 event, no HT, and the rest works.
#[test]
#[rustfmt::skip]
fn cpc_without_ht() {
    let board = Board::new(Machine::Maramba, 1, &[]);
    let guest = Guest::new(0..64, Grant::STRAND);
    let machine = MachineUnderTest::new(&board, &[guest]);
    play(
        &machine,
        7,
        &[
            (Core, SET_VERSION, [0x205, 1, 0, X, P], [0, 0, 0, X, P]),
            (Fast, SETPERF, [1, 2, X, X, P], [10, 2, X, X, P]),
            (Fast, SETPERF, [0, 0xc000_0000_0000_0009, X, X, P], [10, 0xc000_0000_0000_0009, X, X, P]),
            (Fast, GETPERF, [0, X, X, X, P], [0, 0, X, X, P]),
            (Fast, SETPERF, [0, 0xc000_0000_0000_0001, X, X, P], [0, 0xc000_0000_0000_0001, X, X, P]),
            (Fast, SETPERF, [0, 0x0000_0000_17e8_c827, X, X, P], [0, 0x0000_0000_17e8_c827, X, X, P]),
            (Fast, GETPERF, [0, X, X, X, P], [0, 0x0000_0000_17e8_c827, X, X, P]),
        ],
    );
}

/// HT is taken away between two boots of the guest: while its old configuration still asks for HT, the PCR shows that
/// the bit is gone, which is how the back end knows that its right was revoked.
#[test]
#[rustfmt::skip]
fn a_revoked_right_is_seen_as_ht_0() {
    let board = Board::new(Machine::Maramba, 1, &[]);
    let before = [Guest::new(0..64, Grant::HTSTRAND)];
    let machine = MachineUnderTest::new(&board, &before);
    play(
        &machine,
        7,
        &[
            (Core, SET_VERSION, [0x205, 1, 0, X, P], [0, 0, 0, X, P]),
            (Fast, SETPERF, [0, 0x0000_0000_17e8_c82f, X, X, P], [0, 0x0000_0000_17e8_c82f, X, X, P]),
        ],
    );
    // The strand clears its HT as the right is lost.
    board.put_pcr(7, 0x0000_0000_17e8_c827);
    let after = [Guest::new(0..64, Grant::STRAND)];
    let machine = MachineUnderTest::new(&board, &after);
    play(
        &machine,
        7,
        &[
            (Core, SET_VERSION, [0x205, 1, 0, X, P], [0, 0, 0, X, P]),
            (Fast, GETPERF, [0, X, X, X, P], [0, 0x0000_0000_17e8_c827, X, X, P]),
            (Fast, SETPERF, [0, 0x0000_0000_17e8_c82f, X, X, P], [10, 0x0000_0000_17e8_c82f, X, X, P]),
            (Fast, GETPERF, [0, X, X, X, P], [0, 0x0000_0000_17e8_c827, X, X, P]),
        ],
    );
}
