//! The registers of each PMU.

use guest_abi::register::{AsuPmu, DramPmu, GpdPmu, LpuPmu, Pics};
use guest_abi::{Counter, Hub, Mcu, Node, PerfReg, Pmu, Port};

/// PCR, PIC0 and PIC1 of every PMU (FWARC/2007/529 section 3.1).
fn registers() -> impl Iterator<Item = [u64; 3]> {
    // Both counters of a DRAM channel are in one register.
    let channels = (2..18).step_by(2).map(|pcr| [pcr, pcr + 1, pcr + 1]);
    let ports = [18, 36, 54, 72].into_iter().flat_map(|hub| [0, 3, 6, 9].map(|lpu| hub + lpu));
    let gpds_and_asus = [30, 48, 66, 84, 33, 51, 69, 87];
    let in_hubs = ports.chain(gpds_and_asus).map(|pcr| [pcr, pcr + 1, pcr + 2]);
    channels.chain(in_hubs)
}

#[test]
fn registers_of_pmus() {
    assert_eq!(registers().count(), 32);
    for (pmu, expected) in Pmu::ALL.into_iter().zip(registers()) {
        let registers = [pmu.pcr(), pmu.pic(Counter::Pic0), pmu.pic(Counter::Pic1)];
        assert_eq!(registers.map(PerfReg::id), expected);
        assert_eq!(matches!(pmu.pics(), Pics::Together(_)), expected[1] == expected[2]);
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
