/* Four threads contend for a mutex. Each thread takes the mutex 2000 times. It computes for 100 rounds with the mutex, and then for 150
 * rounds without the mutex. */

#include <pthread.h>
#include <stdlib.h>

#define THREADS 4
#define ROUNDS 2000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum, table[64];

static void compute(int rounds)
{
	for (volatile int round = 0; round < rounds; round++)
		;
}

static void *contend(void *unused)
{
	(void)unused;
	for (int round = 0; round < ROUNDS; round++) {
		pthread_mutex_lock(&lock);
		sum++;
		table[round % 64] += round;
		compute(100);
		pthread_mutex_unlock(&lock);
		compute(150);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	for (int number = 0; number < THREADS; number++)
		if (pthread_create(&threads[number], NULL, contend, NULL) != 0)
			abort();
	for (int number = 0; number < THREADS; number++)
		pthread_join(threads[number], NULL);
	return sum == THREADS * ROUNDS ? 0 : 1;
}
