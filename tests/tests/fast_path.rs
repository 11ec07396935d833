//! The calls that the fast path serves. All other calls take the slow path, with the same results.

use guest_abi::status::EOK;
use guest_abi::trap::{VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{HvError, Mcu, Node, Registers};
use hv_core::{Caller, Context, Frame, Negotiated, NegotiatedVersion, Reply, Service};
use perfctr_service::Unit;
use tests::board::Board;
use tests::machine::{MachineUnderTest, guest_id, strand};
use tests::oracle::{Cell, Fault, Grant, Guest, Machine};

const V1_0: NegotiatedVersion = NegotiatedVersion::new(1);
const V1_1: NegotiatedVersion = NegotiatedVersion::new(2);
const HT: u64 = 1 << 3;

/// Returns guest 0 as the caller on strand 5.
fn caller() -> Caller {
    Caller { guest: guest_id(0), strand: strand(5) }
}

/// Returns all registers, except register 1, that a guest with every right may use on a Batoka with one node.
fn ids() -> impl Iterator<Item = u64> {
    [0].into_iter().chain(2..6).chain(18..90)
}

#[test]
fn the_fast_path_serves_what_a_guest_may_use() {
    let board = Board::new(Machine::Batoka, 1, &[]);
    let machine = MachineUnderTest::new(&board, &[Guest::new([5], Grant::GLOBAL_HTSTRAND)]);
    let service = machine.service();
    let version = Negotiated::new(V1_1);
    let context = service.context(caller(), &version);
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

fn is_fast(context: &impl Context, function: u64, id: u64) -> bool {
    let mut registers = Registers::call(function, [id, 0, 0, 0, 0]);
    context.fast_path(function, &mut Frame::new(&mut registers))
}

#[test]
fn the_slow_path_serves_the_same() {
    for (grant, ht) in
        [(Grant::GLOBAL_STRAND, Err(HvError::NoAccess)), (Grant::GLOBAL_HTSTRAND, Ok(Reply::Done))]
    {
        let board = Board::new(Machine::Batoka, 1, &[]);
        let machine = MachineUnderTest::new(&board, &[Guest::new([5], grant)]);
        let version = Negotiated::new(V1_1);
        for id in ids() {
            let context = machine.service().context(caller(), &version);
            let slow = |function, value| {
                let registers = Registers::call(function, [id, value, 0, 0, 0]);
                context.slow_path(function, V1_1, &registers)
            };
            assert_eq!(slow(VFALLS_SET_PERFREG, 1), Ok(Reply::Done), "PerfReg {id}");
            assert_eq!(slow(VFALLS_GET_PERFREG, 0), Ok(Reply::Value(1)), "PerfReg {id}");
            if id == 0 {
                assert_eq!(slow(VFALLS_SET_PERFREG, HT), ht, "{grant:?}");
            }
        }
    }
}

/// When the reason for closing the fast path has gone, the fast path serves calls again.
#[test]
fn the_fast_path_opens_again() {
    let board = Board::new(Machine::Batoka, 1, &[]);
    let guests = [Guest::new([5], Grant::GLOBAL_HTSTRAND)];
    let machine = MachineUnderTest::new(&board, &guests);
    let service = machine.service();
    let version = Negotiated::new(V1_1);
    let context = service.context(caller(), &version);
    let is_open = || {
        let served: Vec<bool> = ids().map(|id| is_fast(&context, VFALLS_GET_PERFREG, id)).collect();
        assert!(!served.contains(&!served[0]), "all or nothing");
        served[0]
    };

    // The service does not know the version yet. The first call on the slow path tells the service.
    assert!(!is_open() && !context.is_current(V1_1));
    let registers = Registers::call(VFALLS_GET_PERFREG, [0; 5]);
    let served = context.slow_path(VFALLS_GET_PERFREG, V1_1, &registers);
    assert_eq!(served, Ok(Reply::Value(0)));
    assert!(is_open() && context.is_current(V1_1) && !context.is_current(V1_0));

    // The grant is revoked, and granted again.
    for grant in [Grant::NONE, Grant::GLOBAL_HTSTRAND] {
        assert_eq!(machine.reconfigure(&[grant]), Ok(()));
        machine.complete_transfer();
        assert_eq!(is_open(), grant != Grant::NONE);
    }

    // A unit faults and returns to service.
    board.break_cell(Cell::Register(3), Fault::Always);
    assert!(is_fast(&context, VFALLS_GET_PERFREG, 3), "and finds the fault");
    assert!(!is_fast(&context, VFALLS_GET_PERFREG, 2));
    board.repair();
    let unit = Unit::Mcu(Node::Node0, Mcu::Mcu0);
    assert_eq!(machine.return_to_service(5, unit), Ok(()));
    assert!(is_open());
}
