// Before the text of a search: threads of the CPU, 32 of which are the lanes of a warp, in the order in which they begin.
#include <pthread.h>
#include <string.h>
#define LANES 32

static int begun;
static thread_local int LANE = __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
static pthread_barrier_t barrier;
static unsigned long long laid[LANES];

__attribute__((constructor)) static void ready()
{
    pthread_barrier_init(&barrier, 0, LANES);
}

static void together()
{
    pthread_barrier_wait(&barrier);
}

template <class T> static T from(T x, int lane)
{
    memcpy(&laid[LANE], &x, sizeof x);
    together();
    memcpy(&x, &laid[lane], sizeof x);
    together();
    return x;
}

template <class T> static T across(T x, int lanes)
{
    return from(x, LANE ^ lanes);
}

static unsigned those(bool x)
{
    unsigned bits = 0;
    laid[LANE] = x;
    together();
    for (int lane = 0; lane < LANES; ++lane)
        bits |= (unsigned)laid[lane] << lane;
    together();
    return bits;
}

static int lowest(unsigned bits)
{
    return __builtin_ffs((int)bits) - 1;
}

static long long counted(unsigned long long *count)
{
    return (long long)__atomic_fetch_add(count, 1ull, __ATOMIC_SEQ_CST);
}
