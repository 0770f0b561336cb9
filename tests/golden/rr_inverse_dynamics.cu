typedef float real;
// The beginning of every kernel, after the type `real`, float or double. The text is C++ for a CPU as well, so that its
// arithmetic can be tested without a card.

#ifdef __CUDACC__
#define FUNCTION __device__ __forceinline__
#define MEMBER __device__ __forceinline__
#define OUTLINED __device__ __noinline__
#define TABLE static __constant__ const
#define NUMBERS static __constant__
#define SHARED_TILE(name, count)     \
    extern __shared__ real shared[]; \
    real *const name = shared + threadIdx.x
#define EACH(e, count) _Pragma("unroll") for (int e = 0; e < (count); ++e)
#define LOOP(s, count) _Pragma("unroll 1") for (int s = 0; s < (count); ++s)
#else
#include <math.h>
#include <string.h>
#define FUNCTION static inline
#define MEMBER inline
#define OUTLINED static
#define TABLE static const
#define NUMBERS static const
#define SHARED_TILE(name, count) real name[count]
#define EACH(e, count) for (int e = 0; e < (count); ++e)
#define LOOP EACH
#endif

#ifdef __CUDACC__
FUNCTION float turned(float x, unsigned sign)
{
    return __int_as_float(__float_as_int(x) ^ (sign & 0x80000000u));
}
FUNCTION double turned(double x, unsigned sign)
{
    return __hiloint2double(__double2hiint(x) ^ (sign & 0x80000000u), __double2loint(x));
}
FUNCTION unsigned low_bits(float x)
{
    return __float_as_uint(x);
}
FUNCTION unsigned low_bits(double x)
{
    return (unsigned)__double2loint(x);
}
#else
template <class T> FUNCTION T turned(T x, unsigned sign)
{
    return sign & 0x80000000u ? -x : x;
}
FUNCTION unsigned low_bits(float x)
{
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
FUNCTION unsigned low_bits(double x)
{
    unsigned long long bits;
    memcpy(&bits, &x, sizeof bits);
    return (unsigned)bits;
}
#endif

// 1 / x and x / y. Those of the compiler branch on subnormal numbers, which takes registers. Here the reciprocal of a
// subnormal number is not a number, as that of zero.
#ifdef __CUDACC__
FUNCTION float reciprocal(float x)
{
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return fmaf(r, fmaf(-x, r, 1.0f), r);
}
FUNCTION double reciprocal(double x)
{
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    r = fma(r, fma(-x, r, 1.0), r);
    return fma(r, fma(-x, r, 1.0), r);
}
FUNCTION real divided(real x, real y)
{
    const real r = reciprocal(y), q = x * r;
    return fma(r, fma(-y, q, x), q);
}
#else
FUNCTION real reciprocal(real x)
{
    return 1 / x;
}
FUNCTION real divided(real x, real y)
{
    return x / y;
}
#endif

// Numbers of a state in registers that are not checked.
struct Unchecked {
    real *at;
    MEMBER void put(int k, real x)
    {
        at[k] = x;
    }
    MEMBER void check(real, real)
    {
    }
};

// Sine and cosine; the squares of angles are added to `size`. The angle is reduced by whole quarter turns, with pi/2 in
// parts, and two polynomials give sine and cosine of the rest.
template <bool careful> FUNCTION void sines(real x, real *sine, real *cosine, real *size)
{
    if (careful) {
        *sine = sinf(x);
        *cosine = cosf(x);
        return;
    }
    const real shifted = fmaf(x, 0.6366197466850281f, 12582912.0f);
    const unsigned quadrant = low_bits(shifted);
    const real k = shifted - 12582912.0f;
    const real r = fmaf(k, 4.371138828673793e-08f, fmaf(k, (-1.5707963705062866f), x));
    const real z = r * r;
    const real s = fmaf(z * r, fmaf(z, fmaf(z, (-0.00019515295571181923f), 0.008332161232829094f), (-0.16666655242443085f)), r);
    const real c = fmaf(z, fmaf(z, fmaf(z, fmaf(z, 2.44331567955669e-05f, (-0.0013887316454201937f)), 0.04166664555668831f), (-0.5f)), 1.0f);
    *sine = turned(quadrant & 1u ? c : s, quadrant << 30);
    *cosine = turned(quadrant & 1u ? -s : c, quadrant << 30);
    *size = fmaf(x, x, *size);
}

#ifndef __CUDACC__
#define __restrict__ __restrict
#endif

typedef long long int64;

FUNCTION bool is_finite(real x)
{
    return x - x == 0;
}

// An array of many states with the distances between states and entries, and one state that functions read or write.
struct Array {
    real *at;
    int64 state, entry;
};

struct Input {
    const real *__restrict__ at;
    int64 entry;
    MEMBER real operator[](int k) const
    {
#ifdef __CUDACC__
        return __ldcs(at + k * entry);
#else
        return at[k * entry];
#endif
    }
};

struct Output {
    real *__restrict__ at;
    int64 entry;
    real sum;  // not finite if a result or a product of two results is not
    MEMBER void put(int k, real x)
    {
#ifdef __CUDACC__
        __stcs(at + k * entry, x);
#else
        at[k * entry] = x;
#endif
    }
    MEMBER void check(real x, real y)
    {
        sum = fma(x, y, sum);
    }
};

// The results of a state in registers or shared memory, and a sum that is finite if they are.
struct Checked {
    real *at;
    real sum;
    MEMBER void put(int k, real x)
    {
        at[k] = x;
    }
    MEMBER void check(real x, real y)
    {
        sum = fma(x, y, sum);
    }
};

// One state of a column-major array of fewer than 2^32 numbers.
struct SoaInput {
    const real *__restrict__ at;
    unsigned i, stride;
    MEMBER real operator[](int k) const
    {
#ifdef __CUDACC__
        return __ldcs(at + (i + k * stride));
#else
        return at[i + k * stride];
#endif
    }
};

struct SoaOutput {
    real *__restrict__ at;
    unsigned i, stride;
    real sum;
    MEMBER void put(int k, real x)
    {
#ifdef __CUDACC__
        __stcs(at + (i + k * stride), x);
#else
        at[i + k * stride] = x;
#endif
    }
    MEMBER void check(real x, real y)
    {
        sum = fma(x, y, sum);
    }
};

FUNCTION Input state_of(const Array &array, int64 i)
{
    Input input = {array.at + i * array.state, array.entry};
    return input;
}

template <bool careful, class A0, class A1, class A2, class Out> FUNCTION bool body(const A0 &q, const A1 &qd, const A2 &qdd, Out &out)
{
    real size = 0;
    real q_0 = q[0];
    real s1, c1;
    sines<careful>(q_0, &s1, &c1, &size);
    real q_1 = q[1];
    real s2, c2;
    sines<careful>(q_1, &s2, &c2, &size);
    real qd_0 = qd[0];
    real t1 = qd_0 * qd_0;
    real t2 = fmaf(9.8100004196167f, s1, -t1);
    real qdd_0 = qdd[0];
    real t3 = fmaf(9.8100004196167f, c1, qdd_0);
    real t4 = s2 * t2;
    real t5 = fmaf(c2, t3, -t4);
    real qdd_1 = qdd[1];
    real t6 = qdd_0 + qdd_1;
    real qd_1 = qd[1];
    real t7 = qd_0 + qd_1;
    real t8 = t7 * t7;
    real t9 = 5.0f * t8;
    real t10 = 5.0f * t6;
    real t11 = 5.0f * t5;
    real t12 = fmaf(4.0f, t6, t11);
    real t13 = fmaf(6.75f, qdd_0, qdd_0);
    real t14 = fmaf(66.21749877929688f, c1, t13);
    real t15 = t14 + t12;
    real t16 = fmaf(-s2, t9, t15);
    real t17 = fmaf(c2, t10, t16);
    out.put(0, t17);
    real t18 = qdd_1 + t12;
    out.put(1, t18);
    out.check(t17, t18);
    return careful || size <= 999999995904.0f;
}

// `good`, if it is not null, receives which states are good, and `bad` the first bad one. `marked` are the states to
// compute again, the last of them at index `last`.
struct Call {
    Array q, qd, qdd, out;
    unsigned char *good;
    unsigned long long *bad;
    int64 *last, *marked;
    int64 states, entry;  // the distance between entries of all column-major arrays
};

// Record whether a state is good, given the sum of its checks.
FUNCTION void check_state(const Call &call, int64 i, real sum)
{
    bool good = is_finite(sum);
    if (!good) {
        good = true;
        LOOP(k, 2)
            good &= is_finite(call.out.at[i * call.out.state + k * call.out.entry]);
    }
    if (call.good)
        call.good[i] = good;
    if (!good) {
        LOOP(k, 2)
            call.out.at[i * call.out.state + k * call.out.entry] = sum - sum;
#ifdef __CUDACC__
        atomicMin(call.bad, (unsigned long long)i);
#else
        *call.bad = (unsigned long long)i < *call.bad ? (unsigned long long)i : *call.bad;
#endif
    }
}

// Compute one state of arrays with any strides; false if it must be computed again.
template <bool careful> FUNCTION bool one(const Call &call, int64 i)
{
    const Input q = state_of(call.q, i); const Input qd = state_of(call.qd, i); const Input qdd = state_of(call.qdd, i);
    Output out = {call.out.at + i * call.out.state, call.out.entry, 0};
    const bool done = body<careful>(q, qd, qdd, out);
    if (done)
        check_state(call, i, out.sum);
    return done;
}

#ifdef __CUDACC__
// A call of the careful sines, even if never taken, would cost a third of the speed. Therefore `again` is a kernel.
FUNCTION void mark(const Call &call, int64 i)
{
    call.marked[1 + (int64)atomicAdd((unsigned long long *)call.last, 1ull)] = i;
}

extern "C" __global__ void __launch_bounds__(128) again(const __grid_constant__ Call call)
{
    const int64 threads = gridDim.x * (int64)blockDim.x;
    for (int64 k = blockIdx.x * (int64)blockDim.x + threadIdx.x; k <= *call.last; k += threads)
        one<true>(call, call.marked[k]);
}
#endif

#ifdef __CUDACC__
extern "C" __global__ void __launch_bounds__(128) run(const __grid_constant__ Call call)
{
    const int64 i = blockIdx.x * (int64)blockDim.x + threadIdx.x;
    if (i < call.states && !one<false>(call, i))
        mark(call, i);
}

#else
extern "C" void run(Call call)
{
    for (int64 i = 0; i < call.states; ++i)
        if (!one<false>(call, i))
            one<true>(call, i);
}

#endif
