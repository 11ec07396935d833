/* Results, as lines on the console. */
#ifndef REPORT_H
#define REPORT_H

#include <stdint.h>

/* Appends a suffix to the names of all checks from now on. */
void report_suffix(const char *suffix);

void check_begin(const char *name);

/* Compares two values. Each check prints its first difference. */
void check_same(uint64_t what, uint64_t found, uint64_t expected);

/* Like check_same, for a call that is compared with the contract. Also counts the call. */
void check_case(uint64_t what, uint64_t found, uint64_t expected);

void check_end(void);

void report_end(void);

#endif
