//! The events of each kind of PMU, by the names that busstat and cpustat show.

use guest_abi::event::{AsuEvent, DramEvent, GpdEvent, LpuEvent, SparcEvent};
use proptest::prelude::*;

const DRAM: &[(&str, u16)] = &[
    ("mem_reads", 0x0),
    ("mem_writes", 0x1),
    ("mem_read_write", 0x2),
    ("bank_busy_stall", 0x3),
    ("rd_queue_latency", 0x4),
    ("wr_queue_latency", 0x5),
    ("rw_queue_latency", 0x6),
    ("wb_buf_hits", 0x7),
];

const LPU: &[(&str, u16)] = &[
    ("none", 0x00),
    ("clock_cycles", 0x01),
    ("cycles_c2c_portX", 0x02),
    ("cycles_mem_portX", 0x03),
    ("cycles_WB_portX", 0x04),
    ("cycles_NC_portX", 0x05),
    ("cycles_c2c_portY", 0x06),
    ("cycles_mem_portY", 0x07),
    ("cycles_WB_portY", 0x08),
    ("cycles_NC_portY", 0x09),
    ("cycles_c2c_portZ", 0x0a),
    ("cycles_mem_portZ", 0x0b),
    ("cycles_WB_portZ", 0x0c),
    ("cycles_NC_portZ", 0x0d),
    ("cycles_TID_WB", 0x0e),
    ("cycles_TID_INV", 0x0f),
    ("cycles_TID_RTD", 0x10),
    ("cycles_TID_RTO", 0x11),
    ("cycles_TID_RTS", 0x12),
    ("cycles_IO_WRM", 0x13),
    ("cycles_IO_RD", 0x14),
    ("cycles_WB_egress", 0x15),
    ("cycles_INV_egress", 0x16),
    ("cycles_RTO_egress", 0x17),
    ("cycles_RTD_egress", 0x18),
    ("cycles_RTS_egress", 0x19),
    ("cycles_no_WB", 0x1a),
    ("cycles_no_read/inv", 0x1b),
    ("cycles_HIT_M", 0x1c),
    ("cycles_HIT_O", 0x1d),
    ("cycles_HIT_S", 0x1e),
    ("cycles_WB_HIT", 0x1f),
    ("cycles_MISS", 0x20),
    ("cycles_READ_or_INV", 0x21),
    ("cycles_WB", 0x22),
    ("cycles_NDR", 0x23),
    ("cycles_cache_miss", 0x24),
    ("cycles_cache_hit", 0x25),
    ("cycles_CRC_errors", 0x26),
    ("cycles_replys_sent", 0x27),
    ("cycles_replys_recev", 0x28),
    ("cycles_link_retrain", 0x29),
];

const GPD: &[(&str, u16)] = &[("none", 0x0), ("clock_cycles", 0x1)];

const ASU: &[(&str, u16)] = &[
    ("none", 0x0),
    ("clock_cycles", 0x1),
    ("asu_in_pck", 0x2),
    ("asu_out_pck", 0x3),
    ("asu_CAM_hit", 0x4),
    ("asu_wakeup", 0x5),
];

const SPARC: &[(&str, u16)] = &[
    ("Idle_strands", 0x000),
    ("Br_completed", 0x201),
    ("Br_taken", 0x202),
    ("Instr_FGU_arithmetic", 0x204),
    ("Instr_ld", 0x208),
    ("Instr_st", 0x210),
    ("Instr_sw", 0x220),
    ("Instr_other", 0x240),
    ("Atomics", 0x280),
    ("Instr_cnt", 0x2fd),
    ("IC_miss", 0x301),
    ("DC_miss", 0x302),
    ("L2_imiss", 0x310),
    ("L2_dmiss_ld", 0x320),
    ("ITLB_HWTW_ref_L2", 0x404),
    ("DTLB_HWTW_ref_L2", 0x408),
    ("ITLB_HWTW_miss_L2", 0x410),
    ("DTLB_HWTW_miss_L2", 0x420),
    ("Stream_ld_to_PCX", 0x501),
    ("Stream_st_to_PCX", 0x502),
    ("CPU_ld_to_PCX", 0x504),
    ("CPU_ifetch_to_PCX", 0x508),
    ("CPU_st_to_PCX", 0x510),
    ("MMU_ld_to_PCX", 0x520),
    ("DES_3DES_op", 0x601),
    ("AES_op", 0x602),
    ("RC4_op", 0x604),
    ("MD5_SHA-1_SHA-256_op", 0x608),
    ("MA_op", 0x610),
    ("CRC_TCPIP_cksum", 0x620),
    ("DES_3DES_busy_cycle", 0x701),
    ("AES_busy_cycle", 0x702),
    ("RC4_busy_cycle", 0x704),
    ("MD5_SHA-1_SHA-256_busy_cycle", 0x708),
    ("MA_busy_cycle", 0x710),
    ("CRC_MPA_cksum", 0x720),
    ("ITLB_miss", 0xb04),
    ("DTLB_miss", 0xb08),
    ("TLB_miss", 0xb0c),
];

const PAPI: &[(&str, u16)] = &[
    ("PAPI_tot_ins", 0x2fd),
    ("PAPI_l1_icm", 0x301),
    ("PAPI_l1_dcm", 0x302),
    ("PAPI_l2_icm", 0x310),
    ("PAPI_l2_ldm", 0x320),
    ("PAPI_tlb_im", 0xb04),
    ("PAPI_tlb_dm", 0xb08),
    ("PAPI_tlb_tm", 0xb0c),
    ("PAPI_br_tkn", 0x202),
    ("PAPI_br_ins", 0x201),
    ("PAPI_ld_ins", 0x208),
    ("PAPI_sr_ins", 0x210),
];

macro_rules! check {
    ($test:ident, $type:ident, $code:ty, $table:ident) => {
        #[test]
        fn $test() {
            let events: Vec<_> = $type::ALL
                .iter()
                .map(|event| (event.name(), u16::from(event.code())))
                .collect();
            assert_eq!(events, $table);
            for event in $type::ALL {
                assert_eq!($type::from_name(event.name()), Some(*event));
                let small = event.name().to_ascii_lowercase();
                assert_eq!($type::from_name(&small), Some(*event));
                assert_eq!(event.to_string(), event.name());
            }
            for code in 0..=<$code>::MAX {
                let known = $table.iter().find(|(_, known)| *known == u16::from(code));
                let event = $type::from_code(code).map($type::name);
                assert_eq!(event, known.map(|(name, _)| *name));
            }
            for wrong in ["", "clear_pic", "mem_read", "nonee"] {
                assert_eq!($type::from_name(wrong), None);
            }
        }
    };
}

check!(dram, DramEvent, u8, DRAM);
check!(lpu, LpuEvent, u8, LPU);
check!(gpd, GpdEvent, u8, GPD);
check!(asu, AsuEvent, u8, ASU);
check!(sparc, SparcEvent, u16, SPARC);

#[test]
fn descriptions() {
    assert_eq!(SparcEvent::Instructions.description(), "All instructions.");
    assert_eq!(DramEvent::Reads.description(), "Reads.");
    assert_eq!(LpuEvent::CrcErrors.description(), "CRC errors of the link.");
    assert_eq!(GpdEvent::Clock.description(), "Clock cycles.");
    assert_eq!(AsuEvent::PacketsIn.description(), "Packets in.");
}

#[test]
fn papi() {
    for (name, code) in PAPI {
        let event = SparcEvent::from_papi_name(name);
        assert_eq!(event.map(SparcEvent::code), Some(*code));
    }
    assert_eq!(SparcEvent::from_papi_name("Instr_cnt"), None);
}

#[test]
fn perf_config_concerns_two_events() {
    let obeying: Vec<_> = SparcEvent::ALL
        .iter()
        .filter(|event| event.obeys_perf_config())
        .map(|event| event.name())
        .collect();
    assert_eq!(obeying, ["L2_imiss", "L2_dmiss_ld"]);
}

proptest! {
    #[test]
    fn no_name_is_too_strange(text in any::<String>()) {
        let known = LPU.iter().find(|(name, _)| name.eq_ignore_ascii_case(&text));
        let event = LpuEvent::from_name(&text).map(|event| event.code().into());
        prop_assert_eq!(event, known.map(|(_, code)| *code));
    }
}
