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
    for (pmu, registers) in Pmu::ALL.into_iter().zip(registers()) {
        let [pcr, pic0, pic1] = registers;
        assert_eq!(pmu.pcr().id(), pcr);
        assert_eq!(pmu.pic(Counter::Pic0).id(), pic0);
        assert_eq!(pmu.pic(Counter::Pic1).id(), pic1);
        assert_eq!(matches!(pmu.pics(), Pics::Together(_)), pic0 == pic1);
        for register in registers {
            let register = PerfReg::new(register).unwrap();
            assert_eq!(Pmu::from_register(register), Some(pmu));
        }
    }
    for register in [PerfReg::SPARC_PCR, PerfReg::L2_PERF_CONFIG] {
        assert_eq!(Pmu::from_register(register), None);
    }
}

#[test]
fn places_of_pmus() {
    for (at, pmu) in Pmu::ALL.into_iter().enumerate() {
        assert_eq!(pmu.index(), at);
    }
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
