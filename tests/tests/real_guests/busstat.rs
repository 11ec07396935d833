//! `busstat` configures and reads the counters of memory controllers and hubs.

use tests::oracle::Trap::Fast;
use tests::oracle::{Cell, Grant, Guest, HubCondition, Machine};

use super::{GETPERF, P, X, get, play, set, set_version, start};

/// `busstat` selects an event for each counter of a memory controller, and keeps the other select, then reads PIC and PCR.
#[test]
#[rustfmt::skip]
fn busstat_on_dram() {
    let (mut both, _) = start(Machine::Maramba, 2, Guest::new(0..128, Grant::GLOBAL));
    play(&mut both, 70, &[
        set_version(0x205, 1, 0, Ok(0)),
        // mem_reads (0) on PIC0, mem_writes (1) on PIC1: (pcr & !0xf0) | 0x00, (pcr & !0xf) | 0x1.
        get(8, Ok(0x00)),
        set(8, 0x00, 0),
        get(8, Ok(0x00)),
        set(8, 0x01, 0),
        // wb_buf_hits (7) on PIC0: the event of PIC1 stays.
        get(8, Ok(0x01)),
        set(8, 0x71, 0),
        get(8, Ok(0x71)),
        // Bits above the selects are dropped.
        set(8, !0xff | 0x21, 0),
        get(8, Ok(0x21)),
    ]);
    both.put(Cell::Register(9), 0x0000_1234_7fff_fff0);
    play(&mut both, 3, &[
        get(9, Ok(0x0000_1234_7fff_fff0)),
        get(8, Ok(0x21)),
    ]);
}

/// `busstat` on an LPU: it repeats each read until the status is no longer EWOULDBLOCK, and makes each write once.
#[test]
#[rustfmt::skip]
fn busstat_on_a_hub() {
    let guest = Guest::new(0..256, Grant::GLOBAL).with_compat();
    let (mut both, _) = start(Machine::Batoka, 4, guest);
    play(&mut both, 130, &[
        set_version(0x205, 1, 0, Ok(0)),
        // ZAM2_LPU_B: cycles_c2c_portX (0x2) on PIC0, cycles_HIT_M (0x1c) on PIC1.
        get(57, Ok(0x0000)),
        set(57, 0x0002, 0),
        get(57, Ok(0x0002)),
        set(57, 0x1c02, 0),
    ]);
    both.put(Cell::Register(58), 0xffff_ffff_ffff_fffe);
    both.put(Cell::Register(59), 0x0123_4567_89ab_cdef);
    both.set_hub(2, HubCondition::Busy);
    play(&mut both, 130, &[
        get(58, Err(9)),
        get(58, Err(9)),
        get(58, Err(9)),
        set(57, 0x0101, 9),
        // Another hub is not busy.
        get(75, Ok(0)),
    ]);
    both.set_hub(2, HubCondition::Free);
    play(&mut both, 130, &[
        get(58, Ok(0xffff_ffff_ffff_fffe)),
        get(59, Ok(0x0123_4567_89ab_cdef)),
        get(57, Ok(0x1c02)),
        // Bits above the selects are dropped.
        set(57, !0xff00 | 0x1300, 0),
        get(57, Ok(0x13ff)),
    ]);
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
