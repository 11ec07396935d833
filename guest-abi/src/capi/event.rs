//! Events by their names in `busstat` and `cpustat`.

/// What a strand's counter counts: SL in bits 11:8, MASK in bits 7:0 (FWARC/2007/529 section 2.1).
#[repr(C)]
pub enum sun4v_sparc_event {
    /// Strands of the core that are idle. `Idle_strands`.
    SUN4V_SPARC_IDLE_STRANDS = 0x000,
    /// Branches completed. `Br_completed`.
    SUN4V_SPARC_BR_COMPLETED = 0x201,
    /// Branches taken. `Br_taken`.
    SUN4V_SPARC_BR_TAKEN = 0x202,
    /// Floating-point and graphics arithmetic instructions. `Instr_FGU_arithmetic`.
    SUN4V_SPARC_INSTR_FGU_ARITHMETIC = 0x204,
    /// Load instructions. `Instr_ld`.
    SUN4V_SPARC_INSTR_LD = 0x208,
    /// Store instructions. `Instr_st`.
    SUN4V_SPARC_INSTR_ST = 0x210,
    /// Software count instructions (`sethi %hi(fc000), %g0`). `Instr_sw`.
    SUN4V_SPARC_INSTR_SW = 0x220,
    /// All other instructions. `Instr_other`.
    SUN4V_SPARC_INSTR_OTHER = 0x240,
    /// Atomic operations. `Atomics`.
    SUN4V_SPARC_ATOMICS = 0x280,
    /// All instructions. `Instr_cnt`.
    SUN4V_SPARC_INSTR_CNT = 0x2fd,
    /// Misses of the instruction cache. `IC_miss`.
    SUN4V_SPARC_IC_MISS = 0x301,
    /// Misses of the data cache, by loads. `DC_miss`.
    SUN4V_SPARC_DC_MISS = 0x302,
    /// L2 misses of instruction fetches, as PERF_CONFIG selects them. `L2_imiss`.
    SUN4V_SPARC_L2_IMISS = 0x310,
    /// L2 misses of loads, as PERF_CONFIG selects them. `L2_dmiss_ld`.
    SUN4V_SPARC_L2_DMISS_LD = 0x320,
    /// Hardware tablewalks for instructions that asked the L2. `ITLB_HWTW_ref_L2`.
    SUN4V_SPARC_ITLB_HWTW_REF_L2 = 0x404,
    /// Hardware tablewalks for data that asked the L2. `DTLB_HWTW_ref_L2`.
    SUN4V_SPARC_DTLB_HWTW_REF_L2 = 0x408,
    /// Hardware tablewalks for instructions that missed the L2. `ITLB_HWTW_miss_L2`.
    SUN4V_SPARC_ITLB_HWTW_MISS_L2 = 0x410,
    /// Hardware tablewalks for data that missed the L2. `DTLB_HWTW_miss_L2`.
    SUN4V_SPARC_DTLB_HWTW_MISS_L2 = 0x420,
    /// Loads of the stream processing unit sent to the crossbar. `Stream_ld_to_PCX`.
    SUN4V_SPARC_STREAM_LD_TO_PCX = 0x501,
    /// Stores of the stream processing unit sent to the crossbar. `Stream_st_to_PCX`.
    SUN4V_SPARC_STREAM_ST_TO_PCX = 0x502,
    /// Loads sent to the crossbar. `CPU_ld_to_PCX`.
    SUN4V_SPARC_CPU_LD_TO_PCX = 0x504,
    /// Instruction fetches sent to the crossbar. `CPU_ifetch_to_PCX`.
    SUN4V_SPARC_CPU_IFETCH_TO_PCX = 0x508,
    /// Stores sent to the crossbar. `CPU_st_to_PCX`.
    SUN4V_SPARC_CPU_ST_TO_PCX = 0x510,
    /// Loads of the memory management unit sent to the crossbar. `MMU_ld_to_PCX`.
    SUN4V_SPARC_MMU_LD_TO_PCX = 0x520,
    /// DES and triple DES operations. `DES_3DES_op`.
    SUN4V_SPARC_DES_3DES_OP = 0x601,
    /// AES operations. `AES_op`.
    SUN4V_SPARC_AES_OP = 0x602,
    /// RC4 operations. `RC4_op`.
    SUN4V_SPARC_RC4_OP = 0x604,
    /// Hash operations. `MD5_SHA-1_SHA-256_op`.
    SUN4V_SPARC_MD5_SHA_1_SHA_256_OP = 0x608,
    /// Modular arithmetic operations. `MA_op`.
    SUN4V_SPARC_MA_OP = 0x610,
    /// TCP/IP checksum operations. `CRC_TCPIP_cksum`.
    SUN4V_SPARC_CRC_TCPIP_CKSUM = 0x620,
    /// Cycles in which the DES unit is busy. `DES_3DES_busy_cycle`.
    SUN4V_SPARC_DES_3DES_BUSY_CYCLE = 0x701,
    /// Cycles in which the AES unit is busy. `AES_busy_cycle`.
    SUN4V_SPARC_AES_BUSY_CYCLE = 0x702,
    /// Cycles in which the RC4 unit is busy. `RC4_busy_cycle`.
    SUN4V_SPARC_RC4_BUSY_CYCLE = 0x704,
    /// Cycles in which the hash unit is busy. `MD5_SHA-1_SHA-256_busy_cycle`.
    SUN4V_SPARC_MD5_SHA_1_SHA_256_BUSY_CYCLE = 0x708,
    /// Cycles in which the modular arithmetic unit is busy. `MA_busy_cycle`.
    SUN4V_SPARC_MA_BUSY_CYCLE = 0x710,
    /// MPA checksum operations. `CRC_MPA_cksum`.
    SUN4V_SPARC_CRC_MPA_CKSUM = 0x720,
    /// Misses of the instruction TLB. `ITLB_miss`.
    SUN4V_SPARC_ITLB_MISS = 0xb04,
    /// Misses of the data TLB. `DTLB_miss`.
    SUN4V_SPARC_DTLB_MISS = 0xb08,
    /// Misses of both TLBs. `TLB_miss`.
    SUN4V_SPARC_TLB_MISS = 0xb0c,
}

/// What a DRAM counter counts (FWARC/2007/529 section 2.2).
#[repr(C)]
pub enum sun4v_dram_event {
    /// Reads. `mem_reads`.
    SUN4V_DRAM_MEM_READS = 0,
    /// Writes. `mem_writes`.
    SUN4V_DRAM_MEM_WRITES = 1,
    /// Reads and writes. `mem_read_write`.
    SUN4V_DRAM_MEM_READ_WRITE = 2,
    /// Entries of the read queue, added up every cycle. `rd_queue_latency`.
    SUN4V_DRAM_RD_QUEUE_LATENCY = 4,
    /// Entries of the write queue, added up every cycle. `wr_queue_latency`.
    SUN4V_DRAM_WR_QUEUE_LATENCY = 5,
    /// Entries of both queues, added up every cycle. `rw_queue_latency`.
    SUN4V_DRAM_RW_QUEUE_LATENCY = 6,
    /// Reads answered from the write-back buffer. `wb_buf_hits`.
    SUN4V_DRAM_WB_BUF_HITS = 7,
}

/// What a link port unit counts (FWARC/2007/529 section 2.4). X, Y and Z are the three other ports of the hub.
#[repr(C)]
pub enum sun4v_lpu_event {
    /// Nothing. `none`.
    SUN4V_LPU_NONE = 0x00,
    /// Clock cycles. `clock_cycles`.
    SUN4V_LPU_CLOCK_CYCLES = 0x01,
    /// Cache-to-cache transfers by way of port X. `cycles_c2c_portX`.
    SUN4V_LPU_CYCLES_C2C_PORTX = 0x02,
    /// Memory accesses by way of port X. `cycles_mem_portX`.
    SUN4V_LPU_CYCLES_MEM_PORTX = 0x03,
    /// Write-backs by way of port X. `cycles_WB_portX`.
    SUN4V_LPU_CYCLES_WB_PORTX = 0x04,
    /// Non-cacheable accesses by way of port X. `cycles_NC_portX`.
    SUN4V_LPU_CYCLES_NC_PORTX = 0x05,
    /// Cache-to-cache transfers by way of port Y. `cycles_c2c_portY`.
    SUN4V_LPU_CYCLES_C2C_PORTY = 0x06,
    /// Memory accesses by way of port Y. `cycles_mem_portY`.
    SUN4V_LPU_CYCLES_MEM_PORTY = 0x07,
    /// Write-backs by way of port Y. `cycles_WB_portY`.
    SUN4V_LPU_CYCLES_WB_PORTY = 0x08,
    /// Non-cacheable accesses by way of port Y. `cycles_NC_portY`.
    SUN4V_LPU_CYCLES_NC_PORTY = 0x09,
    /// Cache-to-cache transfers by way of port Z. `cycles_c2c_portZ`.
    SUN4V_LPU_CYCLES_C2C_PORTZ = 0x0a,
    /// Memory accesses by way of port Z. `cycles_mem_portZ`.
    SUN4V_LPU_CYCLES_MEM_PORTZ = 0x0b,
    /// Write-backs by way of port Z. `cycles_WB_portZ`.
    SUN4V_LPU_CYCLES_WB_PORTZ = 0x0c,
    /// Non-cacheable accesses by way of port Z. `cycles_NC_portZ`.
    SUN4V_LPU_CYCLES_NC_PORTZ = 0x0d,
    /// Transaction ids held by write-backs. `cycles_TID_WB`.
    SUN4V_LPU_CYCLES_TID_WB = 0x0e,
    /// Transaction ids held by invalidations. `cycles_TID_INV`.
    SUN4V_LPU_CYCLES_TID_INV = 0x0f,
    /// Transaction ids held by reads to discard. `cycles_TID_RTD`.
    SUN4V_LPU_CYCLES_TID_RTD = 0x10,
    /// Transaction ids held by reads to own. `cycles_TID_RTO`.
    SUN4V_LPU_CYCLES_TID_RTO = 0x11,
    /// Transaction ids held by reads to share. `cycles_TID_RTS`.
    SUN4V_LPU_CYCLES_TID_RTS = 0x12,
    /// Merged writes of the input and output system. `cycles_IO_WRM`.
    SUN4V_LPU_CYCLES_IO_WRM = 0x13,
    /// Reads of the input and output system. `cycles_IO_RD`.
    SUN4V_LPU_CYCLES_IO_RD = 0x14,
    /// Write-backs sent to the node. `cycles_WB_egress`.
    SUN4V_LPU_CYCLES_WB_EGRESS = 0x15,
    /// Invalidations sent to the node. `cycles_INV_egress`.
    SUN4V_LPU_CYCLES_INV_EGRESS = 0x16,
    /// Reads to own sent to the node. `cycles_RTO_egress`.
    SUN4V_LPU_CYCLES_RTO_EGRESS = 0x17,
    /// Reads to discard sent to the node. `cycles_RTD_egress`.
    SUN4V_LPU_CYCLES_RTD_EGRESS = 0x18,
    /// Reads to share sent to the node. `cycles_RTS_egress`.
    SUN4V_LPU_CYCLES_RTS_EGRESS = 0x19,
    /// Cycles without a write-back. `cycles_no_WB`.
    SUN4V_LPU_CYCLES_NO_WB = 0x1a,
    /// Cycles without a read or an invalidation. `cycles_no_read/inv`.
    SUN4V_LPU_CYCLES_NO_READ_INV = 0x1b,
    /// Snoops that found the line modified. `cycles_HIT_M`.
    SUN4V_LPU_CYCLES_HIT_M = 0x1c,
    /// Snoops that found the line owned. `cycles_HIT_O`.
    SUN4V_LPU_CYCLES_HIT_O = 0x1d,
    /// Snoops that found the line shared. `cycles_HIT_S`.
    SUN4V_LPU_CYCLES_HIT_S = 0x1e,
    /// Snoops that found the line on its way back to memory. `cycles_WB_HIT`.
    SUN4V_LPU_CYCLES_WB_HIT = 0x1f,
    /// Snoops that missed. `cycles_MISS`.
    SUN4V_LPU_CYCLES_MISS = 0x20,
    /// Reads and invalidations received from the node. `cycles_READ_or_INV`.
    SUN4V_LPU_CYCLES_READ_OR_INV = 0x21,
    /// Write-backs received from the node. `cycles_WB`.
    SUN4V_LPU_CYCLES_WB = 0x22,
    /// Replies without data. `cycles_NDR`.
    SUN4V_LPU_CYCLES_NDR = 0x23,
    /// Requests of the node that no other cache could serve. `cycles_cache_miss`.
    SUN4V_LPU_CYCLES_CACHE_MISS = 0x24,
    /// Requests of the node that another cache served. `cycles_cache_hit`.
    SUN4V_LPU_CYCLES_CACHE_HIT = 0x25,
    /// CRC errors of the link. `cycles_CRC_errors`.
    SUN4V_LPU_CYCLES_CRC_ERRORS = 0x26,
    /// Link replies sent. `cycles_replys_sent`.
    SUN4V_LPU_CYCLES_REPLYS_SENT = 0x27,
    /// Link replies received. `cycles_replys_recev`.
    SUN4V_LPU_CYCLES_REPLYS_RECEV = 0x28,
    /// Link retrainings. `cycles_link_retrain`.
    SUN4V_LPU_CYCLES_LINK_RETRAIN = 0x29,
}

/// What the general purpose design block of a hub counts (FWARC/2007/529 section 2.5).
#[repr(C)]
pub enum sun4v_gpd_event {
    /// Nothing. `none`.
    SUN4V_GPD_NONE = 0,
    /// Clock cycles. `clock_cycles`.
    SUN4V_GPD_CLOCK_CYCLES = 1,
}

/// What the address serialization unit of a hub counts (FWARC/2007/529 section 2.6).
#[repr(C)]
pub enum sun4v_asu_event {
    /// Nothing. `none`.
    SUN4V_ASU_NONE = 0,
    /// Clock cycles. `clock_cycles`.
    SUN4V_ASU_CLOCK_CYCLES = 1,
    /// Packets in. `asu_in_pck`.
    SUN4V_ASU_IN_PCK = 2,
    /// Packets out. `asu_out_pck`.
    SUN4V_ASU_OUT_PCK = 3,
    /// Hits of the CAM of addresses in flight. `asu_CAM_hit`.
    SUN4V_ASU_CAM_HIT = 4,
    /// Wake-ups of requests that waited for an address. `asu_wakeup`.
    SUN4V_ASU_WAKEUP = 5,
}
