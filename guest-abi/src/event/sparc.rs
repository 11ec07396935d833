//! Events of the SPARC counters. Their codes are `SL << 8 | MASK`: see [`SparcSelect`](crate::layout::SparcSelect).

super::events! {
    /// An event that the two counters of a strand can count. Each counter can count any event.
    SparcEvent "event of a strand": u16 {
        IdleStrands = 0x000, "Idle_strands", "Clocks in which no strand of the core issues an instruction.";
        BranchesCompleted = 0x201, "Br_completed", "Branches completed.";
        BranchesTaken = 0x202, "Br_taken", "Branches taken.";
        FguArithmetic = 0x204, "Instr_FGU_arithmetic", "Floating-point and graphics arithmetic instructions.";
        Loads = 0x208, "Instr_ld",
            "Load instructions, among them atomics, prefetches, and reads of ASRs and privileged registers (rd, rdpr).";
        Stores = 0x210, "Instr_st",
            "Store instructions, among them atomics, and writes of ASRs and privileged registers (wr, wrpr).";
        SoftwareCounts = 0x220, "Instr_sw", "Software count instructions (`sethi %hi(fc000), %g0`).";
        OtherInstructions = 0x240, "Instr_other", "All other instructions.";
        AtomicOperations = 0x280, "Atomics", "Atomic instructions, which are loads and stores too.";
        Instructions = 0x2fd, "Instr_cnt", "All instructions.";
        InstructionCacheMisses = 0x301, "IC_miss", "Misses of the instruction cache.";
        DataCacheMisses = 0x302, "DC_miss", "Misses of the data cache, by loads.";
        L2InstructionMisses = 0x310, "L2_imiss", "L2 misses of instruction fetches, as PERF_CONFIG selects them.";
        L2LoadMisses = 0x320, "L2_dmiss_ld", "L2 misses of loads, but not of atomics, as PERF_CONFIG selects them.";
        ItlbWalkL2References = 0x404, "ITLB_HWTW_ref_L2", "Hardware instruction tablewalks that asked the L2.";
        DtlbWalkL2References = 0x408, "DTLB_HWTW_ref_L2", "Hardware data tablewalks that asked the L2.";
        ItlbWalkL2Misses = 0x410, "ITLB_HWTW_miss_L2", "Hardware instruction tablewalks that missed the L2.";
        DtlbWalkL2Misses = 0x420, "DTLB_HWTW_miss_L2", "Hardware data tablewalks that missed the L2.";
        StreamLoads = 0x501, "Stream_ld_to_PCX", "Loads of the stream processing unit sent to the crossbar.";
        StreamStores = 0x502, "Stream_st_to_PCX", "Stores of the stream processing unit sent to the crossbar.";
        CrossbarLoads = 0x504, "CPU_ld_to_PCX", "Loads sent to the crossbar.";
        CrossbarFetches = 0x508, "CPU_ifetch_to_PCX", "Instruction fetches sent to the crossbar.";
        CrossbarStores = 0x510, "CPU_st_to_PCX", "Stores sent to the crossbar.";
        MmuLoads = 0x520, "MMU_ld_to_PCX", "Loads of the memory management unit sent to the crossbar.";
        DesOperations = 0x601, "DES_3DES_op", "DES and triple DES operations.";
        AesOperations = 0x602, "AES_op", "AES operations.";
        Rc4Operations = 0x604, "RC4_op", "RC4 operations.";
        HashOperations = 0x608, "MD5_SHA-1_SHA-256_op", "Hash operations.";
        ModularOperations = 0x610, "MA_op", "Modular arithmetic operations.";
        CrcOperations = 0x620, "CRC_TCPIP_cksum", "Operations of the CRC unit, the single unit for all checksums.";
        DesBusyCycles = 0x701, "DES_3DES_busy_cycle", "Cycles in which the DES unit is busy.";
        AesBusyCycles = 0x702, "AES_busy_cycle", "Cycles in which the AES unit is busy.";
        Rc4BusyCycles = 0x704, "RC4_busy_cycle", "Cycles in which the RC4 unit is busy.";
        HashBusyCycles = 0x708, "MD5_SHA-1_SHA-256_busy_cycle", "Cycles in which the hash unit is busy.";
        ModularBusyCycles = 0x710, "MA_busy_cycle", "Cycles in which the modular arithmetic unit is busy.";
        CrcBusyCycles = 0x720, "CRC_MPA_cksum", "Cycles in which the CRC unit is busy.";
        ItlbMisses = 0xb04, "ITLB_miss", "Misses of the instruction TLB, also of instructions that are flushed.";
        DtlbMisses = 0xb08, "DTLB_miss", "Misses of the data TLB, also of instructions that are flushed.";
        TlbMisses = 0xb0c, "TLB_miss", "Misses of both TLBs, also of instructions that are flushed.";
    }
}

impl SparcEvent {
    /// Returns the event for one of the PAPI library's generic names, such as `PAPI_tot_ins`.
    pub fn from_papi_name(name: &str) -> Option<Self> {
        const NAMES: &[(&str, SparcEvent)] = &[
            ("PAPI_tot_ins", SparcEvent::Instructions),
            ("PAPI_l1_icm", SparcEvent::InstructionCacheMisses),
            ("PAPI_l1_dcm", SparcEvent::DataCacheMisses),
            ("PAPI_l2_icm", SparcEvent::L2InstructionMisses),
            ("PAPI_l2_ldm", SparcEvent::L2LoadMisses),
            ("PAPI_tlb_im", SparcEvent::ItlbMisses),
            ("PAPI_tlb_dm", SparcEvent::DtlbMisses),
            ("PAPI_tlb_tm", SparcEvent::TlbMisses),
            ("PAPI_br_tkn", SparcEvent::BranchesTaken),
            ("PAPI_br_ins", SparcEvent::BranchesCompleted),
            ("PAPI_ld_ins", SparcEvent::Loads),
            ("PAPI_sr_ins", SparcEvent::Stores),
        ];
        NAMES.iter().find(|(papi, _)| papi.eq_ignore_ascii_case(name)).map(|(_, event)| *event)
    }

    /// Returns `true` if PERF_CONFIG (register 1) decides which misses the event counts.
    pub const fn obeys_perf_config(self) -> bool {
        matches!(self, Self::L2InstructionMisses | Self::L2LoadMisses)
    }
}
