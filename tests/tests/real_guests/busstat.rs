//! `busstat` configures and reads the counters of memory controllers and hubs.

use tests::oracle::Trap::{Core, Fast};
use tests::oracle::{Cell, Grant, Guest, HubCondition, Machine};

use super::{GETPERF, P, SET_VERSION, SETPERF, X, play, start};

/// `busstat` selects an event for each counter of a memory controller, and keeps the other select, then reads PIC and PCR.
#[test]
#[rustfmt::skip]
fn busstat_on_dram() {
    let (mut both, _) = start(Machine::Maramba, 2, Guest::new(0..128, Grant::GLOBAL));
    play(
        &mut both,
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
    both.put(Cell::Register(9), 0x0000_1234_7fff_fff0);
    play(
        &mut both,
        3,
        &[
            (Fast, GETPERF, [9, X, X, X, P], [0, 0x0000_1234_7fff_fff0, X, X, P]),
            (Fast, GETPERF, [8, X, X, X, P], [0, 0x21, X, X, P]),
        ],
    );
}

/// `busstat` on an LPU: it repeats each read until the status is no longer EWOULDBLOCK, and makes each write once.
#[test]
#[rustfmt::skip]
fn busstat_on_a_hub() {
    let guest = Guest::new(0..256, Grant::GLOBAL).with_compat();
    let (mut both, _) = start(Machine::Batoka, 4, guest);
    play(
        &mut both,
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
    both.put(Cell::Register(58), 0xffff_ffff_ffff_fffe);
    both.put(Cell::Register(59), 0x0123_4567_89ab_cdef);
    both.set_hub(2, HubCondition::Busy);
    play(
        &mut both,
        130,
        &[
            (Fast, GETPERF, [58, X, X, X, P], [9, X, X, X, P]),
            (Fast, GETPERF, [58, X, X, X, P], [9, X, X, X, P]),
            (Fast, GETPERF, [58, X, X, X, P], [9, X, X, X, P]),
            (Fast, SETPERF, [57, 0x0101, X, X, P], [9, 0x0101, X, X, P]),
            // Another hub is not busy.
            (Fast, GETPERF, [75, X, X, X, P], [0, 0, X, X, P]),
        ],
    );
    both.set_hub(2, HubCondition::Free);
    play(
        &mut both,
        130,
        &[
            (Fast, GETPERF, [58, X, X, X, P], [0, 0xffff_ffff_ffff_fffe, X, X, P]),
            (Fast, GETPERF, [59, X, X, X, P], [0, 0x0123_4567_89ab_cdef, X, X, P]),
            (Fast, GETPERF, [57, X, X, X, P], [0, 0x1c02, X, X, P]),
            // Bits above the selects are dropped.
            (Fast, SETPERF, [57, !0xff00 | 0x1300, X, X, P], [0, !0xff00 | 0x1300, X, X, P]),
            (Fast, GETPERF, [57, X, X, X, P], [0, 0x13ff, X, X, P]),
        ],
    );
}

/// Two strands spin on a hub, as `busstat` does: the strand that was refused first is next. The reference model does not
/// refuse a strand on behalf of another, so only the service is asked.
#[test]
#[rustfmt::skip]
fn busstat_twice() {
    let (both, board) = start(Machine::Batoka, 1, Guest::new([4, 5], Grant::GLOBAL));
    assert_eq!(both.machine.negotiate(4, 1, 1), 0);
    let get = |strand, expected: [u64; 5]| {
        let (registers, _) = both.machine.trap(strand, Fast, [19, X, X, X, P, GETPERF]);
        assert_eq!(registers[..5], expected);
    };
    board.make_busy_once(0);
    get(5, [9, X, X, X, P]);
    get(4, [9, X, X, X, P]);
    get(4, [9, X, X, X, P]);
    get(5, [0, 0, X, X, P]);
    get(4, [0, 0, X, X, P]);
}
