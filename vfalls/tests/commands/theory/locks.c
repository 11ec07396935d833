/*
 * Programs whose threads wait for each other. How long they wait follows from this source. `locks NAME` runs one of the programs in the
 * table `programs`. A thread that works only sleeps, so a unit of work takes a known time. The instructions take almost no time.
 */

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 20
#define ITEMS 80
#define PLACES 4
#define UNIT 1000000 /* nanoseconds */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t semaphore;
static long sum;

static void work(long units)
{
	struct timespec time = { 0, units * UNIT };
	nanosleep(&time, NULL);
}

/* Defines the function of a thread that works for one unit in each round, between `take` and `give`. */
#define WORKER(name, take, give)                               \
	static void *name(void *number)                        \
	{                                                      \
		(void)number;                                  \
		for (int round = 0; round < ROUNDS; round++) { \
			take;                                  \
			work(1);                               \
			give;                                  \
		}                                              \
		return NULL;                                   \
	}

WORKER(hold_mutex, pthread_mutex_lock(&mutex), (sum++, pthread_mutex_unlock(&mutex)))
WORKER(hold_spin, pthread_spin_lock(&spin), (sum++, pthread_spin_unlock(&spin)))
/* Two threads can have the semaphore at the same time. */
WORKER(enter, sem_wait(&semaphore), sem_post(&semaphore))

/* Thread 0 works for one unit before each barrier. */
static void *meet(void *number)
{
	for (int round = 0; round < ROUNDS; round++) {
		if (number == NULL)
			work(1);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* Works for one unit with the lock, and for two units without it. Thread 0 takes the lock for writing, the others for reading. */
static void *read_or_write(void *number)
{
	for (int round = 0; round < ROUNDS; round++) {
		if (number == NULL)
			pthread_rwlock_wrlock(&rwlock);
		else
			pthread_rwlock_rdlock(&rwlock);
		work(1);
		pthread_rwlock_unlock(&rwlock);
		work(2);
	}
	return NULL;
}

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	long items[PLACES];
	unsigned first, count;
};

#define EMPTY { .lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, .emptied = PTHREAD_COND_INITIALIZER }

static struct queue queues[] = { EMPTY, EMPTY };

static void put(struct queue *queue, long item)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->count == PLACES)
		pthread_cond_wait(&queue->emptied, &queue->lock);
	queue->items[(queue->first + queue->count++) % PLACES] = item;
	pthread_cond_signal(&queue->filled);
	pthread_mutex_unlock(&queue->lock);
}

static long take(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->count == 0)
		pthread_cond_wait(&queue->filled, &queue->lock);
	long item = queue->items[queue->first++ % PLACES];
	queue->count--;
	pthread_cond_signal(&queue->emptied);
	pthread_mutex_unlock(&queue->lock);
	return item;
}

/* The time for which each stage works at an item, in units. A queue leads from each stage to the next one. */
static const long units[] = { 1, 2, 1 };
static intptr_t stages;

static void *stage(void *argument)
{
	intptr_t number = (intptr_t)argument;
	for (long next = 1; next <= ITEMS; next++) {
		long item = number == 0 ? next : take(&queues[number - 1]);
		work(units[number]);
		if (number < stages - 1)
			put(&queues[number], item);
		else
			sum += item;
	}
	return NULL;
}

static const struct program {
	const char *name;
	void *(*thread)(void *);
	intptr_t threads;
	long sum;
} programs[] = {
	{ "mutex", hold_mutex, 4, 4 * ROUNDS },
	{ "spin", hold_spin, 4, 4 * ROUNDS },
	{ "barrier", meet, 4, 0 },
	{ "semaphore", enter, 4, 0 },
	{ "rwlock", read_or_write, 4, 0 },
	{ "queue", stage, 2, ITEMS * (ITEMS + 1) / 2 },
	{ "pipeline", stage, 3, ITEMS * (ITEMS + 1) / 2 },
	{ NULL, NULL, 0, 0 },
};

int main(int count, char **arguments)
{
	pthread_t threads[4];
	const struct program *program = programs;
	if (count != 2)
		return 2;
	while (program->name != NULL && strcmp(program->name, arguments[1]) != 0)
		program++;
	if (program->name == NULL)
		return 2;
	stages = program->threads;
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	pthread_barrier_init(&barrier, NULL, (unsigned)program->threads);
	sem_init(&semaphore, 0, 2);
	for (intptr_t number = 0; number < program->threads; number++)
		if (pthread_create(&threads[number], NULL, program->thread, (void *)number) != 0)
			abort();
	for (intptr_t number = 0; number < program->threads; number++)
		pthread_join(threads[number], NULL);
	return sum == program->sum ? 0 : 1;
}
