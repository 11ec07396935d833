/* Probes in assembly of registers, windows and levels around a trap, shared with the guest in Rust. */
#ifndef PROBES_H
#define PROBES_H

#include <stdint.h>

/* The registers around the trap. */
struct around {
    uint64_t o[8], l[8], i[4], g[8];
    /* CWP, CANSAVE, CANRESTORE, OTHERWIN, CLEANWIN, WSTATE, PSTATE, PIL, TL, GL, %y, %asi, %ccr. */
    uint64_t before[13], after[13];
};

/* The bits that a trap set in the free windows, and in the globals of levels 1 and 2; all were 0 before. */
struct left {
    uint64_t windows, globals;
};

/* The state after a call above TL 0. In gl, bits 7:0 are GL, bits 8 and up are %g1, which was 0x77. */
struct at_level {
    uint64_t status, value, tl, gl;
};

/* The state after a call with an unusual PSTATE: the bits that are still inverted. */
struct with_pstate {
    uint64_t value, inverted;
};

/* Traps with these %o0 to %o5, and a pattern in every other register. */
void around_fast(const uint64_t o[6], struct around *around);
void around_core(const uint64_t o[6], struct around *around);

/* Traps with these %o0, %o1 and %o5, and six free windows. */
struct left left_fast(uint64_t o0, uint64_t o1, uint64_t function);
struct left left_core(uint64_t o0, uint64_t o1, uint64_t function);

/* Traps twice at each of depth + 1 depths, with sp as the stack pointer. Returns the bits of locals that changed. */
uint64_t deep_fast(uint64_t depth, uint64_t function, uint64_t o0, uint64_t sp);
uint64_t deep_core(uint64_t depth, uint64_t function, uint64_t o0, uint64_t sp);

/* Traps at this TL and GL. */
struct at_level at_level(uint64_t o0, uint64_t o1, uint64_t function, uint64_t level);

/* Traps with these bits of PSTATE inverted. */
struct with_pstate with_pstate(uint64_t o0, uint64_t function, uint64_t bits);

#endif
