//! Tests the names of guests, rights and units in messages, logs and reports.

use std::fmt::Display;

use guest_abi::{Hub, Mcu, Node};
use hv_core::time::{Fault, NoUsableClock};
use hv_core::{Caller, Negotiated, Service};
use perfctr_service::mailbox::Refusal;
use perfctr_service::policy::UnknownGrant;
use perfctr_service::statistics::{Class, Outcome};
use perfctr_service::{ChangeError, Grant, Right, RightError, Unit};
use platform::AccessError;
use tests::board::Board;
use tests::machine::{MachineUnderTest, guest_id, strand};
use tests::oracle::{self, Guest, Machine};

fn all<T: Display>(values: &[T]) -> Vec<String> {
    values.iter().map(|value| format!("{value:>8}")).collect()
}

#[test]
fn guests_rights_and_units() {
    assert_eq!(all(&[0, 17, 255].map(guest_id)), ["       0", "      17", "     255"]);
    assert_eq!(all(Right::ALL), ["  strand", "htstrand", "  global"]);
    for text in ["none", "strand", "htstrand", "global", "global+strand", "global+htstrand"] {
        assert_eq!(text.parse::<Grant>().unwrap().to_string(), text);
    }
    let units = [Unit::Mcu(Node::Node1, Mcu::Mcu0), Unit::Hub(Hub::Zam3), Unit::L2(Node::Node0)];
    assert_eq!(units.map(|unit| unit.to_string()), ["NODE1_MCU0", "ZAM3", "NODE0_L2"]);
    let classes: Vec<_> = Class::ALL.iter().map(|class| class.name()).collect();
    assert_eq!(classes, ["strand", "l2", "dram", "hub", "invalid"]);
    let outcomes: Vec<_> = Outcome::ALL.iter().map(|outcome| outcome.name()).collect();
    let statuses = ["EOK", "EBADTRAP", "EINVAL", "ENOTSUPPORTED", "ENOACCESS", "EWOULDBLOCK"];
    assert_eq!(outcomes, statuses);
}

#[test]
fn errors() {
    let (guest, right) = (guest_id(3), Right::Global);
    for (error, text) in [
        (&RightError::NoSuchGuest(guest) as &dyn Display, "there is no guest 3"),
        (&RightError::NotHeld(guest, right), "guest 3 does not have global"),
        (&RightError::Excluded(guest, right), "guest 3 has global already"),
        (&Refusal::Unknown, "there is no such step, strand, guest or unit"),
        (&Refusal::Change(ChangeError::Busy), "another strand is working on a change"),
        (&ChangeError::NoSuchUnit(Unit::Hub(Hub::Zam2)), "this machine has no ZAM2"),
        (
            &UnknownGrant,
            "expected none, strand, htstrand, global, global+strand or global+htstrand",
        ),
        (&NoUsableClock, "no usable clock"),
        (&Fault::Backwards, "went back"),
        (&AccessError::Fault, "fault"),
        (&AccessError::Busy, "busy"),
    ] {
        assert_eq!(error.to_string(), text);
    }
}

/// A context's debug output names its guest and strand.
#[test]
fn a_context() {
    let board = Board::new(Machine::Maramba, 1, &[]);
    let machine = MachineUnderTest::new(&board, &[Guest::new([5], oracle::Grant::NONE)]);
    let caller = Caller { guest: guest_id(0), strand: strand(5) };
    let version = Negotiated::default();
    let context = machine.service().context(caller, &version);
    let text = format!("{context:?}");
    assert!(text.starts_with("PerfCounterContext { guest: GuestRights {"), "{text}");
    assert!(text.ends_with("strand: StrandId(5) }, .. }"), "{text}");
}
