//! Tests how `busstat` configures and reads the counters of memory controllers and hubs.

use tests::oracle::Trap::Fast;
use tests::oracle::{Cell, Grant, Guest, HubCondition, Machine};

use super::{GETPERF, P, X, get, negotiated, play, set, start};

/// `busstat` selects an event for each counter of a memory controller, one after the other. Then it reads PIC and PCR.
#[test]
#[rustfmt::skip]
fn busstat_on_dram() {
    let mut both = negotiated(Machine::Maramba, 2, Guest::new(0..128, Grant::GLOBAL), 70);
    play(&mut both, 70, &[
        // `busstat` selects mem_reads (0) for PIC0 with (pcr & !0xf0) | 0x00, and mem_writes (1) for PIC1 with (pcr & !0xf) | 0x1.
        get(8, Ok(0x00)),
        set(8, 0x00, 0),
        get(8, Ok(0x00)),
        set(8, 0x01, 0),
        // PIC0 counts wb_buf_hits (7). PIC1 keeps its event.
        get(8, Ok(0x01)),
        set(8, 0x71, 0),
        get(8, Ok(0x71)),
        // Bits above the select fields are dropped.
        set(8, !0xff | 0x21, 0),
        get(8, Ok(0x21)),
    ]);
    both.put(Cell::Register(9), 0x0000_1234_7fff_fff0);
    play(&mut both, 3, &[
        get(9, Ok(0x0000_1234_7fff_fff0)),
        get(8, Ok(0x21)),
    ]);
}

/// `busstat` uses an LPU. It repeats each read while the status is EWOULDBLOCK, but makes each write only once.
#[test]
#[rustfmt::skip]
fn busstat_on_a_hub() {
    let guest = Guest::new(0..256, Grant::GLOBAL).with_compat();
    let mut both = negotiated(Machine::Batoka, 4, guest, 130);
    play(&mut both, 130, &[
        // On ZAM2_LPU_B, PIC0 counts cycles_c2c_portX (0x2) and PIC1 cycles_HIT_M (0x1c).
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
        // Hub 3 is not busy.
        get(75, Ok(0)),
    ]);
    both.set_hub(2, HubCondition::Free);
    play(&mut both, 130, &[
        get(58, Ok(0xffff_ffff_ffff_fffe)),
        get(59, Ok(0x0123_4567_89ab_cdef)),
        get(57, Ok(0x1c02)),
        // Bits above the select fields are dropped.
        set(57, !0xff00 | 0x1300, 0),
        get(57, Ok(0x13ff)),
    ]);
}

/// Two strands spin on a hub as `busstat` does. The strand that was refused first gets the hub next. In the reference model, another
/// strand's turn is no reason to refuse a call, so the test calls only the service.
#[test]
#[rustfmt::skip]
fn busstat_twice() {
    let both = start(Machine::Batoka, 1, Guest::new([4, 5], Grant::GLOBAL));
    assert_eq!(both.machine.negotiate(4, 1, 1), 0);
    let get = |strand, expected: [u64; 5]| {
        let (registers, _) = both.machine.trap(strand, Fast, [19, X, X, X, P, GETPERF]);
        assert_eq!(registers[..5], expected);
    };
    both.machine.board().make_busy_once(0);
    get(5, [9, X, X, X, P]);
    get(4, [9, X, X, X, P]);
    get(4, [9, X, X, X, P]);
    get(5, [0, 0, X, X, P]);
    get(4, [0, 0, X, X, P]);
}
