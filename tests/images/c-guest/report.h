/* Results, as lines on the console. */
#ifndef REPORT_H
#define REPORT_H

#include <stdint.h>

/* What follows the names of checks from now on. */
void report_suffix(const char *suffix);

void check_begin(const char *name);

/* Compares, and reports the first difference of a check. */
void check_same(uint64_t what, uint64_t found, uint64_t expected);

/* As check_same, for a call that is compared with the contract. */
void check_case(uint64_t what, uint64_t found, uint64_t expected);

void check_end(void);

/* Ends the guest. */
void report_end(void);

#endif
