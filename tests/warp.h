// Before the text of a search: threads of the CPU are the lanes of a warp, in the order in which they begin.
#include <pthread.h>
#include <string.h>
#define LANES 32

static int begun;
static thread_local int LANE = __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
static pthread_barrier_t barrier;
static unsigned long long exchanged[LANES];

__attribute__((constructor)) static void ready()
{
    pthread_barrier_init(&barrier, 0, LANES);
}

static void sync_warp()
{
    pthread_barrier_wait(&barrier);
}

template <class T> static T shuffle(T x, int lane)
{
    memcpy(&exchanged[LANE], &x, sizeof x);
    sync_warp();
    memcpy(&x, &exchanged[lane], sizeof x);
    sync_warp();
    return x;
}

template <class T> static T shuffle_xor(T x, int lanes)
{
    return shuffle(x, LANE ^ lanes);
}

static unsigned lane_mask(bool x)
{
    unsigned bits = 0;
    exchanged[LANE] = x;
    sync_warp();
    for (int lane = 0; lane < LANES; ++lane)
        bits |= (unsigned)exchanged[lane] << lane;
    sync_warp();
    return bits;
}

static int lowest_lane(unsigned bits)
{
    return __builtin_ffs((int)bits) - 1;
}

static long long increment(unsigned long long *count)
{
    return (long long)__atomic_fetch_add(count, 1ull, __ATOMIC_SEQ_CST);
}
