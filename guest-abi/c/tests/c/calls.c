/* The calls, through a transport that records its arguments and returns results from a list. */
#include "check.h"
#include "vfperf.h"

struct script {
    uint64_t status[8]; /* the last one is for all further calls too */
    uint64_t value[8];
    unsigned made;
    uint64_t trap_number;
    uint64_t regs[6];
    uint64_t sum;
};

static void play(void *context, uint64_t trap_number, uint64_t *regs)
{
    struct script *script = context;
    unsigned turn = script->made < 7 ? script->made : 7;
    unsigned i;

    script->made++;
    script->trap_number = trap_number;
    for (i = 0; i < 6; i++)
        script->regs[i] = regs[i];
    script->sum += regs[0];
    regs[0] = script->status[turn];
    if (regs[0] == 0)
        regs[1] = script->value[turn];
}

static void core(void)
{
    struct script script = {{0}, {1}, 0, 0, {0}, 0};
    struct vfperf_transport transport = {play, NULL, NULL, NULL};
    struct vfperf_version version = {77, 77};
    uint64_t minor = 77;

    transport.context = &script;
    SAME(vfperf_api_set_version(&transport, 0x205, 1, 9, &minor), 0);
    SAME(minor, 1);
    SAME(script.trap_number, 0xff);
    SAME(script.regs[0], 0x205);
    SAME(script.regs[1], 1);
    SAME(script.regs[2], 9);
    SAME(script.regs[5], 0);
    SAME(vfperf_cons_putchar(&transport, 0xc3), 0);
    SAME(script.regs[0], 0xc3);
    SAME(script.regs[5], 1);
    SAME(vfperf_cons_break(&transport), 0);
    SAME(script.regs[0], UINT64_MAX);
    SAME(VFPERF_CONS_BREAK, UINT64_MAX);
    SAME(script.regs[5], 1);
    SAME(vfperf_exit(&transport, 3), 0);
    SAME(script.regs[5], 2);
    SAME(vfperf_negotiate(&transport, 0, 0, &version), VFPERF_EINVAL);
    SAME(script.made, 4);
}

static void negotiation(void)
{
    /* 1.1 is refused and 1.0 granted; then a higher minor number than the requested one is granted; then another status. */
    struct script script = {{13, 0, 0, 0, 0x1234567890}, {0, 0, 5}, 0, 0, {0}, 0};
    struct vfperf_transport transport = {play, NULL, NULL, NULL};
    struct vfperf_version version = {77, 77};

    transport.context = &script;
    SAME(vfperf_negotiate_best(&transport, &version), 0);
    SAME(version.major, 1);
    SAME(version.minor, 0);
    SAME(script.made, 2);
    SAME(vfperf_negotiate(&transport, 1, 1, &version), VFPERF_ENOTSUPPORTED);
    SAME(version.minor, 0);
    SAME(script.made, 4);
    SAME(script.regs[1], 0);
    SAME(vfperf_negotiate(&transport, 1, 1, &version), UINT64_C(0x1234567890));
    SAME(vfperf_release(&transport), 0);
    SAME(script.regs[1], 0);
}

struct pauses {
    unsigned number, refused;
    uint64_t time;
};

static void pause(void *context, uint32_t refused)
{
    struct pauses *pauses = context;

    pauses->number++;
    pauses->refused = refused;
}

/* Each read of the clock takes 100 ticks. */
static uint64_t ticks(void *context)
{
    struct pauses *pauses = context;

    return pauses->time += 100;
}

static void registers(void)
{
    struct script script = {{0, 0, 6, 9, 9, 0, 9, 9}, {0xabc, 0, 0, 0, 0, 0xdef}, 0, 0, {0}, 0};
    struct vfperf_transport transport = {play, NULL, NULL, NULL};
    struct pauses pauses = {0, 0, 0};
    struct vfperf_retry retry = {3, 0, pause, NULL, NULL};
    uint64_t value = 1;

    transport.context = &script;
    retry.context = &pauses;
    SAME(vfperf_get(&transport, VFPERF_REG_ZAM2_LPU_C_PIC1, NULL, &value), 0);
    SAME(value, 0xabc);
    SAME(script.trap_number, 0x80);
    SAME(script.regs[0], 62);
    SAME(script.regs[5], 0x106);
    SAME(vfperf_set(&transport, VFPERF_REG_NODE0_MCU0_PIC, NULL, UINT64_C(0x123456789abcdef0)), 0);
    SAME(script.regs[0], 3);
    SAME(script.regs[1], UINT64_C(0x123456789abcdef0));
    SAME(script.regs[5], 0x107);
    SAME(vfperf_get(&transport, (enum vfperf_reg)UINT32_MAX, NULL, &value), VFPERF_EINVAL);
    SAME(script.regs[0], UINT32_MAX);
    SAME(value, 0xabc);
    SAME(vfperf_get(&transport, VFPERF_REG_ZAM2_LPU_C_PIC1, &retry, &value), 0);
    SAME(value, 0xdef);
    SAME(script.made, 6);
    SAME(pauses.number, 2);
    SAME(pauses.refused, 2);
    retry.tries = 4;
    SAME(vfperf_set(&transport, VFPERF_REG_ZAM2_LPU_C_PIC1, &retry, 5), VFPERF_EWOULDBLOCK);
    SAME(script.made, 10);
    SAME(pauses.number, 5);
    SAME(pauses.refused, 3);
    SAME(vfperf_set(&transport, VFPERF_REG_ZAM2_LPU_C_PIC1, NULL, 5), VFPERF_EWOULDBLOCK);
    SAME(script.made, 11);
    SAME(vfperf_set_perf_config(&transport, (enum vfperf_perf_config)4), VFPERF_EINVAL);
    SAME(script.made, 11);
}

static void selection(void)
{
    struct script script = {{0}, {0x1234, 0, 0x7}, 0, 0, {0}, 0};
    struct vfperf_transport transport = {play, NULL, NULL, NULL};
    uint64_t config = 77;

    transport.context = &script;
    SAME(vfperf_unit_select(&transport, VFPERF_UNIT_ZAM1_LPU_D, VFPERF_PIC0, VFPERF_LPU_CYCLES_WB), 0);
    SAME(script.made, 2);
    SAME(script.regs[0], VFPERF_REG_ZAM1_LPU_D_PCR);
    SAME(script.regs[1], 0x1222);
    SAME(vfperf_unit_select(&transport, VFPERF_UNITS, VFPERF_PIC0, VFPERF_LPU_NONE), VFPERF_EINVAL);
    SAME(vfperf_unit_select(&transport, VFPERF_UNIT_ZAM1_LPU_D, (enum vfperf_counter)2, VFPERF_LPU_NONE), VFPERF_EINVAL);
    SAME(vfperf_unit_select(&transport, VFPERF_UNIT_ZAM1_LPU_D, VFPERF_PIC0, VFPERF_ASU_NONE), VFPERF_EINVAL);
    SAME(script.made, 2);
    SAME(vfperf_get_perf_config(&transport, &config), 0);
    SAME(config, VFPERF_PERF_CONFIG_CACHE_TO_CACHE);
}

static void probing(void)
{
    /* The results: version 1.0; a status for each of units 0 to 5; ENOTSUPPORTED for all later units. */
    struct script script = {{0, 0, 10, 9, 6, 99, 0, 13}, {1}, 0, 0, {0}, 0};
    struct vfperf_transport transport = {play, NULL, NULL, NULL};
    struct vfperf_present present = {0, 0, 0, 0};

    transport.context = &script;
    SAME(vfperf_probe(&transport, &present), 0);
    SAME(script.made, 33);
    SAME(present.units, 0x37);
    SAME(present.refused, 0x02);
    SAME(present.busy, 0x04);
    SAME(present.unclear, 0x10);
    /* The sum of the numbers that the calls passed: the group, and the control registers of all units. */
    SAME(script.sum, 0x205 + 72 + 4 * (18 + 21 + 24 + 27 + 30 + 33) + 6 * 108);
}

static void snapshots(void)
{
    /* Version 1.1; a control register; its channel's counters, of which counter 0 has wrapped; another value of the control register. */
    struct script script = {{0}, {1, 0x10, UINT64_C(0x8000000500000007), 0x11, 3, 0x11}, 0, 0, {0}, 0};
    struct vfperf_transport transport = {play, NULL, NULL, NULL};
    struct pauses pauses = {0, 0, 0};
    struct vfperf_retry retry = {2, 2, pause, ticks, NULL};
    struct vfperf_snapshot found = {0, {0, 0}, 0, 0, 0, 0, 0, 77};

    transport.context = &script;
    retry.context = &pauses;
    SAME(vfperf_snapshot(&transport, VFPERF_UNIT_NODE0_MCU0, NULL, &found), VFPERF_EWOULDBLOCK);
    SAME(script.made, 4);
    SAME(found.unit, 77);
    script.made = 0;
    retry.reads = 1;
    SAME(vfperf_snapshot(&transport, VFPERF_UNIT_NODE0_MCU0, &retry, &found), VFPERF_EWOULDBLOCK);
    SAME(script.made, 4);
    script.made = 0;
    retry.reads = 2;
    SAME(vfperf_snapshot(&transport, VFPERF_UNIT_NODE0_MCU0, &retry, &found), 0);
    SAME(script.made, 6);
    SAME(found.pcr, 0x11);
    SAME(found.pic[0], 0);
    SAME(found.pic[1], 3);
    SAME(found.reads, 2);
    SAME(found.skew_calls | found.skew_ticks, 0);
    script.value[4] = script.value[2];
    script.made = 0;
    SAME(vfperf_snapshot(&transport, VFPERF_UNIT_NODE0_MCU0, &retry, &found), 0);
    SAME(found.pic[0], 5);
    SAME(found.pic[1], 7);
    SAME(found.wrapped, 1);
    SAME(found.unit, VFPERF_UNIT_NODE0_MCU0);

    /* A hub: control register, counter 0, counter 1 (refused once), counter 0 again, control register. */
    {
        struct script hub = {{0, 0, 0, 9}, {1, 4, 1000, 0, 50, 1030, 4}, 0, 0, {0}, 0};

        transport.context = &hub;
        SAME(vfperf_snapshot(&transport, VFPERF_UNIT_ZAM0_ASU, &retry, &found), 0);
        SAME(hub.made, 7);
        SAME(pauses.number, 1);
        SAME(found.pic[0], 1000);
        SAME(found.pic[1], 50);
        SAME(found.skew_events, 30);
        SAME(found.skew_calls, 2);
        /* The clock is read before counter 0, after it, before both tries of counter 1, and after it. */
        SAME(found.skew_ticks, 400);
        SAME(vfperf_snapshot(&transport, VFPERF_UNITS, &retry, &found), VFPERF_EINVAL);
        SAME(hub.made, 7);
        hub.made = 0;
        SAME(vfperf_snapshot(&transport, VFPERF_UNIT_ZAM0_ASU, NULL, &found), VFPERF_EWOULDBLOCK);
        hub.made = 0;
        hub.status[3] = 10;
        SAME(vfperf_snapshot(&transport, VFPERF_UNIT_ZAM0_ASU, NULL, &found), VFPERF_ENOACCESS);
        hub.made = 0;
        hub.value[0] = 0;
        SAME(vfperf_snapshot(&transport, VFPERF_UNIT_ZAM0_ASU, NULL, &found), VFPERF_EBADTRAP);
    }
}

static void raw(void)
{
    struct script script = {{0}, {0x77}, 0, 0, {0}, 0};
    struct vfperf_transport transport = {play, NULL, NULL, NULL};
    uint64_t regs[6] = {1, 2, 3, 4, 5, 0x106};

    transport.context = &script;
    vfperf_trap(&transport, 0x80, regs);
    SAME(script.trap_number, 0x80);
    SAME(script.regs[4], 5);
    SAME(regs[0], 0);
    SAME(regs[1], 0x77);
    SAME(regs[4], 5);
    vfperf_trap(&transport, 0x81, regs);
    vfperf_trap(&transport, 0xff, NULL);
    SAME(script.made, 1);
    vfperf_trap(NULL, 0xff, regs);
    SAME(regs[0], VFPERF_EBADTRAP);
}

static void nowhere(void)
{
    struct vfperf_transport transport = {NULL, NULL, NULL, NULL};
    uint64_t value = 5;

    SAME(vfperf_get(NULL, VFPERF_REG_SPARC_PCR, NULL, &value), VFPERF_EBADTRAP);
    SAME(vfperf_get(&transport, VFPERF_REG_SPARC_PCR, NULL, &value), VFPERF_EBADTRAP);
    SAME(value, 5);
    SAME(vfperf_get(NULL, VFPERF_REG_SPARC_PCR, NULL, NULL), VFPERF_EBADTRAP);
}

/* The example of README.md. */
uint64_t count_memory_reads(const struct vfperf_transport *hypervisor, struct vfperf_count *reads);
uint64_t memory_reads(const struct vfperf_transport *hypervisor, struct vfperf_count *reads);

static void readme(void)
{
    /* Everything is granted, and every register holds 0x7fffffff00000000. */
    struct script script = {{0}, {0}, 0, 0, {0}, 0};
    struct vfperf_transport transport = {play, NULL, NULL, NULL};
    struct vfperf_count reads = {0, 0};
    unsigned i;

    transport.context = &script;
    script.value[0] = 1; /* api_set_version */
    for (i = 1; i < 8; i++)
        script.value[i] = UINT64_C(0x7fffffff00000000);
    SAME(count_memory_reads(&transport, &reads), 0);
    SAME(script.made, 1 + 33 + 2 + 4);
    SAME(reads.events, 0);
    SAME(reads.last, 0x7fffffff);
    SAME(memory_reads(&transport, &reads), 0);
    SAME(script.regs[0], 2);
    SAME(reads.events, 0);
    script.value[7] = UINT64_C(0x0000000400000000);
    SAME(memory_reads(&transport, &reads), 0);
    SAME(reads.events, 5);
    script.status[7] = 9;
    SAME(memory_reads(&transport, &reads), VFPERF_EWOULDBLOCK);
    SAME(reads.events, 5);
    /* The probe finds that the guest may not use the unit. */
    script.made = 0;
    script.status[2] = 10;
    SAME(count_memory_reads(&transport, &reads), VFPERF_ENOACCESS);
    /* Version 1.1 is refused, and so is 1.0. */
    script.made = 0;
    script.status[0] = script.status[1] = 13;
    SAME(count_memory_reads(&transport, &reads), VFPERF_ENOTSUPPORTED);
    SAME(script.made, 2);
}

void calls(void)
{
    core();
    negotiation();
    registers();
    selection();
    probing();
    snapshots();
    raw();
    nowhere();
    readme();
}
