/*
 * The contract's answers for strand 0 of a guest with all rights and without another strand, written from the specification and
 * not from the library under test.
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

/* The bits of a register that a set keeps. */
uint64_t contract_mask(uint64_t id);

/* A value to write: without HOLDOV of the PCR, because with HOLDOV the value does not determine what the PCR holds. */
uint64_t contract_written(uint64_t id, uint64_t value);

/* The units that are present, and the present units that the guest may not use. Each bit is a unit. */
uint32_t contract_units(struct machine machine, enum negotiated version);
uint32_t contract_refused(struct machine machine);

#endif
