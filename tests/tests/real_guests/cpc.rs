//! The CPC back end configures and enables the counters of its strand, and loses its right to them.

use tests::oracle::Trap::{Core, Fast};
use tests::oracle::{Cell, Grant, Guest, Machine};

use super::{GETPERF, P, SET_VERSION, SETPERF, X, play, start};

/// An L2 event, the probe for HT, then stop, configure and enable, with the right to all of these.
#[test]
#[rustfmt::skip]
fn cpc_with_every_right() {
    let guest = Guest::new(0..64, Grant::GLOBAL_HTSTRAND);
    let (mut both, board) = start(Machine::Maramba, 1, guest);
    play(
        &mut both,
        7,
        &[
            (Core, SET_VERSION, [0x205, 1, 0, X, P], [0, 0, 0, X, P]),
            // L2_dmiss_ld served from remote memory.
            (Fast, SETPERF, [1, 2, X, X, P], [0, 2, X, X, P]),
            (Fast, GETPERF, [1, X, X, X, P], [0, 2, X, X, P]),
            // The probe for HT, and back.
            (Fast, SETPERF, [0, 0xc000_0000_0000_0009, X, X, P], [0, 0xc000_0000_0000_0009, X, X, P]),
            (Fast, GETPERF, [0, X, X, X, P], [0, 0x9, X, X, P]),
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
        &mut both,
        8,
        &[(Fast, GETPERF, [0, X, X, X, P], [0, 0, X, X, P])],
    );
}

/// The same with `strand` only: no L2 event, no HT, and the rest works.
#[test]
#[rustfmt::skip]
fn cpc_without_ht() {
    let (mut both, _) = start(Machine::Maramba, 1, Guest::new(0..64, Grant::STRAND));
    play(
        &mut both,
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

/// HT is revoked while the back end still wants it. The PCR shows that the bit is 0, by which the back end learns that it
/// has lost the right.
#[test]
#[rustfmt::skip]
fn a_revoked_right_is_seen_as_ht_0() {
    let (mut both, _) = start(Machine::Maramba, 1, Guest::new(0..64, Grant::HTSTRAND));
    play(
        &mut both,
        7,
        &[
            (Core, SET_VERSION, [0x205, 1, 0, X, P], [0, 0, 0, X, P]),
            (Fast, SETPERF, [0, 0x0000_0000_17e8_c82f, X, X, P], [0, 0x0000_0000_17e8_c82f, X, X, P]),
        ],
    );
    both.reconfigure(&[Grant::STRAND]);
    both.all_acknowledge();
    play(
        &mut both,
        7,
        &[
            (Core, SET_VERSION, [0x205, 1, 0, X, P], [0, 0, 0, X, P]),
            (Fast, GETPERF, [0, X, X, X, P], [0, 0x0000_0000_17e8_c827, X, X, P]),
            (Fast, SETPERF, [0, 0x0000_0000_17e8_c82f, X, X, P], [10, 0x0000_0000_17e8_c82f, X, X, P]),
            (Fast, GETPERF, [0, X, X, X, P], [0, 0x0000_0000_17e8_c827, X, X, P]),
        ],
    );
}
