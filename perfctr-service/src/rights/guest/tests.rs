//! Tests the rights of one guest.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use guest_abi::{Mcu, Node, StrandId};
use hv_core::sync::steps;
use platform::Model;

use super::*;
use crate::rights::versions::V1_1;
use crate::statistics::{Class, Refusal};
use crate::units::Units;

const UNIT: Unit = Unit::Mcu(Node::Node0, Mcu::Mcu0);
const ROUNDS: usize = if cfg!(miri) { 30 } else { 3_000 };
const SPARC: bool = cfg!(target_arch = "sparc64");

fn guest(grant: Grant, compatible: bool, machine: Machine) -> GuestRights {
    let config = GuestConfig::new(StrandId::new(0).into_iter().collect(), grant);
    configured(config.with_compatible(compatible), machine)
}

fn configured(config: GuestConfig, machine: Machine) -> GuestRights {
    let guest = GuestRights::new();
    guest.configure(config, machine);
    guest
}

/// Returns a guest that may do everything on a Maramba with one node, in version 1.1.
fn open_guest() -> GuestRights {
    let guest = guest(Grant::ALL, false, Machine::new(Model::Maramba, 1).unwrap());
    guest.version_changed(&Negotiated::new(V1_1), &UnitSet::new());
    guest
}

/// Returns the guest's fast path in `version` (0 for none) while `out` is out of service.
fn fast(guest: &GuestRights, version: u8, out: Option<Unit>) -> u64 {
    let units = Units::new();
    out.map(|unit| units.take_out(unit));
    let version = Negotiated::new(VfallsVersion::new(version));
    guest.version_changed(&version, units.out());
    places(guest.access())
}

/// Returns the fast path in a word, always with place 0 in bit 0. (On SPARC V9, the word itself has place 0 in bit 63.)
fn places(word: AccessWord) -> u64 {
    let bits = word.bits();
    (if SPARC { bits.reverse_bits() } else { bits }) & 0x007f_ffff
}

fn changes(guest: &GuestRights) -> u32 {
    (guest.access().bits() >> if SPARC { 0 } else { 32 }) as u32
}

/// Checks the fast paths in versions 1.0 and 1.1. Register 0 has place 0, DRAM registers have places 2-5, hubs 18-21, and HT 22.
#[test]
fn the_fast_path_of_every_grant_and_version() {
    let maramba = Machine::new(Model::Maramba, 2).unwrap();
    let batoka = Machine::new(Model::Batoka, 4).unwrap();
    let one_channel = batoka.without_channel(Node::Node0, Mcu::Mcu1);
    for (machine, grant, [v1_0, v1_1]) in [
        (maramba, "none", [0, 0]),
        (maramba, "strand", [1, 1]),
        (maramba, "htstrand", [0x40_0001, 0x40_0001]),
        (maramba, "global", [0x3c, 0x3c]),
        (maramba, "global+strand", [0x3d, 0x3d]),
        (maramba, "global+htstrand", [0x40_003d, 0x40_003d]),
        (batoka, "none", [0, 0]),
        (batoka, "strand", [1, 1]),
        (batoka, "htstrand", [0x40_0001, 0x40_0001]),
        (batoka, "global", [0x3c, 0x3c_003c]),
        (batoka, "global+strand", [0x3d, 0x3c_003d]),
        (batoka, "global+htstrand", [0x40_003d, 0x7c_003d]),
        (one_channel, "global", [0x0c, 0x3c_000c]),
        (one_channel, "global+htstrand", [0x40_000d, 0x7c_000d]),
    ] {
        for (compatible, v1_0) in [(false, v1_0), (true, v1_1)] {
            let guest = guest(grant.parse().unwrap(), compatible, machine);
            let seen = [0, 1, 2].map(|version| fast(&guest, version, None));
            assert_eq!(seen, [0, v1_0, v1_1], "{machine:?} {grant} {compatible}");
            let recorded = |version| {
                let fast = fast(&guest, version, None);
                (fast, places(guest.traced_access()))
            };
            assert_eq!(recorded(2), (v1_1, 0), "{machine:?} {grant}, not traced");
            guest.set_traced(true);
            let traced = [0, 1, 2].map(recorded);
            let expected = [(0, 0), (0, v1_0), (0, v1_1)];
            assert_eq!(traced, expected, "{machine:?} {grant}, traced");
            guest.set_traced(false);
            assert_eq!(recorded(2), (v1_1, 0), "{machine:?} {grant}, no more");
        }
    }
}

/// A revocation clears the rights in both words, whatever the guest's tracer setting is.
#[test]
fn what_is_withdrawn_is_gone_from_recorded_calls() {
    let machine = Machine::new(Model::Batoka, 4).unwrap();
    for says_off in [false, true] {
        let guest = guest(Grant::ALL, false, machine);
        guest.set_traced(true);
        assert_eq!(fast(&guest, 2, None), 0);
        assert_eq!(places(guest.traced_access()), 0x7c_000d | 0x30);
        guest.traced.store(!says_off, Ordering::SeqCst);
        guest.restrict_to(Grant::NONE);
        assert_eq!((places(guest.access()), places(guest.traced_access())), (0, 0));
    }
}

/// A guest with strands on nodes 0 and 2 of a Batoka has registers 2-5 and 10-13. If a memory channel is out of service, the fast path
/// lacks two registers. If a hub is out of service, the fast path lacks its bit. The L2 control makes no difference, because register 1 has
/// no fast path.
#[test]
fn a_unit_out_of_service_is_not_on_the_fast_path() {
    let strands = [0, 128].into_iter().filter_map(StrandId::new).collect();
    let config = GuestConfig::new(strands, Grant::ALL);
    let guest = configured(config, Machine::new(Model::Batoka, 4).unwrap());
    assert_eq!(fast(&guest, 2, None), 0x7c_3c3d);
    let without = [
        0xc, 0x30, 0, 0, 0xc00, 0x3000, 0, 0, 0x4_0000, 0x8_0000, 0x10_0000, 0x20_0000, 0, 0, 0, 0,
    ];
    for (unit, without) in Unit::ALL.iter().copied().zip(without) {
        assert_eq!(fast(&guest, 2, Some(unit)), 0x7c_3c3d - without, "{unit}");
    }
}

/// Returns `true` if the fast path refuses a call for register 0, HT, the L2 control, a memory channel or a hub.
fn refuses(guest: &GuestRights) -> bool {
    let refusal = |(class, index, ht)| guest.refusals().refusal(V1_1, class, index, ht);
    let calls = [
        (Class::Strand, 0, false),
        (Class::Strand, 0, true),
        (Class::L2, 1, false),
        (Class::Dram, 2, false),
        (Class::Hub, 0, false),
    ];
    calls.into_iter().any(|call| refusal(call).is_some())
}

/// One strand adds rights, and another strand derives the refusals at any step of the first strand. The strands then exchange roles.
/// Afterwards, no right that the guest has is refused.
#[test]
fn no_refusal_outlives_the_lack_of_a_right() {
    let machine = Machine::new(Model::Batoka, 1).unwrap();
    let raise = |guest: &GuestRights| assert!(guest.add_rights(Grant::ALL, || true));
    let derive = |guest: &GuestRights| guest.refresh(&UnitSet::new());
    let mut steps = 0;
    for raise_first in [false, true] {
        for step in 0.. {
            let guest = Arc::new(guest(Grant::NONE, false, machine));
            guest.version_changed(&Negotiated::new(V1_1), &UnitSet::new());
            assert!(refuses(&guest));
            let crossing = Arc::clone(&guest);
            let crossed = match raise_first {
                true => steps::interleave_at(step, move || derive(&crossing), || raise(&guest)).1,
                false => steps::interleave_at(step, move || raise(&crossing), || derive(&guest)).1,
            };
            if !crossed {
                break;
            }
            assert!(!refuses(&guest), "{raise_first} {step}");
            steps += 1;
        }
    }
    assert!(steps > 10);
}

/// If a unit returns to service at any step of a strand that derives the refusals, the unit is not refused afterwards. If recording of
/// calls starts at any step, whether or not the refusals are closed, the fast path refuses no call afterwards.
#[test]
fn no_refusal_outlives_a_setting() {
    for step in 0.. {
        let units = Arc::new(Units::new());
        units.take_out(UNIT);
        let guest = Arc::new(open_guest());
        guest.refresh(units.out());
        assert_eq!(guest.refusals().refusal(V1_1, Class::Dram, 2, false), Some(Refusal::NoAccess));
        let (crossing, returned) = (Arc::clone(&guest), Arc::clone(&units));
        let return_to_service = move || {
            crossing.hold();
            returned.return_to_service(UNIT);
            crossing.release();
        };
        if !steps::interleave_at(step, return_to_service, || guest.refresh(units.out())).1 {
            break;
        }
        assert_eq!(guest.refusals().refusal(V1_1, Class::Dram, 2, false), None, "{step}");
    }
    for (step, closed) in (0..30).flat_map(|step| [(step, false), (step, true)]) {
        let guest = Arc::new(guest(Grant::NONE, false, Machine::new(Model::Batoka, 1).unwrap()));
        guest.version_changed(&Negotiated::new(V1_1), &UnitSet::new());
        if closed {
            guest.close_refusals();
        }
        let crossing = Arc::clone(&guest);
        let record = move || crossing.set_traced(true);
        let derive = || guest.refresh(&UnitSet::new());
        if steps::interleave_at(step, record, derive).1 {
            assert!(!refuses(&guest), "{step}");
        }
    }
}

/// A negotiation without a stack leaves the same fast path and refusals as any other negotiation. If another strand interferes at any step,
/// both words are correct for the latest version, or closed.
#[test]
fn a_short_negotiation_opens_the_same() {
    let machine = Machine::new(Model::Batoka, 2).unwrap();
    for grant in ["none", "strand", "htstrand", "global", "global+htstrand"] {
        for number in [0, 1, 2, 1, 2, 0] {
            let version = Negotiated::new(VfallsVersion::new(number));
            let [long, short] = [(); 2].map(|()| guest(grant.parse().unwrap(), false, machine));
            long.version_changed(&version, &UnitSet::new());
            short.change_version(&version, &UnitSet::new());
            let bits = |guest: &GuestRights| (places(guest.access()), guest.access().version());
            assert_eq!(bits(&short), bits(&long), "{grant} {number}");
            assert_eq!(short.refusals(), long.refusals(), "{grant} {number}");
        }
    }
    type Event = fn(&GuestRights, &Units);
    let revoke: Event = |guest, _| guest.restrict_to(Grant::NONE);
    let record: Event = |guest, _| guest.set_traced(true);
    let fault: Event = |guest, units| {
        units.take_out(UNIT);
        guest.withdraw(AccessWord::from_unit(UNIT));
    };
    let channel = AccessWord::from_unit(UNIT);
    for (event, closed) in
        [(revoke, AccessWord::FAST), (record, AccessWord::FAST), (fault, channel)]
    {
        for step in 0.. {
            let guest = Arc::new(guest(Grant::ALL, false, machine));
            let (version, units) = (Negotiated::new(V1_1), Arc::new(Units::new()));
            let (crossing, hit) = (Arc::clone(&guest), Arc::clone(&units));
            let change = || guest.change_version(&version, units.out());
            let crossed = steps::interleave_at(step, move || event(&crossing, &hit), change).1;
            if !crossed {
                break;
            }
            let word = guest.access();
            assert_eq!(word.without(closed), word, "{step}");
        }
    }
}

/// A withdrawal raises the count of changes in the word, so a strand that loaded the word earlier cannot exchange it.
#[test]
fn what_is_withdrawn_is_counted() {
    let guest = open_guest();
    let (before, counted) = (guest.access(), changes(&guest));
    guest.withdraw(AccessWord::NOTHING);
    let change = AccessWord::CHANGE.bits();
    assert_eq!(guest.access().bits(), before.bits() + change);
    guest.withdraw(AccessWord::from_unit(UNIT));
    assert_eq!(changes(&guest), counted + 2);
    let left = before.without(AccessWord::from_unit(UNIT)).bits();
    assert_eq!(guest.access().bits(), left + 2 * change);
    for id in [2, 3] {
        assert!(before.register(id) && !guest.access().register(id));
    }
}

#[test]
fn the_count_of_changes_wraps() {
    let guest = open_guest();
    let all = u64::from(u32::MAX) * AccessWord::CHANGE.bits();
    let others = guest.access().bits() & !all;
    let withdraw = || guest.withdraw(AccessWord::NOTHING);
    let refresh = || guest.refresh(&UnitSet::new());
    for change in [&withdraw as &dyn Fn(), &refresh] {
        guest.words.access.store(others | all, Ordering::SeqCst);
        change();
        assert_eq!(guest.access().bits(), others);
    }
}

/// A strand negotiates while a unit goes out of service and returns. The guest gets no right to the unit while the unit is out of service.
#[test]
fn negotiation_crosses_faults() {
    let guest = guest(Grant::ALL, false, Machine::new(Model::Maramba, 1).unwrap());
    let units = Units::new();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let negotiator = scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                for version in [V1_1, VfallsVersion::NONE] {
                    guest.version_changed(&Negotiated::new(version), units.out());
                    assert_eq!(guest.access().version(), version);
                }
            }
        });
        for _ in 0..ROUNDS {
            units.take_out(UNIT);
            guest.withdraw(AccessWord::from_unit(UNIT));
            for _ in 0..20 {
                let access = guest.access();
                let closed = access.without(AccessWord::from_unit(UNIT)) == access;
                if !closed {
                    done.store(true, Ordering::SeqCst);
                }
                assert!(closed, "{access:?}");
                core::hint::spin_loop();
            }
            units.return_to_service(UNIT);
            guest.refresh(units.out());
            if negotiator.is_finished() {
                break;
            }
        }
        done.store(true, Ordering::SeqCst);
    });
    guest.version_changed(&Negotiated::new(V1_1), units.out());
    assert!(guest.access().register(2) && guest.access().ht());
}

/// The recording of calls is switched on or off while a strand negotiates and then gives up the version. Afterwards, both words (for
/// recorded calls and for unrecorded calls) let no call through. As soon as the setting has changed, the word for the old setting lets no
/// call through. The test covers every order of both strands' steps.
#[cfg(not(any(loom, shuttle)))]
#[test]
#[cfg_attr(
    target_arch = "sparc64",
    ignore = "takes minutes on an emulated processor, and its result does not depend on the processor"
)]
fn a_version_that_is_given_up_opens_nothing_while_recording_changes() {
    use hv_core::sync::steps::orders::{Strand, explore};

    type Model = (GuestRights, [Negotiated<Vfalls>; 2], UnitSet);
    for begins in [false, true] {
        let guest = open_guest();
        guest.set_traced(!begins);
        guest.refresh(&UnitSet::new());
        let versions = [V1_1, VfallsVersion::NONE].map(Negotiated::new);
        let model: Model = (guest, versions, UnitSet::new());
        let records = |(guest, _, out): &Model, _| {
            guest.set_traced(begins);
            let closed = if begins { guest.access() } else { guest.traced_access() };
            assert_eq!(places(closed), 0);
            guest.refresh(out);
            None
        };
        let negotiates = |(guest, versions, out): &Model, step: u64| {
            guest.version_changed(&versions[step as usize], out);
            if step == 0 {
                return Some(1);
            }
            assert_eq!((places(guest.access()), places(guest.traced_access())), (0, 0));
            None
        };
        explore(&model, &[Strand::new(&records), Strand::new(&negotiates)], |(guest, ..)| {
            assert_eq!((places(guest.access()), places(guest.traced_access())), (0, 0));
        });
    }
}
