/* Loads 1000 words of 125 cache lines in each lap: five laps of one loop, and two of another. */
#include <stdio.h>

#include "vfalls-marker.h"

static volatile long words[1000] __attribute__((aligned(64)));

static inline __attribute__((always_inline)) void lap(void)
{
    VFALLS_MARKER(lap);
    for (int i = 0; i < 1000; i++)
        (void)words[i];
}

__attribute__((noinline)) void work(void)
{
    for (int i = 0; i < 1000; i++)
        (void)words[i];
}

int main(void)
{
    for (int i = 0; i < 5; i++)
        lap();
    VFALLS_MARKER(middle);
    for (int i = 0; i < 5; i++)
        work();
    VFALLS_MARKER(work_is_done);
    lap();
    lap();
    VFALLS_MARKER(end);
    printf("words %p\n", (void *)words);
    return 0;
}
