//! Tests all devices together, by address.

use std::sync::atomic::{AtomicU64, Ordering};
use std::{array, thread, vec::Vec};

use guest_abi::event::{LpuEvent, SparcEvent};
use guest_abi::{Hub, Mcu, Node, PerfReg, RegisterKind, StrandId};

use super::{Devices, FaultyUnit};
use crate::{AccessError, Bus, Machine, Model, PhysicalAddress, StrandRegisters, address};

static IN_A_STATIC: Devices = Devices::new(match Machine::new(Model::Batoka, 4) {
    Ok(machine) => machine,
    Err(_) => panic!(),
});

const FAULT: Result<u64, AccessError> = Err(AccessError::Fault);

fn machine(model: Model, nodes: usize) -> Machine {
    Machine::new(model, nodes).unwrap()
}

fn strand(number: usize) -> StrandId {
    StrandId::new(number).unwrap()
}

fn at(address: u64) -> PhysicalAddress {
    PhysicalAddress(address)
}

#[test]
fn fits_a_static() {
    assert_eq!(IN_A_STATIC.read(strand(0), at(0xd0_0000_0408)), Ok(0));
    assert!(size_of::<Devices>() < 32 * 1024);
}

#[test]
fn registers_do_not_overlap() {
    let devices = Devices::new(machine(Model::Batoka, 4));
    let addresses: Vec<_> = PerfReg::ALL.into_iter().filter_map(address::global).collect();
    assert_eq!(addresses.len(), 88);
    for (number, address) in addresses.iter().enumerate() {
        let written = devices.write(strand(0), *address, number as u64 + 1);
        assert_eq!(written, Ok(()));
    }
    for (number, address) in addresses.iter().enumerate() {
        let register = PerfReg::new(number as u64 + 2).unwrap();
        let written = number as u64 + 1;
        let kept = match register.kind() {
            RegisterKind::Hub { unit, role, .. } if unit.index() >= 4 && role.index() == 0 => {
                written & 0xf0f
            }
            _ => written,
        };
        assert_eq!(devices.read(strand(0), *address), Ok(kept), "{register}");
    }
}

#[test]
fn local_addresses_mean_the_node_of_the_strand() {
    let devices = Devices::new(machine(Model::Batoka, 4));
    for node in 0..4_u64 {
        let strand = strand(node as usize * 64 + 63);
        for (address, value) in [(0x84_0000_1408, 100 + node), (0xa9_0000_0080, 200 + node)] {
            devices.write(strand, at(address), value).unwrap();
        }
    }
    for node in 0..4_u64 {
        let own = strand(node as usize * 64);
        assert_eq!(devices.read(own, at(0xa9_0000_0080)), Ok(200 + node));
        assert_eq!(devices.read(own, at(0xa9_0000_00c0)), Ok(1), "after reset");
        let global = at(0xd0_0000_1408 + (node << 34));
        assert_eq!(devices.read(strand(0), global), Ok(100 + node));
    }
}

#[test]
fn the_caches_are_off_until_they_are_started() {
    let devices = Devices::new(machine(Model::Batoka, 4));
    let controls = || {
        [0, 64, 128, 255].map(|number| {
            let bank = at(0xa9_0000_0000 + number % 8 * 0x40);
            devices.read(strand(number as usize), bank).unwrap()
        })
    };
    assert_eq!(controls(), [1; 4]);
    devices.start_caches();
    assert_eq!(controls(), [0; 4]);
}

#[test]
fn absent_devices_fault() {
    let small = Devices::new(machine(Model::Maramba, 2).without_channel(Node::Node1, Mcu::Mcu0));
    for address in [0, 0xd0_0000_0410, 0xd4_0000_0400, 0xd8_0000_0400, 0xe1_3000_4000] {
        assert_eq!(small.read(strand(0), at(address)), FAULT, "{address:#x}");
        let written = small.write(strand(0), at(address), 1);
        assert_eq!(written, Err(AccessError::Fault));
    }
    assert_eq!(small.read(strand(0), at(0xd4_0000_1400)), Ok(0));
    assert_eq!(small.read(strand(64), at(0x84_0000_0400)), FAULT);
    assert_eq!(small.read(strand(128), at(0xa9_0000_0000)), FAULT);

    let hubs = Devices::new(machine(Model::Batoka, 1));
    let read = hubs.read(strand(0), at(0xed_3000_7000));
    assert_eq!(read, Ok(0), "a hub answers whatever nodes are present");
}

#[test]
fn faults_are_injected_one_device_at_a_time() {
    let devices = Devices::new(machine(Model::Batoka, 4));
    let probe = |address| devices.read(strand(64), at(address)).is_ok();
    let all = [
        0xd4_0000_0400,
        0xd4_0000_1400,
        0xe5_3000_5000,
        0xe9_3000_6000,
        0xa9_0000_0000,
        0xa9_0000_0100,
        0xa9_0000_0140,
    ];
    let (node, other) = (Node::Node1, Node::Node2);
    for (unit, faulty) in [
        (FaultyUnit::Mcu(node, Mcu::Mcu1), 1..2),
        (FaultyUnit::Hub(Hub::Zam2), 3..4),
        (FaultyUnit::L2(node), 4..7),
        (FaultyUnit::L2FromBank(node, 5), 6..7),
        (FaultyUnit::L2(other), 0..0),
    ] {
        let expected = array::from_fn(|index| !faulty.contains(&index));
        devices.set_faulty(unit, true);
        assert_eq!(all.map(probe), expected, "{unit:?}");
        devices.set_faulty(unit, false);
        assert_eq!(all.map(probe), [true; 7], "{unit:?} works again");
    }
}

#[test]
fn a_hub_is_busy_for_its_access_cycles() {
    let devices = Devices::new(machine(Model::Batoka, 4));
    let pic = at(0xe1_3000_4008);
    let other_hub = at(0xe5_3000_5008);
    devices.set_hub_access_cycles(10);
    devices.advance(500);
    assert_eq!(devices.write(strand(0), pic, 1), Ok(()));
    assert_eq!(devices.write(strand(7), pic, 2), Err(AccessError::Busy));
    assert_eq!(devices.write(strand(7), other_hub, 2), Ok(()));
    devices.advance(9);
    assert_eq!(devices.read(strand(0), pic), Err(AccessError::Busy));
    devices.advance(1);
    assert_eq!(devices.now(), 510);
    assert_eq!(devices.read(strand(0), pic), Ok(1));
}

#[test]
fn strands_have_registers_of_their_own() {
    let devices = Devices::new(machine(Model::Batoka, 4));
    let hardware: &dyn StrandRegisters = &devices;
    for number in 0..256 {
        hardware.set_pcr(strand(number), 1 << 2 | 0x208 << 6);
        hardware.set_pic(strand(number), number as u64);
    }
    devices.strand_unit(strand(200)).count(SparcEvent::Loads, 5);
    for number in 0..256 {
        let expected = if number == 200 { 205 } else { number as u64 };
        assert_eq!(devices.pic(strand(number)), expected);
        assert_eq!(devices.pcr(strand(number)), 1 << 2 | 0x208 << 6);
    }
}

#[test]
fn threads_lose_no_count() {
    const EACH: u64 = 2000;
    let devices = Devices::new(machine(Model::Batoka, 4));
    let (pcr, pic0) = (at(0xe1_3000_4000), at(0xe1_3000_4008));
    devices.write(strand(0), pcr, 0x02).unwrap();
    let busy = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..EACH {
                    let event = LpuEvent::CacheToCacheX;
                    devices.hub(Hub::Zam0).count_lpu(Node::Node0, event, 1);
                    if devices.read(strand(0), pic0).is_err() {
                        busy.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(busy.into_inner(), 0);
    assert_eq!(devices.read(strand(0), pic0), Ok(4 * EACH));
}

#[test]
fn a_strand_has_its_own_cross_calls() {
    let devices = Devices::new(machine(Model::Maramba, 2));
    let hardware: &dyn StrandRegisters = &devices;
    devices.advance(99);
    assert_eq!(hardware.ticks(strand(3)), 99);
    // Two cross-calls are delivered as one if the strand has not taken the first when the second is sent.
    for to in [70, 6, 70] {
        hardware.cross_call(strand(to));
    }
    let taken: Vec<usize> =
        (0..128).filter(|number| devices.take_cross_call(strand(*number))).collect();
    assert_eq!(taken, [6, 70]);
    assert!(!devices.take_cross_call(strand(70)));
}
