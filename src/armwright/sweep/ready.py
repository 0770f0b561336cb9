"""A study made ready to run: its robot, its motion and what varies in them, checked before the first rollout."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np

from armwright.algebra import Array
from armwright.backends.interface import BACKENDS
from armwright.errors import ArmwrightError, InputError, SimulationWarning, nearest, unknown
from armwright.files import contents
from armwright.model.records import Payload
from armwright.model.robot_parameters import parameter_sizes, robot_parameters
from armwright.model.transforms import tensor_entries
from armwright.robot import Robot
from armwright.scenario import Scenario, made
from armwright.simulation import simulate_batch
from armwright.simulation.kernels import TARGET
from armwright.simulation.measures import DEFAULT_WITHIN as WITHIN
from armwright.simulation.plan import reference_states
from armwright.sweep import motions
from armwright.sweep.design import Design, design_of, entries_of
from armwright.sweep.drives import PREFIX, Drives, drives_of
from armwright.sweep.measures import (
    DEFAULT_MEASURES,
    HISTORIES,
    MEASURES,
    WINDOW,
    Function,
    History,
    Seen,
    functions_of,
)
from armwright.sweep.places import NAMES, placed
from armwright.sweep.study import SCENE, Study, digest_of
from armwright.torque import LAWS

AXES = {3: ("x", "y", "z"), 6: ("xx", "yy", "zz", "xy", "xz", "yz")}
"""What the numbers of a parameter are called that has several."""

AT_LEAST_ZERO = (".mass", ".viscous", ".coulomb", ".armature", ".inertia.xx", ".inertia.yy", ".inertia.zz")
ABOVE_ZERO = ("duration",)

BUDGET = 32 << 20
"""Bytes of records of a chunk, if nothing is said."""

SMALLEST, LARGEST_CHUNK = 64, 4096
AT_ONCE = 32
"""Times as many are a chunk on a card, which has room for them side by side."""
BLOCK = 1 << 16
TRIED = 8
"""Rollouts that are tried before all others."""

MOST_DATA = 1 << 30
"""Bytes of a motion in a file."""


@dataclass(frozen=True, eq=False)
class Ready:
    """A study whose parts are known to fit."""

    study: Study
    scenario: Scenario
    design: Design
    measures: tuple[str, ...]
    functions: tuple[Function, ...]
    histories: tuple[str, ...]
    histories_every: int
    windings: tuple[float, ...]
    window: float
    options: Mapping[str, Any]
    """What `simulate_batch` is asked for besides."""
    columns: tuple[tuple[str, ...], ...] = ()
    """What the numbers of each function are called."""
    drives: Drives | None = None
    """The actuators that the study names, or may have."""

    @property
    def robot(self) -> Robot:
        return self.scenario.robot

    @property
    def records(self) -> bool:
        """Whether records must be kept."""
        return bool(self.functions or self.histories) or any(MEASURES[name].records for name in self.measures)

    @property
    def compiled(self) -> tuple[str, ...]:
        """What `simulate_batch` measures on the way."""
        return tuple(dict.fromkeys(part for name in self.measures for part in MEASURES[name].made_of))

    @cached_property
    def chunk(self) -> int:
        """Rollouts of a chunk: as the study says, else such that its records are not too many."""
        if self.study.chunk is not None:
            return self.study.chunk
        row = self.options["duration"] / self.options["every"] if self.records else 1
        fit = BUDGET / (8 * (row + 1) * (self.robot.nq + 4 * self.robot.n + 4))
        most = int(np.clip(1 << int(np.log2(max(fit, 1.0))), SMALLEST, LARGEST_CHUNK))
        return most * AT_ONCE if self.study.target == "cuda" else most

    @property
    def chunks(self) -> int:
        return -(-self.design.rows // self.chunk)

    def rows_of(self, chunk: int) -> tuple[int, int]:
        """The first row of a chunk, and how many there are."""
        first = chunk * self.chunk
        return first, min(self.chunk, self.design.rows - first)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that the numbers in its results depend on, in plain data: what must be the same to go on with them."""
        apart = ("name", "payload", "gravity", "actuators")  # the robot has them
        said = {key: value for key, value in self.study.said.items() if key not in apart}
        said["robot"] = self.robot.to_toml()
        if self.study.target == TARGET:  # as if nothing was said
            del said["target"]
        if self.drives and self.drives.several:
            said["actuators"] = self.drives.said
        motion = self.study.trajectory or {}
        if "file" in motion:
            said["motion"] = hashlib.sha256(contents(self.study.folder / motion["file"], MOST_DATA)).hexdigest()
        return {
            "armwright": version("armwright"),
            **said,
            "chunk": self.chunk,
            "functions": {function.name: function.source for function in self.functions},
            "numbers": self._numbers,
        }

    @cached_property
    def digest(self) -> str:
        return digest_of(self.identity)

    @cached_property
    def _numbers(self) -> str:
        """What tells all that was drawn from anything else, whichever library drew it."""
        found = hashlib.sha256()
        for _, drawn in self.blocks():
            for x in drawn.values():
                found.update(np.ascontiguousarray(x, dtype="<f8").tobytes())
        return found.hexdigest()

    def blocks(self) -> Iterator[tuple[int, dict[str, Array]]]:
        """All rows, some at a time, and the first of each."""
        for first in range(0, self.design.rows, BLOCK):
            yield first, self.design.draw(first, min(BLOCK, self.design.rows - first))

    def run(self, values: Mapping[str, Array], rows: Array, threads: int = 1, whole: bool = False) -> Seen:
        """The rollouts of some rows with these numbers, all of which last as long; `whole` if their records are wanted
        anyway."""
        options = dict(self.options)
        if self.compiled:
            options |= {"measure": self.compiled, "keep": self.records or whole}
        elif whole:
            options.setdefault("every", self.scenario.options.get("every", options["duration"] / 100))
        start = values.get("start", np.full(1, float(self.study.start)))
        law = self._law(values)
        options |= {"vary": self._vary(values), "start": start, "threads": threads, "progress": False}
        options |= {"target": self.study.target or TARGET, "rollouts": rows}
        if "duration" in values:
            options["duration"] = float(values["duration"][0])
        options |= self._begin(values, law, np.broadcast_to(start, len(rows)))
        if "every" in options:
            options["every"] = min(options["every"], options["duration"])
        run = simulate_batch(self.robot, law, **options)
        return Seen(run, options["vary"], self.windings, self.window)

    def _law(self, values: Mapping[str, Array]) -> Any:
        """The law, with its numbers (rollouts, joints) where they vary; one for each rollout where the motion does."""
        if any(name.startswith(motions.PREFIX) for name in values):
            return tuple(self._own(values, i) for i in range(len(next(iter(values.values())))))
        asked = [name for name in values if name.startswith("torque.")]
        if not asked:
            return self.scenario.law
        return _scenario(self.study, self.scenario.robot, self._torque(values)).law

    def _torque(self, values: Mapping[str, Array]) -> dict[str, Any]:
        """The [torque] of the study, with numbers (rollouts, joints) in place of those that vary."""
        asked = [name for name in values if name.startswith("torque.")]
        torque = {key: dict(x) if isinstance(x, Mapping) else x for key, x in (self.study.torque or {}).items()}
        for name in asked:
            table, key, joint = _place(torque, name)
            size = self.robot.nq if key == "target" else self.robot.n
            if joint is None:
                table[key] = np.repeat(values[name][:, None], size, axis=1)
            else:
                before = np.asarray(table.get(key, 0.0), float)
                many = np.array(np.broadcast_to(before, (len(values[name]), size)))
                many[:, joint] = values[name]
                table[key] = many
        return torque

    def _own(self, values: Mapping[str, Array], i: int) -> Any:
        """The law of rollout i, with numbers and a motion of its own."""
        law = {name: x[i : i + 1] for name, x in values.items() if name.startswith("torque.")}
        motion = motions.table(self.study, {name: float(x[i]) for name, x in values.items()}, self.robot)
        torque = motions.alone(self._torque(law)) if self.study.torque is not None else None
        return _scenario(replace(self.study, trajectory=motion), self.scenario.robot, torque).law

    def _vary(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """What `simulate_batch` has as vary=: whole parameters, of which single numbers may be asked for."""
        known, found = robot_parameters(self.robot), self.drives.varied(values) if self.drives else {}
        for name, value in values.items():
            if name in known:
                found[name] = value
            elif (whole := _whole(name, known)) is not None:
                owner, axis = whole
                if owner not in found:
                    found[owner] = np.tile(nominal(self.robot, owner), (len(value), 1))
                found[owner][:, axis] = value
        return found | placed(self.robot, values, found)

    def _begin(self, values: Mapping[str, Array], law: Any, start: Array) -> dict[str, Array]:
        """q0 and qd0 of every rollout where entries of them vary."""
        found = {}
        for k, key in enumerate(("q0", "qd0")):
            asked = {name: x for name, x in values.items() if name.startswith(f"{key}.")}
            if not asked:
                continue
            default: Any = (self.robot.neutral, np.zeros(self.robot.n))[k]
            followed = [one.reference for one in (law if isinstance(law, tuple) else (law,))]
            if followed[0] is not None:
                default = reference_states(followed, start)[k]
            given = default if getattr(self.study, key) is None else getattr(self.study, key)
            many = np.array(np.broadcast_to(np.asarray(given, float), (len(start), np.shape(default)[-1])))
            for name, x in asked.items():
                many[:, int(name.rpartition(".")[2]) - 1] = x
            found[key] = many
        return found


def ready(study: Study) -> Ready:
    """The study with all that can be wrong in it looked for: names, numbers, measures, and its first rollout."""
    for key in ("duration", "every", "start"):
        if getattr(study, key) is not None:
            study.reader().number(key)
    scenario = _scenario(study, study.robot, study.torque)
    drives = drives_of(study, scenario.robot)
    if drives.choices:
        scenario = _scenario(study, drives.robot, study.torque)
    names = tuple(entries_of(study.reader("vary")))
    _check_names(study, scenario.robot, names, drives)
    motions.check_names(study, study.reader("vary"), names)
    design = design_of(study)
    found = replace(_wanted(study, scenario, design, drives), drives=drives)
    _check_numbers(found)
    return _try(found)


def _scenario(study: Study, robot: str | Robot | Mapping[str, Any], torque: Mapping[str, Any] | None) -> Scenario:
    """What the study has of a scenario; a robot that has been loaded has its payload and gravity already."""
    data = {key: value for key in SCENE if (value := getattr(study, key)) is not None}
    data.setdefault("duration", 1.0)  # what no scenario lacks: one without picks and places
    if torque is not None:
        data["torque"] = torque
    given = robot if isinstance(robot, Robot) else None
    if given is None:
        data["robot"] = robot
    elif given is not study.robot:
        data = {key: value for key, value in data.items() if key not in ("payload", "gravity")}
    try:
        return made(data, given, study.file, study.folder, study.text)
    except InputError as error:
        raise InputError(f"{study.file}: {error}") from None


def _wanted(study: Study, scenario: Scenario, design: Design, drives: Drives) -> Ready:
    part, top = study.reader("want"), study.reader()
    part.check_keys(("measures", "functions", "within", "windings", "window", "histories", "histories_every"))
    measures = part.texts("measures") if "measures" in part.data else DEFAULT_MEASURES
    for what, names, known in (("measure", measures, MEASURES), ("history", part.texts("histories"), HISTORIES)):
        for name in names:
            if name not in known:
                near = nearest(name, known)
                guess = f"did you mean {near!r}? " if near else ""
                key = "measures" if what == "measure" else "histories"
                part.fail(key, f"unknown {what} {name!r}; {guess}Known: {', '.join(known)}")
    law = scenario.law
    for name in measures:
        if MEASURES[name].follows and law.reference is None and "target" not in law.positions:
            part.fail("measures", f"{name} is of a law that follows something: add [trajectory], or target in [torque]")
    functions = functions_of(part, study)
    if study.target is not None and study.target not in BACKENDS:
        top.fail("target", str(unknown("target", study.target, BACKENDS)))
    every = part.data.get("histories_every", 1)
    for where, key, value in (
        (part, "histories_every", every),
        (top, "chunk", 1 if study.chunk is None else study.chunk),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            where.fail(key, f"{key} = {value!r}: expected a whole number, at least 1")
    for name in ("within", "window"):
        if part.number(name, 1.0) <= 0:
            part.fail(name, f"{name} = {part.data[name]!r}: expected a number above zero")
    given, window = _windings(part, scenario.robot, measures, drives), part.number("window", WINDOW)
    histories = part.texts("histories")
    made = Ready(study, scenario, design, measures, functions, histories, every, given, window, {})
    return replace(made, options=_options(made, top, part.number("within", WITHIN)))


def _windings(part: Any, robot: Robot, measures: tuple[str, ...], drives: Drives) -> tuple[float, ...]:
    """Watts of heat per square newton metre of every joint: as the study says, else as its actuators have it."""
    if "heat" not in measures:
        return ()
    if "windings" not in part.data:
        known = [drives.winding(joint.name) for joint in robot.joints]
        if not all(x is not None for x in known):
            part.fail("measures", "heat needs windings in [want], W per (N m)^2 of a joint, or [actuators] that say it")
        return tuple(float(x) for x in known if x is not None)
    given = part.data["windings"]
    listed = given if isinstance(given, list) else [given] * robot.n
    good = len(listed) == robot.n and all(
        isinstance(x, (int, float)) and not isinstance(x, bool) and 0 <= x < np.inf for x in listed
    )
    if not good:
        part.fail("windings", f"windings = {given!r}: expected a number, zero or more, or {robot.n} of them")
    return tuple(map(float, listed))


def _options(wanted: Ready, top: Any, within: float) -> dict[str, Any]:
    """What `simulate_batch` is asked for; looked at between start and end only where something is wanted of that."""
    options = dict(wanted.scenario.options)
    if wanted.study.duration is None:
        motion = wanted.scenario.law.span
        if motion is None or not np.isfinite(wanted.scenario.trajectory.end if wanted.scenario.trajectory else np.inf):
            top.fail("duration", "duration is missing: nothing says how long a rollout lasts")
        assert wanted.scenario.trajectory is not None
        options["duration"] = wanted.scenario.trajectory.end - wanted.study.start
        if options["duration"] <= 0:
            told = f"start = {wanted.study.start:g} is not before the end of the motion"
            top.fail("start", f"{told}, at {wanted.scenario.trajectory.end:g} s; give an earlier one, or duration")
    options.setdefault("every", options["duration"] / 100)
    if wanted.compiled:
        options["within"] = within
    return options if wanted.records or wanted.compiled else {k: x for k, x in options.items() if k != "every"}


def _known(study: Study, robot: Robot, drives: Drives) -> list[str]:
    """Everything that can vary."""
    sizes = robot_parameters(robot)
    names = [name for name, size in sizes.items() if size == 1]
    names += [f"{name}.{axis}" for name, size in sizes.items() if size > 1 for axis in AXES[size]]
    names += [*drives.several, *motions.names_of(study, robot), *NAMES, "start", "duration"]
    names += [*(f"q0.{k + 1}" for k in range(robot.nq)), *(f"qd0.{k + 1}" for k in range(robot.n))]
    law = (study.torque or {}).get("law")
    if isinstance(law, str) and law in LAWS:
        own = [*LAWS[law].parameters, *(["target"] if LAWS[law].follows and "target" in (study.torque or {}) else [])]
        own += ["limit"] if "limit" in (study.torque or {}) else []
        own += [f"friction.{key}" for key in (study.torque or {}).get("friction", ())]
        own = [key for key in own if key not in ("times", "torques")]
        names += [f"torque.{key}{end}" for key in own for end in ("", *(f".{k + 1}" for k in range(robot.n)))]
    return names


def _check_names(study: Study, robot: Robot, names: tuple[str, ...], drives: Drives) -> None:
    part, known = study.reader("vary"), _known(study, robot, drives)
    for name in names:
        if name not in known:
            near = nearest(name, known)
            guess = f"did you mean {near!r}? " if near else ""
            part.fail(name, f"{robot.name} and its law have no {name!r} that can vary; {guess}{_kinds(robot)}")
        if name.startswith("tool.") and robot.payload is None and "payload.mass" not in names:
            part.fail(name, f"{robot.name} holds nothing that its tool could move; give it a payload, or vary that too")
        whole = name.rpartition(".")[0]
        if name.startswith("torque.") and whole in names:
            part.fail(name, f"{whole} varies too, for all joints; expected one of them")
        for changed in drives.touched(name) if name in drives.several else ():
            if any(other == changed or other.startswith(f"{changed}.") for other in names):
                part.fail(name, f"it changes {changed}, which varies too; expected one of them")
        if why := _idle(name, robot, names):
            part.fail(name, why)
        owner = _whole(name, robot_parameters(robot))
        try:
            parameter_sizes(robot, (owner[0] if owner else name,) if owner or name in robot_parameters(robot) else ())
        except ArmwrightError as error:
            part.fail(name, str(error))


def _idle(name: str, robot: Robot, names: tuple[str, ...]) -> str:
    """Why a number cannot vary by itself, or would change nothing."""
    held = robot.payload is not None and robot.payload.mass > 0
    if name.startswith("payload.com.") and not held and "payload.mass" not in names:
        return (
            f"{robot.name} holds nothing, so this changes nothing; let payload.mass vary too, or give it in [payload]"
        )
    entry = int(name[3:]) - 1 if name.startswith("q0.") else -1
    for ball in robot.balls:
        if entry in range(ball.unit_vector.start, ball.unit_vector.stop):
            return (
                "this is an entry of a quaternion, whose length is one, so it cannot vary alone; let qd0 vary, or "
                "simulate_batch(robot, q0=...) take positions of your own"
            )
    return ""


def _kinds(robot: Robot) -> str:
    return (
        "Known: payload.mass, payload.com.x, <link>.mass, <joint>.viscous .coulomb .armature .a .d .y .z, gravity.z "
        f".roll .pitch, tool.x .roll, q0.1 to q0.{robot.nq}, qd0.1, start, duration, torque.<number of the law>, "
        "trajectory.<number of the motion>, actuators.<joint that has several>"
    )


def _check_numbers(found: Ready) -> None:
    """That no row has a negative mass or the like: all that will be drawn is looked at."""
    part = found.study.reader("vary")
    for first, drawn in found.blocks():
        motions.check_numbers(found.study, part, first, drawn, found.robot)
        for name, x in drawn.items():
            wrong = ~np.isfinite(x)
            what = "finite numbers"
            if name.endswith(AT_LEAST_ZERO) or name.startswith("torque.friction"):
                wrong, what = wrong | (x < 0), "zero or more"
            if name in ABOVE_ZERO:
                wrong, what = wrong | (x <= 0), "more than zero"
            if found.drives and name in found.drives.several:
                most = len(found.drives.choices[name.removeprefix(PREFIX)])
                wrong, what = (x < 1) | (x > most) | (x != np.round(x)), f"whole numbers from 1 to {most}"
            if wrong.any():
                i = int(np.argmax(wrong))
                part.fail(
                    name,
                    f"row {first + i} would have {name} = {x[i]:.6g}; expected {what} everywhere, so "
                    "give a distribution that ends there, such as truncated_normal or lognormal",
                )


def _try(found: Ready) -> Ready:
    """The first few rollouts, one of which must come to its end where functions are to see it; what these are named."""
    values = found.design.draw(0, min(TRIED, found.design.rows))
    lasting = values.get("duration", np.zeros(1))
    values = {name: x[: len(x) if (lasting == lasting[0]).all() else 1] for name, x in values.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)
        try:
            seen = found.run(values, np.arange(len(next(iter(values.values())))))
        except ArmwrightError as error:
            raise InputError(f"{found.study.file}: {error}") from None
    part, good, tried = found.study.reader("want"), np.flatnonzero(seen.run.finished), len(values[next(iter(values))])
    if not good.size and not found.functions:
        warnings.warn(
            f"{found.study.file}: none of the first {tried} rollouts comes to its end, the first stops at t = "
            f"{float(seen.run.reached[0]):.6g} s; a shorter step or a method with rtol in [integrator] may help, or "
            "smaller gains for light joints",
            SimulationWarning,
            stacklevel=2,
        )
    if not found.functions:
        return found
    if not good.size:
        part.fail("functions", f"none of the first {tried} rollouts comes to its end, so none can be tried")
    history = History.of(seen, int(good[0]), int(good[0]), {name: float(x[good[0]]) for name, x in values.items()})
    columns: list[tuple[str, ...]] = []
    for function in found.functions:
        try:
            columns.append(tuple(function(history)))
        except Exception as error:  # whatever a stranger's function does
            part.fail("functions", f"{function.name} fails for row {good[0]}: {type(error).__name__}: {error}")
        if not columns[-1]:
            part.fail("functions", f"{function.name} gives no number for row {good[0]}; expected one, or some by name")
    return replace(found, columns=tuple(columns))


def _whole(name: str, known: Mapping[str, int]) -> tuple[str, int] | None:
    """The parameter and the place in it that a name such as payload.com.x stands for."""
    owner, _, axis = name.rpartition(".")
    axes = AXES.get(known.get(owner, 0), ())
    return (owner, axes.index(axis)) if axis in axes else None


def nominal(robot: Robot, name: str) -> Array:
    """The numbers of a parameter that has several, as the robot is described."""
    if name == "gravity":
        return np.array(robot.gravity, float)
    owner, _, key = name.rpartition(".")
    if owner == "payload":
        held = robot.payload or Payload(0.0)
        return np.array(held.com if key == "com" else tensor_entries(held.inertia), float)
    mechanism = replace(robot, payload=None).mechanism()
    place = [link.name for link in robot.links].index(owner)
    body = mechanism.bodies[mechanism.solid[place]]
    return np.array([*(body.com if key == "com" else body.inertia)], float)


def _place(torque: dict[str, Any], name: str) -> tuple[dict[str, Any], str, int | None]:
    """The table, the key and the joint that a name such as torque.kp.2 or torque.friction.viscous stands for."""
    _, *rest = name.split(".")
    joint = int(rest.pop()) - 1 if rest[-1].isdigit() else None
    table = torque
    for key in rest[:-1]:
        table = table[key]
    return table, rest[-1], joint
