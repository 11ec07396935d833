/*
 * Four threads read a buffer on node 0: `remote PIECES`. The home node of memory changes every 512 bytes, so that the first 512
 * of every 2048 bytes are on node 0. No thread writes to the buffer.
 */

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define THREADS 4
#define MOST 1024

struct piece {
	volatile uint64_t words[64];
	unsigned char elsewhere[3 * 512];
} __attribute__((aligned(2048)));

static struct piece buffer[MOST];
static int pieces;

static void *look(void *argument)
{
	for (int piece = 0; piece < pieces; piece++)
		for (int word = 0; word < 64; word += 8)
			(void)buffer[piece].words[word];
	return argument;
}

int main(int count, char **arguments)
{
	pthread_t threads[THREADS];
	if (count != 2)
		return 2;
	pieces = atoi(arguments[1]);
	for (int number = 1; number < THREADS; number++)
		if (pthread_create(&threads[number], NULL, look, NULL) != 0)
			abort();
	look(NULL);
	for (int number = 1; number < THREADS; number++)
		pthread_join(threads[number], NULL);
	return 0;
}
