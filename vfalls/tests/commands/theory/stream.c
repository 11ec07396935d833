/*
 * Reads or writes 8 MB, twice the size of an L2 cache, from end to end: `stream read|write TIMES`.
 */

#include <stdint.h>
#include <stdlib.h>

#define LINES 131072

static struct line {
	volatile uint64_t words[8];
} __attribute__((aligned(64))) lines[LINES];

int main(int count, char **arguments)
{
	if (count != 3)
		return 2;
	for (int times = atoi(arguments[2]); times > 0; times--)
		for (int at = 0; at < LINES; at++)
			if (arguments[1][0] == 'r')
				(void)lines[at].words[0];
			else
				lines[at].words[0] = at;
	return 0;
}
