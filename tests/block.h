// Before the text of a kernel: threads of the CPU are those of a block, one block after the other.
#include <pthread.h>
#include <string.h>
#define __global__
#define __shared__ static
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define run kernel

struct Index {
    unsigned x;
};
static thread_local Index threadIdx;
static Index blockIdx, blockDim;

struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) double2 {
    double x, y;
};

template <class T> static T __ldcs(const T *from)
{
    return *from;
}

template <class T> static void __stcs(T *to, T x)
{
    *to = x;
}

template <class T> static T atomicAdd(T *to, T x)
{
    return __atomic_fetch_add(to, x, __ATOMIC_SEQ_CST);
}

static pthread_barrier_t all_threads, of_warp[32];

static void __syncthreads()
{
    pthread_barrier_wait(&all_threads);
}

static void __syncwarp()
{
    pthread_barrier_wait(&of_warp[threadIdx.x / 32]);
}

// A barrier counts the bytes that it still expects.
static int unbalanced;

static void expect(unsigned long long *barrier, unsigned bytes)
{
    *barrier = bytes;
}

template <class T> static void fetch(T *to, const T *from, unsigned bytes, unsigned long long *barrier)
{
    memcpy(to, from, bytes);
    *barrier -= bytes;
}

static void wait(unsigned long long *barrier)
{
    unbalanced |= *barrier != 0;
}

template <class T> static void deliver(T *to, const T *from, unsigned bytes)
{
    memcpy(to, from, bytes);
}
