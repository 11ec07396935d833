//! The 90 registers, and the 32 units that they belong to.

/// PerfReg numbers (FWARC/2007/529 section 3.1).
#[repr(C)]
pub enum sun4v_perf_reg {
    /// Control register of the calling strand.
    SUN4V_REG_SPARC_PCR = 0,
    /// PERF_CONFIG of the caller's node.
    SUN4V_REG_L2_PERF_CONFIG = 1,
    /// Node 0, DRAM channel 0: control.
    SUN4V_REG_NODE0_MCU0_PCR = 2,
    /// Node 0, DRAM channel 0: counters.
    SUN4V_REG_NODE0_MCU0_PIC = 3,
    /// Node 0, DRAM channel 1: control.
    SUN4V_REG_NODE0_MCU1_PCR = 4,
    /// Node 0, DRAM channel 1: counters.
    SUN4V_REG_NODE0_MCU1_PIC = 5,
    /// Node 1, DRAM channel 0: control.
    SUN4V_REG_NODE1_MCU0_PCR = 6,
    /// Node 1, DRAM channel 0: counters.
    SUN4V_REG_NODE1_MCU0_PIC = 7,
    /// Node 1, DRAM channel 1: control.
    SUN4V_REG_NODE1_MCU1_PCR = 8,
    /// Node 1, DRAM channel 1: counters.
    SUN4V_REG_NODE1_MCU1_PIC = 9,
    /// Node 2, DRAM channel 0: control.
    SUN4V_REG_NODE2_MCU0_PCR = 10,
    /// Node 2, DRAM channel 0: counters.
    SUN4V_REG_NODE2_MCU0_PIC = 11,
    /// Node 2, DRAM channel 1: control.
    SUN4V_REG_NODE2_MCU1_PCR = 12,
    /// Node 2, DRAM channel 1: counters.
    SUN4V_REG_NODE2_MCU1_PIC = 13,
    /// Node 3, DRAM channel 0: control.
    SUN4V_REG_NODE3_MCU0_PCR = 14,
    /// Node 3, DRAM channel 0: counters.
    SUN4V_REG_NODE3_MCU0_PIC = 15,
    /// Node 3, DRAM channel 1: control.
    SUN4V_REG_NODE3_MCU1_PCR = 16,
    /// Node 3, DRAM channel 1: counters.
    SUN4V_REG_NODE3_MCU1_PIC = 17,
    /// Hub 0, link port unit A: control.
    SUN4V_REG_ZAM0_LPU_A_PCR = 18,
    /// Hub 0, link port unit A: counter 0.
    SUN4V_REG_ZAM0_LPU_A_PIC0 = 19,
    /// Hub 0, link port unit A: counter 1.
    SUN4V_REG_ZAM0_LPU_A_PIC1 = 20,
    /// Hub 0, link port unit B: control.
    SUN4V_REG_ZAM0_LPU_B_PCR = 21,
    /// Hub 0, link port unit B: counter 0.
    SUN4V_REG_ZAM0_LPU_B_PIC0 = 22,
    /// Hub 0, link port unit B: counter 1.
    SUN4V_REG_ZAM0_LPU_B_PIC1 = 23,
    /// Hub 0, link port unit C: control.
    SUN4V_REG_ZAM0_LPU_C_PCR = 24,
    /// Hub 0, link port unit C: counter 0.
    SUN4V_REG_ZAM0_LPU_C_PIC0 = 25,
    /// Hub 0, link port unit C: counter 1.
    SUN4V_REG_ZAM0_LPU_C_PIC1 = 26,
    /// Hub 0, link port unit D: control.
    SUN4V_REG_ZAM0_LPU_D_PCR = 27,
    /// Hub 0, link port unit D: counter 0.
    SUN4V_REG_ZAM0_LPU_D_PIC0 = 28,
    /// Hub 0, link port unit D: counter 1.
    SUN4V_REG_ZAM0_LPU_D_PIC1 = 29,
    /// Hub 0, GPD: control.
    SUN4V_REG_ZAM0_GPD_PCR = 30,
    /// Hub 0, GPD: counter 0.
    SUN4V_REG_ZAM0_GPD_PIC0 = 31,
    /// Hub 0, GPD: counter 1.
    SUN4V_REG_ZAM0_GPD_PIC1 = 32,
    /// Hub 0, ASU: control.
    SUN4V_REG_ZAM0_ASU_PCR = 33,
    /// Hub 0, ASU: counter 0.
    SUN4V_REG_ZAM0_ASU_PIC0 = 34,
    /// Hub 0, ASU: counter 1.
    SUN4V_REG_ZAM0_ASU_PIC1 = 35,
    /// Hub 1, link port unit A: control.
    SUN4V_REG_ZAM1_LPU_A_PCR = 36,
    /// Hub 1, link port unit A: counter 0.
    SUN4V_REG_ZAM1_LPU_A_PIC0 = 37,
    /// Hub 1, link port unit A: counter 1.
    SUN4V_REG_ZAM1_LPU_A_PIC1 = 38,
    /// Hub 1, link port unit B: control.
    SUN4V_REG_ZAM1_LPU_B_PCR = 39,
    /// Hub 1, link port unit B: counter 0.
    SUN4V_REG_ZAM1_LPU_B_PIC0 = 40,
    /// Hub 1, link port unit B: counter 1.
    SUN4V_REG_ZAM1_LPU_B_PIC1 = 41,
    /// Hub 1, link port unit C: control.
    SUN4V_REG_ZAM1_LPU_C_PCR = 42,
    /// Hub 1, link port unit C: counter 0.
    SUN4V_REG_ZAM1_LPU_C_PIC0 = 43,
    /// Hub 1, link port unit C: counter 1.
    SUN4V_REG_ZAM1_LPU_C_PIC1 = 44,
    /// Hub 1, link port unit D: control.
    SUN4V_REG_ZAM1_LPU_D_PCR = 45,
    /// Hub 1, link port unit D: counter 0.
    SUN4V_REG_ZAM1_LPU_D_PIC0 = 46,
    /// Hub 1, link port unit D: counter 1.
    SUN4V_REG_ZAM1_LPU_D_PIC1 = 47,
    /// Hub 1, GPD: control.
    SUN4V_REG_ZAM1_GPD_PCR = 48,
    /// Hub 1, GPD: counter 0.
    SUN4V_REG_ZAM1_GPD_PIC0 = 49,
    /// Hub 1, GPD: counter 1.
    SUN4V_REG_ZAM1_GPD_PIC1 = 50,
    /// Hub 1, ASU: control.
    SUN4V_REG_ZAM1_ASU_PCR = 51,
    /// Hub 1, ASU: counter 0.
    SUN4V_REG_ZAM1_ASU_PIC0 = 52,
    /// Hub 1, ASU: counter 1.
    SUN4V_REG_ZAM1_ASU_PIC1 = 53,
    /// Hub 2, link port unit A: control.
    SUN4V_REG_ZAM2_LPU_A_PCR = 54,
    /// Hub 2, link port unit A: counter 0.
    SUN4V_REG_ZAM2_LPU_A_PIC0 = 55,
    /// Hub 2, link port unit A: counter 1.
    SUN4V_REG_ZAM2_LPU_A_PIC1 = 56,
    /// Hub 2, link port unit B: control.
    SUN4V_REG_ZAM2_LPU_B_PCR = 57,
    /// Hub 2, link port unit B: counter 0.
    SUN4V_REG_ZAM2_LPU_B_PIC0 = 58,
    /// Hub 2, link port unit B: counter 1.
    SUN4V_REG_ZAM2_LPU_B_PIC1 = 59,
    /// Hub 2, link port unit C: control.
    SUN4V_REG_ZAM2_LPU_C_PCR = 60,
    /// Hub 2, link port unit C: counter 0.
    SUN4V_REG_ZAM2_LPU_C_PIC0 = 61,
    /// Hub 2, link port unit C: counter 1.
    SUN4V_REG_ZAM2_LPU_C_PIC1 = 62,
    /// Hub 2, link port unit D: control.
    SUN4V_REG_ZAM2_LPU_D_PCR = 63,
    /// Hub 2, link port unit D: counter 0.
    SUN4V_REG_ZAM2_LPU_D_PIC0 = 64,
    /// Hub 2, link port unit D: counter 1.
    SUN4V_REG_ZAM2_LPU_D_PIC1 = 65,
    /// Hub 2, GPD: control.
    SUN4V_REG_ZAM2_GPD_PCR = 66,
    /// Hub 2, GPD: counter 0.
    SUN4V_REG_ZAM2_GPD_PIC0 = 67,
    /// Hub 2, GPD: counter 1.
    SUN4V_REG_ZAM2_GPD_PIC1 = 68,
    /// Hub 2, ASU: control.
    SUN4V_REG_ZAM2_ASU_PCR = 69,
    /// Hub 2, ASU: counter 0.
    SUN4V_REG_ZAM2_ASU_PIC0 = 70,
    /// Hub 2, ASU: counter 1.
    SUN4V_REG_ZAM2_ASU_PIC1 = 71,
    /// Hub 3, link port unit A: control.
    SUN4V_REG_ZAM3_LPU_A_PCR = 72,
    /// Hub 3, link port unit A: counter 0.
    SUN4V_REG_ZAM3_LPU_A_PIC0 = 73,
    /// Hub 3, link port unit A: counter 1.
    SUN4V_REG_ZAM3_LPU_A_PIC1 = 74,
    /// Hub 3, link port unit B: control.
    SUN4V_REG_ZAM3_LPU_B_PCR = 75,
    /// Hub 3, link port unit B: counter 0.
    SUN4V_REG_ZAM3_LPU_B_PIC0 = 76,
    /// Hub 3, link port unit B: counter 1.
    SUN4V_REG_ZAM3_LPU_B_PIC1 = 77,
    /// Hub 3, link port unit C: control.
    SUN4V_REG_ZAM3_LPU_C_PCR = 78,
    /// Hub 3, link port unit C: counter 0.
    SUN4V_REG_ZAM3_LPU_C_PIC0 = 79,
    /// Hub 3, link port unit C: counter 1.
    SUN4V_REG_ZAM3_LPU_C_PIC1 = 80,
    /// Hub 3, link port unit D: control.
    SUN4V_REG_ZAM3_LPU_D_PCR = 81,
    /// Hub 3, link port unit D: counter 0.
    SUN4V_REG_ZAM3_LPU_D_PIC0 = 82,
    /// Hub 3, link port unit D: counter 1.
    SUN4V_REG_ZAM3_LPU_D_PIC1 = 83,
    /// Hub 3, GPD: control.
    SUN4V_REG_ZAM3_GPD_PCR = 84,
    /// Hub 3, GPD: counter 0.
    SUN4V_REG_ZAM3_GPD_PIC0 = 85,
    /// Hub 3, GPD: counter 1.
    SUN4V_REG_ZAM3_GPD_PIC1 = 86,
    /// Hub 3, ASU: control.
    SUN4V_REG_ZAM3_ASU_PCR = 87,
    /// Hub 3, ASU: counter 0.
    SUN4V_REG_ZAM3_ASU_PIC0 = 88,
    /// Hub 3, ASU: counter 1.
    SUN4V_REG_ZAM3_ASU_PIC1 = 89,
}

/// What has a control register and two counters, in the order in which illumos probes them. Bits of `sun4v_present`.
#[repr(C)]
pub enum sun4v_unit {
    /// Node 0, DRAM channel 0.
    SUN4V_UNIT_NODE0_MCU0 = 0,
    /// Node 0, DRAM channel 1.
    SUN4V_UNIT_NODE0_MCU1 = 1,
    /// Node 1, DRAM channel 0.
    SUN4V_UNIT_NODE1_MCU0 = 2,
    /// Node 1, DRAM channel 1.
    SUN4V_UNIT_NODE1_MCU1 = 3,
    /// Node 2, DRAM channel 0.
    SUN4V_UNIT_NODE2_MCU0 = 4,
    /// Node 2, DRAM channel 1.
    SUN4V_UNIT_NODE2_MCU1 = 5,
    /// Node 3, DRAM channel 0.
    SUN4V_UNIT_NODE3_MCU0 = 6,
    /// Node 3, DRAM channel 1.
    SUN4V_UNIT_NODE3_MCU1 = 7,
    /// Hub 0, link port unit A.
    SUN4V_UNIT_ZAM0_LPU_A = 8,
    /// Hub 0, link port unit B.
    SUN4V_UNIT_ZAM0_LPU_B = 9,
    /// Hub 0, link port unit C.
    SUN4V_UNIT_ZAM0_LPU_C = 10,
    /// Hub 0, link port unit D.
    SUN4V_UNIT_ZAM0_LPU_D = 11,
    /// Hub 1, link port unit A.
    SUN4V_UNIT_ZAM1_LPU_A = 12,
    /// Hub 1, link port unit B.
    SUN4V_UNIT_ZAM1_LPU_B = 13,
    /// Hub 1, link port unit C.
    SUN4V_UNIT_ZAM1_LPU_C = 14,
    /// Hub 1, link port unit D.
    SUN4V_UNIT_ZAM1_LPU_D = 15,
    /// Hub 2, link port unit A.
    SUN4V_UNIT_ZAM2_LPU_A = 16,
    /// Hub 2, link port unit B.
    SUN4V_UNIT_ZAM2_LPU_B = 17,
    /// Hub 2, link port unit C.
    SUN4V_UNIT_ZAM2_LPU_C = 18,
    /// Hub 2, link port unit D.
    SUN4V_UNIT_ZAM2_LPU_D = 19,
    /// Hub 3, link port unit A.
    SUN4V_UNIT_ZAM3_LPU_A = 20,
    /// Hub 3, link port unit B.
    SUN4V_UNIT_ZAM3_LPU_B = 21,
    /// Hub 3, link port unit C.
    SUN4V_UNIT_ZAM3_LPU_C = 22,
    /// Hub 3, link port unit D.
    SUN4V_UNIT_ZAM3_LPU_D = 23,
    /// Hub 0, GPD.
    SUN4V_UNIT_ZAM0_GPD = 24,
    /// Hub 1, GPD.
    SUN4V_UNIT_ZAM1_GPD = 25,
    /// Hub 2, GPD.
    SUN4V_UNIT_ZAM2_GPD = 26,
    /// Hub 3, GPD.
    SUN4V_UNIT_ZAM3_GPD = 27,
    /// Hub 0, ASU.
    SUN4V_UNIT_ZAM0_ASU = 28,
    /// Hub 1, ASU.
    SUN4V_UNIT_ZAM1_ASU = 29,
    /// Hub 2, ASU.
    SUN4V_UNIT_ZAM2_ASU = 30,
    /// Hub 3, ASU.
    SUN4V_UNIT_ZAM3_ASU = 31,
}
