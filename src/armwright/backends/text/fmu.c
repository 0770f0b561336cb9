/* The functions of FMI 3.0 for model exchange, around the variables and equations of one robot in model.h.

   All variables are numbers in one array, in the order of their value references: time, parameters, inputs, states,
   their derivatives, outputs. A set marks the rest as stale, and a get computes it again if it is stale. */
#include "fmi3Functions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

typedef struct {
    double v[VARIABLES];
    int stale;
    fmi3InstanceEnvironment environment;
    fmi3LogMessageCallback log;
} Instance;

static fmi3Status report(const Instance *in, fmi3Status status, const char *text)
{
    if (in->log) in->log(in->environment, status, "logStatusError", text);
    return status;
}

static void refresh(Instance *in)
{
    if (in->stale) compute(in->v);
    in->stale = 0;
}

static void initialise(Instance *in)
{
    size_t i;
    for (i = 0; i < VARIABLES; ++i) in->v[i] = 0;
    for (i = 0; i < sizeof START / sizeof START[0]; ++i) in->v[1 + i] = START[i];
    in->stale = 1;
}

const char *fmi3GetVersion(void) { return fmi3Version; }

fmi3Status fmi3SetDebugLogging(fmi3Instance i, fmi3Boolean on, size_t n, const fmi3String categories[])
{
    (void)i, (void)on, (void)n, (void)categories;
    return fmi3OK;
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String path, fmi3Boolean visible,
                                          fmi3Boolean logging, fmi3InstanceEnvironment environment,
                                          fmi3LogMessageCallback log)
{
    Instance *in;
    (void)name, (void)path, (void)visible, (void)logging;
    if (!token || strcmp(token, TOKEN)) {
        if (log) log(environment, fmi3Error, "logStatusError", "the instantiation token is not that of this robot");
        return NULL;
    }
    in = malloc(sizeof *in);
    if (!in) return NULL;
    in->environment = environment;
    in->log = log;
    initialise(in);
    return in;
}

void fmi3FreeInstance(fmi3Instance i) { free(i); }

fmi3Status fmi3Reset(fmi3Instance i)
{
    initialise(i);
    return fmi3OK;
}

fmi3Status fmi3EnterInitializationMode(fmi3Instance i, fmi3Boolean given, fmi3Float64 tolerance, fmi3Float64 start,
                                       fmi3Boolean ends, fmi3Float64 stop)
{
    (void)given, (void)tolerance, (void)ends, (void)stop;
    ((Instance *)i)->v[0] = start;
    return fmi3OK;
}

static fmi3Status no_operation(fmi3Instance i)
{
    (void)i;
    return fmi3OK;
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance i) { return no_operation(i); }
fmi3Status fmi3EnterEventMode(fmi3Instance i) { return no_operation(i); }
fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance i) { return no_operation(i); }
fmi3Status fmi3EnterConfigurationMode(fmi3Instance i) { return no_operation(i); }
fmi3Status fmi3ExitConfigurationMode(fmi3Instance i) { return no_operation(i); }
fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance i) { return no_operation(i); }
fmi3Status fmi3Terminate(fmi3Instance i) { return no_operation(i); }

fmi3Status fmi3GetFloat64(fmi3Instance i, const fmi3ValueReference r[], size_t n, fmi3Float64 values[], size_t m)
{
    Instance *in = i;
    size_t k;
    if (m != n) return report(in, fmi3Error, "every variable is one number");
    refresh(in);
    for (k = 0; k < n; ++k) {
        if (r[k] >= VARIABLES) return report(in, fmi3Error, "no variable has this value reference");
        values[k] = in->v[r[k]];
    }
    return fmi3OK;
}

fmi3Status fmi3SetFloat64(fmi3Instance i, const fmi3ValueReference r[], size_t n, const fmi3Float64 values[], size_t m)
{
    Instance *in = i;
    size_t k;
    if (m != n) return report(in, fmi3Error, "every variable is one number");
    for (k = 0; k < n; ++k) {
        if (r[k] < 1 || r[k] >= SETTABLE) return report(in, fmi3Error, "only parameters, inputs and states can be set");
        in->v[r[k]] = values[k];
    }
    in->stale = 1;
    return fmi3OK;
}

/* Model exchange */

fmi3Status fmi3SetTime(fmi3Instance i, fmi3Float64 time)
{
    ((Instance *)i)->v[0] = time;
    return fmi3OK;
}

fmi3Status fmi3SetContinuousStates(fmi3Instance i, const fmi3Float64 states[], size_t n)
{
    Instance *in = i;
    if (n != STATES) return report(in, fmi3Error, "the number of states is wrong");
    memcpy(in->v + FIRST_STATE, states, n * sizeof *states);
    in->stale = 1;
    return fmi3OK;
}

fmi3Status fmi3GetContinuousStates(fmi3Instance i, fmi3Float64 states[], size_t n)
{
    Instance *in = i;
    if (n != STATES) return report(in, fmi3Error, "the number of states is wrong");
    memcpy(states, in->v + FIRST_STATE, n * sizeof *states);
    return fmi3OK;
}

fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance i, fmi3Float64 derivatives[], size_t n)
{
    Instance *in = i;
    size_t k;
    if (n != STATES) return report(in, fmi3Error, "the number of states is wrong");
    refresh(in);
    memcpy(derivatives, in->v + FIRST_STATE + STATES, n * sizeof *derivatives);
    for (k = 0; k < n; ++k)
        if (!isfinite(derivatives[k])) return report(in, fmi3Discard, "the accelerations are not finite");
    return fmi3OK;
}

fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance i, fmi3Float64 nominals[], size_t n)
{
    size_t k;
    if (n != STATES) return report(i, fmi3Error, "the number of states is wrong");
    for (k = 0; k < n; ++k) nominals[k] = 1;
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance i, size_t *n)
{
    *n = STATES;
    return no_operation(i);
}

fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance i, size_t *n)
{
    *n = 0;
    return no_operation(i);
}

fmi3Status fmi3GetEventIndicators(fmi3Instance i, fmi3Float64 indicators[], size_t n)
{
    (void)indicators;
    return n ? report(i, fmi3Error, "there are no event indicators") : fmi3OK;
}

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance i, fmi3Boolean final, fmi3Boolean *event, fmi3Boolean *terminate)
{
    (void)final;
    *event = *terminate = fmi3False;
    return no_operation(i);
}

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance i, fmi3Boolean *again, fmi3Boolean *terminate, fmi3Boolean *nominals,
                                    fmi3Boolean *states, fmi3Boolean *next, fmi3Float64 *time)
{
    *again = *terminate = *nominals = *states = *next = fmi3False;
    *time = 0;
    return no_operation(i);
}

/* The state of an instance is a copy of it. */

fmi3Status fmi3GetFMUState(fmi3Instance i, fmi3FMUState *state)
{
    if (!*state) *state = malloc(sizeof(Instance));
    if (!*state) return report(i, fmi3Error, "out of memory for a copy of the state");
    memcpy(*state, i, sizeof(Instance));
    return fmi3OK;
}

fmi3Status fmi3SetFMUState(fmi3Instance i, fmi3FMUState state)
{
    Instance *in = i;
    const Instance *saved = state;
    memcpy(in->v, saved->v, sizeof in->v);
    in->stale = saved->stale;
    return fmi3OK;
}

fmi3Status fmi3FreeFMUState(fmi3Instance i, fmi3FMUState *state)
{
    free(*state);
    *state = NULL;
    return no_operation(i);
}

/* Features that this model does not have */

#define NONE(i) return report(i, fmi3Error, "this model has nothing of that kind")
#define OF_TYPE(T)                                                                                                     \
    fmi3Status fmi3Get##T(fmi3Instance i, const fmi3ValueReference r[], size_t n, fmi3##T values[], size_t m)          \
    {                                                                                                                  \
        (void)r, (void)values, (void)m;                                                                                \
        if (!n) return fmi3OK;                                                                                         \
        NONE(i);                                                                                                       \
    }                                                                                                                  \
    fmi3Status fmi3Set##T(fmi3Instance i, const fmi3ValueReference r[], size_t n, const fmi3##T values[], size_t m)    \
    {                                                                                                                  \
        (void)r, (void)values, (void)m;                                                                                \
        if (!n) return fmi3OK;                                                                                         \
        NONE(i);                                                                                                       \
    }
OF_TYPE(Float32)
OF_TYPE(Int8)
OF_TYPE(UInt8)
OF_TYPE(Int16)
OF_TYPE(UInt16)
OF_TYPE(Int32)
OF_TYPE(UInt32)
OF_TYPE(Int64)
OF_TYPE(UInt64)
OF_TYPE(Boolean)
OF_TYPE(String)

#define REFERENCES fmi3Instance i, const fmi3ValueReference r[], size_t n
fmi3Status fmi3GetBinary(REFERENCES, size_t sizes[], fmi3Binary v[], size_t m)
{ (void)r, (void)n, (void)sizes, (void)v, (void)m; NONE(i); }
fmi3Status fmi3SetBinary(REFERENCES, const size_t sizes[], const fmi3Binary v[], size_t m)
{ (void)r, (void)n, (void)sizes, (void)v, (void)m; NONE(i); }
fmi3Status fmi3GetClock(REFERENCES, fmi3Clock v[]) { (void)r, (void)n, (void)v; NONE(i); }
fmi3Status fmi3SetClock(REFERENCES, const fmi3Clock v[]) { (void)r, (void)n, (void)v; NONE(i); }
fmi3Status fmi3GetIntervalDecimal(REFERENCES, fmi3Float64 v[], fmi3IntervalQualifier q[])
{ (void)r, (void)n, (void)v, (void)q; NONE(i); }
fmi3Status fmi3GetIntervalFraction(REFERENCES, fmi3UInt64 c[], fmi3UInt64 d[], fmi3IntervalQualifier q[])
{ (void)r, (void)n, (void)c, (void)d, (void)q; NONE(i); }
fmi3Status fmi3GetShiftDecimal(REFERENCES, fmi3Float64 v[]) { (void)r, (void)n, (void)v; NONE(i); }
fmi3Status fmi3GetShiftFraction(REFERENCES, fmi3UInt64 c[], fmi3UInt64 d[]) { (void)r, (void)n, (void)c, (void)d; NONE(i); }
fmi3Status fmi3SetIntervalDecimal(REFERENCES, const fmi3Float64 v[]) { (void)r, (void)n, (void)v; NONE(i); }
fmi3Status fmi3SetIntervalFraction(REFERENCES, const fmi3UInt64 c[], const fmi3UInt64 d[])
{ (void)r, (void)n, (void)c, (void)d; NONE(i); }
fmi3Status fmi3SetShiftDecimal(REFERENCES, const fmi3Float64 v[]) { (void)r, (void)n, (void)v; NONE(i); }
fmi3Status fmi3SetShiftFraction(REFERENCES, const fmi3UInt64 c[], const fmi3UInt64 d[])
{ (void)r, (void)n, (void)c, (void)d; NONE(i); }
fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance i, fmi3ValueReference r, size_t *n) { (void)r, (void)n; NONE(i); }
fmi3Status fmi3GetVariableDependencies(fmi3Instance i, fmi3ValueReference r, size_t a[], fmi3ValueReference o[], size_t b[],
                                       fmi3DependencyKind kinds[], size_t n)
{ (void)r, (void)a, (void)o, (void)b, (void)kinds, (void)n; NONE(i); }
fmi3Status fmi3SerializedFMUStateSize(fmi3Instance i, fmi3FMUState s, size_t *size) { (void)s, (void)size; NONE(i); }
fmi3Status fmi3SerializeFMUState(fmi3Instance i, fmi3FMUState s, fmi3Byte b[], size_t n) { (void)s, (void)b, (void)n; NONE(i); }
fmi3Status fmi3DeserializeFMUState(fmi3Instance i, const fmi3Byte b[], size_t n, fmi3FMUState *s)
{ (void)s, (void)b, (void)n; NONE(i); }
#define DERIVATIVE REFERENCES, const fmi3ValueReference k[], size_t nk, const fmi3Float64 seed[], size_t ns, fmi3Float64 out[], size_t no
fmi3Status fmi3GetDirectionalDerivative(DERIVATIVE)
{ (void)r, (void)n, (void)k, (void)nk, (void)seed, (void)ns, (void)out, (void)no; NONE(i); }
fmi3Status fmi3GetAdjointDerivative(DERIVATIVE)
{ (void)r, (void)n, (void)k, (void)nk, (void)seed, (void)ns, (void)out, (void)no; NONE(i); }
fmi3Status fmi3EnterStepMode(fmi3Instance i) { NONE(i); }
fmi3Status fmi3GetOutputDerivatives(REFERENCES, const fmi3Int32 orders[], fmi3Float64 v[], size_t m)
{ (void)r, (void)n, (void)orders, (void)v, (void)m; NONE(i); }
fmi3Status fmi3DoStep(fmi3Instance i, fmi3Float64 t, fmi3Float64 h, fmi3Boolean final, fmi3Boolean *event, fmi3Boolean *end,
                      fmi3Boolean *early, fmi3Float64 *last)
{ (void)t, (void)h, (void)final, (void)event, (void)end, (void)early, (void)last; NONE(i); }
fmi3Status fmi3ActivateModelPartition(fmi3Instance i, fmi3ValueReference r, fmi3Float64 t) { (void)r, (void)t; NONE(i); }
fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String path, fmi3Boolean visible,
                                         fmi3Boolean logging, fmi3Boolean events, fmi3Boolean early,
                                         const fmi3ValueReference required[], size_t n, fmi3InstanceEnvironment environment,
                                         fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update)
{
    (void)name, (void)token, (void)path, (void)visible, (void)logging, (void)events, (void)early, (void)required, (void)n;
    (void)environment, (void)log, (void)update;
    return NULL;
}
fmi3Instance fmi3InstantiateScheduledExecution(fmi3String name, fmi3String token, fmi3String path, fmi3Boolean visible,
                                               fmi3Boolean logging, fmi3InstanceEnvironment environment,
                                               fmi3LogMessageCallback log, fmi3ClockUpdateCallback clock,
                                               fmi3LockPreemptionCallback lock, fmi3UnlockPreemptionCallback unlock)
{
    (void)name, (void)token, (void)path, (void)visible, (void)logging, (void)environment, (void)log, (void)clock;
    (void)lock, (void)unlock;
    return NULL;
}
