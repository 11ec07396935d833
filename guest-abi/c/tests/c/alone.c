/* A program that is linked without libc and start files: the library needs nothing else. */
#include "sun4v_perf.h"

uint64_t start(const struct sun4v_transport *transport);

uint64_t start(const struct sun4v_transport *transport)
{
    struct sun4v_present present;
    uint64_t value = 0;

    sun4v_perf_negotiate_best(transport, NULL);
    sun4v_perf_probe(transport, &present);
    sun4v_unit_select(transport, SUN4V_UNIT_NODE0_MCU0, 0, SUN4V_DRAM_MEM_READS);
    sun4v_perf_get_retrying(transport, SUN4V_REG_NODE0_MCU0_PIC, 5, &value);
    return value;
}
