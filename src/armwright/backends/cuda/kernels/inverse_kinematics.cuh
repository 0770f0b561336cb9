// Inverse kinematics of many targets by the rules of `kinematics.search`. A thread has one target at a time. The text
// before defines the step `body`, which returns the next q and the squared errors of the current one, and sizes: ENTRIES
// in q, FRAMES with a pose each, CHECK_INTERVAL from one check of the errors to the next, and others.
//
// Some targets take ten steps, others thousands. Therefore one loop contains one step for all phases of a search, and a
// thread that finishes a target takes the next one: no thread of a warp waits for the search of another. All check
// their errors at the same time. The nearest start, a long search, is found by the warp for each thread that
// needs one.

struct Call {
    Array target, start, q, error;  // a null `start`: take the table
    unsigned char *solved;
    const real *start_distances, *start_positions;  // of the starts: terms of distances, and positions
    const int64 *chosen;       // the targets to compute; null for all
    int64 *marked;             // targets to compute again with careful sines
    unsigned long long *counts;
    int64 targets, starts, attempts;
    real tolerance, length, infinite, low[ENTRIES], high[ENTRIES];
};

enum { NEXT, MARKS, UNSOLVED, INVALID };           // indices of counts
enum { IDLE, FINISHED, SEARCHING, MEASURING, MOVING, ENDING };  // phases of a thread

#ifdef __CUDACC__
#define ALL_LANES 0xffffffffu
#define LANES 32
#define LANE ((int)threadIdx.x & 31)
FUNCTION unsigned lane_mask(bool x)
{
    return __ballot_sync(ALL_LANES, x);
}
template <class T> FUNCTION T shuffle(T x, int lane)
{
    return __shfl_sync(ALL_LANES, x, lane);
}
template <class T> FUNCTION T shuffle_xor(T x, int lanes)
{
    return __shfl_xor_sync(ALL_LANES, x, lanes);
}
FUNCTION int lowest_lane(unsigned bits)
{
    return __ffs((int)bits) - 1;
}
FUNCTION void sync_warp()
{
    __syncwarp();
}
FUNCTION int64 increment(unsigned long long *count)
{
    return (int64)atomicAdd(count, 1ull);
}
#elif !defined(LANES)
#define LANES 1
#define LANE 0
FUNCTION unsigned lane_mask(bool x)
{
    return x;
}
template <class T> FUNCTION T shuffle(T x, int)
{
    return x;
}
template <class T> FUNCTION T shuffle_xor(T x, int)
{
    return x;
}
FUNCTION int lowest_lane(unsigned)
{
    return 0;
}
FUNCTION void sync_warp() {}
FUNCTION int64 increment(unsigned long long *count)
{
    return (int64)(*count)++;
}
#endif

// A position, and the largest squared errors of a position and of a rotation there.
struct Candidate {
    real q[ENTRIES], position, rotation;
};

// The state of a search. It is in shared memory if it fits, which leaves the registers to the step. Its odd length
// avoids bank conflicts.
struct Search {
    real pose[12 * FRAMES], q[ENTRIES], damping;
    Candidate candidate, base;  // the best so far, and the base of a descent
    real best, last;    // squared errors
    real last_distance;           // distance of the last start, less a constant
    int64 target, attempt;
    int choice, age, descents, phase;
    bool needs_start;         // a start from the table
};

#if defined(__CUDACC__) && SHARED
struct PaddedSearch : Search {
    int64 padding[1 + (sizeof(Search) / sizeof(int64)) % 2];
};
#define DECLARE_SEARCH \
    __shared__ PaddedSearch all[BLOCK]; \
    Search &search = all[threadIdx.x];
#else
#define DECLARE_SEARCH Search search;
#endif

struct StepInput {
    const Search &search;
    MEMBER real operator[](int k) const
    {
        return k < 12 * FRAMES ? search.pose[k] : search.damping;
    }
};

// The sum of squared errors, and the largest of a position and of a rotation; nan if one is nan.
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

FUNCTION void store(Candidate &candidate, const real *q, const Errors &errors)
{
    EACH(e, ENTRIES)
        candidate.q[e] = q[e];
    candidate.position = errors.position;
    candidate.rotation = errors.rotation;
}

FUNCTION void clear(const Call &call, Candidate &candidate)
{
    EACH(e, ENTRIES)
        candidate.q[e] = 0;
    candidate.position = candidate.rotation = call.infinite;
}

FUNCTION real angle(real square)
{
    const real half = sqrt(square) / 2;
    return 2 * asin(half > 1 ? (real)1 : half);
}

FUNCTION void finish(const Call &call, Search &search, bool solved)
{
    const Input start = state_of(call.start, search.target);
    Output q = {call.q.at + search.target * call.q.state, call.q.entry, 0};
    EACH(e, ENTRIES) {
        real x = search.candidate.q[e];
        if (periodic(e)) {
            const real reference = call.start.at ? start[e] : 0;
            const real shifted = x - TURN * rint((x - reference) / TURN);
            x = shifted >= call.low[e] && shifted <= call.high[e] ? shifted : x;
        }
        q.put(e, x);
    }
    Output error = {call.error.at + search.target * call.error.state, call.error.entry, 0};
    error.put(0, sqrt(search.candidate.position) * call.length);
    error.put(1, angle(search.candidate.rotation));
    call.solved[search.target] = solved;
    if (!solved)
        increment(call.counts + UNSOLVED);
    search.phase = IDLE;
}

// True if a pose is invalid or not finite.
FUNCTION bool invalid_pose(const Input &row)
{
    bool invalid = false;
    LOOP(f, FRAMES) {
        real T[16];
        EACH(e, 16)
            T[e] = row[16 * f + e];
        EACH(i, 3) {
            EACH(j, i + 1) {
                const real product = T[4 * i] * T[4 * j] + T[4 * i + 1] * T[4 * j + 1] + T[4 * i + 2] * T[4 * j + 2];
                invalid |= !(fabs(product - (i == j)) <= ROTATION_TOLERANCE);
            }
            invalid |= !(T[4 * i + 3] - T[4 * i + 3] == 0) || T[12 + i] != 0;
        }
        const real determinant = T[0] * (T[5] * T[10] - T[6] * T[9]) - T[1] * (T[4] * T[10] - T[6] * T[8])
                                 + T[2] * (T[4] * T[9] - T[5] * T[8]);
        invalid |= determinant < 0 || T[15] != 1;
    }
    return invalid;
}

// Read a start, normalise its unit vectors and clip it to the limits; false if it is invalid.
FUNCTION bool read_start(const Call &call, int64 target, real *q)
{
    const Input start = state_of(call.start, target);
    bool good = true;
    EACH(e, ENTRIES) {
        q[e] = start[e];
        good &= q[e] - q[e] == 0;
    }
    EACH(c, UNIT_VECTORS) {
        real square = 0;
        EACH(e, ENTRIES)
            if (in_unit_vector(c, e))
                square = fma(q[e], q[e], square);
        good &= fabs(square - 1) <= MAX_UNIT_ERROR;
        const real length = sqrt(square);
        EACH(e, ENTRIES)
            if (in_unit_vector(c, e))
                q[e] /= length;
    }
    EACH(e, ENTRIES) {
        q[e] = q[e] < call.low[e] ? call.low[e] : q[e];
        q[e] = q[e] > call.high[e] ? call.high[e] : q[e];
    }
    return good;
}

FUNCTION void take_target(const Call &call, Search &search)
{
    const int64 i = increment(call.counts + NEXT);
    if (i >= call.targets) {
        search.phase = FINISHED;
        return;
    }
    search.target = call.chosen ? call.chosen[i] : i;
    const Input row = state_of(call.target, search.target);
    EACH(e, 12 * FRAMES)
        search.pose[e] = row[e / 12 * 16 + e % 12];
    search.phase = SEARCHING;
    search.damping = DAMPING;
    search.best = search.last = call.infinite;
    search.age = 0;
    search.attempt = 1;
    search.last_distance = -call.infinite;
    search.choice = -1;
    clear(call, search.candidate);
    search.needs_start = !call.start.at;
    if (invalid_pose(row) || (call.start.at && !read_start(call, search.target, search.q))) {
        call.counts[INVALID] = 1;
        search.needs_start = false;
        finish(call, search, false);
    }
}

// Find the nearest unused start for each thread that needs one, by all threads of the warp. Unused starts are those
// farther than the last one; if there is none, the first is taken.
FUNCTION void choose_starts(const Call &call, Search &search)
{
    const int none = 0x7fffffff;
    unsigned waiting = lane_mask(search.needs_start);
    while (waiting) {
        const int lane = lowest_lane(waiting), last = shuffle(search.choice, lane);
        const real last_distance = shuffle(search.last_distance, lane);
        const Input row = state_of(call.target, shuffle(search.target, lane));
        waiting &= waiting - 1;
        real T[12 * FRAMES], nearest = call.infinite;
        EACH(e, 12 * FRAMES)
            T[e] = row[e / 12 * 16 + e % 12];
        int choice = none;
        for (int s = LANE; s < call.starts; s += LANES) {
            real distance = call.start_distances[s];
            EACH(e, 12 * FRAMES)
                distance = fma(-call.start_distances[(1 + e) * call.starts + s], T[e], distance);
            if (distance < nearest && (distance > last_distance || (distance == last_distance && s > last))) {
                nearest = distance;
                choice = s;
            }
        }
        for (int lanes = LANES / 2; lanes; lanes /= 2) {
            const real distance = shuffle_xor(nearest, lanes);
            const int other = shuffle_xor(choice, lanes);
            if (distance < nearest || (distance == nearest && other < choice)) {
                nearest = distance;
                choice = other;
            }
        }
        if (LANE == lane) {
            search.needs_start = false;
            if (choice != none) {
                search.last_distance = nearest;
                search.choice = choice;
            }
            EACH(e, ENTRIES)
                search.q[e] = call.start_positions[e * call.starts + (choice == none ? 0 : choice)];
        }
    }
}

FUNCTION void move_to(Search &search, const real *q)
{
    EACH(e, ENTRIES)
        search.q[e] = q[e];
}

// A target that was not reached is approached from several starts by descents, which accept only steps that reduce the
// error. Each takes two evaluations: one measures the error, one moves.
FUNCTION void begin_descent(const Call &call, Search &search)
{
    search.phase = MEASURING;
    search.age = 0;
    search.last = call.infinite;
    search.damping = DAMPING;
    clear(call, search.base);
}

FUNCTION void measure_descent(Search &search, const Errors &now)
{
    const bool better = search.last > now.E;
    if (better) {
        store(search.base, search.q, now);
        search.last = now.E;
    }
    search.damping *= better ? DAMPING_DECREASE : DAMPING_INCREASE;
    move_to(search, search.base.q);
    search.phase = ++search.age < DESCENT_STEPS ? MOVING : ENDING;
}

FUNCTION void end_descent(const Call &call, Search &search)
{
    if (search.last < search.best) {
        search.candidate = search.base;
        search.best = search.last;
    }
    ++search.descents;
    if (search.descents < DESCENT_STARTS && search.descents < call.attempts) {
        search.needs_start = true;
        begin_descent(call, search);
    } else {
        finish(call, search, search.best == 0);
    }
}

// Finish a solved target. A search that is stuck begins at another start, after enough attempts with a descent.
FUNCTION void check_convergence(const Call &call, Search &search, const real *next, const Errors &now)
{
    search.age += CHECK_INTERVAL;
    const bool solved = sqrt(now.position) * call.length <= call.tolerance && angle(now.rotation) <= call.tolerance;
    const bool stuck = (search.age > GRACE_STEPS && STALL_RATIO * search.last < now.E) || search.age >= MAX_STEPS;
    search.last = now.E;
    if (!solved && !stuck) {
        move_to(search, next);
        return;
    }
    if (solved || now.E < search.best) {
        store(search.candidate, search.q, now);
        search.best = now.E;
    }
    if (solved) {
        finish(call, search, true);
    } else if (search.attempt < call.attempts) {
        ++search.attempt;
        search.age = 0;
        search.last = call.infinite;
        search.needs_start = true;
    } else {
        move_to(search, search.candidate.q);
        search.best = call.infinite;
        search.descents = 0;
        begin_descent(call, search);
    }
}

template <bool careful> FUNCTION void search_targets(const Call &call)
{
    DECLARE_SEARCH
    search.phase = IDLE;
    search.needs_start = false;
    for (int s = 1;; s = s < CHECK_INTERVAL ? s + 1 : 1) {
        if (s == 1) {
            if (search.phase == IDLE)
                take_target(call, search);
            choose_starts(call, search);
            if (!lane_mask(search.phase != FINISHED))
                break;
        }
        sync_warp();
        real next[ENTRIES + 2 * FRAMES];
        Unchecked out = {next};
        const StepInput input = {search};
        const bool in_range = body<careful>(search.q, input, out);
        if (search.phase < SEARCHING)
            continue;
        if (!careful && !in_range) {
            call.marked[increment(call.counts + MARKS)] = search.target;
            search.phase = IDLE;
        } else if (search.phase == MEASURING) {
            measure_descent(search, errors_of(next + ENTRIES));
        } else if (search.phase == SEARCHING && s == CHECK_INTERVAL) {
            check_convergence(call, search, next, errors_of(next + ENTRIES));
        } else if (search.phase != ENDING) {
            move_to(search, next);
            search.phase = search.phase == MOVING ? MEASURING : SEARCHING;
        } else if (s == CHECK_INTERVAL) {
            end_descent(call, search);
        }
    }
}

#ifdef __CUDACC__
extern "C" __global__ void __launch_bounds__(BOUNDS) run(const __grid_constant__ Call call)
{
    search_targets<CAREFUL>(call);
}
#else
extern "C" void run(Call call)
{
    search_targets<CAREFUL>(call);
}
#endif
