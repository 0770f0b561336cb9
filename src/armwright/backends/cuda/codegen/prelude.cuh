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
