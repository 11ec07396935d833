/*
 * Waits whose times depend on the host. `host lock`: four threads take a lock that is not one of the C library's locks. The program
 * prints how often the threads have waited. `host sleep`: sleeps for 3 ms. `host read`: prints a line, and then waits for a byte.
 */

#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 5

static void sleep_for(long milliseconds)
{
	struct timespec time = { 0, milliseconds * 1000000 };
	nanosleep(&time, NULL);
}

/* 0: free, 1: taken, 2: taken, and threads may wait */
static atomic_int word;
static atomic_int waits;

static void lock(void)
{
	int found = 0;
	if (atomic_compare_exchange_strong(&word, &found, 1))
		return;
	while (atomic_exchange(&word, 2) != 0)
		if (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0) == 0)
			waits++;
}

static void unlock(void)
{
	if (atomic_exchange(&word, 0) == 2)
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *take(void *unused)
{
	(void)unused;
	for (int round = 0; round < ROUNDS; round++) {
		lock();
		sleep_for(1);
		unlock();
	}
	return NULL;
}

static void take_in_threads(void)
{
	pthread_t threads[THREADS];
	for (int number = 0; number < THREADS; number++)
		if (pthread_create(&threads[number], NULL, take, NULL) != 0)
			abort();
	for (int number = 0; number < THREADS; number++)
		pthread_join(threads[number], NULL);
	printf("%d\n", waits);
}

int main(int count, char **arguments)
{
	char byte;
	if (count != 2)
		return 2;
	if (strcmp(arguments[1], "lock") == 0) {
		take_in_threads();
	} else if (strcmp(arguments[1], "sleep") == 0) {
		sleep_for(3);
	} else {
		puts("ready");
		fflush(stdout);
		return read(0, &byte, 1) == 1 ? 0 : 1;
	}
	return 0;
}
