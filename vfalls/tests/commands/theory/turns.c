/*
 * Threads that count one after another: each starts the next when it ends. `turns one LINES`: thread n adds to counter n modulo 4
 * of each of LINES lines. `turns own LINES`: thread n adds to LINES lines that only threads with the same n modulo 4 use.
 */

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define TURNS 16
#define NODES 4
#define MOST 4096

struct line {
	volatile uint64_t counters[8];
} __attribute__((aligned(64)));

static struct line one[MOST], own[NODES][MOST];
static int lines, shared;

static void *turn(void *argument)
{
	intptr_t number = (intptr_t)argument;
	int node = number % NODES;
	for (int at = 0; at < lines; at++)
		(shared ? &one[at].counters[node] : &own[node][at].counters[0])[0]++;
	pthread_t next;
	if (++number < TURNS) {
		if (pthread_create(&next, NULL, turn, (void *)number) != 0)
			abort();
		pthread_join(next, NULL);
	}
	return NULL;
}

int main(int count, char **arguments)
{
	if (count != 3)
		return 2;
	shared = arguments[1][1] == 'n';
	lines = atoi(arguments[2]);
	turn(NULL);
	return 0;
}
