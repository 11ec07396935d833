#include "contract.h"

uint64_t contract_status(struct machine machine, enum negotiated version, uint64_t id)
{
    if (version == NOTHING)
        return 7;
    if (id > 89)
        return 6;
    if (id <= 5)
        return 0;
    if (id <= 17)
        return (id - 2) / 4 < machine.nodes ? 10 : 13;
    return machine.hubs && version == VERSION_1_1 ? 0 : 13;
}

uint64_t contract_mask(uint64_t id)
{
    if (id == 0)
        return UINT32_MAX;
    if (id == 1)
        return 3;
    if (id <= 17)
        return id % 2 == 0 ? 0xff : UINT64_MAX;
    if (id % 3 != 0)
        return UINT64_MAX;
    /* Six units of three registers to a hub: four LPUs, GPD, ASU. */
    return (id - 18) % 18 / 3 < 4 ? 0xffff : 0xf0f;
}

uint64_t contract_written(uint64_t id, uint64_t value)
{
    return id == 0 ? value & ~(UINT64_C(3) << 62) : value;
}

uint32_t contract_units(struct machine machine, enum negotiated version)
{
    uint32_t dram = (UINT32_C(1) << 2 * machine.nodes) - 1;

    if (machine.hubs && version == VERSION_1_1)
        return dram | 0xffffff00;
    return dram;
}

uint32_t contract_refused(struct machine machine)
{
    return contract_units(machine, VERSION_1_0) & ~UINT32_C(3);
}
