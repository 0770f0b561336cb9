"""The setup of a study: its robot, scenario, design and measures, checked and ready to be simulated."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.files import contents
from armwright.lazy import cached_property
from armwright.robot import Robot
from armwright.scenario import Scenario
from armwright.simulation import simulate_batch
from armwright.simulation.motion_record import HOST_TARGET
from armwright.sweep.actuator_choices import ActuatorChoices
from armwright.sweep.design import Design
from armwright.sweep.rollout_inputs import initial_states, law_of_rows, varied_parameters
from armwright.sweep.study import Study, digest_of
from armwright.sweep.study_functions import StudyFunction
from armwright.sweep.study_measures import STUDY_MEASURES, MeasuredRollouts, measure_sources

CHUNK_RECORD_BYTES = 32 << 20
"""Bytes of records in a chunk of the default size."""

MIN_CHUNK_ROWS, MAX_CHUNK_ROWS = 64, 4096
GPU_CHUNK_FACTOR = 32
"""The factor by which a default chunk has more rollouts on a GPU, where they run in parallel."""

ROWS_PER_BLOCK = 1 << 16
"""Rows of a design that are drawn at once."""

MAX_MOTION_FILE_BYTES = 1 << 30


@dataclass(frozen=True, eq=False)
class StudySetup:
    """A study whose tables have been read and checked against each other."""

    study: Study
    scenario: Scenario
    design: Design
    measures: tuple[str, ...]
    functions: tuple[StudyFunction, ...]
    histories: tuple[str, ...]
    histories_every: int
    windings: tuple[float, ...]
    window: float
    options: Mapping[str, Any]
    """Further options of `simulate_batch`."""
    function_columns: tuple[tuple[str, ...], ...] = ()
    """The names of the numbers that each function gives."""
    actuators: ActuatorChoices | None = None

    @property
    def robot(self) -> Robot:
        """The robot with payload, gravity and the first actuator of each joint."""
        return self.scenario.robot

    @property
    def needs_records(self) -> bool:
        """True if histories, functions or measures need the records of every rollout."""
        measured = any(STUDY_MEASURES[name].needs_records for name in self.measures)
        return measured or bool(self.functions or self.histories)

    @property
    def compiled_measures(self) -> tuple[str, ...]:
        """The measures that `simulate_batch` computes in its compiled loop."""
        return tuple(dict.fromkeys(part for name in self.measures for part in STUDY_MEASURES[name].made_of))

    @cached_property
    def chunk_rows(self) -> int:
        """Rollouts in a chunk: chunk= of the study, or as many as keep the records of a chunk within some 32 MB."""
        if self.study.chunk is not None:
            return self.study.chunk
        records = self.options["duration"] / self.options["every"] if self.needs_records else 1
        rows = CHUNK_RECORD_BYTES / (8 * (records + 1) * (self.robot.nq + 4 * self.robot.n + 4))
        default = int(np.clip(1 << int(np.log2(max(rows, 1.0))), MIN_CHUNK_ROWS, MAX_CHUNK_ROWS))
        return default * GPU_CHUNK_FACTOR if self.study.target == "cuda" else default

    @property
    def chunks(self) -> int:
        """The number of chunks."""
        return -(-self.design.rows // self.chunk_rows)

    def rows_of(self, chunk: int) -> tuple[int, int]:
        """Return the first row of a chunk and the number of its rows."""
        first = chunk * self.chunk_rows
        return first, min(self.chunk_rows, self.design.rows - first)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Plain data on which all results depend; a folder of results only takes chunks of the same identity."""
        of_robot = ("name", "payload", "gravity", "actuators")
        data = {key: value for key, value in self.study.plain_data.items() if key not in of_robot}
        data["robot"] = self.robot.to_toml()
        if self.study.target == HOST_TARGET:  # the default
            del data["target"]
        if self.actuators and self.actuators.varied_names:
            data["actuators"] = self.actuators.plain_data
        motion = self.study.trajectory or {}
        if "file" in motion:
            text = contents(self.study.folder / motion["file"], MAX_MOTION_FILE_BYTES)
            data["motion"] = hashlib.sha256(text).hexdigest()
        if sources := measure_sources(self.measures):
            data["registered_measures"] = sources
        return {
            "armwright": version("armwright"),
            **data,
            "chunk": self.chunk_rows,
            "functions": {function.name: function.source for function in self.functions},
            "numbers": self._numbers_digest,
        }

    @cached_property
    def digest(self) -> str:
        """The hash of the identity."""
        return digest_of(self.identity)

    @cached_property
    def _numbers_digest(self) -> str:
        """The hash of all numbers drawn; it differs if another version of a library draws others."""
        digest = hashlib.sha256()
        for _, drawn in self.blocks():
            for x in drawn.values():
                digest.update(np.ascontiguousarray(x, dtype="<f8").tobytes())
        return digest.hexdigest()

    def blocks(self) -> Iterator[tuple[int, dict[str, Array]]]:
        """Yield all rows in blocks: the first row of each, and its numbers by name."""
        for first in range(0, self.design.rows, ROWS_PER_BLOCK):
            yield first, self.design.draw(first, min(ROWS_PER_BLOCK, self.design.rows - first))

    def simulate(
        self, values: Mapping[str, Array], rows: Array, threads: int = 1, records: bool = False
    ) -> MeasuredRollouts:
        """Simulate some rows with these numbers, all of one duration; `records` keeps records in any case."""
        options = dict(self.options)
        if self.compiled_measures:
            options |= {"measure": self.compiled_measures, "keep": self.needs_records or records}
        elif records:
            options.setdefault("every", self.scenario.options.get("every", options["duration"] / 100))
        start = values.get("start", np.full(1, float(self.study.start)))
        law = law_of_rows(self.study, self.scenario, values)
        vary = varied_parameters(self.robot, self.actuators, values)
        options |= {"vary": vary, "start": start, "threads": threads, "progress": False}
        options |= {"target": self.study.target or HOST_TARGET, "rollouts": rows}
        if "duration" in values:
            options["duration"] = float(values["duration"][0])
        options |= initial_states(self.study, self.robot, values, law, np.broadcast_to(start, len(rows)))
        if "every" in options:
            options["every"] = min(options["every"], options["duration"])
        run = simulate_batch(self.robot, law, **options)
        return MeasuredRollouts(run, vary, self.windings, self.window)
