//! The calls that the fast path serves. All others take the slow path, which has the same results.

use guest_abi::status::EOK;
use guest_abi::trap::{VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{HvError, Registers};
use hv_core::{Caller, Context, Frame, Negotiated, NegotiatedVersion, Service};
use tests::board::Board;
use tests::machine::{MachineUnderTest, guest_id, strand};
use tests::oracle::{Cell, Fault, Grant, Guest, Machine};

/// Returns the registers that a guest with every right may use on a Batoka with one node, without register 1.
fn ids() -> impl Iterator<Item = u64> {
    [0].into_iter().chain(2..6).chain(18..90)
}

#[test]
fn the_fast_path_serves_what_a_guest_may_use() {
    let board = Board::new(Machine::Batoka, 1, &[]);
    let machine = MachineUnderTest::new(&board, &[Guest::new([5], Grant::GLOBAL_HTSTRAND)]);
    let service = machine.service();
    let caller = Caller {
        guest: guest_id(0),
        strand: strand(5),
    };
    let version = Negotiated::new(NegotiatedVersion::new(2));
    let context = service.context(caller, &version);
    let call = |function, id, value| {
        let before = Registers::call(function, [id, value, 0, 0, 0]);
        let mut registers = before;
        let served = context.fast_path(function, &mut Frame::new(&mut registers));
        assert!(served || registers == before, "changed but not served");
        served.then_some((registers.o0, registers.o1))
    };
    let get = |id| call(VFALLS_GET_PERFREG, id, 0xbad);
    let set = |id| call(VFALLS_SET_PERFREG, id, 1);
    for id in 0..92 {
        assert_eq!(get(id), None, "PerfReg {id}, not negotiated");
        assert_eq!(set(id), None, "PerfReg {id}, not negotiated");
    }
    service.version_changed(guest_id(0), &version);
    for id in ids() {
        assert_eq!(get(id), Some((EOK, 0)), "PerfReg {id}");
        assert_eq!(set(id), Some((EOK, 1)), "PerfReg {id}");
        assert_eq!(get(id), Some((EOK, 1)), "PerfReg {id}");
    }
    let others = [1, u64::MAX].into_iter().chain(6..18).chain(90..200);
    for id in others {
        assert_eq!(get(id), None, "PerfReg {id}");
        assert_eq!(set(id), None, "PerfReg {id}");
    }
    board.break_cell(Cell::Register(3), Fault::Always);
    let fault = Some((HvError::NoAccess.number(), 0xbad));
    assert_eq!(get(3), fault, "the access is made, and faults");
    assert_eq!(get(3), None, "the unit is out of service");
}
