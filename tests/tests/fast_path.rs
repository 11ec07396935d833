//! Tests which calls the fast path serves. All other calls must take the slow path, and give the same results.

use guest_abi::status::EOK;
use guest_abi::trap::{VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{HvError, Mcu, Node, Registers};
use hv_core::{Caller, Context, Frame, Negotiated, NegotiatedVersion, Reply, Service};
use perfctr_service::{Unit, Vfalls};
use tests::board::Board;
use tests::machine::{MachineUnderTest, guest_id, strand};
use tests::oracle::{Cell, Fault, Grant, Guest, Machine};

const NONE: NegotiatedVersion<Vfalls> = NegotiatedVersion::NONE;
const V1_0: NegotiatedVersion<Vfalls> = NegotiatedVersion::new(1);
const V1_1: NegotiatedVersion<Vfalls> = NegotiatedVersion::new(2);
const HT: u64 = 1 << 3;

/// Returns guest 0's strand 5 as the caller.
fn caller() -> Caller {
    Caller { guest: guest_id(0), strand: strand(5) }
}

/// Returns all registers that a guest with every right may use on a one-node Batoka, except register 1.
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
    assert_eq!((get(1), set(1)), (None, None), "L2 control has a lock");
    board.break_cell(Cell::Register(3), Fault::Always);
    let fault = Some((HvError::NoAccess.number(), 0xbad));
    assert_eq!(get(3), fault, "the access is made, and faults");
    board.repair();
    assert_eq!(get(3), fault, "the unit is out of service");
}

/// The fast path refuses the same calls as the slow path, with the same status, and counts each call once. Without a version, it refuses
/// all calls with EBADTRAP. The guest has one strand, on node 0, which has only one memory channel.
#[test]
fn the_fast_path_refuses_as_the_slow_path() {
    let mut refused = 0;
    for (model, nodes) in [(Machine::Maramba, 2), (Machine::Batoka, 4), (Machine::Batoka, 1)] {
        for grant in Grant::ALL {
            let l2 = (1, Cell::L2 { node: 0, bank: 0 });
            let broken =
                [None, Some((3, Cell::Register(3))), Some((20, Cell::Register(20))), Some(l2)];
            for (version, out) in
                [NONE, V1_0, V1_1].into_iter().flat_map(|version| broken.map(|out| (version, out)))
            {
                let board = Board::new(model, nodes, &[(0, 1)]);
                let machine = MachineUnderTest::new(&board, &[Guest::new([5], grant)]);
                let service = machine.service();
                let negotiated = Negotiated::new(version);
                service.version_changed(guest_id(0), &negotiated);
                let context = service.context(caller(), &negotiated);
                if let Some((id, cell)) = out {
                    board.break_cell(cell, Fault::Always);
                    let registers = Registers::call(VFALLS_GET_PERFREG, [id, 0, 0, 0, 0]);
                    let _ = context.call(VFALLS_GET_PERFREG, V1_1, &registers);
                    board.repair();
                }
                for id in (0..92).chain([1 << 32, u64::MAX]) {
                    for (function, value) in
                        [(VFALLS_GET_PERFREG, 0), (VFALLS_SET_PERFREG, 0), (VFALLS_SET_PERFREG, HT)]
                    {
                        let told =
                            format!("{model:?} {nodes} {grant:?} {version:?} {out:?} {id} {value}");
                        let before = Registers::call(function, [id, value, 2, 3, 4]);
                        let error = if version.is_none() {
                            HvError::BadTrap
                        } else {
                            match context.call(function, version, &before) {
                                Ok(_) => continue,
                                Err(error) => error.status,
                            }
                        };
                        let counted = service.statistics(guest_id(0));
                        let mut registers = before;
                        assert!(
                            context.fast_path(function, &mut Frame::new(&mut registers)),
                            "{told}"
                        );
                        assert_eq!(registers, Registers { o0: error.number(), ..before }, "{told}");
                        let now = service.statistics(guest_id(0));
                        assert_eq!(now.total(), counted.total() + 1, "{told}");
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(refused > 1000);
}

/// Returns the status of a call if the fast path answers it.
fn fast(context: &impl Context, function: u64, id: u64) -> Option<u64> {
    let mut registers = Registers::call(function, [id, 0, 0, 0, 0]);
    context.fast_path(function, &mut Frame::new(&mut registers)).then_some(registers.o0)
}

#[test]
fn the_slow_path_serves_the_same() {
    for (grant, ht) in [
        (Grant::GLOBAL_STRAND, Err(HvError::NoAccess.into())),
        (Grant::GLOBAL_HTSTRAND, Ok(Reply::Done)),
    ] {
        let board = Board::new(Machine::Batoka, 1, &[]);
        let machine = MachineUnderTest::new(&board, &[Guest::new([5], grant)]);
        let version = Negotiated::new(V1_1);
        for id in ids() {
            let context = machine.service().context(caller(), &version);
            let slow = |function, value| {
                let registers = Registers::call(function, [id, value, 0, 0, 0]);
                context.call(function, V1_1, &registers)
            };
            assert_eq!(slow(VFALLS_SET_PERFREG, 1), Ok(Reply::Done), "PerfReg {id}");
            assert_eq!(slow(VFALLS_GET_PERFREG, 0), Ok(Reply::Value(1)), "PerfReg {id}");
            if id == 0 {
                assert_eq!(slow(VFALLS_SET_PERFREG, HT), ht, "{grant:?}");
            }
        }
    }
}

/// The fast path can be closed for several reasons. Once the reason is gone, the fast path serves calls again.
#[test]
fn the_fast_path_opens_again() {
    let board = Board::new(Machine::Batoka, 1, &[]);
    let guests = [Guest::new([5], Grant::GLOBAL_HTSTRAND)];
    let machine = MachineUnderTest::new(&board, &guests);
    let service = machine.service();
    let version = Negotiated::new(V1_1);
    let context = service.context(caller(), &version);
    let is_open = || {
        let served: Vec<bool> =
            ids().map(|id| fast(&context, VFALLS_GET_PERFREG, id) == Some(EOK)).collect();
        assert!(!served.contains(&!served[0]), "all or nothing");
        served[0]
    };

    // The service does not know the version yet. It learns the version from the first call on the slow path.
    assert!(!is_open() && !context.is_current(V1_1));
    let registers = Registers::call(VFALLS_GET_PERFREG, [0; 5]);
    let served = context.call(VFALLS_GET_PERFREG, V1_1, &registers);
    assert_eq!(served, Ok(Reply::Value(0)));
    assert!(is_open() && context.is_current(V1_1) && !context.is_current(V1_0));

    // The grant is revoked and then given back.
    for grant in [Grant::NONE, Grant::GLOBAL_HTSTRAND] {
        assert_eq!(machine.reconfigure(&[grant]), Ok(()));
        machine.complete_transfer();
        assert_eq!(is_open(), grant != Grant::NONE);
    }

    // A unit faults and returns to service.
    board.break_cell(Cell::Register(3), Fault::Always);
    let refused = Some(HvError::NoAccess.number());
    assert_eq!(fast(&context, VFALLS_GET_PERFREG, 3), refused, "and finds the fault");
    assert_eq!(fast(&context, VFALLS_GET_PERFREG, 2), refused);
    board.repair();
    let unit = Unit::Mcu(Node::Node0, Mcu::Mcu0);
    assert_eq!(machine.return_to_service(5, unit), Ok(()));
    assert!(is_open());
}
