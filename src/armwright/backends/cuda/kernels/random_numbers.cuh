// The random numbers of `armwright.draws`, one rollout per thread: the same words of Philox, and the same operations in
// the same order, in double precision for any `real`.

struct Call {
    real *out;
    const int64 *instants;     // of each rollout; null if all have the same
    const int64 *rollouts;  // their indices; null if these are consecutive
    int64 begin, count;
    unsigned instant, column, first_key, second_key, normal;
    double first, second;
};

typedef unsigned long long word;

FUNCTION double share(word index, unsigned column, unsigned instant, unsigned first, unsigned second)
{
    unsigned a = (unsigned)index, b = (unsigned)(index >> 32), c = column, d = instant;
    EACH(k, ROUNDS) {
        const word x = (word)a * MULTIPLIER0, y = (word)c * MULTIPLIER1;
        a = (unsigned)(y >> 32) ^ b ^ first;
        b = (unsigned)y;
        c = (unsigned)(x >> 32) ^ d ^ second;
        d = (unsigned)x;
        first += WEYL0;
        second += WEYL1;
    }
    const word bits = ((word)a << 20) | (b >> 12);
    return ((double)bits + 0.5) * 0x1p-52;
}

template <int size> FUNCTION double polynomial(double x, const double (&coefficients)[size])
{
    double value = coefficients[size - 1];
    EACH(k, size - 1)
        value = value * x + coefficients[size - 2 - k];
    return value;
}

FUNCTION double logarithm(double x)
{
    int exponent;
    double mantissa = frexp(x, &exponent);
    if (mantissa < SPLIT) {
        mantissa = mantissa * 2.0;
        exponent -= 1;
    }
    const double s = (mantissa - 1.0) / (mantissa + 1.0);
    return exponent * LN2 + s * polynomial(s * s, AREA);
}

FUNCTION double normal(double share)
{
    const double q = share - 0.5;
    if (fabs(q) <= 0.425) {
        const double x = 0.180625 - q * q;
        return q * (polynomial(x, CENTRAL_ABOVE) / polynomial(x, CENTRAL_BELOW));
    }
    const double r = sqrt(-logarithm(fmin(share, 1.0 - share)));
    double tail;
    if (r <= 5.0)
        tail = polynomial(r - 1.6, NEAR_ABOVE) / polynomial(r - 1.6, NEAR_BELOW);
    else
        tail = polynomial(r - 5.0, FAR_ABOVE) / polynomial(r - 5.0, FAR_BELOW);
    return q < 0 ? -tail : tail;
}

FUNCTION void draw(const Call &call, int64 i)
{
    const unsigned instant = call.instants ? (unsigned)call.instants[i] : call.instant;
    const int64 rollout = call.rollouts ? call.rollouts[i] : call.begin + i;
    const double uniform = share((word)rollout, call.column, instant, call.first_key, call.second_key);
    if (call.normal)
        call.out[i] = (real)(call.first + call.second * normal(uniform));
    else
        call.out[i] = (real)(call.first + (call.second - call.first) * uniform);
}

#ifdef __CUDACC__
extern "C" __global__ void __launch_bounds__(BLOCK) run(const __grid_constant__ Call call)
{
    const int64 i = blockIdx.x * (int64)BLOCK + threadIdx.x;
    if (i < call.count)
        draw(call, i);
}
#else
extern "C" void run(Call call)
{
    for (int64 i = 0; i < call.count; ++i)
        draw(call, i);
}
#endif
