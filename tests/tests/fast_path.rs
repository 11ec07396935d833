//! Calls that are answered by one look at a word, and those that are not: only how fast they are depends on it.

use guest_abi::trap::{VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{HvError, Registers};
use hv_core::{Caller, Context, Negotiated, NegotiatedVersion, Reply, Service};
use perfctr_service::{Grant, GuestConfig, PerfCounterService};
use platform::{Machine, Model};
use tests::board::Board;
use tests::machine::{guest_id, strand};
use tests::oracle;

/// Of a Batoka with one node, whatever a guest may use but register 1.
fn ids() -> impl Iterator<Item = u64> {
    [0].into_iter().chain(2..6).chain(18..90)
}

#[test]
fn whatever_a_guest_may_use_is_common() {
    let board = Board::new(oracle::Machine::Batoka, 1, &[]);
    let guest = GuestConfig {
        strands: [strand(5)].into_iter().collect(),
        grant: Grant::ALL,
        compatible: false,
    };
    let machine = Machine::new(Model::Batoka, 1).unwrap();
    let service = PerfCounterService::new(machine, &board, &board, &[guest]).unwrap();
    let caller = Caller {
        guest: guest_id(0),
        strand: strand(5),
    };
    let version = Negotiated::new(NegotiatedVersion::new(2));
    let context = service.context(caller, &version);
    let call = |function, id, value| {
        let registers = Registers::call(function, [id, value, 0, 0, 0]);
        context.fast_path(function, &registers)
    };
    let get = |id| call(VFALLS_GET_PERFREG, id, 0);
    let set = |id| call(VFALLS_SET_PERFREG, id, 1);
    for id in 0..92 {
        assert_eq!(get(id), None, "PerfReg {id}, not negotiated");
        assert_eq!(set(id), None, "PerfReg {id}, not negotiated");
    }
    service.version_changed(guest_id(0), &version);
    for id in ids() {
        assert_eq!(get(id), Some(Ok(Reply::Value(0))), "PerfReg {id}");
        assert_eq!(set(id), Some(Ok(Reply::Done)), "PerfReg {id}");
        assert_eq!(get(id), Some(Ok(Reply::Value(1))), "PerfReg {id}");
    }
    for id in [1]
        .into_iter()
        .chain(6..18)
        .chain(90..200)
        .chain([u64::MAX])
    {
        assert_eq!(get(id), None, "PerfReg {id}");
        assert_eq!(set(id), None, "PerfReg {id}");
    }
    board.break_cell(oracle::Cell::Register(3), oracle::Fault::Always);
    let fault = Some(Err(HvError::NotSupported));
    assert_eq!(get(3), fault, "an access that was made");
    assert_eq!(get(3), None, "out of service");
}
