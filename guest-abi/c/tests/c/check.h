/* Checks. Each is counted, and a failed one prints its place. */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern unsigned checks, failed;

void same(const char *file, int line, const char *what, uint64_t found, uint64_t expected);

#define SAME(found, expected) same(__FILE__, __LINE__, #found, (uint64_t)(found), (uint64_t)(expected))

void values(void);
void calls(void);
void sampling(void);

#endif
