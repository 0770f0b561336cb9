"""JSON Schemas of the TOML files: editors complete their keys, explain them and mark errors.

armwright schema scenario > scenario.schema.json

The keys come from the readers of the files, their descriptions are here. Laws, measures and integrators come from their
registries, with descriptions. An editor such as VS Code with Even Better TOML finds the schema by the first line of a
file, `#:schema scenario.schema.json`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from armwright.backends.interface import BACKENDS
from armwright.errors import unknown
from armwright.integrate.integrators import INTEGRATORS
from armwright.model.dh_tables import DH_CONVENTIONS
from armwright.model.loop_tables import LOOP_KEYS, LOOP_KINDS
from armwright.model.row_bodies import BASE_KEYS, SLENDER_KEYS
from armwright.model.row_joints import DRIVE_KEYS, MIMIC_KEYS, OPTIONAL_KEYS, ROW_KEYS
from armwright.model.toml import FRAME_KEYS, PAYLOAD_KEYS, ROBOT_KEYS
from armwright.model.units import FILE_QUANTITIES
from armwright.model.visual import VISUAL_KEYS
from armwright.scenario.events import EVENTS, event_keys
from armwright.scenario.laws import COMMON_KEYS, FRICTION_PARAMETERS, LIMIT_PARAMETER, NOISE_PARAMETERS, law_keys
from armwright.scenario.motions import MOTION_TYPES
from armwright.scenario.parse import INTEGRATOR_KEYS, KEYS_OF_PHASES, ROBOT_TABLE_KEYS, SCENARIO_KEYS
from armwright.scenario.phases import PHASE_KEYS
from armwright.simulation.integration_settings import integrator_names
from armwright.sizing.sizing_file import SIZING_KEYS
from armwright.sweep.design import DESIGN_METHODS
from armwright.sweep.study import STUDY_KEYS
from armwright.sweep.study_measures import HISTORY_NAMES, STUDY_MEASURES
from armwright.torque import LAWS, LawParameter

Json: TypeAlias = dict[str, Any]

NUMBER: Json = {"type": "number"}
POSITIVE_NUMBER: Json = {"type": "number", "exclusiveMinimum": 0}
NON_NEGATIVE_NUMBER: Json = {"type": "number", "minimum": 0}
TEXT: Json = {"type": "string"}
FLAG: Json = {"type": "boolean"}
COUNT_NUMBER: Json = {"type": "integer", "minimum": 1}
ANGLE_SCHEMA: Json = {"type": ["number", "string"]}
QUANTITY: Json = ANGLE_SCHEMA
"""A number, or a text with its unit."""
NUMBER_LIST: Json = {"type": "array", "items": NUMBER}
TRIPLE: Json = {**NUMBER_LIST, "minItems": 3, "maxItems": 3}
PER_JOINT: Json = {"anyOf": [NUMBER, NUMBER_LIST]}
NUMBER_ROWS: Json = {"type": "array", "items": NUMBER_LIST}
TEXT_LIST: Json = {"type": "array", "items": TEXT}
POSE: Json = {"anyOf": [NUMBER_LIST, NUMBER_ROWS]}
LIMIT_PAIR: Json = {"type": "array", "items": QUANTITY, "minItems": 2, "maxItems": 2}
POINT_QUANTITIES: Json = {"type": "array", "items": QUANTITY, "minItems": 3, "maxItems": 3}
PLACEMENT: Json = {"type": "array", "items": {"anyOf": [QUANTITY, {"type": "array", "items": QUANTITY}]}}
ANY_TABLE: Json = {"type": "object"}
TABLE_LIST: Json = {"type": "array", "items": ANY_TABLE}
ANYTHING: Json = {}

MOTION_DESCRIPTIONS: dict[str, tuple[Json, str]] = {
    "times": (NUMBER_LIST, "Seconds, one for each point."),
    "points": (NUMBER_ROWS, "Positions of all joints, a row for each point: rad or m."),
    "from": (
        NUMBER_LIST,
        "Positions of all joints at the start; in a later phase by default the end of the last.",
    ),
    "to": (POSE, "Positions of all joints at the end; for a cartesian_line x, y, z of the tool, or a pose."),
    "along": (ANY_TABLE, "A table of another motion, the path of a time_optimal one."),
    "reserve": (NUMBER, "The unused part of each limit of a time_optimal motion, such as 0.05."),
    "by": (TRIPLE, "Displacement of the tool, x, y, z in metres, in the axes of the world."),
    "q0": (NUMBER_LIST, "A guess for the joints at the start; it decides between postures."),
    "center": (TRIPLE, "The centre of the circle in the world, metres."),
    "axis": (TRIPLE, "The axis of the circle in the world; the motion is counterclockwise about it."),
    "angle": (ANGLE_SCHEMA, 'The angle of the arc, radians or "90 deg"; a full turn by default.'),
    "turning": (FLAG, "Whether the tool rotates with the circle; by default it keeps its orientation."),
    "duration": (POSITIVE_NUMBER, "Seconds."),
    "velocity": (PER_JOINT, "The largest speed of all joints or of each (rad/s or m/s), or of the tool (m/s)."),
    "acceleration": (PER_JOINT, "The largest acceleration, likewise."),
    "torque": (PER_JOINT, "The largest torque of all joints or of each; by default those of the robot."),
    "jerk": (PER_JOINT, "The largest rate of the accelerations; by default there is none."),
    "blend": (POSITIVE_NUMBER, "Largest distance of a joint from the inner points, rad or m."),
    "orientation": ({"enum": ["full", "axis", "free"]}, "The part of the tool's orientation that counts."),
    "file": (TEXT, "A .csv or .parquet file with t, q1 ..., and optionally qd1 ... and qdd1 ..."),
}
STOP_DESCRIPTIONS: dict[str, tuple[Json, str]] = {
    "stiffness": (PER_JOINT, "Stiffness of the stops, N m/rad or N/m."),
    "damping": (PER_JOINT, "Relative increase of the force per rad/s or m/s of impact speed."),
}
LAW_SHAPES: dict[str, Json] = {
    "number": NUMBER,
    "per joint": PER_JOINT,
    "list": NUMBER_LIST,
    "rows": NUMBER_ROWS,
    "integer": {"type": "integer"},
    "any": ANYTHING,
}
EVENT_DESCRIPTIONS: dict[str, tuple[Json, str]] = {
    "joints": (TEXT_LIST, "Joints whose limits are monitored; by default all that have some."),
    "joint": (TEXT, "The name of a joint."),
    "value": (NUMBER, "The position at which the event happens, rad or m."),
    "most": (POSITIVE_NUMBER, "The speed above which the event happens."),
    "normal": (TRIPLE, "The normal of the plane in the world."),
    "distance": (NUMBER, "The distance of the plane from the origin, metres along the normal."),
    "frame": (TEXT, "The frame that crosses the plane; the tool by default."),
    "direction": ({"enum": [-1, 0, 1]}, "Increasing (1), decreasing (-1) or both (0)."),
    "terminal": (
        {"type": ["boolean", "integer"]},
        "Whether the event ends the run, or after how many times.",
    ),
    "name": (TEXT, "Its name."),
}
FILE_UNITS: Json = {
    "anyOf": [
        TEXT,
        TEXT_LIST,
        {"type": "object", "properties": dict.fromkeys(FILE_QUANTITIES, TEXT), "additionalProperties": False},
    ]
}
LOADING_DESCRIPTIONS: dict[str, tuple[Json, str]] = {
    "file": (TEXT, "The path of a robot file, relative to this one."),
    "base": (TEXT, "The first link of the robot."),
    "tip": ({"anyOf": [TEXT, TEXT_LIST]}, "The last link of a chain, or several."),
    "locked": (ANY_TABLE, "Positions of fixed joints, by name."),
    "packages": (ANY_TABLE, "Folders of packages, by name."),
    "mappings": (ANY_TABLE, "Arguments of a xacro file."),
    "floating": (FLAG, "Whether a free joint carries the base."),
}
INTEGRATOR_DESCRIPTIONS: dict[str, tuple[Json, str]] = {
    "rtol": (POSITIVE_NUMBER, "Relative error allowed per step."),
    "atol": (POSITIVE_NUMBER, "Absolute error allowed per step."),
    "step": (POSITIVE_NUMBER, "Seconds of a fixed step."),
    "max_step": (POSITIVE_NUMBER, "The longest step of an adaptive method, seconds."),
}
PAYLOAD_DESCRIPTIONS: dict[str, tuple[Json, str]] = {
    "mass": ({**QUANTITY, "minimum": 0}, "Kilograms."),
    "com": (POINT_QUANTITIES, "Its centre of mass in the tool frame, metres."),
    "inertia": (PLACEMENT, "xx, yy, zz, xy, xz, yz about the centre of mass, kg m^2; or 3 rows of 3."),
}
ROW_DESCRIPTIONS: dict[str, tuple[Json, str]] = {
    "name": (TEXT, "The name of the link."),
    "joint": (TEXT, "The name of the joint before it."),
    "parent": (
        {"type": ["string", "integer"]},
        'The parent link, by name or number, or "base"; by default the last row.',
    ),
    "type": ({"enum": list(OPTIONAL_KEYS)}, "The kind of the joint."),
    "gamma": (ANGLE_SCHEMA, "Rotation about the previous z axis, for a general placement."),
    "alpha": (ANGLE_SCHEMA, 'The twist, radians or "pi/2", "90 deg".'),
    "a": (QUANTITY, "The link length, metres."),
    "y": (QUANTITY, "Offset along y for a general placement, metres."),
    "z": (QUANTITY, "Offset along z for a general placement, metres."),
    "d": (QUANTITY, "The offset along z, metres; for a prismatic joint its zero."),
    "b": (QUANTITY, "The same in the conventions of Angeles and Saha."),
    "theta": (ANGLE_SCHEMA, "The angle about z; for a revolute joint its zero."),
    "pitch": (QUANTITY, "The pitch of a helical joint, metres per radian."),
    "mass": (QUANTITY, "Kilograms."),
    "com": (POINT_QUANTITIES, "The centre of mass in the frame of the row, metres."),
    "inertia": (PLACEMENT, "xx, yy, zz, xy, xz, yz about the centre of mass, kg m^2; or 3 rows of 3."),
    "slender": (ANY_TABLE, "{rho or mass, payload, hub, length}: Mohan and Saha's link, without mass, com, inertia."),
    "point_masses": (TABLE_LIST, "{mass, at}: in place of mass, com and inertia, or in addition."),
    "compensated_mass": (NUMBER, "Counterbalanced mass of the link, kg."),
    "compensated_com": (TRIPLE, "Its position in the frame of the row; by default at the centre of mass."),
    "limits": (LIMIT_PAIR, "Lowest and highest position; may be inf."),
    "max_velocity": (QUANTITY, "The largest speed, rad/s or m/s."),
    "max_torque": (QUANTITY, "The largest torque at the joint, N m or N; 0 for a joint without a motor."),
    "viscous": (QUANTITY, "Viscous friction, N m s per rad."),
    "coulomb": (QUANTITY, "Dry friction, N m."),
    "smooth": (QUANTITY, "The speed below which dry friction is smoothed."),
    "rotor_inertia": (QUANTITY, "Inertia of the motor, kg m^2; at the joint it counts gear^2 times."),
    "gear": (NUMBER, "The ratio of the gearbox."),
    "spring_stiffness": (NUMBER, "Stiffness of a spring parallel to the joint, N m per rad or N per m."),
    "spring_rest": (ANGLE_SCHEMA, "The rest position of that spring."),
    "spring_curve": (NUMBER_LIST, "Its coefficients of x^2 and x^3, x being the distance from the rest position."),
    "mimic": (ANY_TABLE, "{joint, factor, offset}: its position is factor q + offset, with q of that joint."),
    "freedoms": (TABLE_LIST, "A table of limits and drive for each freedom of a joint."),
    "z_axis": ({"enum": ["first", "second"]}, "The axis of a universal joint that is z of the frame of the row."),
    "visuals": (TABLE_LIST, "Shapes for display: {mesh, scale}, {box}, {cylinder}, ..., each with pose and rgba."),
}


def description_of(entry: object) -> str:
    """Return the description of an entry of a registry, else the first line of its docstring, or ""."""
    for name in ("sentence", "about", "text", "source"):
        if isinstance(text := getattr(entry, name, None), str) and text:
            return text
    documented = inspect.isroutine(entry) or inspect.isclass(entry)  # the docstring of an instance is that of its class
    return (inspect.getdoc(entry) or "").partition("\n")[0] if documented else ""


def _choices(names: Iterable[str], entries: Mapping[str, object]) -> Json:
    """Return the schema of one of these names, with a description of each for editors (taplo)."""
    listed = list(names)
    words = [description_of(entries[name]) if name in entries else "" for name in listed]
    return {"enum": listed, "x-taplo": {"docs": {"enumValues": words}}}


def _table(known: Iterable[str], descriptions: Mapping[str, tuple[Json, str]], required: Iterable[str] = ()) -> Json:
    """Return the schema of a table with these keys and no others."""
    properties = {key: {**descriptions[key][0], "description": descriptions[key][1]} for key in known}
    return {"type": "object", "properties": properties, "additionalProperties": False, "required": list(required)}


def _kinds(
    key: str,
    about: str,
    kinds: Mapping[str, tuple[Iterable[str], Iterable[str]]],
    descriptions: Mapping[str, tuple[Json, str]],
    also: tuple[str, ...] = (),
) -> Json:
    """Return the schema of a table with a kind under `key`; `kinds` has the known and the required keys of each."""
    every = dict.fromkeys(name for known, _ in kinds.values() for name in known)
    table = _table([*every, *also], descriptions, [key])
    table["properties"] = {key: {"enum": list(kinds), "description": about}, **table["properties"]}
    table["allOf"] = [
        {
            "if": {"properties": {key: {"const": kind}}, "required": [key]},
            "then": {"propertyNames": {"enum": [key, *known, *also]}, "required": [key, *required]},
        }
        for kind, (known, required) in kinds.items()
    ]
    return table


def trajectory(start_known: bool = False, named: bool = False) -> Json:
    """Return the schema of a motion, without a required start if that is known; `named` allows a name."""
    kinds = {
        name: (kind.keys, [key for key in kind.required if not (start_known and key == kind.begin)])
        for name, kind in MOTION_TYPES.items()
    }
    descriptions = {**MOTION_DESCRIPTIONS, "name": (TEXT, "Its name in tables and legends.")}
    also = ("name",) if named else ()
    table = _kinds("type", "The type of the motion (docs/simulation.md).", kinds, descriptions, also)
    for rule, kind in zip(table["allOf"], MOTION_TYPES.values(), strict=True):
        if kind.one_of:
            rule["then"]["oneOf"] = [{"required": [key]} for key in kind.one_of]
    return table


def _law_parameter(words: LawParameter) -> tuple[Json, str]:
    bound = {} if words.minimum is None else {"minimum": words.minimum}
    return {**LAW_SHAPES[words.shape], **bound}, words.description


def _law_parameters(laws: Mapping[str, Mapping[str, LawParameter]]) -> dict[str, tuple[Json, str]]:
    """Return each key of any law; where laws differ in a key, the description names them."""
    laws_by_description = dict[str, dict[str, tuple[Json, list[str]]]]()
    for law, known in laws.items():
        for key, parameter in known.items():
            shape, about = _law_parameter(parameter)
            laws_by_description.setdefault(key, {}).setdefault(about, (shape, []))[1].append(law)
    merged = dict[str, tuple[Json, str]]()
    for key, descriptions in laws_by_description.items():
        shapes = [shape for shape, _ in descriptions.values()]
        about = " ".join(f"{', '.join(names)}: {text}" for text, (_, names) in descriptions.items())
        same = all(shape == shapes[0] for shape in shapes)
        merged[key] = shapes[0] if same else {"anyOf": shapes}, next(iter(descriptions)) if len(shapes) == 1 else about
    return merged


def torque() -> Json:
    """Return the schema of a [torque] table: any registered law, with limit, friction and noise."""
    laws = law_keys()
    kinds = {name: (tuple(known), [key for key, x in known.items() if x.required]) for name, known in laws.items()}
    friction, noise = (
        _table(known, {key: _law_parameter(x) for key, x in known.items()})
        for known in (FRICTION_PARAMETERS, NOISE_PARAMETERS)
    )
    about = {
        **_law_parameters(laws),
        "limit": _law_parameter(LIMIT_PARAMETER),
        "friction": (friction, "{viscous, coulomb, smooth}, which the drives must overcome."),
        "noise": (noise, "{std, hold, seed}: random torques that are constant for `hold` seconds."),
    }
    table = _kinds("law", "The torque law (docs/simulation.md).", kinds, about, COMMON_KEYS)
    table["properties"]["law"] |= _choices(kinds, LAWS)
    return table


def event() -> Json:
    """Return the schema of an [[event]] table: any event, with the keys it requires."""
    keys = {name: event_keys(name) for name in EVENTS}
    kinds = {name: (tuple(known), [key for key, required in known.items() if required]) for name, known in keys.items()}
    return _kinds("type", "The type of the event.", kinds, EVENT_DESCRIPTIONS)


PAYLOAD = _table(PAYLOAD_KEYS, PAYLOAD_DESCRIPTIONS, ["mass"])
ROBOT: Json = {"anyOf": [TEXT, _table(ROBOT_TABLE_KEYS, LOADING_DESCRIPTIONS, ["file"])]}


def phase() -> Json:
    """Return the schema of a [[phase]] table."""
    one = event()
    return _table(
        PHASE_KEYS,
        {
            "name": (TEXT, "Its name."),
            "duration": (POSITIVE_NUMBER, "Seconds; by default the duration of its trajectory."),
            "payload": (PAYLOAD, "The payload from here on; {mass = 0} for none."),
            "until": ({"anyOf": [one, {"type": "array", "items": one}]}, "Events that end the phase earlier."),
            "trajectory": (trajectory(start_known=True), "Its motion; without one, the robot rests."),
            "torque": (torque(), "The torque law; by default computed torque, or that of the scenario."),
        },
    )


def scenario(keys: Iterable[str] = SCENARIO_KEYS) -> Json:
    """Return the schema of a scenario; with phases, some keys belong to these."""
    condition = {"if": {"required": ["phase"]}, "then": {"properties": dict.fromkeys(KEYS_OF_PHASES, False)}}
    return {**_table(keys, _scenario_keys()), **condition}


def _scenario_keys() -> dict[str, tuple[Json, str]]:
    stops = _table(STOP_DESCRIPTIONS, STOP_DESCRIPTIONS)
    method = (_choices(sorted(integrator_names()), INTEGRATORS), "The integrator (docs/simulation.md).")
    return {
        "robot": (ROBOT, "A packaged robot, the path of a robot file, or a table of a file and options of loading."),
        "gravity": (TRIPLE, "The acceleration of free fall in the world, m/s^2."),
        "payload": (PAYLOAD, "The payload in the tool frame."),
        "duration": (POSITIVE_NUMBER, "Seconds; by default the duration of the trajectory."),
        "every": (POSITIVE_NUMBER, "Seconds between records."),
        "q0": (NUMBER_LIST, "Positions at the start; by default those of the trajectory, else zero."),
        "qd0": (NUMBER_LIST, "Velocities at the start."),
        "start": (NUMBER, "Time at the start, seconds."),
        "smooth": (NON_NEGATIVE_NUMBER, "The speed below which the robot's dry friction is smoothed, rad/s or m/s."),
        "stops": ({"anyOf": [FLAG, stops]}, "Stops at the limits of the joints."),
        "integrator": (
            _table(INTEGRATOR_KEYS, {"method": method, **INTEGRATOR_DESCRIPTIONS}),
            "The numerical method.",
        ),
        "trajectory": (trajectory(), "The motion to follow."),
        "torque": (torque(), "The torque law; by default computed torque along the trajectory."),
        "event": ({"type": "array", "items": event()}, "Events that end the motion."),
        "phase": ({"type": "array", "items": phase(), "minItems": 1}, "Consecutive phases."),
    }


def study() -> Json:
    """Return the schema of a study (docs/studies.md)."""
    design = {
        "method": ({"enum": list(DESIGN_METHODS)}, "The sampling method."),
        "count": (COUNT_NUMBER, "Number of rollouts, for random numbers."),
        "seed": ({"type": "integer"}, "The seed of the random numbers."),
        "correlations": ({"type": "array"}, "Lists of two names and their correlation."),
    }
    want: dict[str, tuple[Json, str]] = {
        "measures": ({"type": "array", "items": _choices(STUDY_MEASURES, STUDY_MEASURES)}, "Results of every rollout."),
        "functions": (TEXT_LIST, "Measures of Python modules, as module:function."),
        "within": (NUMBER, "Distance from the target at which a joint has settled, rad or m."),
        "windings": (PER_JOINT, "Watts of heat per (N m)^2 of a joint."),
        "window": (NUMBER, "Seconds of the window of the continuous torque."),
        "histories": ({"type": "array", "items": {"enum": list(HISTORY_NAMES)}}, "Quantities stored over time."),
        "histories_every": (COUNT_NUMBER, "Interval of rollouts whose histories are stored."),
    }
    own: dict[str, tuple[Json, str]] = {
        "name": (TEXT, "The name of the study."),
        "chunk": (COUNT_NUMBER, "Rollouts in each file of results."),
        "target": ({"enum": list(BACKENDS)}, "The device: cpu, or cuda for a GPU."),
        "actuators": (ANY_TABLE, "A catalogue, and motor and gearbox of each joint."),
        "vary": (
            {"type": "object", "minProperties": 1},
            'The varied parameters: "payload.mass" = {uniform = [0, 3]}, or a list.',
        ),
        "design": (_table(design, design), "The numbers of each rollout."),
        "want": (_table(want, want), "The results of each rollout."),
    }
    return _table(STUDY_KEYS, {**_scenario_keys(), **own}, ["robot", "vary"])


def size() -> Json:
    """Return the schema of a sizing file (docs/sizing.md)."""
    payloads = {"type": "array", "items": {"anyOf": [NUMBER, PAYLOAD]}, "minItems": 1}
    own: dict[str, tuple[Json, str]] = {
        "catalogue": (TEXT, '"typical", or the path of a catalogue.'),
        "objective": (TEXT, '"mass", "price" or "energy".'),
        "payloads": (payloads, "Kilograms, or tables with mass, com and inertia."),
        "brakes": (ANYTHING, "The name of a brake for all joints, or names by joint."),
        "motion": ({"type": "array", "items": trajectory(named=True), "minItems": 1}, "As [trajectory] of a scenario."),
        "mounts": (ANY_TABLE, "By joint {link, point}: mounts of actuators that are not on the previous link."),
        "levers": (ANY_TABLE, "By joint {before, on, angle}: the lever of a cylinder."),
        "without_drives": (ANY_TABLE, "By link, kilograms of drives that the link includes already."),
        "max_twist": (ANYTHING, "The largest twist of gearboxes, radians."),
        "reserve": (NUMBER, "The unused part of every limit."),
        "inertia_ratio": (NUMBER, "The largest ratio of load inertia at the motor to motor inertia."),
        "min_frequency": (NUMBER, "The lowest frequency of a joint on its gearbox, Hz."),
        "ambient": (NUMBER, "Degrees Celsius."),
        "samples": (COUNT_NUMBER, "Number of instants of each motion."),
        "sets": (COUNT_NUMBER, "Number of best sets to find."),
    }
    return _table(SIZING_KEYS, {**_scenario_keys(), **own}, ["robot", "motion"])


def robot() -> Json:
    """Return the schema of a robot (docs/notation.md)."""
    freedoms, slender = (
        _table(("joint", *DRIVE_KEYS, "mimic"), ROW_DESCRIPTIONS),
        _table(SLENDER_KEYS, dict.fromkeys(SLENDER_KEYS, (ANYTHING, ""))),
    )
    looks = _table(VISUAL_KEYS, dict.fromkeys(VISUAL_KEYS, (ANYTHING, "")))
    parts: dict[str, tuple[Json, str]] = {
        "mimic": (
            {"anyOf": [_table(MIMIC_KEYS, dict.fromkeys(MIMIC_KEYS, (ANYTHING, ""))), ANY_TABLE, TABLE_LIST]},
            ROW_DESCRIPTIONS["mimic"][1],
        ),
        "freedoms": ({"type": "array", "items": freedoms}, ROW_DESCRIPTIONS["freedoms"][1]),
        "slender": (slender, ROW_DESCRIPTIONS["slender"][1]),
        "visuals": ({"type": "array", "items": looks}, ROW_DESCRIPTIONS["visuals"][1]),
    }
    rows = {**ROW_DESCRIPTIONS, **parts}
    frame = {
        "name": (TEXT, "Its name."),
        "link": (TEXT, "The link it is fixed to."),
        "pose": (PLACEMENT, "In the frame of that row: x, y, z and a quaternion x, y, z, w, or 4 rows of 4."),
    }
    loops: dict[str, tuple[Json, str]] = {
        **dict.fromkeys(LOOP_KEYS, (ANYTHING, "docs/notation.md, closed loops.")),
        "kind": ({"enum": list(LOOP_KINDS)}, "Whether points or whole frames coincide."),
    }
    own: dict[str, tuple[Json, str]] = {
        "name": (TEXT, "The name of the robot."),
        "source": (TEXT, "The source of its numbers."),
        "licence": (TEXT, "The owner of the data and the licence."),
        "convention": ({"enum": list(DH_CONVENTIONS)}, "The convention of the table of links."),
        "units": (FILE_UNITS, 'The units of this file: "mm", or a table by quantity; SI by default.'),
        "gravity": (POINT_QUANTITIES, "The acceleration of free fall in the world, m/s^2."),
        "base": (PLACEMENT, "The pose of frame 0 in the world."),
        "flange": (PLACEMENT, "The pose of the flange in the last frame."),
        "tool": (PLACEMENT, "The pose of the tool frame in the flange."),
        "rated_payload": (NON_NEGATIVE_NUMBER, "The payload that its maker states, kg."),
        "accept": (TEXT_LIST, "Kinds of problems to accept without a warning."),
        "visuals": parts["visuals"],
        "payload": (PAYLOAD, "The payload in the tool frame."),
        "link": ({"type": "array", "items": _table(ROW_KEYS, rows, ["type"]), "minItems": 1}, "A row for each link."),
        "floating": (FLAG, "Whether a free joint carries the base."),
        "base_link": (_table(BASE_KEYS, rows), "The body of the base."),
        "tip": ({"type": ["string", "integer"]}, "The link that holds the tool."),
        "frame": ({"type": "array", "items": _table(FRAME_KEYS, frame, FRAME_KEYS[:2])}, "Further frames."),
        "loop": ({"type": "array", "items": _table(LOOP_KEYS, loops)}, "Closed loops."),
        "actuators": (ANY_TABLE, "Motor and gearbox of each joint (docs/sizing.md)."),
    }
    return _table(ROBOT_KEYS, own, ["convention", "link"])


SCHEMAS = {"scenario": scenario, "robot": robot, "study": study, "size": size}
"""The function of the schema of each kind of file."""


def schema(kind: str) -> Json:
    """Return the JSON Schema (draft 7) of a kind of file: scenario, robot, study or size."""
    if kind not in SCHEMAS:
        raise unknown("kind of file", kind, SCHEMAS)
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": f"armwright {kind}"}
    return {**head, **SCHEMAS[kind]()}
