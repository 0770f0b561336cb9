// Motions of many rollouts, one by each thread, as `backends.interface.FIELDS` has them. Before this stand the functions
// `body` (the derivative of a state), `watch` and `gauge`, and how many there are of everything: ENTRIES of a state,
// STAGES of a step, the weights A, B and C of these, EVENTS, GAUGES; what a thread has for itself stays in registers.
// OF(sqrt) is the function for `real`, by the name it has in C.

struct Call {
    real *y, *p, *t, *h, *previous_error, *rejected_last, *accepted, *rejected, *stop_reason, *event, *start_offset, *records, *totals;
    const real *times;
    const whole *substeps;
    const volatile whole *stop;
    unsigned char *marked;  // rollouts that are to be done again with careful sines
    unsigned *any;          // whether one is marked
    whole count, stride, rows, limit, rollouts;
    real options[10], shared[SHARED];
};

enum { RTOL, ATOL, LONGEST, SAFETY, ALPHA, BETA, RETRY, SHRINK, GROW, HOLD };

// The open numbers of a rollout: its own, and those that are the same for all.
struct Open {
    const Call &call;
    whole i;
#if OWN
    real own[OWN];
#endif
    // What follows of them is computed where it is used: kept from stage to stage it would take too many registers.
    MEMBER void forget()
    {
#if OWN && defined(__CUDACC__)
#pragma unroll
        for (int k = 0; k < OWN; ++k)
            asm volatile("" : REGISTER(own[k]));
#endif
    }
    MEMBER real mine(int k) const
    {
#if OWN
        return own[k];
#else
        return call.p[k * call.stride + i];
#endif
    }
    MEMBER real operator[](int k) const
    {
        OPEN_NUMBERS
    }
};

FUNCTION real moment(real t, real h, int stage)
{
    return h * C[stage] + t;
}

// Quaternions made ones of unit length; the derivative there, if it is wanted, as much shorter or longer.
FUNCTION void unit(real *y, real *slope)
{
#pragma unroll
    for (int c = 0; c < UNIT_VECTORS; ++c) {
        real square = 0;
#pragma unroll
        for (int e = 0; e < ENTRIES; ++e)
            if (in_unit_vector(c, e))
                square = OF(fma)(y[e], y[e], square);
        const real length = OF(sqrt)(square);
#pragma unroll
        for (int e = 0; e < ENTRIES; ++e)
            if (in_unit_vector(c, e)) {
                y[e] /= length;
                if (slope)
                    slope[e] /= length;
            }
    }
}

#if CHAIN

// A step of which every stage needs the derivative of the one before and no other: these are summed up on the way.
// The first derivative is kept where events are looked at.
struct Slopes {
#if EVENTS
    real first[ENTRIES];
    MEMBER real begun(int e) const
    {
        return moves(e) ? first[e] : 0;
    }
#endif
};

template <bool careful>
FUNCTION bool step(Open &p, [[maybe_unused]] Slopes &slopes, real t, real h, const real *y, real *end)
{
    real start[ENTRIES], sum[ENTRIES], place[ENTRIES];
    bool fine = true;
#pragma unroll
    for (int e = 0; e < ENTRIES; ++e) {
        place[e] = y[e];
        start[e] = y[e];
        sum[e] = 0;
    }
#pragma unroll 1
    for (int j = 0; j < STAGES; ++j) {
        real k[ENTRIES];
        Kept out = {k};
        const real at[1] = {moment(t, h, j)};
        p.forget();
        fine = body<careful>(at, place AND_OPEN, out) && fine;
        const real weight = B[j], next = h * A[j];
#if EVENTS
        if (j == 0)
#pragma unroll
            for (int e = 0; e < ENTRIES; ++e)
                slopes.first[e] = k[e];
#endif
#pragma unroll
        for (int e = 0; e < ENTRIES; ++e)
            if (moves(e)) {
                sum[e] = OF(fma)(weight, k[e], sum[e]);
                place[e] = OF(fma)(next, k[e], start[e]);
            }
    }
#pragma unroll
    for (int e = 0; e < ENTRIES; ++e)
        end[e] = moves(e) ? OF(fma)(h, sum[e], start[e]) : start[e];
    return fine;
}

#else

// A step with the derivatives of all stages kept in memory: one text of the derivative serves them all. The first
// stages, up to `from`, are known from before.
struct Slopes {
    real k[STAGES][ENTRIES];
    int from;
    MEMBER real begun(int e) const
    {
        return moves(e) ? k[0][e] : 0;
    }
};

// The sum of the first derivatives, each with its weight.
FUNCTION void weighted(const Slopes &slopes, const real *weights, int count, real *sum)
{
#pragma unroll
    for (int e = 0; e < ENTRIES; ++e)
        sum[e] = 0;
#pragma unroll 1
    for (int j = 0; j < count; ++j) {
        const real weight = weights[j];
        if (weight != 0)
#pragma unroll
            for (int e = 0; e < ENTRIES; ++e)
                if (moves(e))
                    sum[e] = OF(fma)(weight, slopes.k[j][e], sum[e]);
    }
}

template <bool careful> FUNCTION bool step(Open &p, Slopes &slopes, real t, real h, const real *y, real *end)
{
    bool fine = true;
    real sum[ENTRIES];
#pragma unroll 1
    for (int j = slopes.from; j < STAGES; ++j) {
        real k[ENTRIES];
        Kept out = {k};
        const real at[1] = {moment(t, h, j)};
        weighted(slopes, A + j * (j - 1) / 2, j, sum);
#pragma unroll
        for (int e = 0; e < ENTRIES; ++e)
            sum[e] = moves(e) ? OF(fma)(h, sum[e], y[e]) : y[e];
        p.forget();
        fine = body<careful>(at, sum AND_OPEN, out) && fine;
#pragma unroll
        for (int e = 0; e < ENTRIES; ++e)
            slopes.k[j][e] = k[e];
    }
    weighted(slopes, B, STAGES, sum);
#pragma unroll
    for (int e = 0; e < ENTRIES; ++e)
        end[e] = moves(e) ? OF(fma)(h, sum[e], y[e]) : y[e];
    return fine;
}

#endif

#if EVENTS

FUNCTION bool crosses(int e, real before, real after)
{
    const bool up = before < 0 && after >= 0, down = before > 0 && after <= 0;
    return (up && direction(e) >= 0) || (down && direction(e) <= 0);
}

template <bool careful> FUNCTION bool watched(Open &p, real t, const real *y, real *values)
{
    Kept out = {values};
    const real at[1] = {t};
    return watch<careful>(at, y AND_OPEN, out);
}

// Whether a function may have several zeros in a part of a step (`integrate.events.tangled`): its values at the start,
// after a third and two thirds and at the end, and its slopes at start and end per length of the step.
FUNCTION bool tangled(real before, real third, real second, real after, real begin, real end, real part)
{
    const real one = before + begin * part / 3, two = after - end * part / 3;
    if ((before * one < 0) + (one * two < 0) + (two * after < 0) >= 2)
        return true;
    if (begin == 0 && end == 0 && (before != third) + (third != second) + (second != after) <= 1)
        return false;
    const real off = OF(fmax)(OF(fabs)(27 * third - (8 * before + 12 * one + 6 * two + after)),
                              OF(fabs)(27 * second - (before + 6 * one + 12 * two + 8 * after)));
    const real wide = OF(fmax)(OF(fmax)(before, one), OF(fmax)(two, after)) -
                      OF(fmin)(OF(fmin)(before, one), OF(fmin)(two, after));
    const real nearest = OF(fmin)(OF(fmin)(OF(fabs)(before), OF(fabs)(third)),
                                  OF(fmin)(OF(fabs)(second), OF(fabs)(after)));
    return off > 27 * BENT * wide && NEAR * off > 27 * nearest;
}

// A step in which an event may have happened. It is taken again with other lengths until the instant is known.
struct Crossing {
    real y[ENTRIES], before[EVENTS], after[EVENTS], t, length;
    Slopes slopes;
    real begin[EVENTS];  // slopes where it begins
    bool tangled;        // whether an event may happen several times
    real end[ENTRIES], when;
    int event;       // the one that has happened, from one on
    bool hit, lost;  // whether one has; whether one is not a number
};

template <bool careful> FUNCTION bool again(Open &p, Crossing &found, real length, real *values)
{
    const bool fine = step<careful>(p, found.slopes, found.t, length, found.y, found.end);
    unit(found.end, 0);
    found.when = found.t + length;
    return watched<careful>(p, found.when, found.end, values) && fine;
}

// Look at a step along the parabola through its ends.
template <bool careful>
FUNCTION bool look_within(Open &p, const Slopes &slopes, real t, real length, const real *y, const real *end,
                          Crossing &found)
{
    const real shares[4] = {(real)1 / 3, (real)2 / 3, 1 - JUST_INSIDE, JUST_INSIDE};
    real looks[4][EVENTS];
    bool fine = true;
#pragma unroll 1
    for (int k = 0; k < 4; ++k) {
        real near[ENTRIES];
#pragma unroll
        for (int e = 0; e < ENTRIES; ++e) {
            const real begun = length * slopes.begun(e);
            near[e] = y[e] + shares[k] * (begun + shares[k] * (end[e] - y[e] - begun));
        }
        fine = watched<careful>(p, t + shares[k] * length, near, looks[k]) && fine;
    }
    found.tangled = false;
    for (int e = 0; e < EVENTS; ++e) {
        found.begin[e] = (looks[3][e] - found.before[e]) / JUST_INSIDE;
        const real start = found.before[e] == 0 ? looks[3][e] : found.before[e], after = found.after[e];
        const real slope = (after - looks[2][e]) / JUST_INSIDE;
        found.tangled = found.tangled || tangled(start, looks[0][e], looks[1][e], after, found.begin[e], slope, 1);
    }
    return fine;
}

// Find the first piece, from `low` to `high`, in which an event happens; `before` and `after` are then those of it.
template <bool careful> FUNCTION bool look_closer(Open &p, Crossing &found, real *low, real *high)
{
    real begin = 0, wide = 1, looks[4][EVENTS];
    bool fine = true;
#pragma unroll 1
    for (int count = 0; count < MAX_EVENT_PIECES && begin < 1; ++count) {
        const real end = begin + wide > 1 - MIN_EVENT_PIECE / 2 ? (real)1 : begin + wide;
        wide = end - begin;
        const real shares[4] = {begin + wide / 3, begin + wide * 2 / 3, end - JUST_INSIDE, end};
#pragma unroll 1
        for (int k = 0; k < 4; ++k)
            fine = again<careful>(p, found, found.length * shares[k], looks[k]) && fine;
        bool many = false, happens = false;
        for (int e = 0; e < EVENTS; ++e) {
            const real after = looks[3][e], slope = (after - looks[2][e]) / JUST_INSIDE;
            many = many || tangled(found.before[e], looks[0][e], looks[1][e], after, found.begin[e], slope, wide);
            happens = happens || crosses(e, found.before[e], after);
        }
        if (many && wide > 2 * MIN_EVENT_PIECE) {
            wide /= 3;
            continue;
        }
        for (int e = 0; e < EVENTS; ++e) {
            const real after = looks[3][e];
            if (happens)
                found.after[e] = after;
            else {
                found.begin[e] = (after - looks[2][e]) / JUST_INSIDE;
                found.before[e] = after;
            }
        }
        if (happens) {
            *low = begin;
            *high = end;
            return fine;
        }
        begin = end;
        wide *= 3;
    }
    return fine;
}

// Above zero once any of the events has happened that do within the step; below before.
FUNCTION real latest(const real *ways, const real *values)
{
    real highest = (real)-1e30;
    for (int e = 0; e < EVENTS; ++e)
        if (ways[e] != 0)
            highest = OF(fmax)(ways[e] * values[e], highest);
    return highest;
}

template <bool careful> APART bool locate(Open &p, Crossing &found)
{
    real values[EVENTS], ways[EVENTS];
    bool fine = true, zero = false;
    found.event = 0;
    found.hit = found.lost = false;
    for (int e = 0; e < EVENTS; ++e)
        zero = zero || found.before[e] == 0;
    if (zero)  // its sign is the one just after
        fine = again<careful>(p, found, found.length * AFTER_STEP_START, values);
    for (int e = 0; e < EVENTS; ++e)
        if (found.before[e] == 0)
            found.before[e] = values[e];
    real low = 0, high = 1;
    if (found.tangled)
        fine = look_closer<careful>(p, found, &low, &high) && fine;
    for (int e = 0; e < EVENTS; ++e) {
        const real before = found.before[e];
        const bool crossed = crosses(e, before, found.after[e]);
        ways[e] = crossed ? before < 0 ? (real)1 : (real)-1 : (real)0;
        found.hit = found.hit || crossed;
        found.lost = found.lost || found.after[e] != found.after[e];
    }
    if (!found.hit)
        return fine;
    const real far = OF(fmax)(OF(fabs)(found.t), OF(fabs)(found.t + found.length));
    const real width = OF(fmax)(far / OF(fabs)(found.length) * (2 * ROUNDING), 2 * ROUNDING);
    real at_low = latest(ways, found.before), at_high = latest(ways, found.after), side = 0;
    for (int guess = 0; guess < MAX_EVENT_GUESSES && high - low > width; ++guess) {
        const real gap = high - low, little = width * (real)0.5;
        const real back = guess % BISECTION_PERIOD == BISECTION_PERIOD - 1 ? gap * (real)0.5 : at_high * gap / (at_high - at_low);
        const real x = OF(fmax)(OF(fmin)(high - back, high - little), low + little);
        fine = again<careful>(p, found, found.length * x, values) && fine;
        const real f = latest(ways, values);
        if (f < 0) {  // of the ends of the bracket one that stays counts for half (Illinois)
            low = x;
            at_low = f;
            at_high = side < 0 ? at_high * (real)0.5 : at_high;
            side = -1;
        } else {
            high = x;
            at_high = f;
            at_low = side > 0 ? at_low * (real)0.5 : at_low;
            side = 1;
        }
    }
    fine = again<careful>(p, found, found.length * high, values) && fine;
    for (int e = EVENTS - 1; e >= 0; --e)
        if (ways[e] != 0 && ways[e] * values[e] >= 0)
            found.event = e + 1;
    return fine;
}

#endif

// Where a rollout is, and its numbers of `backends.interface.LANES`.
struct Lane {
    real y[ENTRIES], t, h, previous_error, rejected_last, accepted, rejected, stop_reason, event;
#if EVENTS
    real before[EVENTS];
#endif
    Slopes slopes;
};

#if EVENTS

// Look at a step to `end`, which is then where an event has ended the rollout, as `time` and `state` say.
template <bool careful>
FUNCTION bool passed(Open &p, Lane &lane, real t, real length, real *end, real *time)
{
    real after[EVENTS];
    if (lane.event != 0)
        return true;
    bool fine = watched<careful>(p, *time, end, after);
    Crossing found;
#pragma unroll
    for (int e = 0; e < EVENTS; ++e) {
        found.before[e] = lane.before[e];
        found.after[e] = after[e];
    }
    fine = look_within<careful>(p, lane.slopes, t, length, lane.y, end, found) && fine;
    bool some = found.tangled;
#pragma unroll
    for (int e = 0; e < EVENTS; ++e)
        some = some || lane.before[e] == 0 || after[e] != after[e] || crosses(e, lane.before[e], after[e]);
    if (some) {
#pragma unroll
        for (int e = 0; e < ENTRIES; ++e)
            found.y[e] = lane.y[e];
        found.t = t;
        found.length = length;
#if !CHAIN
#pragma unroll
        for (int e = 0; e < ENTRIES; ++e)
            found.slopes.k[0][e] = lane.slopes.k[0][e];
        found.slopes.from = 1;
#endif
        Open apart = p;
        fine = locate<careful>(apart, found) && fine;
        if (found.hit) {
            lane.stop_reason = ENDED_BY_EVENT;
            lane.event = (real)found.event;
            *time = found.when;
#pragma unroll
            for (int e = 0; e < ENTRIES; ++e)
                end[e] = found.end[e];
        } else if (found.lost)
            lane.stop_reason = EVENT_NOT_FINITE;
    }
#pragma unroll
    for (int e = 0; e < EVENTS; ++e)
        lane.before[e] = after[e];
    return fine;
}

#endif

#if GAUGES

// What is measured of a rollout: what was found so far, and what was seen at the last record. It is wanted but once a
// record, so it lies in the memory that a block shares, beside that of other threads, if there is room for it.
struct Measured {
#if BESIDE
    real *at;
    MEMBER real &total(int g)
    {
        return at[g * BLOCK];
    }
    MEMBER real &before(int g)
    {
        return at[(GAUGES + g - LARGEST) * BLOCK];
    }
#else
    real totals[GAUGES], seen[INTEGRALS + 1];
    MEMBER real &total(int g)
    {
        return totals[g];
    }
    MEMBER real &before(int g)
    {
        return seen[g - LARGEST];
    }
#endif
    real since;
};

#if AT_RECORDS

template <bool careful> FUNCTION bool seen(Open &p, const Lane &lane, real *values)
{
    Kept out = {values};
    const real at[1] = {lane.t};
    return gauge<careful>(at, lane.y AND_OPEN, out);
}

template <bool careful> FUNCTION bool measure(Open &p, const Lane &lane, Measured &measured)
{
    real now[AT_RECORDS];
    const bool fine = seen<careful>(p, lane, now);
    const real half = (lane.t - measured.since) * (real)0.5;
    measured.since = lane.t;
#pragma unroll
    for (int g = 0; g < AT_RECORDS; ++g) {
        real &total = measured.total(g);
        if (g < LARGEST)
            total = OF(fmax)(total, now[g]);
        else if (g < LARGEST + INTEGRALS) {
            total = OF(fma)(measured.before(g) + now[g], half, total);
            measured.before(g) = now[g];
        } else
            total = now[g];
    }
    return fine;
}

#endif
#if IN_STEPS

// Look at a step from where a rollout is to `end`.
template <bool careful>
FUNCTION bool measure_step(Open &p, const Lane &lane, real t, real time, const real *end, Measured &measured)
{
    real now[IN_STEPS];
    Kept out = {now};
    const real from[1] = {t}, to[1] = {time};
    const bool fine = within<careful>(from, lane.y AND_OPEN, to, end, out);
#pragma unroll
    for (int g = 0; g < IN_STEPS; ++g) {
        real &total = measured.total(AT_RECORDS + g);
        total = OF(fmax)(total, now[g]);
    }
    return fine;
}

#endif

#else

struct Measured {};

#endif

FUNCTION void record(const Call &call, whole i, whole r, const real *y)
{
    if (!call.rows && r + 1 < call.count)
        return;  // the next takes its place
    real *const at = call.records + r * call.rows * call.stride + i;
#pragma unroll
    for (int e = 0; e < ENTRIES; ++e)
        at[e * call.stride] = y[e];
}

#if ADAPTIVE

// The estimated error of a step over what is allowed, root mean square over the entries that count.
FUNCTION real error_of(const Call &call, const Slopes &slopes, real length, const real *y, const real *end)
{
    real squares[2] = {0, 0};
#pragma unroll
    for (int n = 0; n < ESTIMATES; ++n) {
        real sum[ENTRIES];
        weighted(slopes, n ? ERROR2 : ERROR, STAGES, sum);
#pragma unroll
        for (int e = 0; e < CONTROLLED; ++e) {
            const real largest = OF(fmax)(OF(fabs)(y[e]), OF(fabs)(end[e]));
            const real scale = OF(fma)(call.options[RTOL], largest, call.options[ATOL]);
            const real share = sum[e] * length / scale;
            squares[n] = OF(fma)(share, share, squares[n]);
        }
    }
    if (ESTIMATES == 1)
        return OF(sqrt)(squares[0] * (real)(1.0 / CONTROLLED));
    // Hairer and Wanner's combination of the estimates of order 5 and 3
    const real weight = OF(fma)(squares[1], (real)0.01, squares[0]);
    return squares[0] == 0 ? (real)0 : squares[0] / OF(sqrt)(weight * (real)CONTROLLED);
}

// How long the next step may be, by the error of this one and of the one before (`integrate.control.Rule`).
FUNCTION real next_step(const Call &call, const Lane &lane, real err, real length, bool cut, bool accept)
{
    const real *const option = call.options;
    const real power = OF(pow)(OF(fmax)(err, SMALLEST), accept ? option[ALPHA] : option[RETRY]);
    const real memory = accept ? OF(pow)(lane.previous_error, option[BETA]) : (real)1;
    const real wanted = err != err ? option[SHRINK] : option[SAFETY] * memory / power;
    const real most = lane.rejected_last != 0 ? option[HOLD] : option[GROW];
    const real following = OF(fabs)(length * OF(fmin)(OF(fmax)(wanted, option[SHRINK]), most)), size = OF(fabs)(lane.h);
    return OF(fmin)(cut && accept && size > following ? size : following, option[LONGEST]);
}

// To the time of the next record, in as many steps as keep the error below the tolerance.
template <bool careful>
FUNCTION bool travel(const Call &call, Open &p, Lane &lane, Measured &measured, whole, real goal, bool *halted)
{
    for (whole tries = 1; lane.stop_reason == 0 && lane.t != goal; ++tries) {
        if (*call.stop) {
            *halted = true;
            return true;
        }
        const real left = goal - lane.t, way = OF(fabs)(left), size = OF(fabs)(lane.h), began = lane.t;
        const bool arrives = way <= OF(fmin)(size * STRETCH, call.options[LONGEST] * ROUNDED);
        const bool cut = arrives ? way < size : way < 2 * size;
        const real reached = arrives ? goal : began + (cut ? left * (real)0.5 : OF(copysign)(size, left));
        const real length = reached - began;  // far from zero, t is coarse
        real end[ENTRIES];
        bool fine = step<careful>(p, lane.slopes, began, length, lane.y, end);
        const real err = error_of(call, lane.slopes, length, lane.y, end);
        const bool accept = err <= 1;
        const real following = next_step(call, lane, err, length, cut, accept);
        if (accept) {
            real time = reached;
            unit(end, SAME_AS_LAST ? lane.slopes.k[STAGES - 1] : 0);
#if EVENTS
            fine = passed<careful>(p, lane, began, length, end, &time) && fine;
#endif
#if IN_STEPS
            fine = measure_step<careful>(p, lane, began, time, end, measured) && fine;
#endif
#pragma unroll
            for (int e = 0; e < ENTRIES; ++e) {
                lane.y[e] = end[e];
                if (SAME_AS_LAST)
                    lane.slopes.k[0][e] = lane.slopes.k[STAGES - 1][e];
            }
            lane.t = time;
            lane.accepted += 1;
            if (!cut)
                lane.previous_error = OF(fmax)(err, FORGIVEN);
        } else
            lane.rejected += 1;
        lane.slopes.from = accept ? SAME_AS_LAST : 1;
        lane.rejected_last = accept ? (real)0 : (real)1;
        lane.h = OF(copysign)(following, left);
        const real smallest = (err != err ? 256 : 16) * ROUNDING;  // before what is not finite the state must move
        if (!accept && following < OF(fmax)(OF(fabs)(began), OF(fabs)(goal)) * smallest)
            lane.stop_reason = err != err ? NOT_FINITE : STEP_TOO_SMALL;
        if (tries >= call.limit && lane.t != goal && lane.stop_reason == 0)
            lane.stop_reason = TOO_MANY_STEPS;
        if (!fine)
            return false;
    }
    return true;
}

#else

// To the time of the next record, in as many equal steps as `substeps` says.
template <bool careful>
FUNCTION bool travel(const Call &call, Open &p, Lane &lane, Measured &measured, whole r, real goal, bool *halted)
{
    const int number = (int)call.substeps[r];
    const real start = lane.t, h = (goal - start) / (real)number;
#pragma unroll 1
    for (int k = 0; k < number; ++k) {
        const real began = start + h * (real)k;
        if (k % 16 == 0 && *call.stop) {
            lane.t = began;
            *halted = true;
            return true;
        }
        real end[ENTRIES];
        bool fine = step<careful>(p, lane.slopes, began, h, lane.y, end);
        unit(end, 0);
#if EVENTS || IN_STEPS
        real time = start + h * (real)(k + 1);
#endif
#if EVENTS
        fine = passed<careful>(p, lane, began, h, end, &time) && fine;
#endif
#if IN_STEPS
        fine = measure_step<careful>(p, lane, began, time, end, measured) && fine;
#endif
#pragma unroll
        for (int e = 0; e < ENTRIES; ++e)
            lane.y[e] = end[e];
#if EVENTS
        if (lane.stop_reason != 0) {
            lane.t = time;
            return fine;
        }
#endif
        if (!fine)
            return false;
    }
    lane.t = goal;
    return true;
}

#endif

// A rollout from record to record; false if it has to be done again with careful sines: then it is where it was.
template <bool careful> FUNCTION bool motion(const Call &call, whole i)
{
    Lane lane;
#pragma unroll
    for (int e = 0; e < ENTRIES; ++e)
        lane.y[e] = call.y[e * call.stride + i];
    lane.t = call.t[i];
    lane.stop_reason = call.stop_reason[i];
    lane.event = call.event[i];
    if (lane.stop_reason != 0) {
        for (whole r = 0; r < call.count; ++r)
            record(call, i, r, lane.y);
        return true;
    }
    Open p = {call, i OWN_NUMBERS};
    const real start_offset = call.start_offset[i];
    bool fine = true, halted = false;
#if ADAPTIVE
    lane.h = call.h[i];
    lane.previous_error = call.previous_error[i];
    lane.rejected_last = call.rejected_last[i];
    lane.accepted = call.accepted[i];
    lane.rejected = call.rejected[i];
#endif
#if !CHAIN
    lane.slopes.from = 0;
#endif
#if EVENTS
    fine = watched<careful>(p, lane.t, lane.y, lane.before) && fine;
#endif
    Measured measured;
#if GAUGES
#if BESIDE
    __shared__ real beside[(GAUGES + INTEGRALS) * BLOCK];
    measured.at = beside + threadIdx.x;
#endif
#if AT_RECORDS
    real begin[AT_RECORDS];
    fine = seen<careful>(p, lane, begin) && fine;
#else
    const real begin[1] = {0};
#endif
    measured.since = lane.t;
#pragma unroll
    for (int g = 0; g < GAUGES; ++g) {
        const real total = call.totals[g * call.stride + i];
        measured.total(g) = g < LARGEST ? OF(fmax)(total, begin[g]) : total;
        if (g >= LARGEST && g < LARGEST + INTEGRALS)
            measured.before(g) = begin[g];
    }
#endif
#pragma unroll 1
    for (whole r = 0; r < call.count && fine; ++r) {
        if (lane.stop_reason == 0)
            fine = travel<careful>(call, p, lane, measured, r, call.times[r] + start_offset, &halted);
        if (halted)
            break;
#if AT_RECORDS
        fine = measure<careful>(p, lane, measured) && fine;
#endif
        record(call, i, r, lane.y);
    }
    if (!fine)
        return false;
#pragma unroll
    for (int e = 0; e < ENTRIES; ++e)
        call.y[e * call.stride + i] = lane.y[e];
    call.t[i] = lane.t;
#if GAUGES
#pragma unroll
    for (int g = 0; g < GAUGES; ++g)
        call.totals[g * call.stride + i] = measured.total(g);
#endif
#if ADAPTIVE
    call.h[i] = lane.h;
    call.previous_error[i] = lane.previous_error;
    call.rejected_last[i] = lane.rejected_last;
    call.accepted[i] = lane.accepted;
    call.rejected[i] = lane.rejected;
#endif
#if ADAPTIVE || EVENTS
    call.stop_reason[i] = lane.stop_reason;
    call.event[i] = lane.event;
#endif
    return true;
}

#ifdef __CUDACC__
extern "C" __global__ void __launch_bounds__(BOUNDS) run(const __grid_constant__ Call call)
{
    const whole i = blockIdx.x * (whole)BLOCK + threadIdx.x;
    if (i >= call.rollouts || (CAREFUL && !call.marked[i]))
        return;
    const bool done = motion<CAREFUL>(call, i);
    if (!CAREFUL) {
        call.marked[i] = !done;
        if (!done)
            *call.any = 1;
    }
}
#else
extern "C" void run(Call call)
{
    for (whole i = 0; i < call.rollouts; ++i)
        if (!motion<false>(call, i))
            motion<true>(call, i);
}
#endif
