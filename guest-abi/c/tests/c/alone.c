/* A program without libc and start files: the library needs memcpy and memset, as compilers of C do, and nothing else. */
#include <stddef.h>

#include "vfperf.h"

void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);

void *memcpy(void *to, const void *from, size_t size)
{
    while (size--)
        ((volatile char *)to)[size] = ((const char *)from)[size];
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    while (size--)
        ((volatile char *)to)[size] = (char)byte;
    return to;
}

uint64_t start(const struct vfperf_transport *transport);

uint64_t start(const struct vfperf_transport *transport)
{
    struct vfperf_snapshot snapshot;
    struct vfperf_present present;

    if (vfperf_negotiate_best(transport, 0) != VFPERF_EOK || vfperf_probe(transport, &present) != VFPERF_EOK)
        return 0;
    if (vfperf_unit_select(transport, VFPERF_UNIT_NODE0_MCU0, VFPERF_PIC0, VFPERF_DRAM_MEM_READS) != VFPERF_EOK)
        return 0;
    if (vfperf_snapshot(transport, VFPERF_UNIT_NODE0_MCU0, 0, &snapshot) != VFPERF_EOK)
        return 0;
    return snapshot.pic[0];
}
