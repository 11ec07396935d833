//! Devices that stay busy or fail while they are cleared for their next holder.

use std::thread;

use guest_abi::{Hub, HvError, StrandId};
use hv_core::{Caller, Negotiated, NegotiatedVersion, Service};
use perfctr_service::{
    BUSY_LIMIT_TICKS, Grant, Grants, GuestConfig, PerfCounterService, StrandRight, Unit,
};
use platform::{AccessError, Bus, Machine, Model, PhysicalAddress};
use tests::board::Board;
use tests::machine::{MachineUnderTest, guest_id, strand};
use tests::oracle::{self, Cell, HubCondition};

/// A guest that leaves ZAM1 half cleared: 36 to 39 of 36 to 53, and then the chip does this. The next holder is on strand 2.
fn half_cleared<'a>(board: &'a Board, happens: impl Fn(&Board)) -> MachineUnderTest<'a> {
    let guests = [
        oracle::Guest::new([0], oracle::Grant::GLOBAL),
        oracle::Guest::new([2], oracle::Grant::NONE),
    ];
    let machine = MachineUnderTest::new(board, &[], &guests).with_operator(9);
    for strand in [0, 2] {
        assert_eq!(machine.negotiate(strand, 1, 1), 0);
    }
    for id in 36..90 {
        assert_eq!(machine.set(0, id, 0x77), 0, "PerfReg {id}");
    }
    let to_guest_1 = [oracle::Grant::NONE, oracle::Grant::GLOBAL];
    assert_eq!(machine.reconfigure(&to_guest_1), Ok(()));
    let stop = board.stop_at(Cell::Register(39));
    thread::scope(|scope| {
        let clears = scope.spawn(|| machine.answer(0));
        stop.reached();
        happens(board);
        stop.go_on();
        assert!(clears.join().unwrap());
    });
    assert_eq!(board.holds(Cell::Register(38)), 0);
    assert_ne!(board.holds(Cell::Register(40)), 0);
    machine
}

const ZAM1: Unit = Unit::Hub(Hub::Zam1);

#[test]
fn a_hub_that_was_busy_is_cleared_from_where_it_was() {
    let board = &Board::new(oracle::Machine::Batoka, 1, &[]);
    let machine = half_cleared(board, |board| board.set_hub(1, HubCondition::Busy));
    // The others are clear already.
    assert!((54..90).all(|id| board.holds(Cell::Register(id)) == 0));
    assert_eq!(machine.get(2, 54).0, 10, "not all is clear");
    board.set_hub(1, HubCondition::Free);
    // Nobody writes it now: what is seen of this is that the first registers are left alone.
    board.put(Cell::Register(36), 0x1234);
    machine.all_answer();
    assert_eq!(machine.awaited(), None);
    assert_eq!(machine.get(2, 36), (0, 0x1234));
    for id in 37..90 {
        assert_eq!(machine.get(2, id), (0, 0), "PerfReg {id}");
    }
}

/// Whoever mends it leaves something in what was clear already.
fn mended(board: &Board, machine: &MachineUnderTest<'_>) {
    machine.all_answer();
    assert_eq!(machine.awaited(), None);
    let state = machine.service().unit(ZAM1);
    assert!(!state.in_service && !state.clean);
    assert_eq!(machine.get(2, 54), (0, 0), "others are in service");
    board.mend();
    board.put(Cell::Register(36), 0x1234);
    assert_eq!(machine.service().return_to_service(strand(9), ZAM1), Ok(()));
    assert!(machine.service().unit(ZAM1).clean);
    for id in 36..90 {
        assert_eq!(machine.get(2, id), (0, 0), "PerfReg {id}");
    }
}

#[test]
fn a_hub_that_stays_busy_is_cleared_from_the_beginning() {
    let board = &Board::new(oracle::Machine::Batoka, 1, &[]);
    let machine = half_cleared(board, |board| board.set_hub(1, HubCondition::Busy));
    for ticks in [1, 1 + BUSY_LIMIT_TICKS] {
        board.set_ticks(0, ticks);
        assert!(machine.answer(0));
    }
    assert_eq!(machine.service().unit(ZAM1).stuck, 1);
    mended(board, &machine);
}

#[test]
fn a_hub_that_faults_is_cleared_from_the_beginning() {
    let board = &Board::new(oracle::Machine::Batoka, 1, &[]);
    let machine = half_cleared(board, |board| {
        board.break_cell(Cell::Register(40), oracle::Fault::Always);
    });
    assert_eq!(machine.service().unit(ZAM1).faults, 1);
    mended(board, &machine);
}

const GLOBAL: Grant = Grant {
    strand: StrandRight::None,
    global: true,
};

/// A device that says it is busy.
struct Busy(&'static Board, PhysicalAddress);

impl Bus for Busy {
    fn read(&self, strand: StrandId, address: PhysicalAddress) -> Result<u64, AccessError> {
        match address == self.1 {
            true => Err(AccessError::Busy),
            false => self.0.read(strand, address),
        }
    }

    fn write(
        &self,
        strand: StrandId,
        address: PhysicalAddress,
        value: u64,
    ) -> Result<(), AccessError> {
        match address == self.1 {
            true => Err(AccessError::Busy),
            false => self.0.write(strand, address, value),
        }
    }
}

/// Only hubs are busy. A guest that waits for something else would wait for ever, and so would a change.
#[test]
fn what_is_no_hub_and_says_it_is_busy_is_faulty() {
    for (cell, id, unit) in [
        (Cell::Register(2), 2, "NODE0_MCU0"),
        (Cell::L2 { node: 0, bank: 0 }, 1, "NODE0_L2"),
        (Cell::L2 { node: 0, bank: 7 }, 1, "NODE0_L2"),
    ] {
        for by_a_call in [true, false] {
            let board: &'static Board =
                Box::leak(Box::new(Board::new(oracle::Machine::Batoka, 1, &[])));
            let bus = Busy(board, PhysicalAddress(cell.address_from(0)));
            let guests = [0, 1].map(|number| GuestConfig {
                strands: [strand(number)].into_iter().collect(),
                grant: if number == 0 { GLOBAL } else { Grant::NONE },
                compatible: false,
            });
            let machine = Machine::new(Model::Batoka, 1).unwrap();
            let service = PerfCounterService::new(machine, bus, board, &guests).unwrap();
            if by_a_call {
                let version = NegotiatedVersion::new(2);
                let negotiated = Negotiated::new(version);
                service.version_changed(guest_id(0), &negotiated);
                let (guest, strand) = (guest_id(0), strand(0));
                let context = service.context(Caller { guest, strand }, &negotiated);
                assert_eq!(
                    context.set(id, 1, version),
                    Err(HvError::NotSupported),
                    "{cell:?}"
                );
            } else {
                let mut grants = Grants::none(2);
                grants.set(guest_id(1), GLOBAL).unwrap();
                assert!(service.reconfigure(strand(9), &grants).unwrap().is_some());
                assert!(board.take_cross_call(0));
                service.cross_called(strand(0));
                assert_eq!(service.pending(), None, "{cell:?}");
            }
            let out: Vec<String> = Unit::all()
                .filter(|unit| !service.unit(*unit).in_service)
                .map(|unit| unit.to_string())
                .collect();
            assert_eq!(out, [unit], "{cell:?}, by a call: {by_a_call}");
        }
    }
}
