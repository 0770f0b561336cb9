// What every kernel begins with, after `real`: float or double. The same text is C++ for a CPU, so that its arithmetic
// can be tested where there is no card.

#ifdef __CUDACC__
#define FUNCTION __device__ __forceinline__
#define MEMBER __device__ __forceinline__
#define APART __device__ __noinline__
#define TABLE static __constant__ const
#define EACH(e, count) _Pragma("unroll") for (int e = 0; e < (count); ++e)
#define TURNS(s, count) _Pragma("unroll 1") for (int s = 0; s < (count); ++s)
#else
#include <math.h>
#include <string.h>
#define FUNCTION static inline
#define MEMBER inline
#define APART static
#define TABLE static const
#define EACH(e, count) for (int e = 0; e < (count); ++e)
#define TURNS EACH
#define __restrict__ __restrict
#endif

typedef long long whole;

#ifdef __CUDACC__
FUNCTION float turned(float x, unsigned quadrant)
{
    return __int_as_float(__float_as_int(x) ^ ((quadrant & 2u) << 30));
}
FUNCTION double turned(double x, unsigned quadrant)
{
    return __hiloint2double(__double2hiint(x) ^ ((quadrant & 2u) << 30), __double2loint(x));
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
template <class T> FUNCTION T turned(T x, unsigned quadrant)
{
    return quadrant & 2u ? -x : x;
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

// 1 / x and x / y. The compiler's own have a branch for what is below the smallest normal number, which keeps
// registers; here its reciprocal is not a number, as that of zero.
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

// Arrays of many states, `state` and `entry` numbers apart, and one state of them as functions read and write it.
struct Array {
    real *at;
    whole state, entry;
};

struct Input {
    const real *__restrict__ at;
    whole entry;
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
    whole entry;
    real sum;  // nan once a result is not finite
    MEMBER void put(int k, real x)
    {
#ifdef __CUDACC__
        __stcs(at + k * entry, x);
#else
        at[k * entry] = x;
#endif
        sum = fma(x, (real)0, sum);
    }
};

// Numbers of a state in registers.
struct Kept {
    real *at;
    MEMBER void put(int k, real x)
    {
        at[k] = x;
    }
};

FUNCTION Input state_of(const Array &array, whole i)
{
    Input input = {array.at + i * array.state, array.entry};
    return input;
}
