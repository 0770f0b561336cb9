#ifndef __CUDACC__
#define __restrict__ __restrict
#endif

typedef long long whole;

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

FUNCTION Input state_of(const Array &array, whole i)
{
    Input input = {array.at + i * array.state, array.entry};
    return input;
}
