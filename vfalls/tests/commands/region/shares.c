/* Four threads call a function three times each. The function loads the thread's own 500 words, and adds to a sum under a lock. */
#include <pthread.h>
#include <stdio.h>

static volatile long words[4][500];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;

__attribute__((noinline)) void share(volatile long *own)
{
    long part = 0;
    for (int i = 0; i < 500; i++)
        part += own[i];
    pthread_mutex_lock(&lock);
    sum += part + 1;
    pthread_mutex_unlock(&lock);
}

static void *run(void *own)
{
    for (int i = 0; i < 3; i++)
        share(own);
    return 0;
}

int main(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, run, (void *)words[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    printf("words %p sum %ld\n", (void *)words, sum);
    return 0;
}
