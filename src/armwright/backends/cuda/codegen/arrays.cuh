#ifndef __CUDACC__
#define __restrict__ __restrict
#endif

typedef long long whole;

FUNCTION bool is_finite(real x)
{
    return x - x == 0;
}

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
    real sum;  // not finite once a result is not, or if results are so large that their product is not
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

// Results of a state in registers or shared memory, and whether all of them are finite.
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

// One of states that lie side by side in arrays of fewer than 2^32 numbers.
struct Side {
    const real *__restrict__ at;
    unsigned i, apart;
    MEMBER real operator[](int k) const
    {
#ifdef __CUDACC__
        return __ldcs(at + (i + k * apart));
#else
        return at[i + k * apart];
#endif
    }
};

struct SideOutput {
    real *__restrict__ at;
    unsigned i, apart;
    real sum;
    MEMBER void put(int k, real x)
    {
#ifdef __CUDACC__
        __stcs(at + (i + k * apart), x);
#else
        at[i + k * apart] = x;
#endif
    }
    MEMBER void check(real x, real y)
    {
        sum = fma(x, y, sum);
    }
};

FUNCTION Input state_of(const Array &array, whole i)
{
    Input input = {array.at + i * array.state, array.entry};
    return input;
}
