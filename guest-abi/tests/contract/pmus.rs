//! The registers of each PMU.

use guest_abi::register::{AsuPmu, DramPmu, GpdPmu, LpuPmu, Pics};
use guest_abi::{Counter, Hub, Mcu, Node, PerfReg, Pmu, Port};

/// PCR, PIC0, PIC1 of every PMU, by the table of FWARC/2007/529 section 3.1.
const REGISTERS: [[u64; 3]; 32] = [
    // DRAM channels: both counters in one register.
    [2, 3, 3],
    [4, 5, 5],
    [6, 7, 7],
    [8, 9, 9],
    [10, 11, 11],
    [12, 13, 13],
    [14, 15, 15],
    [16, 17, 17],
    // LPU A to D of four hubs.
    [18, 19, 20],
    [21, 22, 23],
    [24, 25, 26],
    [27, 28, 29],
    [36, 37, 38],
    [39, 40, 41],
    [42, 43, 44],
    [45, 46, 47],
    [54, 55, 56],
    [57, 58, 59],
    [60, 61, 62],
    [63, 64, 65],
    [72, 73, 74],
    [75, 76, 77],
    [78, 79, 80],
    [81, 82, 83],
    // GPD.
    [30, 31, 32],
    [48, 49, 50],
    [66, 67, 68],
    [84, 85, 86],
    // ASU.
    [33, 34, 35],
    [51, 52, 53],
    [69, 70, 71],
    [87, 88, 89],
];

#[test]
fn registers_of_pmus() {
    for (pmu, registers) in Pmu::ALL.into_iter().zip(REGISTERS) {
        let [pcr, pic0, pic1] = registers;
        assert_eq!(pmu.pcr().id(), pcr);
        assert_eq!(pmu.pic(Counter::Pic0).id(), pic0);
        assert_eq!(pmu.pic(Counter::Pic1).id(), pic1);
        assert_eq!(matches!(pmu.pics(), Pics::Together(_)), pic0 == pic1);
        for register in registers {
            assert_eq!(PerfReg::new(register).unwrap().pmu(), Some(pmu));
        }
    }
    assert_eq!(PerfReg::SPARC_PCR.pmu(), None);
    assert_eq!(PerfReg::L2_PERF_CONFIG.pmu(), None);
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
