//! Tests how the CPC back end configures and enables its strand's counters, and how it loses its right to them.

use tests::comparison::Comparison;
use tests::oracle::{Cell, Grant, Guest, Machine};

use super::{get, negotiated, play, set, set_version};

/// Starts a guest with 64 strands, and negotiates group 0x205 on strand 7.
fn started(grant: Grant) -> Comparison<'static> {
    negotiated(Machine::Maramba, 1, Guest::new(0..64, grant), 7)
}

/// The back end sets an L2 event, probes for HT, and stops, configures and enables the counters. It has the rights to do all of this.
#[test]
#[rustfmt::skip]
fn cpc_with_every_right() {
    let mut both = started(Grant::GLOBAL_HTSTRAND);
    play(&mut both, 7, &[
        // The event is L2_dmiss_ld served from remote memory.
        set(1, 2, 0),
        get(1, Ok(2)),
        // The back end probes for HT and clears it again.
        set(0, 0xc000_0000_0000_0009, 0),
        get(0, Ok(0x9)),
        set(0, 0xc000_0000_0000_0001, 0),
        // PIC0 counts L2_dmiss_ld (0x320), and PIC1 counts Instr_cnt (0x2fd). The other bits set are TOE1, HT, UT, ST and PRIV.
        set(0, 0x0000_0000_17e8_c82f, 0),
        get(0, Ok(0x0000_0000_17e8_c82f)),
        // The back end stops the counters.
        set(0, 0xc000_0000_0000_0001, 0),
    ]);
    for bank in 0..8 {
        assert_eq!(both.machine.board().value_of(Cell::L2 { node: 0, bank }), 0x20_0000_0000);
    }
    // Each strand has its own PCR.
    play(&mut both, 8, &[get(0, Ok(0))]);
}

/// With only `strand`, the back end gets no L2 event and no HT. Everything else works.
#[test]
#[rustfmt::skip]
fn cpc_without_ht() {
    let mut both = started(Grant::STRAND);
    play(&mut both, 7, &[
        set(1, 2, 10),
        set(0, 0xc000_0000_0000_0009, 10),
        get(0, Ok(0)),
        set(0, 0xc000_0000_0000_0001, 0),
        set(0, 0x0000_0000_17e8_c827, 0),
        get(0, Ok(0x0000_0000_17e8_c827)),
    ]);
}

/// HT is revoked while the back end is still using it. The back end reads 0 in the PCR's HT bit, and so learns that it has lost the right.
#[test]
#[rustfmt::skip]
fn a_revoked_right_is_seen_as_ht_0() {
    let mut both = started(Grant::HTSTRAND);
    play(&mut both, 7, &[
        set(0, 0x0000_0000_17e8_c82f, 0),
    ]);
    both.reconfigure(&[Grant::STRAND]);
    both.all_acknowledge();
    play(&mut both, 7, &[
        set_version(0x205, 1, 0, Ok(0)),
        get(0, Ok(0x0000_0000_17e8_c827)),
        set(0, 0x0000_0000_17e8_c82f, 10),
        get(0, Ok(0x0000_0000_17e8_c827)),
    ]);
}
