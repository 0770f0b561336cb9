"""Runs one after the other as one run: its fields and its audit.

Between two phases there are two records, a rounding apart: the last one of a phase and the first one of the next. Their
positions and velocities are equal, their torques and energies are not. A payload that is taken up or put down changes
the energy without work, so each phase has its own energy balance, and the defects add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armwright.algebra import Array
from armwright.simulation.audit import Audit, MomentumBalance
from armwright.simulation.doubts import Doubt, divergence_doubts
from armwright.simulation.stop_hits import StopHits

if TYPE_CHECKING:
    from armwright.simulation.run import Run

INSTANT_FIELDS = ("t", "q", "qd", "qdd", "tau", "drag", "kinetic", "potential")
ACCUMULATED_FIELDS = ("work", "losses", "impulse")
OPTIONAL_COLUMNS = ("memory", "reference", "neighbour")
"""Fields that only some phases may have."""


def shifted(run: Run, by: float) -> Run:
    """Return the run `by` seconds later; its first record is a rounding after the last one of the run before."""
    t = run.t + by
    t[0] = np.nextafter(t[0], np.inf)
    events = tuple(replace(event, t=event.t + by) for event in run.events)
    noticed = tuple(replace(doubt, t=doubt.t + by) for doubt in run.noticed)
    return replace(run, t=t, events=events, noticed=noticed, stops=None if run.stops is None else run.stops.shifted(by))


def joined_fields(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the fields of the joined run by name; times are those of the joined run."""
    arrays: dict[str, Any] = {name: np.concatenate([getattr(run, name) for run in runs]) for name in INSTANT_FIELDS}
    arrays |= {name: _summed([getattr(run, name) for run in runs]) for name in ACCUMULATED_FIELDS}
    first, last = runs[0], runs[-1]
    spent = {f.name: sum(getattr(run.statistics, f.name) for run in runs) for f in fields(first.statistics)}
    return {
        **arrays,
        "robot": first.robot,
        "statistics": replace(first.statistics, **spent),
        "settings": {key: value for key, value in first.settings.items() if key != "phase"},
        "stop_torque": _stop_torques(runs),
        "stops": StopHits.joined([run.stops for run in runs]),
        "memory": _padded_rows([run.memory for run in runs]),
        "events": tuple(event for run in runs for event in run.events),
        "ended_by": last.ended_by,
        "noticed": tuple(doubt for run in runs for doubt in run.noticed),
        "reference": _references(runs),
        "exact": all(run.exact for run in runs if run.reference is not None),
        "message": last.message,
        "neighbour_distances": _concatenated([run.neighbour_distances for run in runs]),
        "phases": tuple(runs),
    }


def phase_columns(columns: Mapping[str, Array]) -> dict[str, Array]:
    """Return the columns of a phase from its rows of a joined run: accumulated from its start, without those of nan."""
    own = {name: x - x[0] if name.rstrip("0123456789") in ACCUMULATED_FIELDS else x for name, x in columns.items()}
    return {name: x for name, x in own.items() if not (name.startswith(OPTIONAL_COLUMNS) and np.isnan(x).all())}


def _summed(parts: Sequence[Array]) -> Array:
    """Return accumulated values of all phases, from the start of the first one."""
    sums = [parts[0]]
    for part in parts[1:]:
        sums.append(part + sums[-1][-1] if len(part) else part)
    return np.concatenate(sums)


def _padded_rows(parts: Sequence[Array]) -> Array:
    """Return the rows of all parts, padded with nan to the widest."""
    wide = max(part.shape[1] for part in parts)
    return np.concatenate([np.pad(part, ((0, 0), (0, wide - part.shape[1])), constant_values=np.nan) for part in parts])


def _stop_torques(runs: Sequence[Run]) -> Array:
    """Return the torques of stops, zero in phases without stops."""
    if not any(run.stop_torque.size for run in runs):
        return runs[0].stop_torque
    return np.concatenate([run.stop_torque if run.stop_torque.size else np.zeros(run.tau.shape) for run in runs])


def _concatenated(parts: Sequence[Array | None]) -> Array | None:
    """Return all parts as one array; None if one of them is None."""
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def _references(runs: Sequence[Run]) -> tuple[Array, ...] | None:
    """Return the reference motions, nan in phases without one."""
    if all(run.reference is None for run in runs):
        return None
    references = [run.reference or (np.full(run.qd.shape, np.nan),) * 3 for run in runs]
    return tuple(np.concatenate(part) for part in zip(*references, strict=True))


def joined_audit(runs: Sequence[Run]) -> Audit:
    """Return the joint audit of all phases, with the doubts about each."""
    audits = [run.audit for run in runs]
    neighbour = _compounded([audit.neighbour for audit in audits])
    t = np.concatenate([run.t for run in runs])
    errors = [audit.target_error for audit in audits]
    padded_errors = [np.zeros(len(run.t)) if x is None else x for run, x in zip(runs, errors, strict=True)]
    return Audit(
        scale=max(audit.scale for audit in audits),
        energy_defect=_summed([audit.energy_defect for audit in audits]),
        power_defect=np.concatenate([audit.power_defect for audit in audits]),
        power_scale=max(audit.power_scale for audit in audits),
        condition_times=np.concatenate([audit.condition_times for audit in audits]),
        condition=np.concatenate([audit.condition for audit in audits]),
        neighbour=neighbour,
        target_error=None if all(x is None for x in errors) else np.concatenate(padded_errors),
        followed=all(audit.followed for audit in audits if audit.target_error is not None),
        integrated=any(audit.integrated for audit in audits),
        momentum=_momentum([audit.momentum for audit in audits]),
        doubts=tuple(sorted(_doubts(audits, t, neighbour), key=lambda doubt: doubt.t)),
        loop_errors=_concatenated([audit.loop_errors for audit in audits]),
        stops=StopHits.joined([audit.stops for audit in audits]),
    )


def _doubts(audits: Sequence[Audit], t: Array, neighbour: Array | None) -> Iterator[Doubt]:
    yield from (doubt for audit in audits for doubt in audit.doubts)
    if neighbour is not None and not any(audit.doubts for audit in audits):
        yield from divergence_doubts(t, neighbour)


def _compounded(parts: Sequence[Array | None]) -> Array | None:
    """Return the distance of a neighbour of the first phase, which grows in each phase as a neighbour of that phase."""
    growth, distances = 1.0, []
    for part in parts:
        if part is None:
            return None
        distances.append(part * growth)
        growth *= max(1.0, float(part[-1] / part[0])) if part[0] > 0 else 1.0
    return np.concatenate(distances)


def _momentum(parts: Sequence[MomentumBalance | None]) -> MomentumBalance | None:
    known = [part for part in parts if part is not None]
    if not known:
        return None
    defects = [_summed([getattr(part, name) for part in known]) for name in ("linear_defect", "angular_defect")]
    scales = [max(getattr(part, name) for part in known) for name in ("linear_scale", "angular_scale")]
    return MomentumBalance(defects[0], defects[1], scales[0], scales[1])
