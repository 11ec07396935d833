#include "preserved.h"

#include <stddef.h>

#include "probes.h"
#include "report.h"
#include "vfperf.h"

enum { FAST = 0x80, CORE = 0xff, GET = 0x106, SET = 0x107, GROUP = 0x205 };

/* A call for each way through the hypervisor: trap, %o0 to %o5 before it, status and %o1 after it. */
struct way {
    unsigned trap;
    uint64_t before[6];
    uint64_t status, value;
    /* Whether the call reads a device register, which is 0 where there are no devices. */
    bool device, hub;
};

static const uint64_t PCR = 0x12345670;

static const struct way ways[] = {
    {FAST, {0, 1, 2, 3, 4, GET}, 0, 0x12345670, false, false},
    {FAST, {0, 0x12345670, 2, 3, 4, SET}, 0, 0x12345670, false, false},
    {FAST, {1, 2, 2, 3, 4, SET}, 0, 2, false, false},
    {FAST, {1, 1, 2, 3, 4, GET}, 0, 2, true, false},
    {FAST, {5, 9, 2, 3, 4, SET}, 0, 9, false, false},
    {FAST, {5, 1, 2, 3, 4, GET}, 0, 9, true, false},
    {FAST, {90, 1, 2, 3, 4, GET}, 6, 1, false, false},
    {FAST, {90, 1, 2, 3, 4, SET}, 6, 1, false, false},
    {FAST, {0, 1, 2, 3, 4, 5}, 7, 1, false, false},
    {CORE, {GROUP, 1, 2, 3, 4, 0}, 0, 1, false, false},
    {CORE, {GROUP, 9, 1, 3, 4, 3}, 0, 1, false, false},
    {CORE, {GROUP, 1, 2, 3, 4, 9}, 7, 1, false, false},
    {FAST, {89, 0, 2, 3, 4, SET}, 0, 0, false, true},
    {FAST, {20, 7, 2, 3, 4, SET}, 0, 7, false, true},
    {FAST, {20, 1, 2, 3, 4, GET}, 0, 7, true, true},
    {FAST, {89, 1, 2, 3, 4, GET}, 0, 0, true, true},
};

static const unsigned count = sizeof ways / sizeof ways[0];

static void restart(void)
{
    check_same(1, vfperf_negotiate(NULL, 1, 1, NULL), 0);
    check_same(2, vfperf_set(NULL, VFPERF_REG_SPARC_PCR, NULL, PCR), 0);
}

static bool there(struct machine machine, const struct way *way)
{
    return machine.hubs || !way->hub;
}

static void registers(struct machine machine, bool fast)
{
    struct around found;
    uint64_t what;
    unsigned w, i;

    for (w = 0; w < count; w++) {
        const struct way *way = &ways[w];

        if (!there(machine, way))
            continue;
        if (way->trap == FAST)
            around_fast(way->before, &found);
        else
            around_core(way->before, &found);
        what = (uint64_t)w << 8;
        check_same(what, found.o[0], way->status);
        check_same(what + 1, found.o[1], fast && way->device ? 0 : way->value);
        for (i = 2; i < 6; i++)
            check_same(what + i, found.o[i], way->before[i]);
        /* %fp - %sp. */
        check_same(what + 6, found.o[6], 192);
        check_same(what + 7, found.o[7], 0x173);
        for (i = 0; i < 8; i++)
            check_same(what + 0x10 + i, found.l[i], 0x101 + 0x10 * i);
        for (i = 0; i < 4; i++)
            check_same(what + 0x20 + i, found.i[i], 0x102 + 0x10 * i);
        for (i = 0; i < 8; i++)
            check_same(what + 0x30 + i, found.g[i], i == 0 ? 0 : 0x104 + 0x10 * i);
        for (i = 0; i < 13; i++)
            check_same(what + 0x40 + i, found.after[i], found.before[i]);
    }
}

static void nothing_left(struct machine machine)
{
    struct left left;
    unsigned w;

    for (w = 0; w < count; w++) {
        const uint64_t *o = ways[w].before;

        if (!there(machine, &ways[w]))
            continue;
        left = ways[w].trap == FAST ? left_fast(o[0], o[1], o[5]) : left_core(o[0], o[1], o[5]);
        check_same(w, left.windows, 0);
        check_same(w, left.globals, 0);
    }
}

static void depths(struct machine machine)
{
    /* An address of the guest, a misaligned one, the hypervisor's trap table, an address without memory. */
    static const uint64_t sps[] = {0x81000000 - 2047, 0x81000003, 0x104000 - 2047, UINT64_MAX};
    uint64_t changed;
    unsigned w, s;

    for (w = 0; w < count; w++) {
        const uint64_t *o = ways[w].before;

        if (!there(machine, &ways[w]))
            continue;
        for (s = 0; s < sizeof sps / sizeof sps[0]; s++) {
            changed = ways[w].trap == FAST ? deep_fast(20, o[5], o[0], sps[s]) : deep_core(20, o[5], o[0], sps[s]);
            check_same((uint64_t)w << 8 | s, changed, 0);
        }
    }
    /* Calls with undefined arguments may have set registers and versions. */
    restart();
}

static void levels(void)
{
    struct at_level found;
    uint64_t level;

    for (level = 1; level <= 2; level++) {
        found = at_level(0, 0x5a, GET, level);
        check_same(level, found.status, 0);
        check_same(level, found.value, PCR);
        check_same(level, found.tl, level);
        check_same(level, found.gl, 0x7700 | level);
        found = at_level(90, 0x5a, GET, level);
        check_same(level, found.status, 6);
        check_same(level, found.value, 0x5a);
        check_same(level, found.tl, level);
        check_same(level, found.gl, 0x7700 | level);
    }
}

static void pstates(void)
{
    /* IE, AM, TLE, CLE, and all four. */
    static const uint64_t bits[] = {1 << 1, 1 << 3, 1 << 8, 1 << 9, 1 << 1 | 1 << 3 | 1 << 8 | 1 << 9};
    struct with_pstate found;
    unsigned i;

    for (i = 0; i < sizeof bits / sizeof bits[0]; i++) {
        found = with_pstate(0, GET, bits[i]);
        check_same(bits[i], found.value, PCR);
        check_same(bits[i], found.inverted, bits[i]);
        found = with_pstate(90, GET, bits[i]);
        check_same(bits[i], found.inverted, bits[i]);
    }
}

void preserved(struct machine machine, bool fast)
{
    report_suffix(fast ? ", fast path" : "");
    check_begin("registers preserved");
    restart();
    registers(machine, fast);
    check_end();
    check_begin("nothing left in windows and globals");
    nothing_left(machine);
    check_end();
    check_begin("20 calls deep");
    depths(machine);
    check_end();
    check_begin("calls at TL 1 and 2");
    levels();
    check_end();
    check_begin("calls with an unusual PSTATE");
    pstates();
    check_end();
}

void leaks(void)
{
    struct left fast = left_fast(0, 0, 0x84), core = left_core(GROUP, 1, 1);

    check_begin("leaks of a hypervisor that leaks");
    check_same(1, fast.windows, 0x5e);
    check_same(2, fast.globals, 0x6f);
    check_same(3, core.windows, 0x5e);
    check_same(4, core.globals, 0x6f);
    check_end();
}
