//! What is in the registers: `_SELECTn` is the select field of counter n in place, `_CLEAR_PICn` its complement
//! (`busstat`'s mask), `_WRITABLE` what a guest can write.

/// SPARC PCR: user code may not read the counters, bit 0.
pub const SUN4V_SPARC_PCR_PRIV: u64 = 0x1_u64;
/// SPARC PCR: count in privileged mode, bit 1.
pub const SUN4V_SPARC_PCR_ST: u64 = 0x2_u64;
/// SPARC PCR: count in user mode, bit 2.
pub const SUN4V_SPARC_PCR_UT: u64 = 0x4_u64;
/// SPARC PCR: count in hyperprivileged mode. Only the hypervisor can set it, bit 3.
pub const SUN4V_SPARC_PCR_HT: u64 = 0x8_u64;
/// SPARC PCR: trap when counter 0 overflows, bit 4.
pub const SUN4V_SPARC_PCR_TOE0: u64 = 0x10_u64;
/// SPARC PCR: trap when counter 1 overflows, bit 5.
pub const SUN4V_SPARC_PCR_TOE1: u64 = 0x20_u64;
/// SPARC PCR: counter 0 has overflowed, bit 18.
pub const SUN4V_SPARC_PCR_OV0: u64 = 0x40000_u64;
/// SPARC PCR: counter 1 has overflowed, bit 31.
pub const SUN4V_SPARC_PCR_OV1: u64 = 0x80000000_u64;
/// SPARC PCR: hold counter 0's overflow, bit 62.
pub const SUN4V_SPARC_PCR_HOLDOV0: u64 = 0x4000000000000000_u64;
/// SPARC PCR: hold counter 1's overflow, bit 63.
pub const SUN4V_SPARC_PCR_HOLDOV1: u64 = 0x8000000000000000_u64;
/// SPARC PCR: event of counter 0, bits 17:6.
pub const SUN4V_SPARC_PCR_SELECT0: u64 = 0x3ffc0_u64;
/// SPARC PCR: lowest bit of the event of counter 0.
pub const SUN4V_SPARC_PCR_SELECT0_SHIFT: u32 = 6;
/// SPARC PCR: all bits but the event of counter 0.
pub const SUN4V_SPARC_PCR_CLEAR_PIC0: u64 = 0xfffffffffffc003f_u64;
/// SPARC PCR: event of counter 1, bits 30:19.
pub const SUN4V_SPARC_PCR_SELECT1: u64 = 0x7ff80000_u64;
/// SPARC PCR: lowest bit of the event of counter 1.
pub const SUN4V_SPARC_PCR_SELECT1_SHIFT: u32 = 19;
/// SPARC PCR: all bits but the event of counter 1.
pub const SUN4V_SPARC_PCR_CLEAR_PIC1: u64 = 0xffffffff8007ffff_u64;
/// SPARC PCR: the bits that exist.
pub const SUN4V_SPARC_PCR_WRITABLE: u64 = 0xc0000000ffffffff_u64;
/// SPARC PIC: bits of a counter. Counter 0 is in bits 31:0, counter 1 in bits 63:32.
pub const SUN4V_SPARC_PIC_WIDTH: u32 = 32;
/// PERF_CONFIG: the bits that exist.
pub const SUN4V_L2_PERF_CONFIG_WRITABLE: u64 = 0x3_u64;

/// DRAM PCR: event of counter 0, bits 7:4.
pub const SUN4V_DRAM_PCR_SELECT0: u64 = 0xf0_u64;
/// DRAM PCR: lowest bit of the event of counter 0.
pub const SUN4V_DRAM_PCR_SELECT0_SHIFT: u32 = 4;
/// DRAM PCR: all bits but the event of counter 0.
pub const SUN4V_DRAM_PCR_CLEAR_PIC0: u64 = 0xffffffffffffff0f_u64;
/// DRAM PCR: event of counter 1, bits 3:0.
pub const SUN4V_DRAM_PCR_SELECT1: u64 = 0xf_u64;
/// DRAM PCR: lowest bit of the event of counter 1.
pub const SUN4V_DRAM_PCR_SELECT1_SHIFT: u32 = 0;
/// DRAM PCR: all bits but the event of counter 1.
pub const SUN4V_DRAM_PCR_CLEAR_PIC1: u64 = 0xfffffffffffffff0_u64;
/// DRAM PCR: the bits that exist.
pub const SUN4V_DRAM_PCR_WRITABLE: u64 = 0xff_u64;
/// DRAM PIC: bits of a counter. Counter 0 is in bits 62:32, counter 1 in bits 30:0.
pub const SUN4V_DRAM_PIC_WIDTH: u32 = 31;
/// DRAM PIC: the bits that exist.
pub const SUN4V_DRAM_PIC_WRITABLE: u64 = 0x7fffffff7fffffff_u64;

/// LPU PCR: event of counter 0, bits 7:0.
pub const SUN4V_LPU_PCR_SELECT0: u64 = 0xff_u64;
/// LPU PCR: lowest bit of the event of counter 0.
pub const SUN4V_LPU_PCR_SELECT0_SHIFT: u32 = 0;
/// LPU PCR: all bits but the event of counter 0.
pub const SUN4V_LPU_PCR_CLEAR_PIC0: u64 = 0xffffffffffffff00_u64;
/// LPU PCR: event of counter 1, bits 15:8.
pub const SUN4V_LPU_PCR_SELECT1: u64 = 0xff00_u64;
/// LPU PCR: lowest bit of the event of counter 1.
pub const SUN4V_LPU_PCR_SELECT1_SHIFT: u32 = 8;
/// LPU PCR: all bits but the event of counter 1.
pub const SUN4V_LPU_PCR_CLEAR_PIC1: u64 = 0xffffffffffff00ff_u64;
/// LPU PCR: the bits that exist. Its counters have 64.
pub const SUN4V_LPU_PCR_WRITABLE: u64 = 0xffff_u64;

/// GPD PCR: event of counter 0, bits 3:0.
pub const SUN4V_GPD_PCR_SELECT0: u64 = 0xf_u64;
/// GPD PCR: lowest bit of the event of counter 0.
pub const SUN4V_GPD_PCR_SELECT0_SHIFT: u32 = 0;
/// GPD PCR: all bits but the event of counter 0.
pub const SUN4V_GPD_PCR_CLEAR_PIC0: u64 = 0xfffffffffffffff0_u64;
/// GPD PCR: event of counter 1, bits 11:8.
pub const SUN4V_GPD_PCR_SELECT1: u64 = 0xf00_u64;
/// GPD PCR: lowest bit of the event of counter 1.
pub const SUN4V_GPD_PCR_SELECT1_SHIFT: u32 = 8;
/// GPD PCR: all bits but the event of counter 1.
pub const SUN4V_GPD_PCR_CLEAR_PIC1: u64 = 0xfffffffffffff0ff_u64;
/// GPD PCR: the bits that exist. Its counters have 64.
pub const SUN4V_GPD_PCR_WRITABLE: u64 = 0xf0f_u64;

/// ASU PCR: event of counter 0, bits 3:0.
pub const SUN4V_ASU_PCR_SELECT0: u64 = 0xf_u64;
/// ASU PCR: lowest bit of the event of counter 0.
pub const SUN4V_ASU_PCR_SELECT0_SHIFT: u32 = 0;
/// ASU PCR: all bits but the event of counter 0.
pub const SUN4V_ASU_PCR_CLEAR_PIC0: u64 = 0xfffffffffffffff0_u64;
/// ASU PCR: event of counter 1, bits 11:8.
pub const SUN4V_ASU_PCR_SELECT1: u64 = 0xf00_u64;
/// ASU PCR: lowest bit of the event of counter 1.
pub const SUN4V_ASU_PCR_SELECT1_SHIFT: u32 = 8;
/// ASU PCR: all bits but the event of counter 1.
pub const SUN4V_ASU_PCR_CLEAR_PIC1: u64 = 0xfffffffffffff0ff_u64;
/// ASU PCR: the bits that exist. Its counters have 64.
pub const SUN4V_ASU_PCR_WRITABLE: u64 = 0xf0f_u64;

/// PERF_CONFIG: which L2 misses the strands of a node count (FWARC/2007/529 section 2.3).
#[repr(C)]
pub enum sun4v_perf_config {
    /// All misses.
    SUN4V_PERF_CONFIG_ALL = 0,
    /// Misses served from the memory of the node itself.
    SUN4V_PERF_CONFIG_LOCAL = 1,
    /// Misses served from the memory of another node.
    SUN4V_PERF_CONFIG_REMOTE = 2,
    /// Misses served by the cache of another node.
    SUN4V_PERF_CONFIG_CACHE_TO_CACHE = 3,
}
