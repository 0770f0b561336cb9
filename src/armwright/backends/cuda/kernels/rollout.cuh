// The integration of rollouts, one per thread, with the arrays of `backends.rollout_interface.ROLLOUT_FIELDS`. The text
// before defines the functions `body` (the derivative of a state), `event_values` and `gauge`, and sizes: ENTRIES of a
// state, STAGES of a step with weights A, B and C, EVENTS, GAUGES. The state of a thread is in registers. OF(sqrt) is the
// function of the C library for `real`.

struct Call {
    real *y, *p, *t, *h, *previous_error, *rejected_last, *accepted, *rejected, *stop_reason, *event, *start_offset;
    real *records, *totals;
    const real *times;
    const int64 *substeps;
    const volatile int64 *stop;
    unsigned char *marked;  // rollouts to compute again with careful sines
    unsigned *any;          // not zero if one is marked
    int64 count, stride, rows, limit, rollouts;
    real options[10], shared[SHARED];
};

enum { RTOL, ATOL, LONGEST, SAFETY, ALPHA, BETA, RETRY, SHRINK, GROW, HOLD };

// The runtime parameters: those of the rollout, and those that all rollouts share.
struct Parameters {
    const Call &call;
    int64 i;
#if PER_ROLLOUT
    real per_rollout[PER_ROLLOUT];
#endif
    // Make the compiler compute what depends on them where it is used. Kept between stages it would take too many
    // registers.
    MEMBER void discard_derived()
    {
#if PER_ROLLOUT && defined(__CUDACC__)
        EACH(k, PER_ROLLOUT)
            asm volatile("" : REGISTER(per_rollout[k]));
#endif
    }
    MEMBER real per_rollout_parameter(int k) const
    {
#if PER_ROLLOUT
        return per_rollout[k];
#else
        return call.p[k * call.stride + i];
#endif
    }
    MEMBER real operator[](int k) const
    {
        READ_PARAMETER
    }
};

FUNCTION real stage_time(real t, real h, int stage)
{
    return h * C[stage] + t;
}

// Normalise the unit vectors, and scale their derivatives alike if `slope` is not null.
FUNCTION void normalise(real *y, real *slope)
{
    EACH(c, UNIT_VECTORS) {
        real square = 0;
        EACH(e, ENTRIES)
            if (in_unit_vector(c, e))
                square = OF(fma)(y[e], y[e], square);
        const real length = OF(sqrt)(square);
        EACH(e, ENTRIES)
            if (in_unit_vector(c, e)) {
                y[e] /= length;
                if (slope)
                    slope[e] /= length;
            }
    }
}

#if CHAIN

// A step whose stages need only the derivative before them: derivatives are summed, not stored. Events need the first
// derivative, which is stored.
struct Slopes {
#if EVENTS
    real first[ENTRIES];
    MEMBER real first_slope(int e) const
    {
        return moves(e) ? first[e] : 0;
    }
#endif
};

template <bool careful>
FUNCTION bool step(Parameters &p, [[maybe_unused]] Slopes &slopes, real t, real h, const real *y, real *end)
{
    real start[ENTRIES], sum[ENTRIES], stage_state[ENTRIES];
    bool in_range = true;
    EACH(e, ENTRIES) {
        stage_state[e] = y[e];
        start[e] = y[e];
        sum[e] = 0;
    }
    LOOP(j, STAGES) {
        real k[ENTRIES];
        Unchecked out = {k};
        const real at[1] = {stage_time(t, h, j)};
        p.discard_derived();
        in_range = body<careful>(at, stage_state PARAMETER_ARGUMENT, out) && in_range;
        const real weight = B[j], next = h * A[j];
#if EVENTS
        if (j == 0)
            EACH(e, ENTRIES)
                slopes.first[e] = k[e];
#endif
        EACH(e, ENTRIES)
            if (moves(e)) {
                sum[e] = OF(fma)(weight, k[e], sum[e]);
                stage_state[e] = OF(fma)(next, k[e], start[e]);
            }
    }
    EACH(e, ENTRIES)
        end[e] = moves(e) ? OF(fma)(h, sum[e], start[e]) : start[e];
    return in_range;
}

#else

// A step with the derivatives of all stages in memory, so that the derivative is in the text once. The stages before
// `from` are known.
struct Slopes {
    real k[STAGES][ENTRIES];
    int from;
    MEMBER real first_slope(int e) const
    {
        return moves(e) ? k[0][e] : 0;
    }
};

// The weighted sum of the first derivatives.
FUNCTION void weighted(const Slopes &slopes, const real *weights, int count, real *sum)
{
    EACH(e, ENTRIES)
        sum[e] = 0;
    LOOP(j, count) {
        const real weight = weights[j];
        if (weight != 0)
            EACH(e, ENTRIES)
                if (moves(e))
                    sum[e] = OF(fma)(weight, slopes.k[j][e], sum[e]);
    }
}

template <bool careful> FUNCTION bool step(Parameters &p, Slopes &slopes, real t, real h, const real *y, real *end)
{
    bool in_range = true;
    real sum[ENTRIES];
#pragma unroll 1
    for (int j = slopes.from; j < STAGES; ++j) {
        real k[ENTRIES];
        Unchecked out = {k};
        const real at[1] = {stage_time(t, h, j)};
        weighted(slopes, A + j * (j - 1) / 2, j, sum);
        EACH(e, ENTRIES)
            sum[e] = moves(e) ? OF(fma)(h, sum[e], y[e]) : y[e];
        p.discard_derived();
        in_range = body<careful>(at, sum PARAMETER_ARGUMENT, out) && in_range;
        EACH(e, ENTRIES)
            slopes.k[j][e] = k[e];
    }
    weighted(slopes, B, STAGES, sum);
    EACH(e, ENTRIES)
        end[e] = moves(e) ? OF(fma)(h, sum[e], y[e]) : y[e];
    return in_range;
}

#endif

#if EVENTS

FUNCTION bool crosses(int e, real before, real after)
{
    const bool up = before < 0 && after >= 0, down = before > 0 && after <= 0;
    return (up && direction(e) >= 0) || (down && direction(e) <= 0);
}

template <bool careful> FUNCTION bool evaluate_events(Parameters &p, real t, const real *y, real *values)
{
    Unchecked out = {values};
    const real at[1] = {t};
    return event_values<careful>(at, y PARAMETER_ARGUMENT, out);
}

// True if a function may have several zeros in a part of a step (`integrate.events`), by its values at the start, at
// one and two thirds and at the end, and its slopes at start and end times the length of the step.
FUNCTION bool several_zeros(real before, real third, real second, real after, real begin, real end, real part)
{
    const real one = before + begin * part / 3, two = after - end * part / 3;
    if ((before * one < 0) + (one * two < 0) + (two * after < 0) >= 2)
        return true;
    if (begin == 0 && end == 0 && (before != third) + (third != second) + (second != after) <= 1)
        return false;
    const real deviation = OF(fmax)(OF(fabs)(27 * third - (8 * before + 12 * one + 6 * two + after)),
                              OF(fabs)(27 * second - (before + 6 * one + 12 * two + 8 * after)));
    const real range = OF(fmax)(OF(fmax)(before, one), OF(fmax)(two, after)) -
                      OF(fmin)(OF(fmin)(before, one), OF(fmin)(two, after));
    const real nearest = OF(fmin)(OF(fmin)(OF(fabs)(before), OF(fabs)(third)),
                                  OF(fmin)(OF(fabs)(second), OF(fabs)(after)));
    return deviation > 27 * MAX_CUBIC_DEVIATION * range && ZERO_DISTANCE_RATIO * deviation > 27 * nearest;
}

// A step in which an event may have happened. It is repeated with other lengths until the time is known.
struct Crossing {
    real y[ENTRIES], before[EVENTS], after[EVENTS], t, length;
    Slopes slopes;
    real begin[EVENTS];  // slopes at its start
    bool several_zeros;        // an event may happen several times
    real end[ENTRIES], when;
    int event;       // the event that has happened, counted from one
    bool happened, not_a_number;  // one has happened; one is not a number
};

template <bool careful> FUNCTION bool repeat_step(Parameters &p, Crossing &found, real length, real *values)
{
    const bool in_range = step<careful>(p, found.slopes, found.t, length, found.y, found.end);
    normalise(found.end, 0);
    found.when = found.t + length;
    return evaluate_events<careful>(p, found.when, found.end, values) && in_range;
}

// Sample a step along the parabola through its ends.
template <bool careful>
FUNCTION bool sample_step(Parameters &p, const Slopes &slopes, real t, real length, const real *y, const real *end,
                          Crossing &found)
{
    const real shares[4] = {(real)1 / 3, (real)2 / 3, 1 - JUST_INSIDE, JUST_INSIDE};
    real samples[4][EVENTS];
    bool in_range = true;
    LOOP(k, 4) {
        real interpolated[ENTRIES];
        EACH(e, ENTRIES) {
            const real first_slope = length * slopes.first_slope(e);
            interpolated[e] = y[e] + shares[k] * (first_slope + shares[k] * (end[e] - y[e] - first_slope));
        }
        in_range = evaluate_events<careful>(p, t + shares[k] * length, interpolated, samples[k]) && in_range;
    }
    found.several_zeros = false;
    for (int e = 0; e < EVENTS; ++e) {
        found.begin[e] = (samples[3][e] - found.before[e]) / JUST_INSIDE;
        const real start = found.before[e] == 0 ? samples[3][e] : found.before[e], after = found.after[e];
        const real slope = (after - samples[2][e]) / JUST_INSIDE;
        found.several_zeros = found.several_zeros ||
                              several_zeros(start, samples[0][e], samples[1][e], after, found.begin[e], slope, 1);
    }
    return in_range;
}

// Find the first piece, from `low` to `high`, in which an event happens; `before` and `after` become its values.
template <bool careful> FUNCTION bool subdivide_step(Parameters &p, Crossing &found, real *low, real *high)
{
    real begin = 0, width = 1, samples[4][EVENTS];
    bool in_range = true;
#pragma unroll 1
    for (int count = 0; count < MAX_EVENT_PIECES && begin < 1; ++count) {
        const real end = begin + width > 1 - MIN_EVENT_PIECE / 2 ? (real)1 : begin + width;
        width = end - begin;
        const real shares[4] = {begin + width / 3, begin + width * 2 / 3, end - JUST_INSIDE, end};
        LOOP(k, 4)
            in_range = repeat_step<careful>(p, found, found.length * shares[k], samples[k]) && in_range;
        bool many = false, happens = false;
        for (int e = 0; e < EVENTS; ++e) {
            const real after = samples[3][e], slope = (after - samples[2][e]) / JUST_INSIDE;
            many = many ||
                   several_zeros(found.before[e], samples[0][e], samples[1][e], after, found.begin[e], slope, width);
            happens = happens || crosses(e, found.before[e], after);
        }
        if (many && width > 2 * MIN_EVENT_PIECE) {
            width /= 3;
            continue;
        }
        for (int e = 0; e < EVENTS; ++e) {
            const real after = samples[3][e];
            if (happens)
                found.after[e] = after;
            else {
                found.begin[e] = (after - samples[2][e]) / JUST_INSIDE;
                found.before[e] = after;
            }
        }
        if (happens) {
            *low = begin;
            *high = end;
            return in_range;
        }
        begin = end;
        width *= 3;
    }
    return in_range;
}

// The largest of the signed values of crossed events: positive once one of them has happened.
FUNCTION real largest_crossing(const real *signs, const real *values)
{
    real highest = (real)-1e30;
    for (int e = 0; e < EVENTS; ++e)
        if (signs[e] != 0)
            highest = OF(fmax)(signs[e] * values[e], highest);
    return highest;
}

template <bool careful> OUTLINED bool locate_event(Parameters &p, Crossing &found)
{
    real values[EVENTS], signs[EVENTS];
    bool in_range = true, zero = false;
    found.event = 0;
    found.happened = found.not_a_number = false;
    for (int e = 0; e < EVENTS; ++e)
        zero = zero || found.before[e] == 0;
    if (zero)  // its sign is that just after
        in_range = repeat_step<careful>(p, found, found.length * AFTER_STEP_START, values);
    for (int e = 0; e < EVENTS; ++e)
        if (found.before[e] == 0)
            found.before[e] = values[e];
    real low = 0, high = 1;
    if (found.several_zeros)
        in_range = subdivide_step<careful>(p, found, &low, &high) && in_range;
    for (int e = 0; e < EVENTS; ++e) {
        const real before = found.before[e];
        const bool crossed = crosses(e, before, found.after[e]);
        signs[e] = crossed ? before < 0 ? (real)1 : (real)-1 : (real)0;
        found.happened = found.happened || crossed;
        found.not_a_number = found.not_a_number || found.after[e] != found.after[e];
    }
    if (!found.happened)
        return in_range;
    const real time_scale = OF(fmax)(OF(fabs)(found.t), OF(fabs)(found.t + found.length));
    const real width = OF(fmax)(time_scale / OF(fabs)(found.length) * (2 * ROUNDING), 2 * ROUNDING);
    real at_low = largest_crossing(signs, found.before), at_high = largest_crossing(signs, found.after), side = 0;
    for (int trial = 0; trial < MAX_EVENT_GUESSES && high - low > width; ++trial) {
        const real gap = high - low, margin = width * (real)0.5;
        const real back = trial % BISECTION_PERIOD == BISECTION_PERIOD - 1 ? gap * (real)0.5
                                                                           : at_high * gap / (at_high - at_low);
        const real x = OF(fmax)(OF(fmin)(high - back, high - margin), low + margin);
        in_range = repeat_step<careful>(p, found, found.length * x, values) && in_range;
        const real f = largest_crossing(signs, values);
        if (f < 0) {  // the value of a retained end of the bracket is halved (Illinois)
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
    in_range = repeat_step<careful>(p, found, found.length * high, values) && in_range;
    for (int e = EVENTS - 1; e >= 0; --e)
        if (signs[e] != 0 && signs[e] * values[e] >= 0)
            found.event = e + 1;
    return in_range;
}

#endif

// The state of a rollout, and its numbers of `backends.rollout_interface.ROLLOUT_SCALARS`.
struct Lane {
    real y[ENTRIES], t, h, previous_error, rejected_last, accepted, rejected, stop_reason, event;
#if EVENTS
    real before[EVENTS];
#endif
    Slopes slopes;
};

#if EVENTS

// Detect events in a step to `end`. If one ends the rollout, `end`, `time` and the stop reason are set to it.
template <bool careful>
FUNCTION bool detect_events(Parameters &p, Lane &lane, real t, real length, real *end, real *time)
{
    real after[EVENTS];
    if (lane.event != 0)
        return true;
    bool in_range = evaluate_events<careful>(p, *time, end, after);
    Crossing found;
    EACH(e, EVENTS) {
        found.before[e] = lane.before[e];
        found.after[e] = after[e];
    }
    in_range = sample_step<careful>(p, lane.slopes, t, length, lane.y, end, found) && in_range;
    bool suspect = found.several_zeros;
    EACH(e, EVENTS)
        suspect = suspect || lane.before[e] == 0 || after[e] != after[e] || crosses(e, lane.before[e], after[e]);
    if (suspect) {
        EACH(e, ENTRIES)
            found.y[e] = lane.y[e];
        found.t = t;
        found.length = length;
#if !CHAIN
        EACH(e, ENTRIES)
            found.slopes.k[0][e] = lane.slopes.k[0][e];
        found.slopes.from = 1;
#endif
        Parameters copy = p;
        in_range = locate_event<careful>(copy, found) && in_range;
        if (found.happened) {
            lane.stop_reason = ENDED_BY_EVENT;
            lane.event = (real)found.event;
            *time = found.when;
            EACH(e, ENTRIES)
                end[e] = found.end[e];
        } else if (found.not_a_number)
            lane.stop_reason = EVENT_NOT_FINITE;
    }
    EACH(e, EVENTS)
        lane.before[e] = after[e];
    return in_range;
}

#endif

#if GAUGES

// The totals of the gauges of a rollout, and their values at the last record. As they are used once per record, they
// are in shared memory if they fit.
struct GaugeTotals {
#if SHARED_GAUGES
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
    real totals[GAUGES], last[INTEGRALS + 1];
    MEMBER real &total(int g)
    {
        return totals[g];
    }
    MEMBER real &before(int g)
    {
        return last[g - LARGEST];
    }
#endif
    real last_time;
};

#if AT_RECORDS

template <bool careful> FUNCTION bool evaluate_gauges(Parameters &p, const Lane &lane, real *values)
{
    Unchecked out = {values};
    const real at[1] = {lane.t};
    return gauge<careful>(at, lane.y PARAMETER_ARGUMENT, out);
}

template <bool careful> FUNCTION bool update_gauges(Parameters &p, const Lane &lane, GaugeTotals &gauges)
{
    real now[AT_RECORDS];
    const bool in_range = evaluate_gauges<careful>(p, lane, now);
    const real half = (lane.t - gauges.last_time) * (real)0.5;
    gauges.last_time = lane.t;
    EACH(g, AT_RECORDS) {
        real &total = gauges.total(g);
        if (g < LARGEST)
            total = OF(fmax)(total, now[g]);
        else if (g < LARGEST + INTEGRALS) {
            total = OF(fma)(gauges.before(g) + now[g], half, total);
            gauges.before(g) = now[g];
        } else
            total = now[g];
    }
    return in_range;
}

#endif
#if IN_STEPS

// Update the gauges of steps, for a step from the current state to `end`.
template <bool careful>
FUNCTION bool update_step_gauges(Parameters &p, const Lane &lane, real t, real time, const real *end,
                                 GaugeTotals &gauges)
{
    real now[IN_STEPS];
    Unchecked out = {now};
    const real from[1] = {t}, to[1] = {time};
    const bool in_range = within<careful>(from, lane.y PARAMETER_ARGUMENT, to, end, out);
    EACH(g, IN_STEPS) {
        real &total = gauges.total(AT_RECORDS + g);
        total = OF(fmax)(total, now[g]);
    }
    return in_range;
}

#endif

#else

struct GaugeTotals {};

#endif

FUNCTION void record(const Call &call, int64 i, int64 r, const real *y)
{
    if (!call.rows && r + 1 < call.count)
        return;  // the next record replaces it
    real *const at = call.records + r * call.rows * call.stride + i;
    EACH(e, ENTRIES)
        at[e * call.stride] = y[e];
}

#if ADAPTIVE

// The estimated error of a step relative to the tolerance, root mean square over the controlled entries.
FUNCTION real error_of(const Call &call, const Slopes &slopes, real length, const real *y, const real *end)
{
    real squares[2] = {0, 0};
    EACH(n, ESTIMATES) {
        real sum[ENTRIES];
        weighted(slopes, n ? ERROR2 : ERROR, STAGES, sum);
        EACH(e, CONTROLLED) {
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

// The length of the next step, from the errors of this one and the one before (`integrate.control`).
FUNCTION real next_step(const Call &call, const Lane &lane, real err, real length, bool cut, bool accept)
{
    const real *const option = call.options;
    const real power = OF(pow)(OF(fmax)(err, MIN_ERROR_RATIO), accept ? option[ALPHA] : option[RETRY]);
    const real memory = accept ? OF(pow)(lane.previous_error, option[BETA]) : (real)1;
    const real ratio = err != err ? option[SHRINK] : option[SAFETY] * memory / power;
    const real max_ratio = lane.rejected_last != 0 ? option[HOLD] : option[GROW];
    const real following = OF(fabs)(length * OF(fmin)(OF(fmax)(ratio, option[SHRINK]), max_ratio)),
               size = OF(fabs)(lane.h);
    return OF(fmin)(cut && accept && size > following ? size : following, option[LONGEST]);
}

// Integrate to the time of the next record, with steps whose errors are below the tolerance.
template <bool careful>
FUNCTION bool integrate(const Call &call, Parameters &p, Lane &lane, GaugeTotals &gauges, int64, real goal,
                        bool *stopped)
{
    for (int64 tries = 1; lane.stop_reason == 0 && lane.t != goal; ++tries) {
        if (*call.stop) {
            *stopped = true;
            return true;
        }
        const real remaining = goal - lane.t, distance = OF(fabs)(remaining), size = OF(fabs)(lane.h),
                   begin_time = lane.t;
        const bool arrives = distance <= OF(fmin)(size * MAX_STEP_EXTENSION, call.options[LONGEST] * STEP_ROUNDING);
        const bool cut = arrives ? distance < size : distance < 2 * size;
        const real reached = arrives ? goal
                                     : begin_time + (cut ? remaining * (real)0.5 : OF(copysign)(size, remaining));
        const real length = reached - begin_time;  // as rounded: large times are coarse
        real end[ENTRIES];
        bool in_range = step<careful>(p, lane.slopes, begin_time, length, lane.y, end);
        const real err = error_of(call, lane.slopes, length, lane.y, end);
        const bool accept = err <= 1;
        const real following = next_step(call, lane, err, length, cut, accept);
        if (accept) {
            real time = reached;
            normalise(end, SAME_AS_LAST ? lane.slopes.k[STAGES - 1] : 0);
#if EVENTS
            in_range = detect_events<careful>(p, lane, begin_time, length, end, &time) && in_range;
#endif
#if IN_STEPS
            in_range = update_step_gauges<careful>(p, lane, begin_time, time, end, gauges) && in_range;
#endif
            EACH(e, ENTRIES) {
                lane.y[e] = end[e];
                if (SAME_AS_LAST)
                    lane.slopes.k[0][e] = lane.slopes.k[STAGES - 1][e];
            }
            lane.t = time;
            lane.accepted += 1;
            if (!cut)
                lane.previous_error = OF(fmax)(err, MIN_PREVIOUS_RATIO);
        } else
            lane.rejected += 1;
        lane.slopes.from = accept ? SAME_AS_LAST : 1;
        lane.rejected_last = accept ? (real)0 : (real)1;
        lane.h = OF(copysign)(following, remaining);
        // a state before values that are not finite must still move
        const real smallest = (err != err ? 256 : 16) * ROUNDING;
        if (!accept && following < OF(fmax)(OF(fabs)(begin_time), OF(fabs)(goal)) * smallest)
            lane.stop_reason = err != err ? NOT_FINITE : STEP_TOO_SMALL;
        if (tries >= call.limit && lane.t != goal && lane.stop_reason == 0)
            lane.stop_reason = TOO_MANY_STEPS;
        if (!in_range)
            return false;
    }
    return true;
}

#else

// Integrate to the time of the next record, in `substeps` equal steps.
template <bool careful>
FUNCTION bool integrate(const Call &call, Parameters &p, Lane &lane, GaugeTotals &gauges, int64 r, real goal,
                        bool *stopped)
{
    const int number = (int)call.substeps[r];
    const real start = lane.t, h = (goal - start) / (real)number;
    LOOP(k, number) {
        const real begin_time = start + h * (real)k;
        if (k % 16 == 0 && *call.stop) {
            lane.t = begin_time;
            *stopped = true;
            return true;
        }
        real end[ENTRIES];
        bool in_range = step<careful>(p, lane.slopes, begin_time, h, lane.y, end);
        normalise(end, 0);
#if EVENTS || IN_STEPS
        real time = start + h * (real)(k + 1);
#endif
#if EVENTS
        in_range = detect_events<careful>(p, lane, begin_time, h, end, &time) && in_range;
#endif
#if IN_STEPS
        in_range = update_step_gauges<careful>(p, lane, begin_time, time, end, gauges) && in_range;
#endif
        EACH(e, ENTRIES)
            lane.y[e] = end[e];
#if EVENTS
        if (lane.stop_reason != 0) {
            lane.t = time;
            return in_range;
        }
#endif
        if (!in_range)
            return false;
    }
    lane.t = goal;
    return true;
}

#endif

// Integrate a rollout from record to record. False if it must be computed again with careful sines; it is unchanged
// then.
template <bool careful> FUNCTION bool motion(const Call &call, int64 i)
{
    Lane lane;
    EACH(e, ENTRIES)
        lane.y[e] = call.y[e * call.stride + i];
    lane.t = call.t[i];
    lane.stop_reason = call.stop_reason[i];
    lane.event = call.event[i];
    if (lane.stop_reason != 0) {
        for (int64 r = 0; r < call.count; ++r)
            record(call, i, r, lane.y);
        return true;
    }
    Parameters p = {call, i READ_PER_ROLLOUT};
    const real start_offset = call.start_offset[i];
    bool in_range = true, stopped = false;
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
    in_range = evaluate_events<careful>(p, lane.t, lane.y, lane.before) && in_range;
#endif
    GaugeTotals gauges;
#if GAUGES
#if SHARED_GAUGES
    __shared__ real shared_totals[(GAUGES + INTEGRALS) * BLOCK];
    gauges.at = shared_totals + threadIdx.x;
#endif
#if AT_RECORDS
    real begin[AT_RECORDS];
    in_range = evaluate_gauges<careful>(p, lane, begin) && in_range;
#else
    const real begin[1] = {0};
#endif
    gauges.last_time = lane.t;
    EACH(g, GAUGES) {
        const real total = call.totals[g * call.stride + i];
        gauges.total(g) = g < LARGEST ? OF(fmax)(total, begin[g]) : total;
        if (g >= LARGEST && g < LARGEST + INTEGRALS)
            gauges.before(g) = begin[g];
    }
#endif
#pragma unroll 1
    for (int64 r = 0; r < call.count && in_range; ++r) {
        if (lane.stop_reason == 0)
            in_range = integrate<careful>(call, p, lane, gauges, r, call.times[r] + start_offset, &stopped);
        if (stopped)
            break;
#if AT_RECORDS
        in_range = update_gauges<careful>(p, lane, gauges) && in_range;
#endif
        record(call, i, r, lane.y);
    }
    if (!in_range)
        return false;
    EACH(e, ENTRIES)
        call.y[e * call.stride + i] = lane.y[e];
    call.t[i] = lane.t;
#if GAUGES
    EACH(g, GAUGES)
        call.totals[g * call.stride + i] = gauges.total(g);
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
    const int64 i = blockIdx.x * (int64)BLOCK + threadIdx.x;
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
    for (int64 i = 0; i < call.rollouts; ++i)
        if (!motion<false>(call, i))
            motion<true>(call, i);
}
#endif
