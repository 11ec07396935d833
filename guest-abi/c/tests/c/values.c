/* Numbers of FWARC/2007/529 and of the sun4v specification, and the functions that make no call. */
#include "check.h"
#include "vfperf.h"

static void numbers(void)
{
    SAME(VFPERF_FAST_TRAP, 0x80);
    SAME(VFPERF_CORE_TRAP, 0xff);
    SAME(VFPERF_VFALLS_GET_PERFREG, 0x106);
    SAME(VFPERF_VFALLS_SET_PERFREG, 0x107);
    SAME(VFPERF_API_GET_VERSION, 3);
    SAME(VFPERF_GROUP_VFALLS, 0x205);
    SAME(VFPERF_EINVAL, 6);
    SAME(VFPERF_EBADTRAP, 7);
    SAME(VFPERF_EWOULDBLOCK, 9);
    SAME(VFPERF_ENOACCESS, 10);
    SAME(VFPERF_ENOTSUPPORTED, 13);
    SAME(VFPERF_REGS, 90);
    SAME(VFPERF_REG_NODE3_MCU1_PIC, 17);
    SAME(VFPERF_REG_ZAM0_LPU_A_PCR, 18);
    SAME(VFPERF_REG_ZAM2_LPU_C_PIC1, 62);
    SAME(VFPERF_REG_ZAM3_ASU_PIC1, 89);
    SAME(VFPERF_SPARC_INSTR_CNT, 0x2fd);
    SAME(VFPERF_DRAM_WB_BUF_HITS, 0x107);
    SAME(VFPERF_LPU_CYCLES_LINK_RETRAIN, 0x229);
    SAME(VFPERF_GPD_CLOCK_CYCLES, 0x301);
    SAME(VFPERF_ASU_WAKEUP, 0x405);
    SAME(VFPERF_UNITS, 32);
    SAME(VFPERF_PIC1, 1);
}

static void layouts(void)
{
    SAME(VFPERF_SPARC_PCR_HT, 8);
    SAME(VFPERF_SPARC_PCR_OV0, 1u << 18);
    SAME(VFPERF_SPARC_PCR_OV1, 1u << 31);
    SAME(VFPERF_SPARC_PCR_HOLDOV1, UINT64_C(1) << 63);
    SAME(VFPERF_SPARC_OFF, 0x200);
    SAME(VFPERF_SPARC_PCR_OFF, 0x10008000);
    SAME(VFPERF_SPARC_PCR_SELECT0, 0x3ffc0);
    SAME(VFPERF_SPARC_PCR_SELECT1, 0x7ff80000);
    SAME(VFPERF_SPARC_PCR_SELECT0_SHIFT, 6);
    SAME(VFPERF_SPARC_PCR_SELECT1_SHIFT, 19);
    SAME(VFPERF_SPARC_PCR_CLEAR_PIC0, UINT64_C(0xfffffffffffc003f));
    SAME(VFPERF_SPARC_PCR_CLEAR_PIC1, UINT64_C(0xffffffff8007ffff));
    SAME(VFPERF_SPARC_PCR_WRITABLE, UINT64_C(0xc0000000ffffffff));
    SAME(VFPERF_DRAM_PCR_SELECT0, 0xf0);
    SAME(VFPERF_DRAM_PCR_SELECT1, 0x0f);
    SAME(VFPERF_DRAM_PCR_CLEAR_PIC0, UINT64_C(0xffffffffffffff0f));
    SAME(VFPERF_DRAM_PIC_WRITABLE, UINT64_C(0xffffffffffffffff));
    SAME(VFPERF_DRAM_PIC_WIDTH, 31);
    SAME(VFPERF_DRAM_PIC_WRAPPED0, UINT64_C(1) << 63);
    SAME(VFPERF_DRAM_PIC_WRAPPED1, 1u << 31);
    SAME(VFPERF_LPU_PCR_SELECT1, 0xff00);
    SAME(VFPERF_LPU_PCR_CLEAR_PIC0, UINT64_C(0xffffffffffffff00));
    SAME(VFPERF_GPD_PCR_SELECT1, 0xf00);
    SAME(VFPERF_GPD_PCR_WRITABLE, 0xf0f);
    SAME(VFPERF_ASU_PCR_CLEAR_PIC1, UINT64_C(0xfffffffffffff0ff));
    SAME(VFPERF_ASU_PCR_SELECT1_SHIFT, 8);
}

/* Numbers that C passes although no enumerator has them. */
static enum vfperf_unit unit(uint32_t number)
{
    return (enum vfperf_unit)number;
}

static enum vfperf_counter counter(uint32_t number)
{
    return (enum vfperf_counter)number;
}

static void units(void)
{
    SAME(vfperf_unit_pcr(VFPERF_UNIT_NODE0_MCU0), 2);
    SAME(vfperf_unit_pcr(VFPERF_UNIT_NODE3_MCU1), 16);
    SAME(vfperf_unit_pcr(VFPERF_UNIT_ZAM2_GPD), 66);
    SAME(vfperf_unit_pcr(VFPERF_UNIT_ZAM3_ASU), 87);
    SAME(vfperf_unit_pcr(VFPERF_UNITS), VFPERF_REGS);
    SAME(vfperf_unit_pcr(unit(UINT32_MAX)), VFPERF_REGS);
    SAME(vfperf_unit_pic(VFPERF_UNIT_NODE0_MCU1, VFPERF_PIC1), 5);
    SAME(vfperf_unit_pic(VFPERF_UNIT_ZAM0_LPU_A, VFPERF_PIC0), 19);
    SAME(vfperf_unit_pic(VFPERF_UNIT_ZAM0_LPU_A, VFPERF_PIC1), 20);
    SAME(vfperf_unit_pic(VFPERF_UNIT_ZAM0_LPU_A, counter(2)), VFPERF_REGS);
    SAME(vfperf_unit_pic(VFPERF_UNITS, VFPERF_PIC0), VFPERF_REGS);
}

static void encoding(void)
{
    SAME(vfperf_unit_pcr_with(VFPERF_UNIT_NODE0_MCU0, 0xf3, VFPERF_PIC0, VFPERF_DRAM_MEM_WRITES), 0x13);
    SAME(vfperf_unit_pcr_with(VFPERF_UNIT_NODE0_MCU0, 0xf3, VFPERF_PIC1, VFPERF_DRAM_WB_BUF_HITS), 0xf7);
    SAME(vfperf_unit_pcr_with(VFPERF_UNIT_ZAM1_LPU_D, 0x1234, VFPERF_PIC1, VFPERF_LPU_CYCLES_MISS), 0x2034);
    SAME(vfperf_unit_pcr_with(VFPERF_UNIT_ZAM1_GPD, 0, VFPERF_PIC1, VFPERF_GPD_CLOCK_CYCLES), 0x100);
    SAME(vfperf_unit_pcr_with(VFPERF_UNIT_ZAM1_ASU, 0xf0f, VFPERF_PIC0, VFPERF_ASU_WAKEUP), 0xf05);
    /* A reserved code; a code that does not fit; events of other kinds; a unit and a counter that do not exist. */
    SAME(vfperf_unit_pcr_with(VFPERF_UNIT_NODE0_MCU0, 0, VFPERF_PIC0, (enum vfperf_unit_event)0x10f), 0xf0);
    SAME(vfperf_unit_pcr_with(VFPERF_UNIT_NODE0_MCU0, 0x55, VFPERF_PIC0, (enum vfperf_unit_event)0x110), 0x55);
    SAME(vfperf_unit_pcr_with(VFPERF_UNIT_NODE0_MCU0, 0x55, VFPERF_PIC0, VFPERF_LPU_CLOCK_CYCLES), 0x55);
    SAME(vfperf_unit_pcr_with(VFPERF_UNIT_ZAM1_ASU, 0x55, VFPERF_PIC0, VFPERF_GPD_CLOCK_CYCLES), 0x55);
    SAME(vfperf_unit_pcr_with(VFPERF_UNIT_ZAM1_LPU_D, 0x55, VFPERF_PIC0, (enum vfperf_unit_event)1), 0x55);
    SAME(vfperf_unit_pcr_with(unit(99), 0x55, VFPERF_PIC0, VFPERF_DRAM_MEM_WRITES), 0x55);
    SAME(vfperf_unit_pcr_with(VFPERF_UNIT_NODE0_MCU0, 0x55, counter(2), VFPERF_DRAM_MEM_WRITES), 0x55);
    SAME(vfperf_unit_pcr_event(VFPERF_UNIT_ZAM3_ASU, 0x504, VFPERF_PIC0), VFPERF_ASU_CAM_HIT);
    SAME(vfperf_unit_pcr_event(VFPERF_UNIT_ZAM3_ASU, 0x504, VFPERF_PIC1), VFPERF_ASU_WAKEUP);
    SAME(vfperf_unit_pcr_event(VFPERF_UNIT_NODE3_MCU0, 0x10, VFPERF_PIC0), VFPERF_DRAM_MEM_WRITES);
    SAME(vfperf_unit_pcr_event(VFPERF_UNIT_ZAM0_LPU_B, 0x0120, VFPERF_PIC0), VFPERF_LPU_CYCLES_MISS);
    SAME(vfperf_unit_pcr_event(VFPERF_UNIT_ZAM3_GPD, 0x100, VFPERF_PIC1), VFPERF_GPD_CLOCK_CYCLES);
    SAME(vfperf_unit_pcr_event(VFPERF_UNIT_ZAM3_ASU, 0x504, counter(2)), 0);
    SAME(vfperf_sparc_pcr_with(VFPERF_SPARC_PCR_UT, VFPERF_PIC0, VFPERF_SPARC_INSTR_CNT), 0xbf44);
    SAME(vfperf_sparc_pcr_with(VFPERF_SPARC_PCR_UT, VFPERF_PIC1, VFPERF_SPARC_L2_DMISS_LD), 0x19000004);
    SAME(vfperf_sparc_pcr_with(VFPERF_SPARC_PCR_OFF | VFPERF_SPARC_PCR_UT, VFPERF_PIC0, VFPERF_SPARC_INSTR_CNT), 0x1000bf44);
    SAME(vfperf_sparc_pcr_without(0xffffffff, VFPERF_PIC0), 0xfffc802f);
    SAME(vfperf_sparc_pcr_without(0xffffffff, VFPERF_PIC1), 0x9007ffdf);
    SAME(vfperf_sparc_pcr_without(0xffffffff, counter(2)), 0xffffffff);
    SAME(vfperf_sparc_pic_counter(UINT64_C(0xf000000790000005), VFPERF_PIC0), 0x90000005);
    SAME(vfperf_sparc_pic_counter(UINT64_C(0xf000000790000005), VFPERF_PIC1), 0xf0000007);
    SAME(vfperf_sparc_pic_counter(UINT64_C(0xf000000790000005), counter(2)), 0);
}

static uint64_t upper(struct vfperf_count *count, uint32_t raw)
{
    return vfperf_unit_count(count, VFPERF_UNIT_NODE1_MCU0, VFPERF_PIC0, (uint64_t)raw << 32 | 0x12345678);
}

static void counts(void)
{
    struct vfperf_count dram = {0, 0x7ffffffe}, lower = {0, 0}, hub = {7, UINT64_MAX};
    struct vfperf_count strand = {UINT64_C(1) << 40, 0xffffffff};
    struct vfperf_snapshot snapshot = {0, {3, 9}, 0, 0, 0, 2, 1, VFPERF_UNIT_NODE0_MCU0};

    SAME(upper(&dram, 1), 3);
    SAME(upper(&dram, 0x80000001), UINT64_C(0x80000003));
    SAME(dram.last, 0x80000001);
    SAME(upper(&dram, 0x80000001), UINT64_C(0x80000003));
    SAME(upper(&dram, 0), UINT64_C(0x100000002));
    SAME(upper(&dram, 5), UINT64_C(0x100000007));
    SAME(vfperf_unit_count(&lower, VFPERF_UNIT_NODE1_MCU0, VFPERF_PIC1, UINT64_C(0xffffffff00000006)), 6);
    SAME(vfperf_unit_count(&hub, VFPERF_UNIT_ZAM0_GPD, VFPERF_PIC1, 2), 10);
    SAME(vfperf_unit_count(NULL, VFPERF_UNIT_ZAM0_GPD, VFPERF_PIC1, 2), 0);
    SAME(vfperf_unit_count(&hub, VFPERF_UNITS, VFPERF_PIC1, 2), 0);
    SAME(vfperf_unit_count(&hub, VFPERF_UNIT_ZAM0_GPD, counter(2), 2), 0);
    /* Counter 1 has wrapped, and shows 9; before, both were 0. */
    lower.events = lower.last = 0;
    SAME(vfperf_snapshot_count(&lower, &snapshot, VFPERF_PIC1), UINT64_C(0x80000009));
    lower.events = lower.last = 0;
    SAME(vfperf_snapshot_count(&lower, &snapshot, VFPERF_PIC0), 3);
    SAME(vfperf_snapshot_count(&lower, NULL, VFPERF_PIC0), 0);
    snapshot.unit = VFPERF_UNITS;
    SAME(vfperf_snapshot_count(&lower, &snapshot, VFPERF_PIC0), 0);
    SAME(vfperf_strand_count(&strand, VFPERF_PIC0, UINT64_C(0x7700000001)), (UINT64_C(1) << 40) + 2);
    SAME(strand.last, 1);
    SAME(vfperf_strand_count(&strand, VFPERF_PIC1, UINT64_C(0x400000077)), (UINT64_C(1) << 40) + 5);
    SAME(vfperf_strand_count(&strand, counter(2), 9), 0);
    SAME(vfperf_strand_count(NULL, VFPERF_PIC0, 1), 0);
    SAME(vfperf_dram_longest_interval(2, 1), 0x3fffffff);
    SAME(vfperf_strand_longest_interval(0, 1), 0);
}

void values(void)
{
    numbers();
    layouts();
    units();
    encoding();
    counts();
}
