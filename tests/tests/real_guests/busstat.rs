//! `busstat` reads and sets the counters of memory controllers and hubs.

use tests::board::Board;
use tests::machine::MachineUnderTest;
use tests::oracle::Trap::{Core, Fast};
use tests::oracle::{Cell, Grant, Guest, HubCondition, Machine};

use super::{GETPERF, P, SET_VERSION, SETPERF, X, play};

/// `busstat` on a memory controller: an event for each counter by way of the clearing mask, then PIC and PCR.
#[test]
#[rustfmt::skip]
fn busstat_on_dram() {
    let board = Board::new(Machine::Maramba, 2, &[]);
    let guest = Guest::new(0..128, Grant::GLOBAL);
    let machine = MachineUnderTest::new(&board, &[guest]);
    play(
        &machine,
        70,
        &[
            (Core, SET_VERSION, [0x205, 1, 0, X, P], [0, 0, 0, X, P]),
            // mem_reads (0) on PIC0, mem_writes (1) on PIC1: (pcr & !0xf0) | 0x00, (pcr & !0xf) | 0x1.
            (Fast, GETPERF, [8, X, X, X, P], [0, 0x00, X, X, P]),
            (Fast, SETPERF, [8, 0x00, X, X, P], [0, 0x00, X, X, P]),
            (Fast, GETPERF, [8, X, X, X, P], [0, 0x00, X, X, P]),
            (Fast, SETPERF, [8, 0x01, X, X, P], [0, 0x01, X, X, P]),
            // wb_buf_hits (7) on PIC0: the event of PIC1 stays.
            (Fast, GETPERF, [8, X, X, X, P], [0, 0x01, X, X, P]),
            (Fast, SETPERF, [8, 0x71, X, X, P], [0, 0x71, X, X, P]),
            (Fast, GETPERF, [8, X, X, X, P], [0, 0x71, X, X, P]),
            // Bits above the selects are dropped.
            (Fast, SETPERF, [8, !0xff | 0x21, X, X, P], [0, !0xff | 0x21, X, X, P]),
            (Fast, GETPERF, [8, X, X, X, P], [0, 0x21, X, X, P]),
        ],
    );
    board.put(Cell::Register(9), 0x0000_1234_7fff_fff0);
    play(
        &machine,
        3,
        &[
            (Fast, GETPERF, [9, X, X, X, P], [0, 0x0000_1234_7fff_fff0, X, X, P]),
            (Fast, GETPERF, [8, X, X, X, P], [0, 0x21, X, X, P]),
        ],
    );
}

/// `busstat` on an LPU: PIC0, PIC1, PCR, each asked for until it is no longer EWOULDBLOCK. A write is asked for once.
#[test]
#[rustfmt::skip]
fn busstat_on_a_hub() {
    let board = Board::new(Machine::Batoka, 4, &[]);
    let guest = Guest::new(0..256, Grant::GLOBAL).with_compat();
    let machine = MachineUnderTest::new(&board, &[guest]);
    play(
        &machine,
        130,
        &[
            (Core, SET_VERSION, [0x205, 1, 0, X, P], [0, 0, 0, X, P]),
            // ZAM2_LPU_B: cycles_c2c_portX (0x2) on PIC0, cycles_HIT_M (0x1c) on PIC1.
            (Fast, GETPERF, [57, X, X, X, P], [0, 0x0000, X, X, P]),
            (Fast, SETPERF, [57, 0x0002, X, X, P], [0, 0x0002, X, X, P]),
            (Fast, GETPERF, [57, X, X, X, P], [0, 0x0002, X, X, P]),
            (Fast, SETPERF, [57, 0x1c02, X, X, P], [0, 0x1c02, X, X, P]),
        ],
    );
    board.put(Cell::Register(58), 0xffff_ffff_ffff_fffe);
    board.put(Cell::Register(59), 0x0123_4567_89ab_cdef);
    board.set_hub(2, HubCondition::Busy);
    play(
        &machine,
        130,
        &[
            (Fast, GETPERF, [58, X, X, X, P], [9, X, X, X, P]),
            (Fast, GETPERF, [58, X, X, X, P], [9, X, X, X, P]),
            (Fast, GETPERF, [58, X, X, X, P], [9, X, X, X, P]),
            (Fast, SETPERF, [57, 0x0101, X, X, P], [9, 0x0101, X, X, P]),
            // Another hub is not concerned.
            (Fast, GETPERF, [75, X, X, X, P], [0, 0, X, X, P]),
        ],
    );
    board.set_hub(2, HubCondition::Free);
    play(
        &machine,
        130,
        &[
            (Fast, GETPERF, [58, X, X, X, P], [0, 0xffff_ffff_ffff_fffe, X, X, P]),
            (Fast, GETPERF, [59, X, X, X, P], [0, 0x0123_4567_89ab_cdef, X, X, P]),
            (Fast, GETPERF, [57, X, X, X, P], [0, 0x1c02, X, X, P]),
        ],
    );
}

/// Two strands spin on a hub, as `busstat` does: the one that was refused is next.
#[test]
#[rustfmt::skip]
fn busstat_twice() {
    let board = Board::new(Machine::Batoka, 1, &[]);
    let guest = Guest::new([4, 5], Grant::GLOBAL);
    let machine = MachineUnderTest::new(&board, &[guest]);
    assert_eq!(machine.negotiate(4, 1, 1), 0);
    let get = |strand, expected| {
        let line = (Fast, GETPERF, [19, X, X, X, P], expected);
        play(&machine, strand, &[line]);
    };
    board.make_busy_once(0);
    get(5, [9, X, X, X, P]);
    get(4, [9, X, X, X, P]);
    get(4, [9, X, X, X, P]);
    get(5, [0, 0, X, X, P]);
    get(4, [0, 0, X, X, P]);
}
