/* Registers that a call must preserve, and values that it must not leave behind. */
#ifndef PRESERVED_H
#define PRESERVED_H

#include <stdbool.h>

#include "contract.h"

/* fast: device registers read 0, and calls take the fast path where they can. */
void preserved(struct machine machine, bool fast);

/* Expects the marks of a hypervisor that leaves 0x5e in a window and 0x6f in a global register. */
void leaks(void);

#endif
