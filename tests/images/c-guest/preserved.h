/* What a call must leave alone, and must not leave behind. */
#ifndef PRESERVED_H
#define PRESERVED_H

#include <stdbool.h>

#include "contract.h"

/* All checks. fast: device registers read 0, and calls take the fast path if they can. */
void preserved(struct machine machine, bool fast);

/* What the probe finds where a hypervisor leaves 0x5e in a window and 0x6f in a global register. */
void leaks(void);

#endif
