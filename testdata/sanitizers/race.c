// report: ThreadSanitizer: data race
// flags: -fsanitize=thread -pthread
#include <pthread.h>

static long counter;

static void *count(void *unused) {
    for (int i = 0; i < 100000; i++)
        counter++;
    return unused;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, count, 0);
    pthread_create(&two, 0, count, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    return 0;
}
