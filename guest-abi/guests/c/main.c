/*
 * A sun4v guest to copy. It starts all its strands. Each strand counts and samples a program of known cost, and the first strand
 * prints the results. README.md says how to build the guest.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vfperf.h"

/* The maximum number of strands that the guest uses. Each strand needs a record and a stack. */
#define MOST 64
#define STACK_SIZE 0x8000

/* The number of rounds of the measured program. A round calls work_once and work_twice; each performs TIMES iterations. */
#define ROUNDS 20
#define TIMES 1000

/* The number of loads between two samples. A round has 3000 loads, far from a multiple of 347, so samples fall everywhere in it. */
#define PERIOD 347

/*
 * start.s defines these symbols: two loops, with one load and with two loads in each iteration; the end of both loops; the code at
 * which the other strands start; their trap table.
 */
void work_once(const uint64_t *address, uint64_t times);
void work_twice(const uint64_t *address, uint64_t times);
extern const char work_end[], strand_start[], strand_traps[];

struct strand {
    /* The end of the stack. Must be the first field, because start.s reads it. */
    char *stack;
    uint64_t cpu;
    uint64_t loads, instructions;
    struct vfperf_profiler profiler;
    /* The number of samples in work_once, in work_twice, and elsewhere. */
    volatile uint64_t samples[3];
    volatile uint64_t done;
};

static char stacks[MOST][STACK_SIZE] __attribute__((aligned(64)));

/* The first strand fills in the records of the others. */
struct strand strand_records[MOST] = {{.stack = stacks[0] + STACK_SIZE}};

/* %pcr is ASR 16, %pic ASR 17, %stick ASR 24; a write to ASR 21 clears bits of %softint. "memory" keeps the order of accesses. */
#define READ_ASR(number, value) __asm__ volatile("rd %%asr" #number ", %0" : "=r"(value) : : "memory")
#define WRITE_ASR(number, value) __asm__ volatile("wr %0, 0, %%asr" #number : : "r"(value) : "memory")

static void set_pcr(uint64_t pcr)
{
    WRITE_ASR(16, pcr);
}

static void clear_pic(void)
{
    WRITE_ASR(17, (uint64_t)0);
}

static uint64_t pic(void)
{
    uint64_t value;

    READ_ASR(17, value);
    return value;
}

static uint64_t stick(void)
{
    uint64_t value;

    READ_ASR(24, value);
    return value;
}

/* Enables or disables the overflow trap, by PIL and by IE (bit 1) of PSTATE. Bits PEF and PRIV of PSTATE stay set. */
static void interrupts(bool on)
{
    uint64_t pil = on ? 0 : 15, pstate = on ? 0x16 : 0x14;

    __asm__ volatile("wrpr %0, 0, %%pil; wrpr %1, 0, %%pstate" : : "r"(pil), "r"(pstate) : "memory");
}

static void print(const char *text)
{
    while (*text)
        vfperf_cons_putchar(NULL, (uint8_t)*text++);
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

/* Performs a call through trap 0x80. Returns its status. */
static uint64_t call(uint64_t function, uint64_t o0, uint64_t o1, uint64_t o2, uint64_t o3)
{
    uint64_t registers[6] = {o0, o1, o2, o3, 0, function};

    vfperf_trap(NULL, VFPERF_FAST_TRAP, registers);
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

/* Returns the value of %pcr with which counter 0 counts the loads in privileged mode. */
static uint64_t counting_loads(void)
{
    return vfperf_sparc_pcr_with(VFPERF_SPARC_PCR_OFF, VFPERF_PIC0, VFPERF_SPARC_INSTR_LD) | VFPERF_SPARC_PCR_ST;
}

static void measure(struct strand *strand)
{
    static const struct vfperf_request loads = {.event = VFPERF_SPARC_INSTR_LD, .period = PERIOD};
    uint64_t counted;

    set_pcr(VFPERF_SPARC_PCR_OFF);
    clear_pic();
    set_pcr(vfperf_sparc_pcr_with(counting_loads(), VFPERF_PIC1, VFPERF_SPARC_INSTR_CNT));
    program();
    set_pcr(VFPERF_SPARC_PCR_OFF);
    counted = pic();
    strand->loads = vfperf_sparc_pic_counter(counted, VFPERF_PIC0);
    strand->instructions = vfperf_sparc_pic_counter(counted, VFPERF_PIC1);

    if (vfperf_profiler_init(&strand->profiler, VFPERF_SPARC_PCR_ST, &loads, 1) != VFPERF_EOK ||
        vfperf_profiler_start(NULL, &strand->profiler, stick()) != VFPERF_EOK)
        print("no samples\n");
    interrupts(true);
    program();
    interrupts(false);
    set_pcr(VFPERF_SPARC_PCR_OFF);
    strand->done = 1;
}

/* Handles the overflow trap. `address` is the next instruction of the interrupted program, a few instructions after the load. */
void strand_overflow(struct strand *strand, uint64_t address, uint64_t tstate)
{
    struct vfperf_interrupted at = {address, stick(), (uint32_t)strand->cpu, VFPERF_SPARC_PCR_ST};
    struct vfperf_sample sample;
    uint64_t pcr;

    (void)tstate;
    /* The counter must not count the loads of this handler. HOLDOV keeps the overflow bits for the profiler. */
    READ_ASR(16, pcr);
    set_pcr((pcr & ~VFPERF_SPARC_PCR_ST) | VFPERF_SPARC_PCR_HOLDOV0 | VFPERF_SPARC_PCR_HOLDOV1);
    /* The trap comes up to 16 loads early or late. The profiler's next period corrects this. */
    if (vfperf_profiler_handle(NULL, &strand->profiler, &at, NULL) != VFPERF_EOK)
        return;
    WRITE_ASR(21, (uint64_t)1 << 15);
    if (vfperf_profiler_pop(&strand->profiler, &sample) != VFPERF_EOK)
        return;
    address = sample.at.address;
    if (address >= (uint64_t)work_once && address < (uint64_t)work_twice)
        strand->samples[0]++;
    else if (address >= (uint64_t)work_twice && address < (uint64_t)work_end)
        strand->samples[1]++;
    else
        strand->samples[2]++;
}

#define CHANNELS (VFPERF_UNIT_NODE3_MCU1 + 1)

/* Returns the sum of the reads that the channels have counted. */
static uint64_t channel_reads(void)
{
    static struct vfperf_count counts[CHANNELS];
    uint64_t value, sum = 0;
    unsigned n;

    for (n = 0; n < CHANNELS; n++) {
        enum vfperf_unit unit = (enum vfperf_unit)n;

        if (vfperf_get(NULL, vfperf_unit_pic(unit, VFPERF_PIC0), NULL, &value) == VFPERF_EOK)
            sum += vfperf_unit_count(&counts[n], unit, VFPERF_PIC0, value);
    }
    return sum;
}

/* Reads a megabyte once, and prints how many reads the memory channels counted. The guest needs the right `global` for these calls. */
static void memory(void)
{
    static volatile uint64_t block[(1 << 20) / sizeof(uint64_t)];
    const unsigned words_a_line = 64 / sizeof(uint64_t);
    struct vfperf_present present;
    uint64_t before, used = 0;
    unsigned n, word;

    if (vfperf_negotiate_best(NULL, NULL) != VFPERF_EOK || vfperf_probe(NULL, &present) != VFPERF_EOK) {
        print("there is no performance counter service\n");
        return;
    }
    for (n = 0; n < CHANNELS; n++) {
        if ((present.units & ~present.refused) >> n & 1)
            used += vfperf_unit_select(NULL, (enum vfperf_unit)n, VFPERF_PIC0, VFPERF_DRAM_MEM_READS) == VFPERF_EOK;
    }
    before = channel_reads();
    for (word = 0; word < sizeof block / sizeof block[0]; word += words_a_line)
        (void)block[word];
    print_number(sizeof block / 64);
    print(" lines read, ");
    print_number(channel_reads() - before);
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

/* Each strand calls this function from start.s, on its own stack. The first strand starts the others, measures, and prints. */
void strand_main(struct strand *strand)
{
    unsigned cpus, cpu;

    if (strand->cpu != 0) {
        measure(strand);
        return;
    }
    /* cpu_start and mach_exit belong to group CORE. All strands of a guest share one negotiation. */
    if (vfperf_api_set_version(NULL, VFPERF_GROUP_CORE, 1, 0, NULL) != VFPERF_EOK)
        print("group CORE is refused\n");
    /* CPUs are numbered from 0. The first refused call means that there are no more CPUs, or no cpu_start. */
    for (cpus = 1; cpus < MOST; cpus++) {
        struct strand *other = &strand_records[cpus];

        other->stack = stacks[cpus] + STACK_SIZE;
        other->cpu = cpus;
        if (call(VFPERF_FAST_CPU_START, cpus, (uint64_t)strand_start, (uint64_t)strand_traps, (uint64_t)other) != VFPERF_EOK)
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
    call(VFPERF_FAST_MACH_EXIT, 0, 0, 0, 0);
    /* Reached only if the hypervisor has no mach_exit. */
    for (;;)
        vfperf_exit(NULL, 0);
}
