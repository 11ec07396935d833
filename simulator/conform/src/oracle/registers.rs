//! The 90 performance registers, copied line by line from FWARC/2007/529 section 3.1.
//!
//! Nothing here is computed. The write masks come from the register layouts: a write stores these bits and drops all others.

/// A row of the register table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// The PerfReg# number, 0 to 89.
    pub id: u64,
    /// The name in the specification. Registers 0 and 1 are `SPARC_PCR` and `L2_PERF_CONFIG`.
    pub name: &'static str,
    /// The register's physical address for strands on its own node. Registers 0 and 1 have none.
    pub local: Option<u64>,
    /// The register's physical address for strands on every node. Registers 0 and 1 have none.
    pub global: Option<u64>,
    /// The bits of a guest's value that a write stores.
    pub write_mask: u64,
}

const fn bare(id: u64, name: &'static str, write_mask: u64) -> Register {
    let (local, global) = (None, None);
    Register { id, name, local, global, write_mask }
}

const fn at(id: u64, name: &'static str, local: u64, global: u64, write_mask: u64) -> Register {
    let (local, global) = (Some(local), Some(global));
    Register { id, name, local, global, write_mask }
}

/// All registers, in ascending order of their ids.
#[rustfmt::skip]
pub const REGISTERS: [Register; 90] = [
    bare(0, "SPARC_PCR", 0xc000_0000_ffff_ffff),
    bare(1, "L2_PERF_CONFIG", 0x3),
    at(2, "NODE0_MCU0_PCR", 0x84_0000_0400, 0xd0_0000_0400, 0xff),
    at(3, "NODE0_MCU0_PIC", 0x84_0000_0408, 0xd0_0000_0408, u64::MAX),
    at(4, "NODE0_MCU1_PCR", 0x84_0000_1400, 0xd0_0000_1400, 0xff),
    at(5, "NODE0_MCU1_PIC", 0x84_0000_1408, 0xd0_0000_1408, u64::MAX),
    at(6, "NODE1_MCU0_PCR", 0x84_0000_0400, 0xd4_0000_0400, 0xff),
    at(7, "NODE1_MCU0_PIC", 0x84_0000_0408, 0xd4_0000_0408, u64::MAX),
    at(8, "NODE1_MCU1_PCR", 0x84_0000_1400, 0xd4_0000_1400, 0xff),
    at(9, "NODE1_MCU1_PIC", 0x84_0000_1408, 0xd4_0000_1408, u64::MAX),
    at(10, "NODE2_MCU0_PCR", 0x84_0000_0400, 0xd8_0000_0400, 0xff),
    at(11, "NODE2_MCU0_PIC", 0x84_0000_0408, 0xd8_0000_0408, u64::MAX),
    at(12, "NODE2_MCU1_PCR", 0x84_0000_1400, 0xd8_0000_1400, 0xff),
    at(13, "NODE2_MCU1_PIC", 0x84_0000_1408, 0xd8_0000_1408, u64::MAX),
    at(14, "NODE3_MCU0_PCR", 0x84_0000_0400, 0xdc_0000_0400, 0xff),
    at(15, "NODE3_MCU0_PIC", 0x84_0000_0408, 0xdc_0000_0408, u64::MAX),
    at(16, "NODE3_MCU1_PCR", 0x84_0000_1400, 0xdc_0000_1400, 0xff),
    at(17, "NODE3_MCU1_PIC", 0x84_0000_1408, 0xdc_0000_1408, u64::MAX),
    at(18, "ZAM0_LPU_A_PCR", 0x81_3000_1000, 0xe1_3000_4000, 0xffff),
    at(19, "ZAM0_LPU_A_PIC0", 0x81_3000_1008, 0xe1_3000_4008, 0xffff_ffff_ffff_ffff),
    at(20, "ZAM0_LPU_A_PIC1", 0x81_3000_1010, 0xe1_3000_4010, 0xffff_ffff_ffff_ffff),
    at(21, "ZAM0_LPU_B_PCR", 0x81_3000_3000, 0xe1_3000_c000, 0xffff),
    at(22, "ZAM0_LPU_B_PIC0", 0x81_3000_3008, 0xe1_3000_c008, 0xffff_ffff_ffff_ffff),
    at(23, "ZAM0_LPU_B_PIC1", 0x81_3000_3010, 0xe1_3000_c010, 0xffff_ffff_ffff_ffff),
    at(24, "ZAM0_LPU_C_PCR", 0x81_3000_5000, 0xe1_3001_4000, 0xffff),
    at(25, "ZAM0_LPU_C_PIC0", 0x81_3000_5008, 0xe1_3001_4008, 0xffff_ffff_ffff_ffff),
    at(26, "ZAM0_LPU_C_PIC1", 0x81_3000_5010, 0xe1_3001_4010, 0xffff_ffff_ffff_ffff),
    at(27, "ZAM0_LPU_D_PCR", 0x81_3000_7000, 0xe1_3001_c000, 0xffff),
    at(28, "ZAM0_LPU_D_PIC0", 0x81_3000_7008, 0xe1_3001_c008, 0xffff_ffff_ffff_ffff),
    at(29, "ZAM0_LPU_D_PIC1", 0x81_3000_7010, 0xe1_3001_c010, 0xffff_ffff_ffff_ffff),
    at(30, "ZAM0_GPD_PCR", 0x81_3000_9000, 0xe1_3002_4000, 0x0f0f),
    at(31, "ZAM0_GPD_PIC0", 0x81_3000_9008, 0xe1_3002_4008, 0xffff_ffff_ffff_ffff),
    at(32, "ZAM0_GPD_PIC1", 0x81_3000_9010, 0xe1_3002_4010, 0xffff_ffff_ffff_ffff),
    at(33, "ZAM0_ASU_PCR", 0x81_3000_b000, 0xe1_3002_c000, 0x0f0f),
    at(34, "ZAM0_ASU_PIC0", 0x81_3000_b008, 0xe1_3002_c008, 0xffff_ffff_ffff_ffff),
    at(35, "ZAM0_ASU_PIC1", 0x81_3000_b010, 0xe1_3002_c010, 0xffff_ffff_ffff_ffff),
    at(36, "ZAM1_LPU_A_PCR", 0x81_3000_1000, 0xe5_3000_5000, 0xffff),
    at(37, "ZAM1_LPU_A_PIC0", 0x81_3000_1008, 0xe5_3000_5008, 0xffff_ffff_ffff_ffff),
    at(38, "ZAM1_LPU_A_PIC1", 0x81_3000_1010, 0xe5_3000_5010, 0xffff_ffff_ffff_ffff),
    at(39, "ZAM1_LPU_B_PCR", 0x81_3000_3000, 0xe5_3000_d000, 0xffff),
    at(40, "ZAM1_LPU_B_PIC0", 0x81_3000_3008, 0xe5_3000_d008, 0xffff_ffff_ffff_ffff),
    at(41, "ZAM1_LPU_B_PIC1", 0x81_3000_3010, 0xe5_3000_d010, 0xffff_ffff_ffff_ffff),
    at(42, "ZAM1_LPU_C_PCR", 0x81_3000_5000, 0xe5_3001_5000, 0xffff),
    at(43, "ZAM1_LPU_C_PIC0", 0x81_3000_5008, 0xe5_3001_5008, 0xffff_ffff_ffff_ffff),
    at(44, "ZAM1_LPU_C_PIC1", 0x81_3000_5010, 0xe5_3001_5010, 0xffff_ffff_ffff_ffff),
    at(45, "ZAM1_LPU_D_PCR", 0x81_3000_7000, 0xe5_3001_d000, 0xffff),
    at(46, "ZAM1_LPU_D_PIC0", 0x81_3000_7008, 0xe5_3001_d008, 0xffff_ffff_ffff_ffff),
    at(47, "ZAM1_LPU_D_PIC1", 0x81_3000_7010, 0xe5_3001_d010, 0xffff_ffff_ffff_ffff),
    at(48, "ZAM1_GPD_PCR", 0x81_3000_9000, 0xe5_3002_5000, 0x0f0f),
    at(49, "ZAM1_GPD_PIC0", 0x81_3000_9008, 0xe5_3002_5008, 0xffff_ffff_ffff_ffff),
    at(50, "ZAM1_GPD_PIC1", 0x81_3000_9010, 0xe5_3002_5010, 0xffff_ffff_ffff_ffff),
    at(51, "ZAM1_ASU_PCR", 0x81_3000_b000, 0xe5_3002_d000, 0x0f0f),
    at(52, "ZAM1_ASU_PIC0", 0x81_3000_b008, 0xe5_3002_d008, 0xffff_ffff_ffff_ffff),
    at(53, "ZAM1_ASU_PIC1", 0x81_3000_b010, 0xe5_3002_d010, 0xffff_ffff_ffff_ffff),
    at(54, "ZAM2_LPU_A_PCR", 0x81_3000_1000, 0xe9_3000_6000, 0xffff),
    at(55, "ZAM2_LPU_A_PIC0", 0x81_3000_1008, 0xe9_3000_6008, 0xffff_ffff_ffff_ffff),
    at(56, "ZAM2_LPU_A_PIC1", 0x81_3000_1010, 0xe9_3000_6010, 0xffff_ffff_ffff_ffff),
    at(57, "ZAM2_LPU_B_PCR", 0x81_3000_3000, 0xe9_3000_e000, 0xffff),
    at(58, "ZAM2_LPU_B_PIC0", 0x81_3000_3008, 0xe9_3000_e008, 0xffff_ffff_ffff_ffff),
    at(59, "ZAM2_LPU_B_PIC1", 0x81_3000_3010, 0xe9_3000_e010, 0xffff_ffff_ffff_ffff),
    at(60, "ZAM2_LPU_C_PCR", 0x81_3000_5000, 0xe9_3001_6000, 0xffff),
    at(61, "ZAM2_LPU_C_PIC0", 0x81_3000_5008, 0xe9_3001_6008, 0xffff_ffff_ffff_ffff),
    at(62, "ZAM2_LPU_C_PIC1", 0x81_3000_5010, 0xe9_3001_6010, 0xffff_ffff_ffff_ffff),
    at(63, "ZAM2_LPU_D_PCR", 0x81_3000_7000, 0xe9_3001_e000, 0xffff),
    at(64, "ZAM2_LPU_D_PIC0", 0x81_3000_7008, 0xe9_3001_e008, 0xffff_ffff_ffff_ffff),
    at(65, "ZAM2_LPU_D_PIC1", 0x81_3000_7010, 0xe9_3001_e010, 0xffff_ffff_ffff_ffff),
    at(66, "ZAM2_GPD_PCR", 0x81_3000_9000, 0xe9_3002_6000, 0x0f0f),
    at(67, "ZAM2_GPD_PIC0", 0x81_3000_9008, 0xe9_3002_6008, 0xffff_ffff_ffff_ffff),
    at(68, "ZAM2_GPD_PIC1", 0x81_3000_9010, 0xe9_3002_6010, 0xffff_ffff_ffff_ffff),
    at(69, "ZAM2_ASU_PCR", 0x81_3000_b000, 0xe9_3002_e000, 0x0f0f),
    at(70, "ZAM2_ASU_PIC0", 0x81_3000_b008, 0xe9_3002_e008, 0xffff_ffff_ffff_ffff),
    at(71, "ZAM2_ASU_PIC1", 0x81_3000_b010, 0xe9_3002_e010, 0xffff_ffff_ffff_ffff),
    at(72, "ZAM3_LPU_A_PCR", 0x81_3000_1000, 0xed_3000_7000, 0xffff),
    at(73, "ZAM3_LPU_A_PIC0", 0x81_3000_1008, 0xed_3000_7008, 0xffff_ffff_ffff_ffff),
    at(74, "ZAM3_LPU_A_PIC1", 0x81_3000_1010, 0xed_3000_7010, 0xffff_ffff_ffff_ffff),
    at(75, "ZAM3_LPU_B_PCR", 0x81_3000_3000, 0xed_3000_f000, 0xffff),
    at(76, "ZAM3_LPU_B_PIC0", 0x81_3000_3008, 0xed_3000_f008, 0xffff_ffff_ffff_ffff),
    at(77, "ZAM3_LPU_B_PIC1", 0x81_3000_3010, 0xed_3000_f010, 0xffff_ffff_ffff_ffff),
    at(78, "ZAM3_LPU_C_PCR", 0x81_3000_5000, 0xed_3001_7000, 0xffff),
    at(79, "ZAM3_LPU_C_PIC0", 0x81_3000_5008, 0xed_3001_7008, 0xffff_ffff_ffff_ffff),
    at(80, "ZAM3_LPU_C_PIC1", 0x81_3000_5010, 0xed_3001_7010, 0xffff_ffff_ffff_ffff),
    at(81, "ZAM3_LPU_D_PCR", 0x81_3000_7000, 0xed_3001_f000, 0xffff),
    at(82, "ZAM3_LPU_D_PIC0", 0x81_3000_7008, 0xed_3001_f008, 0xffff_ffff_ffff_ffff),
    at(83, "ZAM3_LPU_D_PIC1", 0x81_3000_7010, 0xed_3001_f010, 0xffff_ffff_ffff_ffff),
    at(84, "ZAM3_GPD_PCR", 0x81_3000_9000, 0xed_3002_7000, 0x0f0f),
    at(85, "ZAM3_GPD_PIC0", 0x81_3000_9008, 0xed_3002_7008, 0xffff_ffff_ffff_ffff),
    at(86, "ZAM3_GPD_PIC1", 0x81_3000_9010, 0xed_3002_7010, 0xffff_ffff_ffff_ffff),
    at(87, "ZAM3_ASU_PCR", 0x81_3000_b000, 0xed_3002_f000, 0x0f0f),
    at(88, "ZAM3_ASU_PIC0", 0x81_3000_b008, 0xed_3002_f008, 0xffff_ffff_ffff_ffff),
    at(89, "ZAM3_ASU_PIC1", 0x81_3000_b010, 0xed_3002_f010, 0xffff_ffff_ffff_ffff),
];

/// Returns the table row of register `id`; `None` if `id` is above 89. All 64 bits of `id` matter.
pub fn register(id: u64) -> Option<&'static Register> {
    REGISTERS.iter().find(|register| register.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_are_in_order_and_names_and_global_addresses_are_unique() {
        let names: BTreeSet<_> = REGISTERS.iter().map(|r| r.name).collect();
        let globals: BTreeSet<_> = REGISTERS.iter().filter_map(|r| r.global).collect();
        assert!(REGISTERS.iter().map(|r| r.id).eq(0..90));
        assert_eq!(names.len(), 90);
        assert_eq!(globals.len(), 88);
    }

    /// The addresses match the address fields of sections 2.2 to 2.6.
    #[test]
    fn addresses_follow_the_address_fields() {
        for node in 0..4u64 {
            for mcu in 0..2 {
                for (pic, kind) in ["PCR", "PIC"].into_iter().enumerate() {
                    let name = format!("NODE{node}_MCU{mcu}_{kind}");
                    let register = REGISTERS.iter().find(|r| r.name == name).unwrap();
                    let low = mcu << 12 | 0x400 | (pic as u64) << 3;
                    assert_eq!(register.local, Some(0x84_0000_0000 | low), "{name}");
                    assert_eq!(register.global, Some((0xd0 + 4 * node) << 32 | low), "{name}");
                }
            }
        }
        let units = ["LPU_A", "LPU_B", "LPU_C", "LPU_D", "GPD", "ASU"];
        for hub in 0..4u64 {
            for (unit, field) in units.into_iter().zip([1u64, 3, 5, 7, 9, 0xb]) {
                for (word, kind) in ["PCR", "PIC0", "PIC1"].into_iter().enumerate() {
                    let name = format!("ZAM{hub}_{unit}_{kind}");
                    let register = REGISTERS.iter().find(|r| r.name == name).unwrap();
                    let low = (word as u64) << 3;
                    let local = 0x81_3000_0000 | field << 12 | low;
                    let global = (0xe1 + 4 * hub) << 32 | 0x3000_0000 | field << 14 | hub << 12;
                    assert_eq!(register.local, Some(local), "{name}");
                    assert_eq!(register.global, Some(global | low), "{name}");
                }
            }
        }
    }

    #[test]
    fn numbers_compare_all_64_bits() {
        assert_eq!(register(89).map(|r| r.name), Some("ZAM3_ASU_PIC1"));
        assert_eq!(register(90), None);
        assert_eq!(register(1 << 32), None);
        assert_eq!(register(u64::MAX), None);
    }
}
