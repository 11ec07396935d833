/*
 * Four threads each read their own part of an array. Before this, `pages main PAGES` initialises all parts in the main thread, and
 * `pages own PAGES` initialises each part in the thread that reads the part. A thread that has initialised then reads a buffer larger
 * than the L2 cache, so that the array is in memory only. A part has PAGES pages of 8 KB.
 */

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define LINE 64
#define PART (1 << 20)
#define CACHES (8 << 20)

static unsigned char parts[THREADS][PART] __attribute__((aligned(THREADS * PART)));
static unsigned char others[THREADS][CACHES] __attribute__((aligned(CACHES)));
static int each_its_own;
static size_t size;

static void initialise(int number)
{
	for (size_t at = 0; at < size; at += LINE)
		*(volatile uint64_t *)&parts[number][at] = number + 1;
}

static void look(const unsigned char *from, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += LINE)
		(void)*(const volatile uint64_t *)&from[at];
}

static void *work(void *argument)
{
	int number = (int)(intptr_t)argument;
	if (each_its_own) {
		initialise(number);
		look(others[number], CACHES);
	}
	look(parts[number], size);
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t threads[THREADS];
	if (count != 3)
		return 2;
	each_its_own = strcmp(arguments[1], "own") == 0;
	size = (size_t)atoi(arguments[2]) * 8192;
	if (size > PART)
		return 2;
	if (!each_its_own) {
		for (int number = 0; number < THREADS; number++)
			initialise(number);
		look(others[0], CACHES);
	}
	for (int number = 1; number < THREADS; number++)
		if (pthread_create(&threads[number], NULL, work, (void *)(intptr_t)number) != 0)
			abort();
	work(NULL);
	for (int number = 1; number < THREADS; number++)
		pthread_join(threads[number], NULL);
	return 0;
}
