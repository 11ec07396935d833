/*
 * A sun4v guest to copy. It starts all its strands; each strand counts and samples a program of known cost; the first strand prints
 * the results. README.md says how to build it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "sun4v_perf.h"

/* The most strands that the guest uses: each needs a record and a stack. */
#define MOST 64
#define STACK_SIZE 0x8000

/* The measured program has this number of rounds. A round calls work_once and work_twice, and each loads TIMES times. */
#define ROUNDS 20
#define TIMES 1000

/* Loads between two samples. The 3000 loads of a round are far from a multiple of 347: samples fall everywhere in a round. */
#define PERIOD 347

/* Defined in start.s: loops with one load and two loads a time, and the end of both; the entry of other strands; the trap table. */
void work_once(const uint64_t *address, uint64_t times);
void work_twice(const uint64_t *address, uint64_t times);
extern const char work_end[], strand_start[], strand_traps[];

struct strand {
    /* The end of the stack. start.s reads it: it must come first. */
    char *stack;
    uint64_t cpu;
    uint64_t loads, instructions;
    /* Samples with an address in work_once, in work_twice, and elsewhere. */
    volatile uint64_t samples[3];
    volatile uint64_t done;
};

static char stacks[MOST][STACK_SIZE] __attribute__((aligned(64)));

/* The first strand fills in the records of the others. */
struct strand strand_records[MOST] = {{.stack = stacks[0] + STACK_SIZE}};

/* %pcr is ASR 16 and %pic ASR 17; a write to ASR 21 clears bits of %softint. "memory" keeps accesses on their side of a reading. */
#define READ_ASR(number, value) __asm__ volatile("rd %%asr" #number ", %0" : "=r"(value) : : "memory")
#define WRITE_ASR(number, value) __asm__ volatile("wr %0, 0, %%asr" #number : : "r"(value) : "memory")

static void set_pcr(uint64_t pcr)
{
    WRITE_ASR(16, pcr);
}

static void set_pic(uint32_t pic0)
{
    WRITE_ASR(17, (uint64_t)pic0);
}

static uint64_t pic(void)
{
    uint64_t value;

    READ_ASR(17, value);
    return value;
}

/* Allows or blocks the overflow trap, by PIL and by IE (bit 1) of PSTATE, whose bits PEF and PRIV stay set. */
static void interrupts(bool on)
{
    uint64_t pil = on ? 0 : 15, pstate = on ? 0x16 : 0x14;

    __asm__ volatile("wrpr %0, 0, %%pil; wrpr %1, 0, %%pstate" : : "r"(pil), "r"(pstate) : "memory");
}

static void print(const char *text)
{
    while (*text)
        sun4v_cons_putchar(NULL, (uint8_t)*text++);
}

static void print_number(uint64_t number)
{
    char digits[21], *first = &digits[20];

    *first = 0;
    do
        *--first = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    print(first);
}

/* Makes a call of trap 0x80. Returns its status. */
static uint64_t call(uint64_t function, uint64_t o0, uint64_t o1, uint64_t o2, uint64_t o3)
{
    uint64_t registers[6] = {o0, o1, o2, o3, 0, function};

    sun4v_trap(NULL, SUN4V_FAST_TRAP, registers);
    return registers[0];
}

static void program(void)
{
    static const uint64_t data[2];
    unsigned round;

    for (round = 0; round < ROUNDS; round++) {
        work_once(data, TIMES);
        work_twice(data, TIMES);
    }
}

/* Counts loads, by counter 0, in privileged mode. */
static uint64_t counting_loads(void)
{
    return sun4v_sparc_pcr_with(SUN4V_SPARC_PCR_OFF, 0, SUN4V_SPARC_INSTR_LD) | SUN4V_SPARC_PCR_ST;
}

static uint64_t sampling_loads(void)
{
    return counting_loads() | SUN4V_SPARC_PCR_TOE0;
}

static void measure(struct strand *strand)
{
    uint64_t counted;

    set_pcr(SUN4V_SPARC_PCR_OFF);
    set_pic(0);
    set_pcr(sun4v_sparc_pcr_with(counting_loads(), 1, SUN4V_SPARC_INSTR_CNT));
    program();
    set_pcr(SUN4V_SPARC_PCR_OFF);
    counted = pic();
    strand->loads = sun4v_sparc_pic_counter(counted, 0);
    strand->instructions = sun4v_sparc_pic_counter(counted, 1);

    /* The counter traps when it overflows, PERIOD loads from here. */
    set_pic(-(uint32_t)PERIOD);
    set_pcr(sampling_loads());
    interrupts(true);
    program();
    interrupts(false);
    set_pcr(SUN4V_SPARC_PCR_OFF);
    strand->done = 1;
}

/* Handles the overflow trap. `address` is the next instruction of the interrupted program, a few instructions behind the load. */
void strand_overflow(struct strand *strand, uint64_t address, uint64_t tstate)
{
    uint32_t reached;

    (void)tstate;
    /* Loads of this handler do not count. The trap comes up to 16 loads early or late; the next period corrects that. */
    set_pcr(SUN4V_SPARC_PCR_OFF);
    WRITE_ASR(21, (uint64_t)1 << 15);
    reached = sun4v_sparc_pic_counter(pic(), 0);
    if (address >= (uint64_t)work_once && address < (uint64_t)work_twice)
        strand->samples[0]++;
    else if (address >= (uint64_t)work_twice && address < (uint64_t)work_end)
        strand->samples[1]++;
    else
        strand->samples[2]++;
    set_pic(reached - PERIOD);
    set_pcr(sampling_loads());
}

/* Reads a megabyte once, and prints the reads that the memory channels counted. The guest needs the right `global` for these calls. */
static void memory(void)
{
    static volatile uint64_t block[(1 << 20) / sizeof(uint64_t)];
    const unsigned words_a_line = 64 / sizeof(uint64_t), channels = SUN4V_UNIT_NODE3_MCU1 + 1;
    uint64_t value, before = 0, after = 0, used = 0;
    struct sun4v_present present;
    unsigned unit, word;

    if (sun4v_perf_negotiate_best(NULL, NULL) != SUN4V_EOK || sun4v_perf_probe(NULL, &present) != SUN4V_EOK) {
        print("there is no performance counter service\n");
        return;
    }
    for (unit = 0; unit < channels; unit++) {
        if ((present.units & ~present.refused) >> unit & 1)
            used += sun4v_unit_select(NULL, unit, 0, SUN4V_DRAM_MEM_READS) == SUN4V_EOK;
    }
    for (unit = 0; unit < channels; unit++) {
        if (sun4v_perf_get(NULL, sun4v_unit_pic(unit, 0), &value) == SUN4V_EOK)
            before += sun4v_dram_pic_counter(value, 0);
    }
    for (word = 0; word < sizeof block / sizeof block[0]; word += words_a_line)
        (void)block[word];
    for (unit = 0; unit < channels; unit++) {
        if (sun4v_perf_get(NULL, sun4v_unit_pic(unit, 0), &value) == SUN4V_EOK)
            after += sun4v_dram_pic_counter(value, 0);
    }
    print_number(sizeof block / 64);
    print(" lines read, ");
    print_number(after - before);
    print(" reads in ");
    print_number(used);
    print(" memory channels\n");
}

static void report(const struct strand *strand)
{
    static const char *const places[] = {" in work_once, ", " in work_twice, ", " elsewhere\n"};
    unsigned place;

    print("cpu ");
    print_number(strand->cpu);
    print(": ");
    print_number(strand->loads);
    print(" loads, ");
    print_number(strand->instructions);
    print(" instructions; a sample every ");
    print_number(PERIOD);
    print(" loads: ");
    for (place = 0; place < 3; place++) {
        print_number(strand->samples[place]);
        print(places[place]);
    }
}

/* Entered by each strand, on its own stack. The first strand starts the others, measures, and prints. */
void strand_main(struct strand *strand)
{
    unsigned cpus, cpu;

    if (strand->cpu != 0) {
        measure(strand);
        return;
    }
    /* cpu_start and mach_exit belong to group CORE. All strands of a guest share one negotiation. */
    sun4v_api_set_version(NULL, SUN4V_GROUP_CORE, 1, 0, NULL);
    /* CPUs are numbered from 0. The first refused call says that there are no more; a hypervisor without cpu_start refuses all. */
    for (cpus = 1; cpus < MOST; cpus++) {
        struct strand *other = &strand_records[cpus];

        other->stack = stacks[cpus] + STACK_SIZE;
        other->cpu = cpus;
        if (call(SUN4V_FAST_CPU_START, cpus, (uint64_t)strand_start, (uint64_t)strand_traps, (uint64_t)other) != SUN4V_EOK)
            break;
    }
    print_number(cpus);
    print(" strands, ");
    print_number(ROUNDS * TIMES * 3);
    print(" loads each\n");
    measure(strand);
    for (cpu = 0; cpu < cpus; cpu++) {
        while (!strand_records[cpu].done)
            ;
        report(&strand_records[cpu]);
    }
    memory();
    call(SUN4V_FAST_MACH_EXIT, 0, 0, 0, 0);
    /* A hypervisor without mach_exit gets here. */
    for (;;)
        sun4v_exit(NULL, 0);
}
