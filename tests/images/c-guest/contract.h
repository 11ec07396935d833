/*
 * What the contract says of a call, for strand 0 of a guest with all rights and no other strand: written out from the
 * specification, without the library that is tested.
 */
#ifndef CONTRACT_H
#define CONTRACT_H

#include <stdbool.h>
#include <stdint.h>

struct machine {
    uint64_t nodes;
    bool hubs;
};

/* Versions that a guest can have: none, 1.0, 1.1. */
enum negotiated { NOTHING, VERSION_1_0, VERSION_1_1 };

/* The status of a get or a set of a register. */
uint64_t contract_status(struct machine machine, enum negotiated version, uint64_t id);

/* The bits of a register that are kept. */
uint64_t contract_mask(uint64_t id);

/* A value to write: without HOLDOV of the PCR, by which it would not say what the PCR holds afterwards. */
uint64_t contract_written(uint64_t id, uint64_t value);

/* Which units there are, as bits, and which of them the guest may not use. */
uint32_t contract_units(struct machine machine, enum negotiated version);
uint32_t contract_refused(struct machine machine);

#endif
