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
