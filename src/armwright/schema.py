"""JSON Schemas of the TOML files: an editor completes their keys, says what each means and marks what is wrong.

armwright schema scenario > scenario.schema.json

The keys come from the readers of the files, and their descriptions stand here. Laws, measures and integrators come from
their registries, with their words. An editor such as VS Code with Even Better TOML finds the schema by the first line
of a file, `#:schema scenario.schema.json`.
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
    "from": (NUMBER_LIST, "Where every joint begins; in a later phase, where the one before ended."),
    "to": (POSE, "Where every joint ends; of a cartesian_line x, y, z of the tool, or a pose."),
    "along": (ANY_TABLE, "A table of another motion, whose path a time_optimal one takes."),
    "reserve": (NUMBER, "The part of each limit that a time_optimal motion leaves, such as 0.05."),
    "by": (TRIPLE, "How far the tool goes from where it starts, x, y, z in metres, seen from the world."),
    "q0": (NUMBER_LIST, "The joints at the start: they decide between postures."),
    "center": (TRIPLE, "The centre of the circle, metres, seen from the world."),
    "axis": (TRIPLE, "The axis of the circle, counterclockwise about it, seen from the world."),
    "angle": (ANGLE_SCHEMA, 'How far around, radians or "90 deg"; a whole turn by default.'),
    "turning": (FLAG, "Whether the tool turns with the circle; by default it keeps its orientation."),
    "duration": (POSITIVE_NUMBER, "Seconds."),
    "velocity": (
        PER_JOINT,
        "The largest speed, of all joints or of each (rad/s or m/s); of a cartesian motion, of the tool.",
    ),
    "acceleration": (PER_JOINT, "The largest acceleration, likewise."),
    "torque": (PER_JOINT, "The largest torque, of all joints or of each; by default those of the robot."),
    "jerk": (PER_JOINT, "The largest rate of the accelerations; by default there is none."),
    "blend": (POSITIVE_NUMBER, "How far a joint may pass a point between by, rad or m."),
    "orientation": (
        {"enum": ["full", "axis", "free"]},
        "What of the tool's orientation counts: all, its z axis, nothing.",
    ),
    "file": (TEXT, "A .csv or .parquet file with t, q1 ..., and if they are known qd1 ... and qdd1 ..."),
}
STOP_DESCRIPTIONS: dict[str, tuple[Json, str]] = {
    "stiffness": (PER_JOINT, "Stiffness of the stops, N m/rad or N/m."),
    "damping": (PER_JOINT, "How much more a stop pushes back per rad/s or m/s at which it is entered."),
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
    "joints": (TEXT_LIST, "Joints whose limits are watched; by default all that have some."),
    "joint": (TEXT, "The name of a joint."),
    "value": (NUMBER, "The position that is passed, rad or m."),
    "most": (POSITIVE_NUMBER, "The speed that is exceeded."),
    "normal": (TRIPLE, "The normal of the plane, seen from the world."),
    "distance": (NUMBER, "The distance of the plane from the origin, metres along the normal."),
    "frame": (TEXT, "The frame that passes it; the tool by default."),
    "direction": ({"enum": [-1, 0, 1]}, "Upwards (1), downwards (-1) or either way (0)."),
    "terminal": ({"type": ["boolean", "integer"]}, "Whether it ends the run, or the how manieth time it does."),
    "name": (TEXT, "What it is called."),
}
FILE_UNITS: Json = {
    "anyOf": [
        TEXT,
        TEXT_LIST,
        {"type": "object", "properties": dict.fromkeys(FILE_QUANTITIES, TEXT), "additionalProperties": False},
    ]
}
LOADING_DESCRIPTIONS: dict[str, tuple[Json, str]] = {
    "file": (TEXT, "A robot file, seen from the folder of this one."),
    "base": (TEXT, "The link where the robot starts."),
    "tip": ({"anyOf": [TEXT, TEXT_LIST]}, "The link where a chain ends, or several."),
    "locked": (ANY_TABLE, "Joints that stand still, and where."),
    "packages": (ANY_TABLE, "Where packages are that the file names."),
    "mappings": (ANY_TABLE, "Arguments of a xacro file."),
    "floating": (FLAG, "Whether a free joint carries the base."),
}
INTEGRATOR_DESCRIPTIONS: dict[str, tuple[Json, str]] = {
    "rtol": (POSITIVE_NUMBER, "Relative error allowed per step."),
    "atol": (POSITIVE_NUMBER, "Absolute error allowed per step."),
    "step": (POSITIVE_NUMBER, "Seconds of a fixed step."),
    "max_step": (POSITIVE_NUMBER, "The longest step that may be chosen, seconds."),
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
        'The link it hangs on, by name or number; "base"; by default the row before.',
    ),
    "type": ({"enum": list(OPTIONAL_KEYS)}, "The kind of the joint."),
    "gamma": (ANGLE_SCHEMA, "Of a general placement: the turn about the z axis before."),
    "alpha": (ANGLE_SCHEMA, 'The twist, radians or "pi/2", "90 deg".'),
    "a": (QUANTITY, "The length, metres."),
    "y": (QUANTITY, "Of a general placement, metres."),
    "z": (QUANTITY, "Of a general placement, metres."),
    "d": (QUANTITY, "The offset along z, metres; of a prismatic joint its zero."),
    "b": (QUANTITY, "The same in the conventions of Angeles and Saha."),
    "theta": (ANGLE_SCHEMA, "The angle about z; of a revolute joint its zero."),
    "pitch": (QUANTITY, "Of a helical joint, metres per radian."),
    "mass": (QUANTITY, "Kilograms."),
    "com": (POINT_QUANTITIES, "The centre of mass in the frame of the row, metres."),
    "inertia": (PLACEMENT, "xx, yy, zz, xy, xz, yz about the centre of mass, kg m^2; or 3 rows of 3."),
    "slender": (
        ANY_TABLE,
        "{rho or mass, payload, hub, length}: Mohan and Saha's link, without mass, com, inertia.",
    ),
    "point_masses": (TABLE_LIST, "{mass, at}: instead of these, or added to them."),
    "compensated_mass": (NUMBER, "Kilograms of the link whose weight is carried by no drive."),
    "compensated_com": (TRIPLE, "Where they are, in the frame of the row; by default at the centre of mass."),
    "limits": (LIMIT_PAIR, "Lowest and highest position; may be inf."),
    "max_velocity": (QUANTITY, "The largest speed, rad/s or m/s."),
    "max_torque": (QUANTITY, "The largest torque at the joint, N m or N; 0 for a joint without a motor."),
    "viscous": (QUANTITY, "Viscous friction, N m s per rad."),
    "coulomb": (QUANTITY, "Dry friction, N m."),
    "smooth": (QUANTITY, "The speed within which dry friction rounds off."),
    "rotor_inertia": (QUANTITY, "Of the motor, kg m^2; the joint feels it times gear^2."),
    "gear": (NUMBER, "The ratio of the gearbox."),
    "spring_stiffness": (NUMBER, "Of a spring beside the joint, N m per rad or N per m."),
    "spring_rest": (ANGLE_SCHEMA, "The position at which that spring is at rest."),
    "spring_curve": (NUMBER_LIST, "Its factors of x^2 and x^3, x away from the rest."),
    "mimic": (ANY_TABLE, "{joint, factor, offset}: it is at factor q + offset of the joint named."),
    "freedoms": (TABLE_LIST, "Of a joint with several freedoms, a table of limits and drive for each."),
    "z_axis": ({"enum": ["first", "second"]}, "Of a universal joint: which of its axes is z of the frame of the row."),
    "visuals": (TABLE_LIST, "What it looks like: {mesh, scale}, {box}, {cylinder}, ..., each with pose and rgba."),
}


def words_of(entry: object) -> str:
    """Return the sentence of an entry of a registry; of one without words the first line of its docstring, or ""."""
    for name in ("sentence", "about", "text", "source"):
        if isinstance(text := getattr(entry, name, None), str) and text:
            return text
    documented = inspect.isroutine(entry) or inspect.isclass(entry)  # the docstring of an instance is that of its class
    return (inspect.getdoc(entry) or "").partition("\n")[0] if documented else ""


def _choices(names: Iterable[str], entries: Mapping[str, object]) -> Json:
    """Return the schema of one of these names; taplo, the engine of editors, shows the words of each."""
    listed = list(names)
    words = [words_of(entries[name]) if name in entries else "" for name in listed]
    return {"enum": listed, "x-taplo": {"docs": {"enumValues": words}}}


def _table(known: Iterable[str], meanings: Mapping[str, tuple[Json, str]], needed: Iterable[str] = ()) -> Json:
    """A table with these keys and no others."""
    properties = {key: {**meanings[key][0], "description": meanings[key][1]} for key in known}
    return {"type": "object", "properties": properties, "additionalProperties": False, "required": list(needed)}


def _kinds(
    key: str,
    about: str,
    kinds: Mapping[str, tuple[Iterable[str], Iterable[str]]],
    meanings: Mapping[str, tuple[Json, str]],
    also: tuple[str, ...] = (),
) -> Json:
    """A table whose keys depend on one of them: of every kind the keys it may have and those it needs."""
    every = dict.fromkeys(name for known, _ in kinds.values() for name in known)
    made = _table([*every, *also], meanings, [key])
    made["properties"] = {key: {"enum": list(kinds), "description": about}, **made["properties"]}
    made["allOf"] = [
        {
            "if": {"properties": {key: {"const": kind}}, "required": [key]},
            "then": {"propertyNames": {"enum": [key, *known, *also]}, "required": [key, *needed]},
        }
        for kind, (known, needed) in kinds.items()
    ]
    return made


def trajectory(begun: bool = False, named: bool = False) -> Json:
    """A motion; `begun`, one that need not say where it begins; `named`, one that may have a name."""
    kinds = {
        name: (kind.keys, [key for key in kind.needed if not (begun and key == kind.begin)])
        for name, kind in MOTION_TYPES.items()
    }
    meanings = {**MOTION_DESCRIPTIONS, "name": (TEXT, "What tables and legends call it.")}
    made = _kinds("type", "Which motion it is (docs/simulation.md).", kinds, meanings, ("name",) if named else ())
    for rule, kind in zip(made["allOf"], MOTION_TYPES.values(), strict=True):
        if kind.one_of:
            rule["then"]["oneOf"] = [{"required": [key]} for key in kind.one_of]
    return made


def _law_parameter(words: LawParameter) -> tuple[Json, str]:
    bound = {} if words.minimum is None else {"minimum": words.minimum}
    return {**LAW_SHAPES[words.shape], **bound}, words.description


def _law_parameters(laws: Mapping[str, Mapping[str, LawParameter]]) -> dict[str, tuple[Json, str]]:
    """Return each key of any law; where laws differ in a key, the description names them."""
    found = dict[str, dict[str, tuple[Json, list[str]]]]()
    for law, known in laws.items():
        for key, words in known.items():
            shape, about = _law_parameter(words)
            found.setdefault(key, {}).setdefault(about, (shape, []))[1].append(law)
    merged = dict[str, tuple[Json, str]]()
    for key, meanings in found.items():
        shapes = [shape for shape, _ in meanings.values()]
        about = " ".join(f"{', '.join(names)}: {text}" for text, (_, names) in meanings.items())
        merged[key] = (
            shapes[0] if all(shape == shapes[0] for shape in shapes) else {"anyOf": shapes},
            next(iter(meanings)) if len(meanings) == 1 else about,
        )
    return merged


def torque() -> Json:
    """Return the schema of a [torque] table: any registered law, with limit, friction and noise."""
    laws = law_keys()
    kinds = {
        name: (tuple(known), [key for key, words in known.items() if words.required]) for name, known in laws.items()
    }
    rubbed, shaken = (
        _table(known, {key: _law_parameter(words) for key, words in known.items()})
        for known in (FRICTION_PARAMETERS, NOISE_PARAMETERS)
    )
    about = {
        **_law_parameters(laws),
        "limit": _law_parameter(LIMIT_PARAMETER),
        "friction": (rubbed, "{viscous, coulomb, smooth}, which the drives must overcome."),
        "noise": (shaken, "{std, hold, seed}: random torques that are held for a while."),
    }
    made = _kinds("law", "The torque law (docs/simulation.md).", kinds, about, COMMON_KEYS)
    made["properties"]["law"] |= _choices(kinds, LAWS)
    return made


def event() -> Json:
    """Return the schema of an [[event]] table: any event, with the keys it requires."""
    kinds = {
        name: (tuple(event_keys(name)), [k for k, needed in event_keys(name).items() if needed]) for name in EVENTS
    }
    return _kinds("type", "What happens.", kinds, EVENT_DESCRIPTIONS)


PAYLOAD = _table(PAYLOAD_KEYS, PAYLOAD_DESCRIPTIONS, ["mass"])
ROBOT: Json = {"anyOf": [TEXT, _table(ROBOT_TABLE_KEYS, LOADING_DESCRIPTIONS, ["file"])]}


def phase() -> Json:
    """Return the schema of a [[phase]] table."""
    one = event()
    return _table(
        PHASE_KEYS,
        {
            "name": (TEXT, "What it is called."),
            "duration": (POSITIVE_NUMBER, "Seconds; by default as long as its trajectory lasts."),
            "payload": (PAYLOAD, "What the tool holds from here on; {mass = 0} lets go."),
            "until": ({"anyOf": [one, {"type": "array", "items": one}]}, "What ends it earlier."),
            "trajectory": (trajectory(begun=True), "Where it moves; without, it rests."),
            "torque": (torque(), "What drives it; by default computed torque, or that of the scenario."),
        },
    )


def scenario(keys: Iterable[str] = SCENARIO_KEYS) -> Json:
    """The keys of a scenario; with phases, these say some of them for themselves."""
    apart = {"if": {"required": ["phase"]}, "then": {"properties": dict.fromkeys(KEYS_OF_PHASES, False)}}
    return {**_table(keys, _scene()), **apart}


def _scene() -> dict[str, tuple[Json, str]]:
    stops = _table(STOP_DESCRIPTIONS, STOP_DESCRIPTIONS)
    method = (_choices(sorted(integrator_names()), INTEGRATORS), "The integrator (docs/simulation.md).")
    return {
        "robot": (
            ROBOT,
            "A packaged robot, a robot file seen from this one, or a table of a file and how it is loaded.",
        ),
        "gravity": (TRIPLE, "Seen from the world, m/s^2."),
        "payload": (PAYLOAD, "What the tool holds."),
        "duration": (POSITIVE_NUMBER, "Seconds; by default as long as the trajectory lasts."),
        "every": (POSITIVE_NUMBER, "Seconds between records."),
        "q0": (NUMBER_LIST, "Where it starts; by default where the trajectory does, else zero."),
        "qd0": (NUMBER_LIST, "How fast it starts."),
        "start": (NUMBER, "When it starts, seconds."),
        "smooth": (NON_NEGATIVE_NUMBER, "The speed within which the robot's dry friction rounds off, rad/s or m/s."),
        "stops": ({"anyOf": [FLAG, stops]}, "Stops at the limits of the joints."),
        "integrator": (_table(INTEGRATOR_KEYS, {"method": method, **INTEGRATOR_DESCRIPTIONS}), "How it is integrated."),
        "trajectory": (trajectory(), "Where it moves."),
        "torque": (torque(), "What drives it; by default computed torque along the trajectory."),
        "event": ({"type": "array", "items": event()}, "What ends it."),
        "phase": ({"type": "array", "items": phase(), "minItems": 1}, "What is done one after the other."),
    }


def study() -> Json:
    """The keys of a study (docs/studies.md)."""
    design = {
        "method": ({"enum": list(DESIGN_METHODS)}, "How numbers are drawn."),
        "count": (COUNT_NUMBER, "Rollouts, where numbers are drawn."),
        "seed": ({"type": "integer"}, "Another one draws others."),
        "correlations": ({"type": "array"}, "Two names and how they are correlated, each."),
    }
    want: dict[str, tuple[Json, str]] = {
        "measures": (
            {"type": "array", "items": _choices(STUDY_MEASURES, STUDY_MEASURES)},
            "What is found of every rollout.",
        ),
        "functions": (TEXT_LIST, "Of Python modules, module:function."),
        "within": (NUMBER, "rad or m from the target where a joint has settled."),
        "windings": (PER_JOINT, "Watts of heat per (N m)^2 of a joint."),
        "window": (NUMBER, "Seconds over which continuous torque is looked for."),
        "histories": ({"type": "array", "items": {"enum": list(HISTORY_NAMES)}}, "What is kept whole."),
        "histories_every": (COUNT_NUMBER, "Of every so many rollouts."),
    }
    own: dict[str, tuple[Json, str]] = {
        "name": (TEXT, "What the study is called."),
        "chunk": (COUNT_NUMBER, "Rollouts of a file of results."),
        "target": ({"enum": list(BACKENDS)}, "What computes them: cpu, or cuda for a card."),
        "actuators": (ANY_TABLE, "A catalogue, and motor and gearbox of each joint."),
        "vary": (
            {"type": "object", "minProperties": 1},
            'What differs: "payload.mass" = {uniform = [0, 3]}, or a list.',
        ),
        "design": (_table(design, design), "Which numbers each rollout has."),
        "want": (_table(want, want), "What is wanted of each."),
    }
    return _table(STUDY_KEYS, {**_scene(), **own}, ["robot", "vary"])


def size() -> Json:
    """The keys of a question of sizing (docs/sizing.md)."""
    held = {"type": "array", "items": {"anyOf": [NUMBER, PAYLOAD]}, "minItems": 1}
    own: dict[str, tuple[Json, str]] = {
        "catalogue": (TEXT, '"typical", or the path of a catalogue.'),
        "objective": (TEXT, '"mass", "price" or "energy".'),
        "payloads": (held, "Kilograms, or tables with mass, com and inertia."),
        "brakes": (ANYTHING, "Joints that have brakes."),
        "motion": ({"type": "array", "items": trajectory(named=True), "minItems": 1}, "As [trajectory] of a scenario."),
        "mounts": (ANY_TABLE, "By joint {link, point}: where actuators stand that are not on the link before."),
        "levers": (ANY_TABLE, "By joint {before, on, angle}: how a cylinder moves it."),
        "without_drives": (ANY_TABLE, "By link, kilograms of drives that the robot has in it already."),
        "max_twist": (ANYTHING, "How far gearboxes may twist, radians."),
        "reserve": (NUMBER, "The part of every limit that is to be left."),
        "inertia_ratio": (NUMBER, "The largest inertia at the motor, in rotors."),
        "min_frequency": (NUMBER, "The lowest frequency of a joint on its gearbox, Hz."),
        "ambient": (NUMBER, "Degrees Celsius."),
        "samples": (COUNT_NUMBER, "Times at which each motion is looked at."),
        "sets": (COUNT_NUMBER, "How many of the best sets are found."),
    }
    return _table(SIZING_KEYS, {**_scene(), **own}, ["robot", "motion"])


def robot() -> Json:
    """The keys of a robot (docs/notation.md)."""
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
        "name": (TEXT, "What it is called."),
        "link": (TEXT, "The link it is fixed to."),
        "pose": (PLACEMENT, "In the frame of that row: x, y, z and a quaternion x, y, z, w, or 4 rows of 4."),
    }
    loops: dict[str, tuple[Json, str]] = {
        **dict.fromkeys(LOOP_KEYS, (ANYTHING, "docs/notation.md, closed loops.")),
        "kind": ({"enum": list(LOOP_KINDS)}, "Whether points or whole frames meet."),
    }
    own: dict[str, tuple[Json, str]] = {
        "name": (TEXT, "The name of the robot."),
        "source": (TEXT, "Where its numbers come from."),
        "licence": (TEXT, "Who holds rights in them, and under which licence."),
        "convention": ({"enum": list(DH_CONVENTIONS)}, "Of the table of links."),
        "units": (FILE_UNITS, 'Of the numbers in this file: "mm", or a table by quantity; SI by default.'),
        "gravity": (POINT_QUANTITIES, "Seen from the world, m/s^2."),
        "base": (PLACEMENT, "Where the robot stands in the world."),
        "flange": (PLACEMENT, "From the last frame to where the tool is mounted."),
        "tool": (PLACEMENT, "From the flange to the tool frame."),
        "rated_payload": (NON_NEGATIVE_NUMBER, "What its maker says it can hold, kg."),
        "accept": (TEXT_LIST, "Problems that are known and fine."),
        "visuals": parts["visuals"],
        "payload": (PAYLOAD, "What the tool holds."),
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
"""Of every kind of file."""


def schema(kind: str) -> Json:
    """The JSON Schema (draft 7) of a kind of file: scenario, robot, study or size."""
    if kind not in SCHEMAS:
        raise unknown("kind of file", kind, SCHEMAS)
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": f"armwright {kind}"}
    return {**head, **SCHEMAS[kind]()}
