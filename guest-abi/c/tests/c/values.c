/* Numbers of FWARC/2007/529 and of the sun4v specification, and the functions that make no call. */
#include "check.h"
#include "sun4v_perf.h"

static void numbers(void)
{
    SAME(SUN4V_FAST_TRAP, 0x80);
    SAME(SUN4V_CORE_TRAP, 0xff);
    SAME(SUN4V_VFALLS_GET_PERFREG, 0x106);
    SAME(SUN4V_VFALLS_SET_PERFREG, 0x107);
    SAME(SUN4V_API_GET_VERSION, 3);
    SAME(SUN4V_GROUP_VFALLS, 0x205);
    SAME(SUN4V_EINVAL, 6);
    SAME(SUN4V_EBADTRAP, 7);
    SAME(SUN4V_EWOULDBLOCK, 9);
    SAME(SUN4V_ENOACCESS, 10);
    SAME(SUN4V_ENOTSUPPORTED, 13);
    SAME(SUN4V_PERF_REGS, 90);
    SAME(SUN4V_REG_NODE3_MCU1_PIC, 17);
    SAME(SUN4V_REG_ZAM0_LPU_A_PCR, 18);
    SAME(SUN4V_REG_ZAM2_LPU_C_PIC1, 62);
    SAME(SUN4V_REG_ZAM3_ASU_PIC1, 89);
    SAME(SUN4V_SPARC_INSTR_CNT, 0x2fd);
    SAME(SUN4V_DRAM_WB_BUF_HITS, 7);
    SAME(SUN4V_LPU_CYCLES_LINK_RETRAIN, 0x29);
    SAME(SUN4V_GPD_CLOCK_CYCLES, 1);
    SAME(SUN4V_ASU_WAKEUP, 5);
}

static void layouts(void)
{
    SAME(SUN4V_SPARC_PCR_HT, 8);
    SAME(SUN4V_SPARC_PCR_OV0, 1u << 18);
    SAME(SUN4V_SPARC_PCR_OV1, 1u << 31);
    SAME(SUN4V_SPARC_PCR_HOLDOV1, UINT64_C(1) << 63);
    SAME(SUN4V_SPARC_OFF, 0x200);
    SAME(SUN4V_SPARC_PCR_OFF, 0x10008000);
    SAME(SUN4V_SPARC_PCR_SELECT0, 0x3ffc0);
    SAME(SUN4V_SPARC_PCR_SELECT1, 0x7ff80000);
    SAME(SUN4V_SPARC_PCR_SELECT0_SHIFT, 6);
    SAME(SUN4V_SPARC_PCR_SELECT1_SHIFT, 19);
    SAME(SUN4V_SPARC_PCR_CLEAR_PIC0, UINT64_C(0xfffffffffffc003f));
    SAME(SUN4V_SPARC_PCR_CLEAR_PIC1, UINT64_C(0xffffffff8007ffff));
    SAME(SUN4V_SPARC_PCR_WRITABLE, UINT64_C(0xc0000000ffffffff));
    SAME(SUN4V_DRAM_PCR_SELECT0, 0xf0);
    SAME(SUN4V_DRAM_PCR_SELECT1, 0x0f);
    SAME(SUN4V_DRAM_PCR_CLEAR_PIC0, UINT64_C(0xffffffffffffff0f));
    SAME(SUN4V_DRAM_PIC_WRITABLE, UINT64_C(0xffffffffffffffff));
    SAME(SUN4V_DRAM_PIC_WIDTH, 31);
    SAME(SUN4V_DRAM_PIC_WRAPPED0, UINT64_C(1) << 63);
    SAME(SUN4V_DRAM_PIC_WRAPPED1, 1u << 31);
    SAME(SUN4V_LPU_PCR_SELECT1, 0xff00);
    SAME(SUN4V_LPU_PCR_CLEAR_PIC0, UINT64_C(0xffffffffffffff00));
    SAME(SUN4V_GPD_PCR_SELECT1, 0xf00);
    SAME(SUN4V_GPD_PCR_WRITABLE, 0xf0f);
    SAME(SUN4V_ASU_PCR_CLEAR_PIC1, UINT64_C(0xfffffffffffff0ff));
    SAME(SUN4V_ASU_PCR_SELECT1_SHIFT, 8);
}

static void units(void)
{
    SAME(sun4v_unit_pcr(SUN4V_UNIT_NODE0_MCU0), 2);
    SAME(sun4v_unit_pcr(SUN4V_UNIT_NODE3_MCU1), 16);
    SAME(sun4v_unit_pcr(SUN4V_UNIT_ZAM2_GPD), 66);
    SAME(sun4v_unit_pcr(SUN4V_UNIT_ZAM3_ASU), 87);
    SAME(sun4v_unit_pcr(32), SUN4V_NO_REG);
    SAME(sun4v_unit_pcr(UINT32_MAX), SUN4V_NO_REG);
    SAME(sun4v_unit_pic(SUN4V_UNIT_NODE0_MCU1, 1), 5);
    SAME(sun4v_unit_pic(SUN4V_UNIT_ZAM0_LPU_A, 0), 19);
    SAME(sun4v_unit_pic(SUN4V_UNIT_ZAM0_LPU_A, 1), 20);
    SAME(sun4v_unit_pic(SUN4V_UNIT_ZAM0_LPU_A, 2), SUN4V_NO_REG);
    SAME(sun4v_unit_pic(32, 0), SUN4V_NO_REG);
}

static void encoding(void)
{
    SAME(sun4v_unit_pcr_with(SUN4V_UNIT_NODE0_MCU0, 0xf3, 0, SUN4V_DRAM_MEM_WRITES), 0x13);
    SAME(sun4v_unit_pcr_with(SUN4V_UNIT_NODE0_MCU0, 0xf3, 1, SUN4V_DRAM_WB_BUF_HITS), 0xf7);
    SAME(sun4v_unit_pcr_with(SUN4V_UNIT_ZAM1_LPU_D, 0x1234, 1, SUN4V_LPU_CYCLES_MISS), 0x2034);
    SAME(sun4v_unit_pcr_with(SUN4V_UNIT_ZAM1_GPD, 0, 1, 0xfff), 0xf00);
    SAME(sun4v_unit_pcr_with(99, 0x55, 0, 1), 0x55);
    SAME(sun4v_unit_pcr_event(SUN4V_UNIT_ZAM3_ASU, 0x504, 0), 4);
    SAME(sun4v_unit_pcr_event(SUN4V_UNIT_ZAM3_ASU, 0x504, 1), 5);
    SAME(sun4v_unit_pcr_event(SUN4V_UNIT_ZAM3_ASU, 0x504, 2), 0);
    SAME(sun4v_sparc_pcr_with(SUN4V_SPARC_PCR_UT, 0, SUN4V_SPARC_INSTR_CNT), 0xbf44);
    SAME(sun4v_sparc_pcr_with(SUN4V_SPARC_PCR_UT, 1, SUN4V_SPARC_L2_DMISS_LD), 0x19000004);
    SAME(sun4v_sparc_pcr_with(SUN4V_SPARC_PCR_OFF | SUN4V_SPARC_PCR_UT, 0, SUN4V_SPARC_INSTR_CNT), 0x1000bf44);
    SAME(sun4v_sparc_pcr_without(0xffffffff, 0), 0xfffc802f);
    SAME(sun4v_sparc_pcr_without(0xffffffff, 1), 0x9007ffdf);
    SAME(sun4v_sparc_pcr_without(0xffffffff, 2), 0xffffffff);
    SAME(sun4v_dram_pic_raw(UINT64_C(0xf000000790000005), 0), 0xf0000007);
    SAME(sun4v_dram_pic_raw(UINT64_C(0xf000000790000005), 1), 0x90000005);
    SAME(sun4v_dram_pic_raw(UINT64_C(0xf000000790000005), 2), 0);
    SAME(sun4v_dram_pic(0xffffffff, 5), UINT64_C(0x7fffffff00000005));
    SAME(sun4v_dram_pic_counter(UINT64_C(0xf000000790000005), 0), 0x70000007);
    SAME(sun4v_dram_pic_counter(UINT64_C(0xf000000790000005), 1), 0x10000005);
    SAME(sun4v_sparc_pic_counter(UINT64_C(0xf000000790000005), 0), 0x90000005);
    SAME(sun4v_sparc_pic_counter(UINT64_C(0xf000000790000005), 1), 0xf0000007);
}

static void counts(void)
{
    struct sun4v_count dram = {0, 0x7ffffffe};
    struct sun4v_count strand = {UINT64_C(1) << 40, 0xffffffff};

    SAME(sun4v_dram_count(&dram, 1), 3);
    SAME(sun4v_dram_count(&dram, 0x80000001), UINT64_C(0x80000003));
    SAME(dram.last, 0x80000001);
    SAME(sun4v_dram_count(&dram, 0x80000001), UINT64_C(0x80000003));
    SAME(sun4v_dram_count(&dram, 0), UINT64_C(0x100000002));
    SAME(sun4v_dram_count(&dram, 5), UINT64_C(0x100000007));
    SAME(sun4v_strand_count(&strand, 1), (UINT64_C(1) << 40) + 2);
    SAME(strand.last, 1);
    SAME(sun4v_dram_count(NULL, 1), 0);
    SAME(sun4v_dram_longest_interval(2, 1), 0x3fffffff);
    SAME(sun4v_strand_longest_interval(0, 1), 0);
}

void values(void)
{
    numbers();
    layouts();
    units();
    encoding();
    counts();
}
