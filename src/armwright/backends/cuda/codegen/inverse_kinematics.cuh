// Positions for many targets by the rules of `kinematics.search`, a target at a time by each thread. Before this stand the
// step, `body`, which gives q after it and the squares of the errors before it, and how many there are of everything:
// PLACES in q, FRAMES with a pose each, STEPS from one look at the errors to the next, ...
//
// Some targets take ten steps, others thousands. So there is one loop with one step in it, whatever a thread makes it
// for, and whoever is done with a target takes the next one that is left: the threads of a warp never wait for another's
// search. All of them look at their errors at the same time, and what is long besides, to find the nearest of all starts,
// the whole warp does for each who needs one.

struct Call {
    Array target, start, q, error;  // no `start`: from the table
    unsigned char *solved;
    const real *far, *places;  // of the starts: half and weights of a distance, and the positions, side by side
    const whole *chosen;       // the targets to be done; all of them without
    whole *marked;             // targets that are to be done again with careful sines
    unsigned long long *counts;
    whole targets, starts, attempts;
    real tolerance, length, endless, low[PLACES], high[PLACES];
};

enum { NEXT, MARKS, MISSED, WRONG };           // of the counts
enum { FREE, OVER, SEARCHES, MEASURES, MOVES, ENDS };  // what a thread does

#ifdef __CUDACC__
#define EVERY 0xffffffffu
#define LANES 32
#define LANE ((int)threadIdx.x & 31)
FUNCTION unsigned those(bool x)
{
    return __ballot_sync(EVERY, x);
}
template <class T> FUNCTION T from(T x, int lane)
{
    return __shfl_sync(EVERY, x, lane);
}
template <class T> FUNCTION T across(T x, int lanes)
{
    return __shfl_xor_sync(EVERY, x, lanes);
}
FUNCTION int lowest(unsigned bits)
{
    return __ffs((int)bits) - 1;
}
FUNCTION void together()
{
    __syncwarp();
}
FUNCTION whole counted(unsigned long long *count)
{
    return (whole)atomicAdd(count, 1ull);
}
#elif !defined(LANES)
#define LANES 1
#define LANE 0
FUNCTION unsigned those(bool x)
{
    return x;
}
template <class T> FUNCTION T from(T x, int)
{
    return x;
}
template <class T> FUNCTION T across(T x, int)
{
    return x;
}
FUNCTION int lowest(unsigned)
{
    return 0;
}
FUNCTION void together() {}
FUNCTION whole counted(unsigned long long *count)
{
    return (whole)(*count)++;
}
#endif

// A position, and the largest squared errors of a position and of a rotation there.
struct Found {
    real q[PLACES], position, rotation;
};

// What a thread knows of its target: it is in the memory that a block shares, where there is room, which leaves the
// registers to the step. Their lengths, being odd, keep the threads from waiting for each other there.
struct Hunt {
    real pose[12 * FRAMES], q[PLACES], damping;
    Found found, base;  // the best so far, and where it is descending from
    real best, last;    // squared errors
    real far;           // how far the last start was, but for what all starts share
    whole target, tries;
    int pick, age, approaches, doing;
    bool waits;         // for a start
};

#if defined(__CUDACC__) && SHARED
struct Odd : Hunt {
    whole odd[1 + (sizeof(Hunt) / sizeof(whole)) % 2];
};
#define LAY_ASIDE \
    __shared__ Odd all[BLOCK]; \
    Hunt &hunt = all[threadIdx.x];
#else
#define LAY_ASIDE Hunt hunt;
#endif

struct Wanted {
    const Hunt &hunt;
    MEMBER real operator[](int k) const
    {
        return k < 12 * FRAMES ? hunt.pose[k] : hunt.damping;
    }
};

// The sum of all squared errors, and the largest of a position and of a rotation; of nan it is nan.
struct Errors {
    real E, position, rotation;
};

FUNCTION real larger(real x, real y)
{
    return x > y || x != x ? x : y;
}

FUNCTION Errors errors_of(const real *squares)
{
    Errors errors = {0, 0, 0};
    EACH(f, FRAMES) {
        errors.E += squares[2 * f] + squares[2 * f + 1];
        errors.position = larger(squares[2 * f], errors.position);
        errors.rotation = larger(squares[2 * f + 1], errors.rotation);
    }
    return errors;
}

FUNCTION void keep(Found &found, const real *q, const Errors &errors)
{
    EACH(e, PLACES)
        found.q[e] = q[e];
    found.position = errors.position;
    found.rotation = errors.rotation;
}

FUNCTION void nowhere(const Call &call, Found &found)
{
    EACH(e, PLACES)
        found.q[e] = 0;
    found.position = found.rotation = call.endless;
}

FUNCTION real angle(real square)
{
    const real half = sqrt(square) / 2;
    return 2 * asin(half > 1 ? (real)1 : half);
}

FUNCTION void leave(const Call &call, Hunt &hunt, bool solved)
{
    const Input start = state_of(call.start, hunt.target);
    Output q = {call.q.at + hunt.target * call.q.state, call.q.entry, 0};
    EACH(e, PLACES) {
        real x = hunt.found.q[e];
        if (turns(e)) {
            const real reference = call.start.at ? start[e] : 0;
            const real near = x - TURN * rint((x - reference) / TURN);
            x = near >= call.low[e] && near <= call.high[e] ? near : x;
        }
        q.put(e, x);
    }
    Output error = {call.error.at + hunt.target * call.error.state, call.error.entry, 0};
    error.put(0, sqrt(hunt.found.position) * call.length);
    error.put(1, angle(hunt.found.rotation));
    call.solved[hunt.target] = solved;
    if (!solved)
        counted(call.counts + MISSED);
    hunt.doing = FREE;
}

// Whether the poses are none, or not all of their numbers are finite.
FUNCTION bool no_pose(const Input &row)
{
    bool wrong = false;
    TURNS(f, FRAMES) {
        real T[16];
        EACH(e, 16)
            T[e] = row[16 * f + e];
        EACH(i, 3) {
            EACH(j, i + 1) {
                const real product = T[4 * i] * T[4 * j] + T[4 * i + 1] * T[4 * j + 1] + T[4 * i + 2] * T[4 * j + 2];
                wrong |= !(fabs(product - (i == j)) <= ROTATION);
            }
            wrong |= !(T[4 * i + 3] - T[4 * i + 3] == 0) || T[12 + i] != 0;
        }
        const real determinant = T[0] * (T[5] * T[10] - T[6] * T[9]) - T[1] * (T[4] * T[10] - T[6] * T[8])
                                 + T[2] * (T[4] * T[9] - T[5] * T[8]);
        wrong |= determinant < 0 || T[15] != 1;
    }
    return wrong;
}

// A position as it was given, with quaternions of unit length and within the limits; false if it is none.
FUNCTION bool given(const Call &call, whole target, real *q)
{
    const Input start = state_of(call.start, target);
    bool good = true;
    EACH(e, PLACES) {
        q[e] = start[e];
        good &= q[e] - q[e] == 0;
    }
    EACH(c, UNIT_VECTORS) {
        real square = 0;
        EACH(e, PLACES)
            if (in_unit_vector(c, e))
                square = fma(q[e], q[e], square);
        good &= fabs(square - 1) <= NOT_UNIT;
        const real length = sqrt(square);
        EACH(e, PLACES)
            if (in_unit_vector(c, e))
                q[e] /= length;
    }
    EACH(e, PLACES) {
        q[e] = q[e] < call.low[e] ? call.low[e] : q[e];
        q[e] = q[e] > call.high[e] ? call.high[e] : q[e];
    }
    return good;
}

FUNCTION void take(const Call &call, Hunt &hunt)
{
    const whole i = counted(call.counts + NEXT);
    if (i >= call.targets) {
        hunt.doing = OVER;
        return;
    }
    hunt.target = call.chosen ? call.chosen[i] : i;
    const Input row = state_of(call.target, hunt.target);
    EACH(e, 12 * FRAMES)
        hunt.pose[e] = row[e / 12 * 16 + e % 12];
    hunt.doing = SEARCHES;
    hunt.damping = DAMPING;
    hunt.best = hunt.last = call.endless;
    hunt.age = 0;
    hunt.tries = 1;
    hunt.far = -call.endless;
    hunt.pick = -1;
    nowhere(call, hunt.found);
    hunt.waits = !call.start.at;
    if (no_pose(row) || (call.start.at && !given(call, hunt.target, hunt.q))) {
        call.counts[WRONG] = 1;
        hunt.waits = false;
        leave(call, hunt, false);
    }
}

// The nearest of the starts that are left, for everyone who waits for one, by all threads of the warp. What is left is
// what is farther than the last one; once nothing is, it is the first.
FUNCTION void place(const Call &call, Hunt &hunt)
{
    const int none = 0x7fffffff;
    unsigned waiting = those(hunt.waits);
    while (waiting) {
        const int who = lowest(waiting), last = from(hunt.pick, who);
        const real far = from(hunt.far, who);
        const Input row = state_of(call.target, from(hunt.target, who));
        waiting &= waiting - 1;
        real T[12 * FRAMES], nearest = call.endless;
        EACH(e, 12 * FRAMES)
            T[e] = row[e / 12 * 16 + e % 12];
        int pick = none;
        for (int s = LANE; s < call.starts; s += LANES) {
            real distance = call.far[s];
            EACH(e, 12 * FRAMES)
                distance = fma(-call.far[(1 + e) * call.starts + s], T[e], distance);
            if (distance < nearest && (distance > far || (distance == far && s > last))) {
                nearest = distance;
                pick = s;
            }
        }
        for (int lanes = LANES / 2; lanes; lanes /= 2) {
            const real distance = across(nearest, lanes);
            const int other = across(pick, lanes);
            if (distance < nearest || (distance == nearest && other < pick)) {
                nearest = distance;
                pick = other;
            }
        }
        if (LANE == who) {
            hunt.waits = false;
            if (pick != none) {
                hunt.far = nearest;
                hunt.pick = pick;
            }
            EACH(e, PLACES)
                hunt.q[e] = call.places[e * call.starts + (pick == none ? 0 : pick)];
        }
    }
}

FUNCTION void go(Hunt &hunt, const real *q)
{
    EACH(e, PLACES)
        hunt.q[e] = q[e];
}

// A target that was not reached is approached from several starts, by steps that lead nearer and by no other: so there are
// two steps for one, the first of which measures errors and the second moves.
FUNCTION void descend(const Call &call, Hunt &hunt)
{
    hunt.doing = MEASURES;
    hunt.age = 0;
    hunt.last = call.endless;
    hunt.damping = DAMPING;
    nowhere(call, hunt.base);
}

FUNCTION void measure(Hunt &hunt, const Errors &now)
{
    const bool better = hunt.last > now.E;
    if (better) {
        keep(hunt.base, hunt.q, now);
        hunt.last = now.E;
    }
    hunt.damping *= better ? LESS : MORE;
    go(hunt, hunt.base.q);
    hunt.doing = ++hunt.age < DESCENT ? MOVES : ENDS;
}

FUNCTION void approach(const Call &call, Hunt &hunt)
{
    if (hunt.last < hunt.best) {
        hunt.found = hunt.base;
        hunt.best = hunt.last;
    }
    ++hunt.approaches;
    if (hunt.approaches < APPROACHES && hunt.approaches < call.attempts) {
        hunt.waits = true;
        descend(call, hunt);
    } else {
        leave(call, hunt, hunt.best == 0);
    }
}

// What is solved leaves; what is stuck starts from another position, and after so many attempts approaches the target.
FUNCTION void look(const Call &call, Hunt &hunt, const real *next, const Errors &now)
{
    hunt.age += STEPS;
    const bool solved = sqrt(now.position) * call.length <= call.tolerance && angle(now.rotation) <= call.tolerance;
    const bool stuck = (hunt.age > UNDISTURBED && STUCK * hunt.last < now.E) || hunt.age >= LONGEST;
    hunt.last = now.E;
    if (!solved && !stuck) {
        go(hunt, next);
        return;
    }
    if (solved || now.E < hunt.best) {
        keep(hunt.found, hunt.q, now);
        hunt.best = now.E;
    }
    if (solved) {
        leave(call, hunt, true);
    } else if (hunt.tries < call.attempts) {
        ++hunt.tries;
        hunt.age = 0;
        hunt.last = call.endless;
        hunt.waits = true;
    } else {
        go(hunt, hunt.found.q);
        hunt.best = call.endless;
        hunt.approaches = 0;
        descend(call, hunt);
    }
}

template <bool careful> FUNCTION void search(const Call &call)
{
    LAY_ASIDE
    hunt.doing = FREE;
    hunt.waits = false;
    for (int s = 1;; s = s < STEPS ? s + 1 : 1) {
        if (s == 1) {
            if (hunt.doing == FREE)
                take(call, hunt);
            place(call, hunt);
            if (!those(hunt.doing != OVER))
                break;
        }
        together();
        real next[PLACES + 2 * FRAMES];
        Kept out = {next};
        const Wanted wanted = {hunt};
        const bool fine = body<careful>(hunt.q, wanted, out);
        if (hunt.doing < SEARCHES)
            continue;
        if (!careful && !fine) {
            call.marked[counted(call.counts + MARKS)] = hunt.target;
            hunt.doing = FREE;
        } else if (hunt.doing == MEASURES) {
            measure(hunt, errors_of(next + PLACES));
        } else if (hunt.doing == SEARCHES && s == STEPS) {
            look(call, hunt, next, errors_of(next + PLACES));
        } else if (hunt.doing != ENDS) {
            go(hunt, next);
            hunt.doing = hunt.doing == MOVES ? MEASURES : SEARCHES;
        } else if (s == STEPS) {
            approach(call, hunt);
        }
    }
}

#ifdef __CUDACC__
extern "C" __global__ void __launch_bounds__(BOUNDS) run(const __grid_constant__ Call call)
{
    search<CAREFUL>(call);
}
#else
extern "C" void run(Call call)
{
    search<CAREFUL>(call);
}
#endif
