/* A guest in C that uses the service through vfperf.h, by real traps. */
#include <stddef.h>

#include "contract.h"
#include "preserved.h"
#include "report.h"
#include "vfperf.h"

/* Bits 7:0 are the task, bits 23:16 the number of nodes (0 for four). Bit 24 is set if the machine has no hubs. */
#define TASK (*(const volatile uint64_t *)0x87fffff8)

static const enum negotiated versions[] = {NOTHING, VERSION_1_0, VERSION_1_1};

/* Reads and writes any register. Traps directly for an id that the enumeration's type cannot hold. */
static uint64_t get(uint64_t id, uint64_t *value)
{
    uint64_t regs[6] = {id, 0, 0, 0, 0, VFPERF_VFALLS_GET_PERFREG};

    if (id <= UINT32_MAX)
        return vfperf_get(NULL, (enum vfperf_reg)id, NULL, value);
    vfperf_trap(NULL, VFPERF_FAST_TRAP, regs);
    if (regs[0] == VFPERF_EOK)
        *value = regs[1];
    return regs[0];
}

static uint64_t set(uint64_t id, uint64_t value)
{
    uint64_t regs[6] = {id, value, 0, 0, 0, VFPERF_VFALLS_SET_PERFREG};

    if (id <= UINT32_MAX)
        return vfperf_set(NULL, (enum vfperf_reg)id, NULL, value);
    vfperf_trap(NULL, VFPERF_FAST_TRAP, regs);
    return regs[0];
}

static void negotiate(enum negotiated version)
{
    if (version == NOTHING)
        check_same(version, vfperf_release(NULL), 0);
    else
        check_same(version, vfperf_negotiate(NULL, 1, version == VERSION_1_1, NULL), 0);
}

static void before_negotiation(void)
{
    uint64_t value = 0x5a;

    check_begin("no calls before negotiation");
    check_case(0, get(0, &value), 7);
    check_case(0, value, 0x5a);
    check_case(0, set(0, 1), 7);
    check_case(0, vfperf_probe(NULL, NULL), 7);
    check_end();
}

static void negotiation(void)
{
    /* Major and minor; the expected status and granted minor number. */
    static const uint64_t asked[][4] = {
        {1, 0, 0, 0},          {1, 1, 0, 1},  {1, 2, 0, 1}, {1, UINT64_MAX, 0, 1}, {2, 0, 13, 77},
        {UINT64_MAX, 0, 13, 77}, {0, 0, 6, 77},
    };
    struct vfperf_version version;
    uint64_t minor;
    unsigned i;

    check_begin("negotiation");
    for (i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        version.minor = 77;
        check_case(i, vfperf_negotiate(NULL, asked[i][0], asked[i][1], &version), asked[i][2]);
        check_case(i, version.minor, asked[i][3]);
    }
    check_case(1, vfperf_api_set_version(NULL, 0x206, 1, 0, &minor), 6);
    check_case(2, vfperf_api_set_version(NULL, UINT64_C(0x100000205), 1, 0, &minor), 6);
    check_case(3, vfperf_negotiate_best(NULL, &version), 0);
    check_case(3, version.minor, 1);
    check_case(4, vfperf_api_get_version(NULL, VFPERF_GROUP_VFALLS, &version), 0);
    check_case(4, version.major << 8 | version.minor, 0x101);
    negotiate(NOTHING);
    check_case(5, vfperf_api_get_version(NULL, VFPERF_GROUP_VFALLS, &version), 0);
    check_case(5, version.major << 8 | version.minor, 0);
    check_end();
}

static void probing(struct machine machine)
{
    struct vfperf_present present;
    enum negotiated version;

    check_begin("probe");
    for (version = VERSION_1_0; version <= VERSION_1_1; version++) {
        negotiate(version);
        check_case(version, vfperf_probe(NULL, &present), 0);
        check_case(version, present.units, contract_units(machine, version));
        check_case(version, present.refused, contract_refused(machine));
        check_case(version, present.busy | present.unclear, 0);
    }
    check_end();
}

static void registers(struct machine machine)
{
    /* The last value leaves a register as at reset. */
    static const uint64_t values[] = {UINT64_MAX, UINT64_C(0x123456789abcdef5), UINT64_C(0xaaaa5555aaaa5555), 0};
    const struct vfperf_retry retry = {3, 0, NULL, NULL, NULL};
    uint64_t id, value;
    unsigned i;

    check_begin("all 90 registers");
    negotiate(VERSION_1_1);
    for (id = 0; id < VFPERF_REGS; id++) {
        if (contract_status(machine, VERSION_1_1, id) != 0)
            continue;
        for (i = 0; i < sizeof values / sizeof values[0]; i++) {
            uint64_t written = contract_written(id, values[i]);

            check_case(id, vfperf_set(NULL, (enum vfperf_reg)id, &retry, written), 0);
            check_case(id, vfperf_get(NULL, (enum vfperf_reg)id, &retry, &value), 0);
            check_case(id, value, written & contract_mask(id));
        }
    }
    check_end();
}

static void call(struct machine machine, enum negotiated version, uint64_t id, uint64_t round)
{
    uint64_t status = contract_status(machine, version, id);
    uint64_t written = contract_written(id, id * UINT64_C(0x9e3779b97f4a7c15) ^ round);
    uint64_t value = ~written;

    check_case(id, set(id, written), status);
    check_case(id, get(id, &value), status);
    check_case(id, value, status == 0 ? written & contract_mask(id) : ~written);
}

static void sweep(struct machine machine)
{
    static const uint64_t far[] = {
        255, 256, 1 << 15, 1 << 16, UINT64_C(1) << 31, UINT64_C(1) << 32, (UINT64_C(1) << 32) + 2, UINT64_C(1) << 63,
        UINT64_MAX,
    };
    uint64_t round, id;
    unsigned v, i;

    check_begin("calls as in the contract");
    for (round = 0; round < 8; round++) {
        for (v = 0; v < sizeof versions / sizeof versions[0]; v++) {
            negotiate(versions[v]);
            for (id = 0; id < 160; id++)
                call(machine, versions[v], id, round);
            for (i = 0; i < sizeof far / sizeof far[0]; i++)
                call(machine, versions[v], far[i], round);
        }
    }
    check_end();
}

/* Checks the status and value of a call, and that %o2 to %o5 are preserved. */
static void trap(uint64_t number, const uint64_t call[6], uint64_t status, uint64_t value)
{
    uint64_t regs[6];
    unsigned i;

    for (i = 0; i < 6; i++)
        regs[i] = call[i];
    vfperf_trap(NULL, number, regs);
    check_case(call[5], regs[0], status);
    check_case(call[5], regs[1], value);
    for (i = 2; i < 6; i++)
        check_case(call[5], regs[i], call[i]);
}

static void numbers(void)
{
    static const uint64_t far[] = {
        1 << 12, 1 << 16, UINT64_C(1) << 32, (UINT64_C(1) << 32) + 0x106, (UINT64_C(1) << 63) + 0x107, UINT64_MAX,
    };
    const unsigned count = sizeof far / sizeof far[0];
    uint64_t function, pcr = 0x5;
    unsigned i;

    check_begin("registers preserved and function numbers beyond the tables");
    negotiate(VERSION_1_1);
    check_same(0, set(0, pcr), 0);
    for (i = 0; i < 0x400 + count; i++) {
        function = i < 0x400 ? i : far[i - 0x400];
        if (function == 0x84)
            continue; /* A function of the test image, which the guest in Rust calls. */
        const uint64_t call[] = {0, 0x5a, UINT64_C(0x1234567800000002), 3, 4, function};

        if (function == 0x106 || function == 0x107)
            trap(0x80, call, 0, function == 0x106 ? pcr : 0x5a);
        else
            trap(0x80, call, 7, 0x5a);
        if (function == 0x107)
            check_same(0, set(0, 0), 0);
        if (function > 3)
            trap(0xff, call, 7, 0x5a);
    }
    check_end();
}

/* Calls on both paths of the hypervisor at every depth, with locals in register windows. */
__attribute__((noinline)) static uint64_t deep(uint64_t depth)
{
    uint64_t a = depth * 3, b = depth ^ 0x5a, below = 0;

    /* Hides the values from the compiler, which must keep both. */
    __asm__("" : "+r"(a), "+r"(b));
    check_same(depth, get(90, NULL), 6);
    if (depth != 0)
        below = deep(depth - 1);
    check_same(depth, get(2, NULL), 0);
    check_same(depth, vfperf_api_get_version(NULL, 0x205, NULL), 0);
    check_same(depth, a, depth * 3);
    check_same(depth, b, depth ^ 0x5a);
    return below + a + b;
}

static void recursion(void)
{
    check_begin("20 functions of C deep");
    negotiate(VERSION_1_1);
    /* Three times the sum of 1 to 20, and the sum of 0 to 20, each exclusive-or 0x5a. */
    check_same(20, deep(20), 630 + 1772);
    check_end();
}

/* Programs counters and reads them like a driver. */
static void counters(struct machine machine)
{
    struct vfperf_count pic0 = {0, 0x7ffffff0}, pic1 = {0, 0};
    const enum vfperf_unit channel = VFPERF_UNIT_NODE0_MCU1;
    const struct vfperf_retry retry = {2, 2, NULL, NULL, NULL};
    struct vfperf_snapshot snapshot;
    uint64_t value = 0;

    check_begin("programs and reads counters");
    negotiate(VERSION_1_1);
    check_same(1, vfperf_unit_select(NULL, channel, VFPERF_PIC0, VFPERF_DRAM_MEM_WRITES), 0);
    check_same(2, vfperf_unit_select(NULL, channel, VFPERF_PIC1, VFPERF_DRAM_WB_BUF_HITS), 0);
    check_same(3, vfperf_get(NULL, VFPERF_REG_NODE0_MCU1_PCR, NULL, &value), 0);
    check_same(4, value, 0x17);
    check_same(5, vfperf_set(NULL, VFPERF_REG_NODE0_MCU1_PCR, NULL, value & VFPERF_DRAM_PCR_CLEAR_PIC0), 0);
    check_same(6, vfperf_get(NULL, VFPERF_REG_NODE0_MCU1_PCR, NULL, &value), 0);
    check_same(7, value, 0x07);
    /* Counter 0 has wrapped. */
    check_same(8, vfperf_set(NULL, vfperf_unit_pic(channel, VFPERF_PIC0), NULL, UINT64_C(0x000000107fffffff)), 0);
    check_same(9, vfperf_get(NULL, vfperf_unit_pic(channel, VFPERF_PIC0), NULL, &value), 0);
    check_same(10, value, UINT64_C(0x000000107fffffff));
    check_same(11, vfperf_unit_count(&pic0, channel, VFPERF_PIC0, value), 0x20);
    check_same(12, vfperf_snapshot(NULL, channel, &retry, &snapshot), 0);
    check_same(12, snapshot.pcr, 0x07);
    check_same(12, vfperf_snapshot_count(&pic1, &snapshot, VFPERF_PIC1), 0x7fffffff);

    check_same(13, vfperf_set_perf_config(NULL, VFPERF_PERF_CONFIG_REMOTE), 0);
    check_same(14, vfperf_get_perf_config(NULL, &value), 0);
    check_same(15, value, 2);
    check_same(16, set(0, vfperf_sparc_pcr_with(VFPERF_SPARC_PCR_UT, VFPERF_PIC1, VFPERF_SPARC_L2_DMISS_LD)), 0);
    check_same(17, get(0, &value), 0);
    check_same(18, value, 0x19000004);
    if (machine.hubs) {
        check_same(19, vfperf_unit_select(NULL, VFPERF_UNIT_ZAM2_LPU_C, VFPERF_PIC1, VFPERF_LPU_CYCLES_CACHE_HIT), 0);
        check_same(20, vfperf_get(NULL, VFPERF_REG_ZAM2_LPU_C_PCR, &retry, &value), 0);
        check_same(21, vfperf_unit_pcr_event(VFPERF_UNIT_ZAM2_LPU_C, value, VFPERF_PIC1), 0x225);
    }
    check_end();
}

/* Devices that trap: channel 1 of node 0, registers 4 and 5, and hub 3, registers 72 to 89. */
static void faults(struct machine machine)
{
    /* A register, and the status of its get and its set. */
    static const uint64_t statuses[][2] = {
        {5, 10}, {5, 10}, {4, 10}, {2, 0}, {3, 0}, {54, 0}, {75, 10}, {75, 10}, {89, 10}, {54, 0}, {71, 0},
    };
    uint64_t value;
    unsigned i;

    check_begin("devices that fault");
    negotiate(VERSION_1_1);
    for (i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        uint64_t id = statuses[i][0], status = statuses[i][1];

        if (id > 17 && !machine.hubs)
            continue;
        value = 1;
        check_same(i, get(id, &value), status);
        check_same(i, value, status == 0 ? 0 : 1);
        check_same(i, set(id, 1), status);
    }
    check_end();
}

static void all(struct machine machine)
{
    before_negotiation();
    negotiation();
    probing(machine);
    registers(machine);
    sweep(machine);
    numbers();
    recursion();
    counters(machine);
    preserved(machine, false);
}

void guest_main(void)
{
    uint64_t task = TASK;
    struct machine machine = {task >> 16 & 0xff, (task >> 24 & 1) == 0};

    if (machine.nodes == 0)
        machine.nodes = 4;
    switch (task & 0xff) {
    case 0:
        all(machine);
        break;
    case 1:
        preserved(machine, true);
        break;
    case 2:
        faults(machine);
        break;
    default:
        leaks();
    }
    report_end();
}
