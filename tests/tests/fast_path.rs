//! Calls that are answered by one look at a word, and those that are not: only how fast they are depends on it.

use guest_abi::HvError;
use hv_core::{Caller, Negotiated, NegotiatedVersion, Service};
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
    for id in 0..92 {
        assert_eq!(context.get_fast(id), None, "PerfReg {id}, not negotiated");
        assert_eq!(
            context.set_fast(id, 1),
            None,
            "PerfReg {id}, not negotiated"
        );
    }
    service.version_changed(guest_id(0), &version);
    for id in ids() {
        assert_eq!(context.get_fast(id), Some(Ok(0)), "PerfReg {id}");
        assert_eq!(context.set_fast(id, 1), Some(Ok(())), "PerfReg {id}");
        assert_eq!(context.get_fast(id), Some(Ok(1)), "PerfReg {id}");
    }
    for id in [1]
        .into_iter()
        .chain(6..18)
        .chain(90..200)
        .chain([u64::MAX])
    {
        assert_eq!(context.get_fast(id), None, "PerfReg {id}");
        assert_eq!(context.set_fast(id, 1), None, "PerfReg {id}");
    }
    board.break_cell(oracle::Cell::Register(3), oracle::Fault::Always);
    let fault = Some(Err(HvError::NotSupported));
    assert_eq!(context.get_fast(3), fault, "an access that was made");
    assert_eq!(context.get_fast(3), None, "out of service");
}
