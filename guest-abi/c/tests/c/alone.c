/* A program that is linked without libc and start files: the library needs nothing else. */
#include "vfperf.h"

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
