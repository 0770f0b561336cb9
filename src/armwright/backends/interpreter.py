"""The interpreter as a backend: the definition of all backends, at the speed of NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from armwright.algebra import Array
from armwright.backends.interface import CHAIN_JOINTS, Backend, BasicKernel, ChainLoop, ChainTables
from armwright.backends.rollout_interface import (
    ENDED_BY_EVENT,
    EVENT_NOT_FINITE,
    NOT_FINITE,
    STEP_OPTIONS,
    STEP_TOO_SMALL,
    TOO_MANY_STEPS,
    EventProgram,
    Gauge,
    HostRollout,
)
from armwright.graph.interpret import interpret
from armwright.graph.printing import listing
from armwright.graph.program import Equations, FinalState, FinalStateJacobian, Integration, Program
from armwright.integrate import events
from armwright.integrate.control import Gains, StepRule, mean_square
from armwright.integrate.march import no_projection
from armwright.integrate.runge_kutta import Adaptive, IncrementStepper, RungeKuttaStepper
from armwright.integrate.scalars import state
from armwright.integrate.solution import IntegrationError
from armwright.integrate.tableaus import Steps
from armwright.layout import Layout


def interpreted_outputs(program: Program, arrays: Sequence[Array]) -> list[Any]:
    """Return the outputs of a program, arrays of one number per state, from arrays (states, entries)."""
    values = {
        str(symbol.key): array[:, k]
        for (_, symbols), array in zip(program.arguments, arrays, strict=True)
        for k, symbol in enumerate(symbols)
    }
    with np.errstate(all="ignore"):  # the result shows what is not finite
        return interpret(program.outputs, values, arrays[0].dtype.type)


class InterpretedKernel(BasicKernel):
    """One program, computed node by node."""

    def __init__(self, program: Program, dtype: str) -> None:
        self.shape, self.dtype, self._program = program.shape, np.dtype(dtype), program

    @property
    def source(self) -> str:
        return listing(self._program.outputs)

    def run(self, arrays: Sequence[Array], out: Array, threads: int = 1) -> bool:
        if self._program.integration is not None:
            out[...] = integrated(self._program, self._program.integration, arrays)
            return bool(np.isfinite(out).all())
        values, equations = interpreted_outputs(self._program, arrays), self._program.equations
        if equations is not None:
            with np.errstate(all="ignore"):
                values = list(solve_equations(equations, _stacked(values, out).T))
        for k, value in enumerate(values):
            out[:, k] = value
        return bool(np.isfinite(out).all() and all(np.isfinite(array).all() for array in arrays))


Stages: TypeAlias = Callable[[Array], tuple[list[Array], Array]]
"""A function of a state that returns the states of all stages, and the end of the step before normalisation."""


def integrated(program: Program, integration: Integration, arrays: Sequence[Array]) -> Array:
    """Return the results (states, entries) of a program with an integration."""
    *inputs, plan = arrays
    nq, h, count = program.sizes[0], plan[:, :1], int(plan[0, 1])
    constants = [arrays[k] for k in integration.constants(program)]
    rates = integration.rates_of(program)

    def stages(y: Array) -> tuple[list[Array], Array]:
        stage_states, slopes = list[Array](), list[Array]()
        for row in integration.a[: len(integration.b)]:
            x = y + h * sum((a * k for a, k in zip(row, slopes, strict=True)), start=np.zeros_like(y))
            stage_states.append(x)
            slopes.append(_stacked(interpreted_outputs(rates, [x[:, :nq], x[:, nq:], *constants]), y))
        return stage_states, y + h * sum(b * k for b, k in zip(integration.b, slopes, strict=True))

    if isinstance(integration, FinalStateJacobian):
        return _jacobian(program, integration, arrays, stages)
    states = [np.concatenate(inputs[:2], axis=1)]
    for _ in range(count):
        y = stages(states[-1])[1].copy()
        for begin, end in integration.unit_vectors:
            y[:, begin:end] /= np.linalg.norm(y[:, begin:end], axis=1, keepdims=True)
        states.append(y)
    if isinstance(integration, FinalState):
        return states[-1]
    return _gradient(program, integration, arrays, stages, states[:-1])


def _gradient(
    program: Program, integration: Integration, arrays: Sequence[Array], stages: Stages, states: Sequence[Array]
) -> Array:
    """Return the gradient by every argument: backwards from the states at which the steps begin."""
    *_, seed, plan = arrays
    nq, h = program.sizes[0], plan[:, :1]
    constants, inner = [arrays[k] for k in integration.constants(program)], integration.stage_program(program)
    m, total = seed.shape[1], np.zeros((len(seed), program.results), seed.dtype)
    total[:, :m] = seed
    for y in reversed(states):
        stage_states, end_of_step = stages(y)
        for begin, end in integration.unit_vectors:
            x, g = end_of_step[:, begin:end], total[:, begin:end]
            square = np.sum(x * x, axis=1, keepdims=True)
            g[...] = (g - x * (np.sum(x * g, axis=1, keepdims=True) / square)) / np.sqrt(square)
        gradients: dict[int, Array] = {}
        for i in reversed(range(len(integration.b))):
            later = sum((integration.a[j][i] * gradients[j][:, :m] for j in gradients), start=np.zeros_like(y))
            seeds = h * (integration.b[i] * total[:, :m] + later)
            arguments = [stage_states[i][:, :nq], stage_states[i][:, nq:], *constants, seeds]
            gradients[i] = _stacked(interpreted_outputs(inner, arguments), total)
        total = total + sum(gradients.values())
    return total


def _jacobian(program: Program, integration: Integration, arrays: Sequence[Array], stages: Stages) -> Array:
    """Return the derivatives of the final state, carried through all stages."""
    *inputs, plan = arrays
    n, h, y = program.sizes[1], plan[:, :1, None], np.concatenate(inputs[:2], axis=1)
    inner = integration.stage_program(program)
    dq, dv = (np.tile(np.eye(n, 3 * n, part * n, dtype=y.dtype), (len(y), 1, 1)) for part in range(2))
    for _ in range(int(plan[0, 1])):
        stage_states, end = stages(y)
        dq_rates, dv_rates = list[Array](), list[Array]()
        for row, place in zip(integration.a, stage_states, strict=False):
            dqi, dvi = (
                x + h * sum((a * rate for a, rate in zip(row, rates, strict=True)), start=np.zeros_like(x))
                for x, rates in ((dq, dq_rates), (dv, dv_rates))
            )
            F = _stacked(interpreted_outputs(inner, [place[:, :n], place[:, n:], *inputs[2:]]), y)
            F = F if program.equations is None else solve_equations(program.equations, F.T).T
            by_q, by_qd, by_tau = np.moveaxis(F.reshape(-1, 3, n, n), 1, 0)
            dq_rates.append(dvi)
            dv_rates.append(by_q @ dqi + by_qd @ dvi + np.concatenate([np.zeros((len(y), n, 2 * n)), by_tau], axis=2))
        dq = dq + h * sum(b * rate for b, rate in zip(integration.b, dq_rates, strict=True))
        dv = dv + h * sum(b * rate for b, rate in zip(integration.b, dv_rates, strict=True))
        y = end
    return np.concatenate([dq, dv], axis=1).reshape(len(y), -1)


def _stacked(values: list[Any], like: Array) -> Array:
    return np.stack([np.broadcast_to(x, len(like)) for x in values], axis=1).astype(like.dtype)


def solve_equations(equations: Equations, outputs: Array) -> Array:
    """Return the results of a program from its outputs (entries, states), by its equations."""
    n, lower = equations.n, equations.lower
    minus = outputs[equations.inverse : equations.inverse + n]
    X = outputs[: equations.inverse].reshape(equations.matrices, n, n, -1).copy()
    for j, row in equations.rows.items():
        for k in row:
            X[:, j] -= outputs[lower[j, k]] * X[:, k]
    for j, rows in equations.below.items():
        X[:, j] *= minus[j]
        for k in rows:
            X[:, j] -= outputs[lower[k, j]] * X[:, k]
    return X.reshape(equations.inverse, -1)


class InterpretedLoop(BasicKernel):
    """Sweeps over the joints of a chain."""

    def __init__(self, loop: ChainLoop, tables: ChainTables, dtype: str) -> None:
        self.shape, self.dtype, self._loop, self._tables = (len(tables.kinds),), np.dtype(dtype), loop, tables

    @property
    def source(self) -> str:
        steps = ((k, kind, sweep.steps[kind]) for k, sweep in enumerate(self._loop.sweeps) for kind in CHAIN_JOINTS)
        return "\n".join(f"sweep {k}, {kind}\n{listing(step.outputs)}" for k, kind, step in steps)

    def run(self, arrays: Sequence[Array], out: Array, threads: int = 1) -> bool:
        loop, tables, states, begin = self._loop, self._tables, len(out), 0
        joints = range(len(tables.kinds))
        inputs = dict(zip(loop.inputs, arrays, strict=True))
        records: list[dict[int, Array]] = []
        for sweep in loop.sweeps:
            carry = np.tile(tables.starts[begin : begin + sweep.carry], (states, 1))
            begin += sweep.carry
            records.append({})
            for i in joints if sweep.outward else reversed(joints):
                arguments = [
                    carry,
                    np.tile(tables.parameters[i], (states, 1)),
                    *(inputs[name][:, i * (m := loop.inputs[name]) : (i + 1) * m] for name in sweep.reads),
                    *(earlier[i] for earlier in records[:-1]),
                ]
                values = interpreted_outputs(sweep.steps[CHAIN_JOINTS[tables.kinds[i]]], arguments)
                step = np.stack(np.broadcast_arrays(*values, carry[:, 0])[:-1], axis=-1).astype(self.dtype)
                carry, records[-1][i] = step[:, : sweep.carry], step[:, sweep.carry :]
        for i in joints:
            out[:, i] = records[-1][i][:, 0]
        return bool(np.isfinite(out).all())


class InterpretedRollout(HostRollout):
    """Rollouts in turn, each by the steps of `integrate.runge_kutta`."""

    width = 1

    def __init__(
        self,
        program: Program,
        steps: Steps,
        layout: Layout,
        watch: EventProgram | None,
        gauge: Gauge | None,
        dtype: str,
    ) -> None:
        self.entries, self.dtype = len(program.outputs), np.dtype(dtype)
        self._program, self._steps, self._layout, self._events, self._gauge = program, steps, layout, watch, gauge

    @property
    def source(self) -> str:
        return listing(self._program.outputs)

    def run(self, fields: Mapping[str, Any], rollouts: int, threads: int = 1) -> None:
        integrate = self._fixed if self._steps.error is None else self._adaptive
        with np.errstate(all="ignore"):  # `stop_reason` and the records show what is not finite
            for i in range(rollouts):
                state = fields["stop_reason"][i]
                if state == ENDED_BY_EVENT:
                    fields["records"][:, :, i] = fields["y"][:, i]
                if not state and not fields["stop"][0]:
                    integrate(self._scheme(fields, i), float(fields["t"][i]), fields["y"][:, i].copy(), fields, i)

    def _of(self, program: Program, fields: Mapping[str, Any], i: int) -> Callable[..., Array]:
        """Return a program as a function of time and state of one rollout."""
        parameters = [fields["p"][None, :, i]] if len(program.sizes) > 2 else []

        def call(*arguments: Any) -> Array:
            *times, y = arguments  # the time, and for some programs the length of the step
            values = interpreted_outputs(program, [np.array([times], self.dtype), y[None], *parameters])
            return np.array([np.reshape(x, -1)[0] for x in values], self.dtype)

        return call

    def _scheme(self, fields: Mapping[str, Any], i: int) -> RungeKuttaStepper:
        """Return the method applied to the derivative of one rollout."""
        _, scalars = state("y", np.zeros(1, self.dtype))
        project = self._layout.unit if self._layout.unit_vectors else no_projection
        stepper = RungeKuttaStepper if self._program.sizes[0] == 1 else IncrementStepper
        return stepper(self._of(self._program, fields, i), self._steps, scalars, self.entries, project)

    def _event_detector(self, fields: Mapping[str, Any], i: int, t: float, y: Array) -> events.EventDetector | None:
        """Return the event detector of one rollout, or None."""
        if self._events is None or fields["event"][i]:
            return None
        values = self._of(self._events.program, fields, i)

        def value(e: int, t: float, y: Array) -> Any:
            return values(t, y)[e]

        listed = [
            events.Event(partial(value, e), direction=direction, name=str(e + 1))
            for e, direction in enumerate(self._events.directions)
        ]
        _, scalars = state("y", np.zeros(1, self.dtype))
        return events.EventDetector(listed, scalars, t, y)

    def _ended_by_event(
        self, watch: events.EventDetector | None, step: events.IntegrationStep, fields: Mapping[str, Any], i: int
    ) -> bool:
        """Return True if an event ends a rollout within a step; store the state of the event."""
        try:
            found, ended_by = watch.detect(step) if watch is not None else ([], [])
        except IntegrationError:
            fields["stop_reason"][i] = EVENT_NOT_FINITE
            return True
        if ended_by:
            fields["stop_reason"][i], fields["event"][i] = ENDED_BY_EVENT, min(map(int, ended_by))
            fields["y"][:, i], fields["t"][i] = found[-1].y, found[-1].t
        return bool(ended_by)

    def _record_measure(self, fields: Mapping[str, Any], i: int, t: float, y: Array) -> Callable[[float, Array], None]:
        """Return a function that measures one rollout at its records, after a measurement at its start."""
        gauge, totals = self._gauge, fields["totals"][:, i]
        if gauge is None or not gauge.at_records:
            return lambda t, y: None
        totals = totals[: gauge.at_records]
        values = self._of(gauge.program, fields, i)
        first, last = gauge.largest, gauge.largest + gauge.integrals
        since, before = t, values(t, y)
        totals[:first] = np.fmax(totals[:first], before[:first])

        def measure(t: float, y: Array) -> None:
            nonlocal since, before
            now = values(t, y)
            totals[:first] = np.fmax(totals[:first], now[:first])
            totals[first:last] += (before[first:last] + now[first:last]) * self.dtype.type((t - since) / 2)
            totals[last:] = now[last:]
            since, before = t, now

        return measure

    def _step_measure(self, fields: Mapping[str, Any], i: int) -> Callable[[float, Array, float, Array], None]:
        """Return a function that measures one rollout in a step from its start to its end."""
        gauge = self._gauge
        if gauge is None or gauge.within is None:
            return lambda *step: None
        program, totals = gauge.within, fields["totals"][gauge.at_records :, i]
        parameters = [fields["p"][None, :, i]] if len(program.sizes) > 4 else []

        def measure(t: float, y: Array, t_end: float, y_end: Array) -> None:
            times = (np.full((1, 1), x, self.dtype) for x in (t, t_end))
            arguments = [next(times), y[None], *parameters, next(times), y_end[None]]
            values = [np.reshape(x, -1)[0] for x in interpreted_outputs(program, arguments)]
            totals[:] = np.fmax(totals, np.array(values, self.dtype))

        return measure

    def _record_times(self, fields: Mapping[str, Any], i: int) -> list[float]:
        times: list[float] = (fields["times"] + fields["start_offset"][i]).tolist()
        return times

    def _fixed(self, scheme: RungeKuttaStepper, t: float, y: Array, fields: Mapping[str, Any], i: int) -> None:
        """Take `substeps` equal steps between records."""
        watch, measure = self._event_detector(fields, i, t, y), self._record_measure(fields, i, t, y)
        measure_step = self._step_measure(fields, i)
        for r, (goal, count) in enumerate(zip(self._record_times(fields, i), fields["substeps"].tolist(), strict=True)):
            h, row = (goal - t) / count, r if fields["rows"] else 0
            for k in range(count):
                now = t + k * h
                if fields["stop"][0]:
                    fields["y"][:, i], fields["t"][i] = y, now
                    return
                first = scheme.slope(now, y, np.empty_like(y))
                slopes = scheme.stages(now, y, h, first)
                end = y * np.nan if slopes is None else scheme.project(y + h * scheme.b.dot(slopes))
                if self._ended_by_event(watch, scheme.step(now, y, first, now + h, end), fields, i):
                    measure_step(now, y, float(fields["t"][i]), fields["y"][:, i])
                    measure(float(fields["t"][i]), fields["y"][:, i])
                    fields["records"][row:, :, i] = fields["y"][:, i]
                    return
                measure_step(now, y, now + h, end)
                y = end
            t, fields["records"][row, :, i] = goal, y
            measure(t, y)
        fields["y"][:, i], fields["t"][i] = y, t

    def _adaptive(self, scheme: RungeKuttaStepper, t: float, y: Array, fields: Mapping[str, Any], i: int) -> None:
        """Take as many steps as the error estimate needs."""
        option = dict(zip(STEP_OPTIONS, fields["options"].tolist(), strict=True))
        norm = mean_square(scheme.scalars, option["rtol"], option["atol"], self._layout.controlled)
        rule = StepRule(Gains(**{name: option[name] for name in STEP_OPTIONS[3:]}), norm, order=1)
        rule.previous_ratio, rule.rejected = float(fields["previous_error"][i]), bool(fields["rejected_last"][i])
        adaptive = Adaptive(scheme, rule, 0, float(fields["h"][i]), option["longest"])
        watch, measure = self._event_detector(fields, i, t, y), self._record_measure(fields, i, t, y)
        measure_step = self._step_measure(fields, i)
        for r, goal in enumerate(self._record_times(fields, i)):
            adaptive.max_steps = scheme.counts.accepted + (scheme.counts.rejected or 0) + fields["limit"]
            try:
                for step in adaptive.steps(t, y, [goal]):
                    t, y = step.t_end, step.y_end
                    ended = self._ended_by_event(watch, step, fields, i)
                    if ended:
                        t, y = float(fields["t"][i]), fields["y"][:, i].copy()
                    if not fields["stop_reason"][i] or ended:
                        measure_step(step.t, step.y, t, y)
                    if ended or fields["stop"][0]:
                        break
            except IntegrationError as error:
                fields["stop_reason"][i] = STOP_REASONS[error.reason]
            if t != goal and not fields["stop_reason"][i]:
                break
            measure(t, y)
            fields["records"][(r if fields["rows"] else 0) :, :, i] = y
            if fields["stop_reason"][i]:
                break
        fields["y"][:, i], fields["t"][i] = y, t
        fields["h"][i] = adaptive.h
        fields["previous_error"][i], fields["rejected_last"][i] = rule.previous_ratio, rule.rejected
        fields["accepted"][i] += scheme.counts.accepted
        fields["rejected"][i] += scheme.counts.rejected or 0


STOP_REASONS = {"not finite": NOT_FINITE, "too small": STEP_TOO_SMALL, "too many": TOO_MANY_STEPS}


BACKEND = Backend(kernel=InterpretedKernel, loop=InterpretedLoop, rollout=InterpretedRollout)
"""The backend that computes programs node by node."""
