//! The 90 registers: ids, kinds, names, masks, versions and PMUs.

use guest_abi::register::{AsuPmu, DramPmu, GpdPmu, LpuPmu, Pics};
use guest_abi::{
    Counter, Hub, HubRole, HubUnit, Mcu, McuRole, Node, PerfReg, Pmu, Port, RegisterKind, Version,
};
use proptest::prelude::*;

/// Returns the kind and name of each register in the order of their ids (FWARC/2007/529 section 3.1).
fn registers() -> Vec<(RegisterKind, String)> {
    let mut registers = vec![
        (RegisterKind::Strand, "SPARC_PCR".to_owned()),
        (RegisterKind::L2, "L2_PERF_CONFIG".to_owned()),
    ];
    for &node in Node::ALL {
        for &mcu in Mcu::ALL {
            for (&role, name) in McuRole::ALL.iter().zip(["PCR", "PIC"]) {
                let name = format!("NODE{}_MCU{}_{name}", node.index(), mcu.index());
                registers.push((RegisterKind::Dram { node, mcu, role }, name));
            }
        }
    }
    for &hub in Hub::ALL {
        for &unit in HubUnit::ALL {
            let part = ["LPU_A", "LPU_B", "LPU_C", "LPU_D", "GPD", "ASU"][unit.index()];
            for (&role, name) in HubRole::ALL.iter().zip(["PCR", "PIC0", "PIC1"]) {
                let name = format!("ZAM{}_{part}_{name}", hub.index());
                registers.push((RegisterKind::Hub { hub, unit, role }, name));
            }
        }
    }
    registers
}

fn id_of(name: &str) -> Option<usize> {
    registers().iter().position(|(_, known)| known.eq_ignore_ascii_case(name))
}

#[test]
fn all_90() {
    let registers = registers();
    assert_eq!(registers.len(), 90);
    assert!(PerfReg::ALL.into_iter().map(PerfReg::id).eq(0..90));
    for (id, (kind, name)) in registers.iter().enumerate() {
        let register = PerfReg::new(id as u64).unwrap();
        assert_eq!((register.name(), register.index()), (name.as_str(), id));
        assert_eq!((register.kind(), PerfReg::from_kind(*kind)), (*kind, register));
        assert_eq!(register.to_string(), *name);
        assert_eq!(format!("{register:?}"), format!("{id} ({name})"));
        for name in [name.clone(), name.to_lowercase()] {
            assert_eq!(name.parse(), Ok(register));
        }
    }
}

#[test]
fn ids_of_some() {
    for (id, register) in [
        (0, PerfReg::SPARC_PCR),
        (1, PerfReg::L2_PERF_CONFIG),
        (2, PerfReg::dram(Node::Node0, Mcu::Mcu0, McuRole::Pcr)),
        (5, PerfReg::dram(Node::Node0, Mcu::Mcu1, McuRole::Pic)),
        (16, PerfReg::dram(Node::Node3, Mcu::Mcu1, McuRole::Pcr)),
        (18, PerfReg::FIRST_HUB),
        (18, PerfReg::hub(Hub::Zam0, HubUnit::LpuA, HubRole::Pcr)),
        (62, PerfReg::hub(Hub::Zam2, HubUnit::LpuC, HubRole::Pic1)),
        (84, PerfReg::hub(Hub::Zam3, HubUnit::Gpd, HubRole::Pcr)),
        (88, PerfReg::hub(Hub::Zam3, HubUnit::Asu, HubRole::Pic0)),
    ] {
        assert_eq!(register.id(), id, "{register}");
    }
    assert_eq!(PerfReg::PER_HUB, 18);
    for wrong in "NODE0_MCU0_PC NODE0_MCU0_PCRX NODE4_MCU0_PCR ZAM0_LPU_E_PCR ".split(' ') {
        assert_eq!(wrong.parse::<PerfReg>().ok(), None, "{wrong}");
    }
}

#[test]
fn ids_are_checked_in_all_64_bits() {
    let beyond = [90, 255, 256, 1 << 32, (1 << 32) + 2, u64::MAX];
    assert_eq!(beyond.map(PerfReg::new), [None; 6]);
}

/// Compares the writable bits of each register with FWARC/2007/529, sections 2.1 to 2.6.
#[test]
fn masks() {
    for register in PerfReg::ALL {
        let name = register.name();
        let expected = match name {
            "SPARC_PCR" => 0xc000_0000_ffff_ffff,
            "L2_PERF_CONFIG" => 0x3,
            _ if name.contains("_PIC") => u64::MAX,
            _ if name.contains("_MCU") => 0xff,
            _ if name.contains("_LPU_") => 0xffff,
            _ if name.contains("_GPD_") || name.contains("_ASU_") => 0xf0f,
            _ => panic!("{name} is not a name of the table"),
        };
        assert_eq!(register.info().write_mask, expected, "{name}");
    }
}

#[test]
fn versions() {
    for register in PerfReg::ALL {
        let minor = u64::from(register.id() >= 18);
        assert_eq!(register.info().since, Version { major: 1, minor }, "{register}");
    }
}

/// Returns the ids of the PCR, PIC0 and PIC1 of every PMU (FWARC/2007/529 section 3.1).
fn pmu_registers() -> impl Iterator<Item = [u64; 3]> {
    // One register holds both counters of a DRAM channel.
    let channels = (2..18).step_by(2).map(|pcr| [pcr, pcr + 1, pcr + 1]);
    let ports = [18, 36, 54, 72].into_iter().flat_map(|hub| [0, 3, 6, 9].map(|lpu| hub + lpu));
    let gpds_and_asus = [30, 48, 66, 84, 33, 51, 69, 87];
    let in_hubs = ports.chain(gpds_and_asus).map(|pcr| [pcr, pcr + 1, pcr + 2]);
    channels.chain(in_hubs)
}

#[test]
fn registers_of_pmus() {
    assert_eq!(pmu_registers().count(), 32);
    for (pmu, expected) in Pmu::ALL.into_iter().zip(pmu_registers()) {
        let registers = [pmu.pcr(), pmu.pic(Counter::Pic0), pmu.pic(Counter::Pic1)];
        assert_eq!(registers.map(PerfReg::id), expected);
        assert_eq!(matches!(pmu.pics(), Pics::Shared(_)), expected[1] == expected[2]);
        assert_eq!(registers.map(Pmu::from_register), [Some(pmu); 3]);
    }
    let others = [PerfReg::SPARC_PCR, PerfReg::L2_PERF_CONFIG];
    assert_eq!(others.map(Pmu::from_register), [None; 2]);
}

#[test]
fn places_of_pmus() {
    assert!(Pmu::ALL.into_iter().map(Pmu::index).eq(0..32));
    let pcr = |pmu: Pmu| pmu.pcr().name();
    let (node, mcu) = (Node::Node2, Mcu::Mcu1);
    assert_eq!(pcr(DramPmu { node, mcu }.into()), "NODE2_MCU1_PCR");
    let (hub, port) = (Hub::Zam1, Port::D);
    assert_eq!(pcr(LpuPmu { hub, port }.into()), "ZAM1_LPU_D_PCR");
    assert_eq!(pcr(GpdPmu { hub }.into()), "ZAM1_GPD_PCR");
    assert_eq!(pcr(AsuPmu { hub }.into()), "ZAM1_ASU_PCR");
    assert_eq!(Pmu::from(DramPmu { node, mcu }).to_string(), "NODE2_MCU1");
    assert_eq!(format!("{:>8}", Pmu::from(AsuPmu { hub })), "ZAM1_ASU");
}

proptest! {
    #[test]
    fn ids_are_0_to_89(id: u64) {
        prop_assert_eq!(PerfReg::new(id).map(PerfReg::id), (id < 90).then_some(id));
    }

    #[test]
    fn the_upper_half_of_an_id_counts(low in 0u64..90, high in 1u64..1 << 32) {
        prop_assert_eq!(PerfReg::new(high << 32 | low), None);
        prop_assert_eq!(PerfReg::try_from(low).map(PerfReg::id), Ok(low));
    }

    #[test]
    fn capitals_and_small_letters_are_alike(id in 0usize..90, capitals: u32) {
        let name: String = registers()[id]
            .1
            .chars()
            .enumerate()
            .map(|(at, c)| if capitals >> at & 1 == 0 { c.to_ascii_lowercase() } else { c })
            .collect();
        prop_assert_eq!(name.parse::<PerfReg>().map(PerfReg::index), Ok(id));
    }

    #[test]
    fn nothing_else_is_a_name(id in 0usize..90, at in 0usize..15, with in "[ -~]{0,2}") {
        let mut name = registers()[id].1.clone();
        let at = at.min(name.len() - 1);
        name.replace_range(at..=at, &with);
        prop_assert_eq!(PerfReg::from_name(&name).map(PerfReg::index), id_of(&name));
    }

    #[test]
    fn no_text_is_too_strange(text in any::<String>()) {
        prop_assert_eq!(PerfReg::from_name(&text).map(PerfReg::index), id_of(&text));
    }
}
