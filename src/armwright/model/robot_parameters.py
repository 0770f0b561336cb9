"""Runtime parameters of a robot: symbols in the mechanism instead of numbers.

| name                                                | numbers                                            |
|-----------------------------------------------------|----------------------------------------------------|
| gravity                                             | 3                                                  |
| payload.mass, payload.com, payload.inertia          | 1, 3, 6 (xx yy zz xy xz yz)                        |
| <link>.mass, <link>.com, <link>.inertia             | the same, of the link of that name                 |
| <joint>.viscous, .coulomb, .armature                | 1, of the joint of that name                       |
| <joint>.spring_stiffness, .spring_rest              | 1, of the spring at the joint                      |
| <joint>.a, .d, .y, .z                               | 1, a length of its placement                       |

Ball, free and planar joints have none. In a planar loop only lengths in its plane can vary, and none if the loop has
become a coupling, which requires the lengths of the robot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from armwright.algebra import IDENTITY, Matrix, Scalar, Symmetric, Vector
from armwright.errors import InputError, unknown
from armwright.formulations.parts.loop_geometry import frames_along
from armwright.mechanism import FREEDOMS_OF_KIND, AnyLink, Joint, Link, Mechanism, MomentLink
from armwright.model.description import Description
from armwright.model.mechanics import payload_on_link
from armwright.model.records import Payload
from armwright.model.transforms import pose_of, tensor_entries

BODY_PARAMETERS = {"mass": 1, "com": 3, "inertia": 6}
BASE_GRAVITY, TIP_BODY = "gravity as the base sees it", "the body at the tip with what it holds"
SHARED_PARAMETERS = {BASE_GRAVITY: 3, TIP_BODY: 10}
"""Parameters in which robots with shared code differ (`model.code_sharing`): 3 numbers; mass, first moment and inertia
about the origin."""

LENGTH_PARAMETERS = ("a", "d", "y", "z")
JOINT_PARAMETERS = ("viscous", "coulomb", "armature", "spring_stiffness", "spring_rest", *LENGTH_PARAMETERS)

IN_PLANE_TOLERANCE = 1e-9
"""The largest cosine of the angle between a length in a plane and the normal of that plane."""


def robot_parameters(robot: Description) -> dict[str, int]:
    """Return the names of all parameters that can vary, with their numbers of entries."""
    sizes = {"gravity": 3, **{f"payload.{field}": size for field, size in BODY_PARAMETERS.items()}}
    sizes |= {f"{link.name}.{field}": size for link in robot.links for field, size in BODY_PARAMETERS.items()}
    plain = [joint.name for joint in robot.rows if joint.kind not in FREEDOMS_OF_KIND]
    return sizes | {f"{name}.{field}": 1 for name in plain for field in JOINT_PARAMETERS}


def parameter_sizes(robot: Description, vary: Sequence[str]) -> dict[str, int]:
    """Return the sizes of the named parameters. Raises an error for a name that cannot vary."""
    known = robot_parameters(robot)
    for name in vary:
        if name not in known and name not in SHARED_PARAMETERS:
            raise unknown("parameter to vary", name, known)
    _check_names(robot, vary)
    _check_lengths(robot, vary)
    return {name: known[name] if name in known else SHARED_PARAMETERS[name] for name in vary}


def parameter_values(robot: Description, name: str) -> tuple[float, ...]:
    """Return the values of a parameter in the robot; those of a payload are zero without one."""
    owner, _, field = name.rpartition(".")
    if name == "gravity":
        return robot.gravity
    if field in BODY_PARAMETERS:
        payload = robot.payload or Payload(0.0)
        body = payload if owner == "payload" else next(link for link in robot.links if link.name == owner)
        return {"mass": (body.mass,), "com": body.com, "inertia": tensor_entries(body.inertia)}[field]
    return (getattr(next(row for row in robot.rows if row.name == owner), field),)


def _check_names(robot: Description, vary: Sequence[str]) -> None:
    """Raise an InputError for a repeated parameter, or an ambiguous name."""
    links = ["payload", *(link.name for link in robot.links)]
    joints = [joint.name for joint in robot.rows]
    for name in vary:
        if list(vary).count(name) > 1:
            raise InputError(f"vary names {name!r} twice; expected each parameter once")
        owner, _, field = name.rpartition(".")
        if owner and (links if field in BODY_PARAMETERS else joints).count(owner) > 1:
            what = "the payload and a link have" if owner == "payload" else "several links or joints have"
            raise InputError(f"vary = {name!r}: {what} this name; rename the link or joint first")


def _check_lengths(robot: Description, vary: Sequence[str]) -> None:
    """Raise an InputError for a length that would open a loop."""
    lengths = {name for name in vary if name.rpartition(".")[2] in LENGTH_PARAMETERS}
    if not lengths or not robot.followers:
        return
    for name, why in (*_coupled(robot), *_out_of_plane(robot)):
        if name in lengths:
            raise InputError(f"vary = {name!r}: {why}; expected a length outside of loops, or a robot for each length")


def _coupled(robot: Description) -> Iterator[tuple[str, str]]:
    """Yield the lengths of joints that move in proportion, with factors 1 or -1, as in a parallelogram."""
    rows = [row for row in robot.followers if row.mimic and not row.kind]
    factors = [(row.name, dict(row.mimic.leaders)) for row in rows if row.mimic and not row.mimic.curve]
    unit_factors = [(name, by) for name, by in factors if by and all(abs(factor) == 1 for factor in by.values())]
    for (one, by), (two, other) in combinations(unit_factors, 2):
        if set(by) & set(other):
            leaders = ", ".join({**by, **other})
            why = f"{one} and {two} follow {leaders} as in a parallelogram, whose lengths cannot vary"
            yield from ((f"{name}.{field}", why) for name in (one, two, *by, *other) for field in LENGTH_PARAMETERS)


def _out_of_plane(robot: Description) -> Iterator[tuple[str, str]]:
    """Yield the lengths normal to the plane of a planar loop; they do not depend on the position."""
    mechanism = robot.mechanism()
    for loop, model in zip(mechanism.loops, robot.loops, strict=True):
        if not loop.dependent:
            continue
        why = f"it leads out of the plane of loop {model.name!r}, whose joints depend, and cannot vary"
        axes: dict[int, tuple[Matrix, Vector]] = {}
        for path in mechanism.joints_between(loop.links):
            before = IDENTITY
            for i, frame in zip(path, frames_along(mechanism, path, dict.fromkeys(path, 0)), strict=True):
                axes[i] = before, frame.rotation.T.z
                before = frame.rotation
        normal = next(z for i, (_, z) in axes.items() if not mechanism.joints[i].prismatic)
        for i, (before, last) in axes.items():
            x, y, z = before.T
            joint = mechanism.joints[i]
            directions = {"a": x * joint.cg + y * joint.sg, "y": y * joint.cg - x * joint.sg, "z": z, "d": last}
            for field, direction in directions.items():
                if abs(float(direction.dot(normal))) > IN_PLANE_TOLERANCE:
                    yield f"{robot.rows[i].name}.{field}", why


def mechanism_with(robot: Description, values: Mapping[str, Sequence[Scalar]]) -> Mechanism:
    """Return the mechanism with these scalars in place of the robot's numbers."""
    plain = replace(robot, payload=None).mechanism()
    joints = tuple(_joint(joint, model.name, values) for joint, model in zip(plain.joints, robot.rows, strict=True))
    links: list[AnyLink] = list(plain.links)
    for i, model in zip(plain.solid, robot.links, strict=True):
        links[i] = _link(plain.bodies[i], model.name, values)
    if robot.payload is not None or any(name.startswith("payload.") for name in values):
        tool, i = pose_of(robot.tool_frame.pose), plain.solid[robot.tool_frame.link]
        payload = robot.payload or Payload(0.0)
        a, b = links[i], payload_on_link(payload, tool, float, lambda body: _link(body, "payload", values))
        links[i] = MomentLink(a.mass + b.mass, a.moment + b.moment, a.origin_inertia + b.origin_inertia)
    if TIP_BODY in values:
        mass, *rest = values[TIP_BODY]
        links[plain.solid[robot.tool_frame.link]] = MomentLink(mass, Vector(*rest[:3]), Symmetric(*rest[3:]))
    gravity = Vector(*values[BASE_GRAVITY]) if BASE_GRAVITY in values else plain.gravity
    if "gravity" in values:
        gravity = plain.base.rotation.T @ Vector(*values["gravity"])
    return replace(plain, joints=joints, links=tuple(links), gravity=gravity)


def _joint(joint: Joint, name: str, values: Mapping[str, Sequence[Scalar]]) -> Joint:
    changes = {field: values[f"{name}.{field}"][0] for field in JOINT_PARAMETERS if f"{name}.{field}" in values}
    return replace(joint, **changes)


def _link(link: Link, name: str, values: Mapping[str, Sequence[Scalar]]) -> Link:
    mass, com, inertia = (values.get(f"{name}.{field}") for field in BODY_PARAMETERS)
    return Link(
        link.mass if mass is None else mass[0],
        link.com if com is None else Vector(*com),
        link.inertia if inertia is None else Symmetric(*inertia),
    )
