/* The calls, through a transport that records its arguments and returns results from a list. */
#include "check.h"
#include "sun4v_perf.h"

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
    struct sun4v_transport transport = {play, NULL};
    struct sun4v_version version = {77, 77};
    uint64_t minor = 77;

    transport.context = &script;
    SAME(sun4v_api_set_version(&transport, 0x205, 1, 9, &minor), 0);
    SAME(minor, 1);
    SAME(script.trap_number, 0xff);
    SAME(script.regs[0], 0x205);
    SAME(script.regs[1], 1);
    SAME(script.regs[2], 9);
    SAME(script.regs[5], 0);
    SAME(sun4v_cons_putchar(&transport, 0xc3), 0);
    SAME(script.regs[0], 0xc3);
    SAME(script.regs[5], 1);
    SAME(sun4v_cons_break(&transport), 0);
    SAME(script.regs[0], UINT64_MAX);
    SAME(SUN4V_CONS_BREAK, UINT64_MAX);
    SAME(script.regs[5], 1);
    SAME(sun4v_exit(&transport, 3), 0);
    SAME(script.regs[5], 2);
    SAME(sun4v_perf_negotiate(&transport, 0, 0, &version), SUN4V_EINVAL);
    SAME(script.made, 4);
}

static void negotiation(void)
{
    /* 1.1 is refused and 1.0 granted; then a higher minor number than the requested one is granted; then another status. */
    struct script script = {{13, 0, 0, 0, 0x1234567890}, {0, 0, 5}, 0, 0, {0}, 0};
    struct sun4v_transport transport = {play, NULL};
    struct sun4v_version version = {77, 77};

    transport.context = &script;
    SAME(sun4v_perf_negotiate_best(&transport, &version), 0);
    SAME(version.major, 1);
    SAME(version.minor, 0);
    SAME(script.made, 2);
    SAME(sun4v_perf_negotiate(&transport, 1, 1, &version), SUN4V_ENOTSUPPORTED);
    SAME(version.minor, 0);
    SAME(script.made, 4);
    SAME(script.regs[1], 0);
    SAME(sun4v_perf_negotiate(&transport, 1, 1, &version), UINT64_C(0x1234567890));
    SAME(sun4v_perf_release(&transport), 0);
    SAME(script.regs[1], 0);
}

static void registers(void)
{
    struct script script = {{0, 0, 6, 9, 9, 0, 9, 9}, {0xabc, 0, 0, 0, 0, 0xdef}, 0, 0, {0}, 0};
    struct sun4v_transport transport = {play, NULL};
    uint64_t value = 1;

    transport.context = &script;
    SAME(sun4v_perf_get(&transport, 62, &value), 0);
    SAME(value, 0xabc);
    SAME(script.trap_number, 0x80);
    SAME(script.regs[0], 62);
    SAME(script.regs[5], 0x106);
    SAME(sun4v_perf_set(&transport, 3, UINT64_C(0x123456789abcdef0)), 0);
    SAME(script.regs[0], 3);
    SAME(script.regs[1], UINT64_C(0x123456789abcdef0));
    SAME(script.regs[5], 0x107);
    SAME(sun4v_perf_get(&transport, UINT64_C(0x100000002), &value), SUN4V_EINVAL);
    SAME(script.regs[0], UINT64_C(0x100000002));
    SAME(value, 0xabc);
    SAME(sun4v_perf_get_retrying(&transport, 62, 3, &value), 0);
    SAME(value, 0xdef);
    SAME(script.made, 6);
    SAME(sun4v_perf_set_retrying(&transport, 62, 4, 5), SUN4V_EWOULDBLOCK);
    SAME(script.made, 10);
    SAME(sun4v_perf_set_retrying(&transport, 62, 0, 5), SUN4V_EWOULDBLOCK);
    SAME(script.made, 11);
    SAME(sun4v_set_perf_config(&transport, 4), SUN4V_EINVAL);
    SAME(script.made, 11);
}

static void selection(void)
{
    struct script script = {{0}, {0x1234, 0, 0x7}, 0, 0, {0}, 0};
    struct sun4v_transport transport = {play, NULL};
    uint64_t config = 77;

    transport.context = &script;
    SAME(sun4v_unit_select(&transport, SUN4V_UNIT_ZAM1_LPU_D, 0, SUN4V_LPU_CYCLES_WB), 0);
    SAME(script.made, 2);
    SAME(script.regs[0], SUN4V_REG_ZAM1_LPU_D_PCR);
    SAME(script.regs[1], 0x1222);
    SAME(sun4v_unit_select(&transport, SUN4V_UNITS, 0, 0), SUN4V_EINVAL);
    SAME(sun4v_unit_select(&transport, 0, 2, 0), SUN4V_EINVAL);
    SAME(script.made, 2);
    SAME(sun4v_perf_config(&transport, &config), 0);
    SAME(config, SUN4V_PERF_CONFIG_CACHE_TO_CACHE);
}

static void probing(void)
{
    /* Version 1.0; then units 0 to 6; then ENOTSUPPORTED. */
    struct script script = {{0, 0, 10, 9, 6, 99, 0, 13}, {1}, 0, 0, {0}, 0};
    struct sun4v_transport transport = {play, NULL};
    struct sun4v_present present = {0, 0, 0, 0};

    transport.context = &script;
    SAME(sun4v_perf_probe(&transport, &present), 0);
    SAME(script.made, 33);
    SAME(present.units, 0x37);
    SAME(present.refused, 0x02);
    SAME(present.busy, 0x04);
    SAME(present.unclear, 0x10);
    /* The group, and the control registers of all units. */
    SAME(script.sum, 0x205 + 72 + 4 * (18 + 21 + 24 + 27 + 30 + 33) + 6 * 108);
}

static void raw(void)
{
    struct script script = {{0}, {0x77}, 0, 0, {0}, 0};
    struct sun4v_transport transport = {play, NULL};
    uint64_t regs[6] = {1, 2, 3, 4, 5, 0x106};

    transport.context = &script;
    sun4v_trap(&transport, 0x80, regs);
    SAME(script.trap_number, 0x80);
    SAME(script.regs[4], 5);
    SAME(regs[0], 0);
    SAME(regs[1], 0x77);
    SAME(regs[4], 5);
    sun4v_trap(&transport, 0x81, regs);
    sun4v_trap(&transport, 0xff, NULL);
    SAME(script.made, 1);
    sun4v_trap(NULL, 0xff, regs);
    SAME(regs[0], SUN4V_EBADTRAP);
}

static void nowhere(void)
{
    struct sun4v_transport transport = {NULL, NULL};
    uint64_t value = 5;

    SAME(sun4v_perf_get(NULL, 0, &value), SUN4V_EBADTRAP);
    SAME(sun4v_perf_get(&transport, 0, &value), SUN4V_EBADTRAP);
    SAME(value, 5);
    SAME(sun4v_perf_get(NULL, 0, NULL), SUN4V_EBADTRAP);
}

/* The example of README.md. */
bool count_memory_reads(const struct sun4v_transport *hypervisor, struct sun4v_count *reads);
uint64_t memory_reads(const struct sun4v_transport *hypervisor, struct sun4v_count *reads);

static void readme(void)
{
    /* Everything is granted, and every register holds 0x7fffffff00000000. */
    struct script script = {{0}, {0}, 0, 0, {0}, 0};
    struct sun4v_transport transport = {play, NULL};
    struct sun4v_count reads = {0, 0};
    unsigned i;

    transport.context = &script;
    script.value[0] = 1; /* api_set_version */
    for (i = 1; i < 8; i++)
        script.value[i] = UINT64_C(0x7fffffff00000000);
    SAME(count_memory_reads(&transport, &reads), true);
    SAME(script.made, 1 + 33 + 2 + 1);
    SAME(script.regs[0], 3);
    SAME(script.regs[5], 0x106);
    SAME(reads.events, 0);
    script.value[7] = UINT64_C(0x0000000400000000);
    SAME(memory_reads(&transport, &reads), 5);
    script.status[7] = 9;
    SAME(memory_reads(&transport, &reads), 5);
    /* The probe finds that the guest may not use it. */
    script.made = 0;
    script.status[2] = 10;
    SAME(count_memory_reads(&transport, &reads), false);
    /* Version 1.1 is refused, and so is 1.0. */
    script.made = 0;
    script.status[0] = script.status[1] = 13;
    SAME(count_memory_reads(&transport, &reads), false);
    SAME(script.made, 2);
}

void calls(void)
{
    core();
    negotiation();
    registers();
    selection();
    probing();
    raw();
    nowhere();
    readme();
}
