#include <stdio.h>

#include "check.h"

unsigned checks, failed;

void same(const char *file, int line, const char *what, uint64_t found, uint64_t expected)
{
    checks++;
    if (found == expected)
        return;
    failed++;
    printf("%s:%d: %s is %#llx, expected %#llx\n", file, line, what, (unsigned long long)found,
           (unsigned long long)expected);
}

int main(void)
{
    values();
    printf("values: %u checks\n", checks);
    checks = 0;
    calls();
    printf("calls: %u checks\n", checks);
    checks = 0;
    sampling();
    printf("sampling: %u checks\n", checks);
    return failed != 0;
}
