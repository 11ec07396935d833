/* Each of 64 threads works on memory of its own. Now and then, all threads work on one word. */
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 64, WORDS = 512 };

static long own[THREADS][WORDS], all;
static int rounds;

static void *work(void *words)
{
    long *mine = words, sum = 0;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < WORDS; i++) {
            mine[i] = mine[i] * 3 + round;
            if (mine[i] & 4)
                sum += mine[i];
        }
        __atomic_add_fetch(&all, sum, __ATOMIC_RELAXED);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t threads[THREADS];
    rounds = count > 1 ? atoi(arguments[1]) : 1;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, own[i]))
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
