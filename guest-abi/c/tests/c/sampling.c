/* The profiler, on a strand whose registers are simulated: it executes loads in user mode, one a tick. */
#include "check.h"
#include "vfperf.h"

enum { UT = VFPERF_SPARC_PCR_UT, HT = VFPERF_SPARC_PCR_HT };

struct strand {
    uint64_t pcr, pic, time, written, status;
};

static uint64_t read_asr(void *context, uint32_t asr)
{
    const struct strand *strand = context;

    return asr == 16 ? strand->pcr : asr == 17 ? strand->pic : 0;
}

/* HOLDOV keeps OV, and a direct write keeps HT. */
static void write_asr(void *context, uint32_t asr, uint64_t value)
{
    struct strand *strand = context;
    uint64_t kept = HT;

    if (asr == 17) {
        strand->pic = value;
        return;
    }
    if (value & VFPERF_SPARC_PCR_HOLDOV0)
        kept |= VFPERF_SPARC_PCR_OV0;
    if (value & VFPERF_SPARC_PCR_HOLDOV1)
        kept |= VFPERF_SPARC_PCR_OV1;
    strand->pcr = (strand->pcr & kept) | (value & UINT32_MAX & ~kept);
}

/* The service: version 1.1; a set of register 0 has the status of the strand. */
static void trap(void *context, uint64_t trap_number, uint64_t *regs)
{
    struct strand *strand = context;

    if (trap_number == VFPERF_FAST_TRAP && regs[5] == VFPERF_VFALLS_SET_PERFREG && regs[0] == 0) {
        if (strand->status == 0)
            strand->written = strand->pcr = regs[1];
        regs[0] = strand->status;
        return;
    }
    regs[0] = 0;
    regs[1] = regs[2] = 1;
}

/* Executes a load. Returns whether the overflow trap is due. */
static bool load(struct strand *strand)
{
    strand->time++;
    if ((strand->pcr & UT) != 0 && (strand->pcr & VFPERF_SPARC_PCR_SELECT0) == (uint64_t)VFPERF_SPARC_INSTR_LD << 6) {
        uint32_t counter = (uint32_t)strand->pic + 1;

        strand->pic = (strand->pic & ~(uint64_t)UINT32_MAX) | counter;
        if (counter == 0)
            strand->pcr |= VFPERF_SPARC_PCR_OV0;
    }
    return (strand->pcr & VFPERF_SPARC_PCR_OV0) != 0 && (strand->pcr & VFPERF_SPARC_PCR_TOE0) != 0;
}

static void samples(void)
{
    struct strand strand = {0, 0, 0, 0, 0};
    struct vfperf_transport transport = {trap, read_asr, write_asr, NULL};
    /* Loads, with a sample per 100; and stores, of which there are none. */
    struct vfperf_request requests[2] = {{VFPERF_SPARC_INSTR_LD, 100, 0, 0, 0, 0, 0, 0}, {VFPERF_SPARC_INSTR_ST, 0, 0, 0, 0, 0, 0, 0}};
    struct vfperf_interrupted at = {0x1000, 0, 70, UT};
    static struct vfperf_profiler profiler;
    struct vfperf_sample found;
    struct vfperf_report report;
    uint32_t cause = 77;
    unsigned i;

    transport.context = &strand;
    SAME(vfperf_profiler_start(&transport, &profiler, 0), VFPERF_EINVAL);
    SAME(vfperf_profiler_init(&profiler, UT, requests, 2), 0);
    SAME(vfperf_profiler_start(&transport, &profiler, 0), 0);
    SAME(strand.pcr, UT | VFPERF_SPARC_PCR_TOE0 | VFPERF_SPARC_PCR_TOE1 | 0x208 << 6 | 0x210 << 19);
    for (i = 0; i < 1050; i++) {
        if (load(&strand)) {
            at.time = strand.time;
            SAME(vfperf_profiler_handle(&transport, &profiler, &at, &cause), 0);
            SAME(cause, 1);
        }
    }
    at.time = strand.time;
    SAME(vfperf_profiler_handle(&transport, &profiler, &at, &cause), 0);
    SAME(cause, 0);
    for (i = 1; i <= 10; i++) {
        SAME(vfperf_profiler_pop(&profiler, &found), 0);
        SAME(found.at.time, 100 * i);
    }
    SAME(vfperf_profiler_pop(&profiler, &found), VFPERF_EUNAVAILABLE);
    SAME(found.at.address, 0x1000);
    SAME(found.at.strand, 70);
    SAME(found.at.mode, UT);
    SAME(found.event, VFPERF_SPARC_INSTR_LD);
    SAME(found.period, 100);
    SAME(vfperf_profiler_stop(&transport, &profiler, &at, NULL), 0);
    SAME(strand.pcr & UT, 0);
    SAME(vfperf_profiler_report(&profiler, 0, &report), 0);
    SAME(report.event, VFPERF_SPARC_INSTR_LD);
    SAME(report.counter, VFPERF_PIC0);
    SAME(report.counted, 1050);
    SAME(report.events, 1050);
    SAME(report.running, 1050);
    SAME(report.enabled, 1050);
    SAME(report.error, 0);
    SAME(report.samples, 10);
    SAME(report.lost | report.missed | report.throttled, 0);
    SAME(report.period, 100);
    SAME(vfperf_profiler_report(&profiler, 1, &report), 0);
    SAME(report.counter, VFPERF_PIC1);
    SAME(report.counted | report.samples | report.period, 0);
    SAME(vfperf_profiler_report(&profiler, 2, &report), VFPERF_EINVAL);
}

/* Three events: two turns. */
static void turns(void)
{
    struct strand strand = {0, 0, 0, 0, 0};
    struct vfperf_transport transport = {trap, read_asr, write_asr, NULL};
    struct vfperf_request requests[3] = {
        {VFPERF_SPARC_INSTR_ST, 0, 0, 0, 0, 0, 0, 0},
        {VFPERF_SPARC_ATOMICS, 0, 0, 0, 0, 0, 0, 0},
        {VFPERF_SPARC_INSTR_LD, 0, 0, 0, 0, 0, 0, 0},
    };
    struct vfperf_interrupted at = {0x1000, 0, 0, UT};
    struct vfperf_profiler profiler;
    struct vfperf_report report;
    unsigned i;

    transport.context = &strand;
    SAME(vfperf_profiler_init(&profiler, UT, requests, 3), 0);
    SAME(vfperf_profiler_start(&transport, &profiler, 0), 0);
    for (i = 1; i <= 400; i++) {
        (void)load(&strand);
        at.time = strand.time;
        if (i % 100 == 0)
            SAME(vfperf_profiler_rotate(&transport, &profiler, &at, NULL), 0);
        if (i == 200) {
            /* One turn has no variance. */
            SAME(vfperf_profiler_report(&profiler, 2, &report), 0);
            SAME(report.events, 200);
            SAME(report.error, UINT64_MAX);
        }
    }
    SAME(vfperf_profiler_report(&profiler, 2, &report), 0);
    SAME(report.counted, 200);
    SAME(report.running, 200);
    SAME(report.events, 400);
}

static void hyperprivileged(void)
{
    struct strand strand = {0, 0, 0, 0, 10};
    struct vfperf_transport transport = {trap, read_asr, write_asr, NULL};
    struct vfperf_request request = {VFPERF_SPARC_INSTR_LD, 100, 0, 0, 0, 0, 0, 0};
    static struct vfperf_profiler profiler;

    transport.context = &strand;
    SAME(vfperf_profiler_init(&profiler, HT | UT, &request, 1), 0);
    SAME(vfperf_profiler_start(&transport, &profiler, 0), VFPERF_ENOACCESS);
    SAME(strand.pcr & (HT | UT), 0);
    strand.status = 0;
    SAME(vfperf_profiler_start(&transport, &profiler, 0), 0);
    SAME(strand.written & (HT | UT), HT | UT);
}

/* Arguments that are wrong are refused. */
static void refusals(void)
{
    const struct vfperf_request good = {VFPERF_SPARC_INSTR_LD, 1000, 50, 3, 42, 10, 0, 1000};
    struct vfperf_request requests[9], bad = good;
    struct vfperf_interrupted at = {0, 0, 0, UT};
    static struct vfperf_profiler profilers[2];
    unsigned i;

    for (i = 0; i < 9; i++)
        requests[i] = good;
    SAME(vfperf_profiler_init(profilers, UT, requests, VFPERF_PROFILER_EVENTS), 0);
    SAME(vfperf_profiler_init(profilers, UT, requests, VFPERF_PROFILER_EVENTS + 1), VFPERF_EINVAL);
    SAME(vfperf_profiler_init(NULL, UT, requests, 1), VFPERF_EINVAL);
    SAME(vfperf_profiler_init(profilers, UT, NULL, 1), VFPERF_EINVAL);
    SAME(vfperf_profiler_init(profilers, UT | VFPERF_SPARC_PCR_OV0, requests, 1), VFPERF_EINVAL);
    SAME(vfperf_profiler_init((struct vfperf_profiler *)(void *)((char *)profilers + 8), UT, requests, 1), VFPERF_EINVAL);
    bad.event = 0x1000;
    SAME(vfperf_profiler_init(profilers, UT, &bad, 1), VFPERF_EINVAL);
    bad = good;
    bad.period = 0;
    SAME(vfperf_profiler_init(profilers, UT, &bad, 1), VFPERF_EINVAL);
    bad.period = 0x80000001;
    SAME(vfperf_profiler_init(profilers, UT, &bad, 1), VFPERF_EINVAL);
    bad = good;
    bad.throttle_ticks = 0;
    SAME(vfperf_profiler_init(profilers, UT, &bad, 1), VFPERF_EINVAL);
    SAME(vfperf_profiler_stop(NULL, profilers, NULL, NULL), VFPERF_EINVAL);
    at.strand = 256;
    SAME(vfperf_profiler_stop(NULL, profilers, &at, NULL), VFPERF_EINVAL);
    at.strand = 0;
    at.mode = UT | HT;
    SAME(vfperf_profiler_stop(NULL, profilers, &at, NULL), VFPERF_EINVAL);
    at.mode = UT;
    SAME(vfperf_profiler_stop(NULL, profilers, &at, NULL), 0);
    SAME(vfperf_profiler_stop(NULL, profilers + 1, &at, NULL), VFPERF_EINVAL);
    SAME(vfperf_profiler_pop(profilers + 1, NULL), VFPERF_EINVAL);
}

void sampling(void)
{
    samples();
    turns();
    hyperprivileged();
    refusals();
}
