//! Checks that the events of each kind of PMU have the names that busstat and cpustat show.

use guest_abi::event::{AsuEvent, DramEvent, GpdEvent, LpuEvent, SparcEvent};
use proptest::prelude::*;

// Each row holds a code in hexadecimal and a name. The rows are in the contract's order.
const DRAM: &str = "
    0 mem_reads, 1 mem_writes, 2 mem_read_write, 3 bank_busy_stall, 4 rd_queue_latency, 5 wr_queue_latency,
    6 rw_queue_latency, 7 wb_buf_hits";

const LPU: &str = "
    00 none, 01 clock_cycles, 02 cycles_c2c_portX, 03 cycles_mem_portX, 04 cycles_WB_portX, 05 cycles_NC_portX,
    06 cycles_c2c_portY, 07 cycles_mem_portY, 08 cycles_WB_portY, 09 cycles_NC_portY, 0a cycles_c2c_portZ,
    0b cycles_mem_portZ, 0c cycles_WB_portZ, 0d cycles_NC_portZ, 0e cycles_TID_WB, 0f cycles_TID_INV,
    10 cycles_TID_RTD, 11 cycles_TID_RTO, 12 cycles_TID_RTS, 13 cycles_IO_WRM, 14 cycles_IO_RD, 15 cycles_WB_egress,
    16 cycles_INV_egress, 17 cycles_RTO_egress, 18 cycles_RTD_egress, 19 cycles_RTS_egress, 1a cycles_no_WB,
    1b cycles_no_read/inv, 1c cycles_HIT_M, 1d cycles_HIT_O, 1e cycles_HIT_S, 1f cycles_WB_HIT, 20 cycles_MISS,
    21 cycles_READ_or_INV, 22 cycles_WB, 23 cycles_NDR, 24 cycles_cache_miss, 25 cycles_cache_hit,
    26 cycles_CRC_errors, 27 cycles_replys_sent, 28 cycles_replys_recev, 29 cycles_link_retrain";

const GPD: &str = "
    0 none, 1 clock_cycles";

const ASU: &str = "
    0 none, 1 clock_cycles, 2 asu_in_pck, 3 asu_out_pck, 4 asu_CAM_hit, 5 asu_wakeup";

const SPARC: &str = "
    000 Idle_strands, 201 Br_completed, 202 Br_taken, 204 Instr_FGU_arithmetic, 208 Instr_ld, 210 Instr_st,
    220 Instr_sw, 240 Instr_other, 280 Atomics, 2fd Instr_cnt, 301 IC_miss, 302 DC_miss, 310 L2_imiss,
    320 L2_dmiss_ld, 404 ITLB_HWTW_ref_L2, 408 DTLB_HWTW_ref_L2, 410 ITLB_HWTW_miss_L2, 420 DTLB_HWTW_miss_L2,
    501 Stream_ld_to_PCX, 502 Stream_st_to_PCX, 504 CPU_ld_to_PCX, 508 CPU_ifetch_to_PCX, 510 CPU_st_to_PCX,
    520 MMU_ld_to_PCX, 601 DES_3DES_op, 602 AES_op, 604 RC4_op, 608 MD5_SHA-1_SHA-256_op, 610 MA_op,
    620 CRC_TCPIP_cksum, 701 DES_3DES_busy_cycle, 702 AES_busy_cycle, 704 RC4_busy_cycle,
    708 MD5_SHA-1_SHA-256_busy_cycle, 710 MA_busy_cycle, 720 CRC_MPA_cksum, b04 ITLB_miss, b08 DTLB_miss,
    b0c TLB_miss";

const PAPI: &str = "
    2fd PAPI_tot_ins, 301 PAPI_l1_icm, 302 PAPI_l1_dcm, 310 PAPI_l2_icm, 320 PAPI_l2_ldm, b04 PAPI_tlb_im,
    b08 PAPI_tlb_dm, b0c PAPI_tlb_tm, 202 PAPI_br_tkn, 201 PAPI_br_ins, 208 PAPI_ld_ins, 210 PAPI_sr_ins";

fn parsed(table: &'static str) -> Vec<(&'static str, u16)> {
    let event = |event: &'static str| {
        let (code, name) = event.trim().split_once(' ').unwrap();
        (name, u16::from_str_radix(code, 16).unwrap())
    };
    table.split(',').map(event).collect()
}

macro_rules! check {
    ($test:ident, $type:ident, $code:ty, $table:ident) => {
        #[test]
        fn $test() {
            let table = parsed($table);
            assert_eq!($type::ALL.len(), table.len());
            for (event, (name, code)) in $type::ALL.iter().zip(&table) {
                assert_eq!((event.name(), u16::from(event.code())), (*name, *code));
                assert_eq!($type::from_name(name), Some(*event));
                assert_eq!($type::from_name(&name.to_ascii_lowercase()), Some(*event));
                assert_eq!(event.to_string(), *name);
            }
            for code in 0..=<$code>::MAX {
                let known = table.iter().find(|(_, known)| *known == u16::from(code));
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
    for (name, code) in parsed(PAPI) {
        assert_eq!(SparcEvent::from_papi_name(name).map(SparcEvent::code), Some(code));
    }
    assert_eq!(SparcEvent::from_papi_name("Instr_cnt"), None);
}

#[test]
fn perf_config_concerns_two_events() {
    for event in SparcEvent::ALL {
        let obeys = ["L2_imiss", "L2_dmiss_ld"].contains(&event.name());
        assert_eq!(event.obeys_perf_config(), obeys, "{event}");
    }
}

proptest! {
    #[test]
    fn no_name_is_too_strange(text in any::<String>()) {
        let known = parsed(LPU).into_iter().find(|(name, _)| name.eq_ignore_ascii_case(&text));
        let event = LpuEvent::from_name(&text).map(|event| event.code().into());
        prop_assert_eq!(event, known.map(|(_, code)| code));
    }
}
