#include "report.h"

#include <stdbool.h>
#include <stddef.h>

#include "vfperf.h"

static const char *current, *suffix = "";
static bool current_failed;
static uint64_t failed, cases;

static void text(const char *text)
{
    for (; *text != '\0'; text++)
        vfperf_cons_putchar(NULL, (uint8_t)*text);
}

static void number(uint64_t number, unsigned base)
{
    char digits[21];
    char *digit = digits + sizeof digits - 1;

    *digit = '\0';
    do {
        *--digit = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    text(digit);
}

/* Writes the beginning of a check's line. */
static void check_name(void)
{
    text("check C guest, ");
    text(current);
    text(suffix);
}

void report_suffix(const char *text)
{
    suffix = text;
}

void check_begin(const char *name)
{
    current = name;
    current_failed = false;
}

void check_same(uint64_t what, uint64_t found, uint64_t expected)
{
    if (found == expected || current_failed)
        return;
    current_failed = true;
    check_name();
    text(": FAILED, 0x");
    number(what, 16);
    text(": 0x");
    number(found, 16);
    text(", expected 0x");
    number(expected, 16);
    text("\n");
}

void check_case(uint64_t what, uint64_t found, uint64_t expected)
{
    cases++;
    check_same(what, found, expected);
}

void check_end(void)
{
    if (current_failed) {
        failed++;
        return;
    }
    check_name();
    text(": passed\n");
}

void report_end(void)
{
    if (cases != 0) {
        text("cases: ");
        number(cases, 10);
        text("\n");
    }
    text("checked\n");
    vfperf_exit(NULL, failed != 0);
}
