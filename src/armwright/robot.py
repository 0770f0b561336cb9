"""Robot: the description of an arm and everything one asks of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike

from armwright.algebra import Array
from armwright.arrays import check_finite, checked, common_shape, scalars, stacked
from armwright.errors import InputError, ModelError, ModelWarning, unknown
from armwright.files import write
from armwright.formulations.problem import MEANING
from armwright.function import Function, Wrenches
from armwright.function import compile as compile_function
from armwright.kinematics import (
    Orientation,
    Solver,
    Targets,
    by_frame,
    closed,
    each_orientation,
    inverse_kinematics,
    joint_rates,
)
from armwright.kinematics.contacts import (
    Contacts,
    HeldMotion,
    Support,
    all_jacobians,
    by_name,
    drift,
    held_motion,
    held_rows,
    supporting,
)
from armwright.lazy import cached_property
from armwright.manifold import difference, moved
from armwright.model import toml
from armwright.model.change import with_drives
from armwright.model.description import EARTH, NO_TENSOR, NO_TRANSFORM, Description, compose
from armwright.model.dh import CONVENTIONS, check_rows
from armwright.model.loop_closure import close, with_differential
from armwright.model.random_robot import random_description
from armwright.model.random_robot import random_tree as random_tree_description
from armwright.model.table import as_html, as_table, following, joints_of
from armwright.model.unit import checked_unit
from armwright.model.values import Reader, as_transform
from armwright.names import shown
from armwright.notebook import box
from armwright.rules.robot import of_payload
from armwright.rules.table import doubtful_units

if TYPE_CHECKING:
    from armwright.pages.viewer import Viewer
    from armwright.trajectory import MostPayload, Trajectory

PerJoint: TypeAlias = ArrayLike | Sequence[Any] | Mapping[str, Any] | None
"""One value for all joints, a list with one for each, or a mapping from names; None for what stays as it is."""


AXES = {"base": "world", "tip": "frame"}
"""Words for the axes in which the Jacobian of the tool is given."""


FASTEST = 1e100
"""Beyond which squares of velocities would overflow."""


class Robot(Description):
    """A robot with numbers: load one with `armwright.load`, or make one with `Robot.from_dh`.

    Positions, velocities, accelerations and torques are arrays of shape (n,) for one state or (..., n) for
    many. Units are SI and radians; torque means generalised force, so newtons for a prismatic joint. The
    equation of motion is

        tau = M(q) qdd + C(q, qd) qd + g(q) + friction(qd) - J(q)^T tip_wrench

    `tip_wrench` (..., 6) is force and moment exerted by the surroundings on the robot at the origin of the tool
    frame, in the axes of the tool frame. `link_wrenches` (..., links, 6) are the same for each link frame, or a mapping
    from names of frames (`frame_names`) to wrenches (..., 6) at their origins, in their axes.
    """

    @classmethod
    def from_dh(
        cls,
        rows: Sequence[Mapping[str, Any]],
        convention: str | None = None,
        *,
        name: str = "robot",
        gravity: ArrayLike = EARTH,
        base: ArrayLike | None = None,
        tool: ArrayLike | None = None,
        payload: Mapping[str, Any] | None = None,
        source: str = "",
        licence: str = "",
        accept: Sequence[str] = (),
        tip: str | int | None = None,
        frames: Sequence[Mapping[str, Any]] = (),
        floating: bool = False,
        base_link: Mapping[str, Any] | None = None,
        units: str | Sequence[str] | Mapping[str, str] | None = None,
    ) -> Robot:
        """A robot from a DH table: one mapping per joint, as documented in `docs/notation.md`.

        `units` are those of the numbers, such as "mm" or {"length": "mm", "angle": "deg"}; SI and radians by default.
        A row may hang on any `parent` before it. `tip` is the link that holds the tool, `frames` are further ones of
        interest, each {name, link, pose}. If `floating`, the base moves freely and is the body `base_link`.

        The convention is "modified" (Craig), "standard", "angeles" (b = -d) or "saha" (b, standard frames); a table
        means another robot in each, so there is none by default. Warns of lengths that look like millimetres and of
        angles that look like degrees; `armwright.problems` says what else looks wrong.
        """
        if convention is None:
            raise ModelError(
                "a DH table means another robot in each convention, and none was named; expected convention='modified' "
                f"(Craig's), or another of {', '.join(CONVENTIONS)} (docs/notation.md)"
            )
        check_rows(rows, convention)
        data = {
            "name": name, "convention": convention, "link": rows, "gravity": gravity, "base": base, "tool": tool,
            "payload": payload, "source": source, "licence": licence, "accept": accept, "tip": tip,
            "frame": frames, "floating": floating, "base_link": base_link, "units": units,
        }  # fmt: skip
        read = toml.fields(data, lambda *_place: "", f"robot {name!r}")
        robot, table = cls.from_fields(read), read.table
        wrong = [p for p in doubtful_units(robot, table.written) if p.severity != "note"]
        if told := [problem for problem in wrong if not problem.accepted_by(robot)]:
            warnings.warn(f"robot {name!r}: " + "; ".join(told), ModelWarning, stacklevel=2)
        return robot

    @classmethod
    def from_description(cls, description: Description) -> Robot:
        return cls(**{field.name: getattr(description, field.name) for field in fields(Description)})

    @classmethod
    def from_toml(cls, path: str | Path) -> Robot:
        """A robot from a TOML file; `armwright.load` does the same and also warns of what looks wrong."""
        if not isinstance(path, (str, Path)):
            raise ModelError(f"from_toml got {type(path).__name__}; expected the path of a .toml file")
        return cls.from_fields(toml.read(Path(path)))

    @classmethod
    def from_fields(cls, f: toml.Fields) -> Robot:
        if f.actuators is not None:
            _, where = f.actuators
            raise ModelError(f"{where(None)}: a robot with actuators is read with armwright.load, which fits them")
        robot = cls(
            f.name, f.table.joints, f.table.links, f.gravity, f.base, f.tool, f.payload, f.source, f.accept, f.flange,
            f.table.followers, f.visuals, f.table.parents, f.tip, f.frames,
            licence=f.licence,
            rated_payload=f.rated_payload,
        )  # fmt: skip
        for loop, where in f.loops:
            robot = close(robot, loop, where, f.table)
        return robot

    def to_toml(self, path: str | Path | None = None) -> str:
        """The robot as TOML text, also written to `path` if given. Reading it back gives an equal robot.

        Meshes are named as package://folder/file; read from elsewhere, `packages=` of `load` says where the folder is.
        """
        return _kept(toml.write(self), path)

    def to_urdf(self, path: str | Path | None = None) -> str:
        """The robot as URDF, also written to `path` if given. Gravity has no place in it; meshes as in `to_toml`."""
        from armwright.model import urdf  # noqa: PLC0415

        return _kept(urdf.text(self), path)

    def to_mjcf(self, path: str | Path | None = None) -> str:
        """The robot as MuJoCo's XML, also written to `path` if given. Meshes are named in comments only."""
        from armwright.model import mjcf  # noqa: PLC0415

        return _kept(mjcf.text(self), path)

    def view(self, *, host: str = "127.0.0.1", port: int | None = None, browser: bool | None = None) -> Viewer:
        """Show the robot on a page with sliders, a tool to drag and live torques (needs viser); returns at once.

        The result has `url` and `close()`, and in a notebook it stands below its cell. It listens at `host`, this
        machine alone by default, and at a free `port`; `browser` says whether one is opened.
        """
        from armwright.pages.viewer import view  # noqa: PLC0415  (a room above this one, for those who look)

        return view(self, host=host, port=port, browser=browser)

    def __repr__(self) -> str:
        led = f", {count} following" if (count := following(self)) else ""
        return f"<Robot {shown(self.name)}: {joints_of(self)} {self.joint_types}{led}>"

    def __str__(self) -> str:
        return as_table(self)

    def _repr_html_(self) -> str:
        """For notebooks: a picture, and what there is to know of every joint and link."""
        from armwright.pages.scene import svg  # noqa: PLC0415  (a robot is made without being looked at)

        return box(repr(self)[1:-1], svg(self), as_html(self))

    def plot(self, q: ArrayLike | None = None, ax: Any = None) -> Any:
        """The robot at q, or where it is neutral, drawn by matplotlib in axes of three dimensions, which it returns."""
        from armwright.pages.plots import plot_robot  # noqa: PLC0415  (matplotlib is wanted by those who plot)

        return plot_robot(self, q, ax)

    def picture(
        self,
        path: str | Path,
        q: ArrayLike | None = None,
        size: tuple[int, int] = (1280, 720),
        azimuth: float = -55.0,
        elevation: float = 18.0,
    ) -> Path:
        """Write a picture of the robot for slides, as PNG, at q or where it is neutral; return its path.

        size                pixels
        azimuth, elevation  degrees from which it is seen: around z, and above the floor
        """
        from armwright.pages.scene import Camera, Stage, write_picture  # noqa: PLC0415  (as for `plot`)

        at = self.neutral if q is None else checked("q", q, (self.nq,), np.dtype(float), "one pose")
        check_finite("q", at)
        if at.ndim != 1:
            raise InputError(f"q has shape {at.shape}; expected {self.nq} numbers, one pose")
        camera = Camera(size, azimuth, elevation)
        return write_picture(Stage(self, at[None], camera).draw(at), path)

    def with_gravity(self, gravity: ArrayLike) -> Robot:
        """The same robot under another gravity: the acceleration of free fall, in the world frame."""
        reader = Reader({"gravity": gravity}, lambda _key: "with_gravity")
        return replace(self, gravity=reader.triple("gravity"))

    def with_base(self, transform: ArrayLike) -> Robot:
        """The same robot with another base: the 4x4 transform from the world to frame 0.

        Frame 0 of a robot from a URDF or MuJoCo file is a canonical one, not that of its root: see `mounted`.
        """
        return replace(self, base=as_transform(transform, _refuse("with_base")))

    def mounted(self, transform: ArrayLike) -> Robot:
        """The same robot mounted elsewhere: what stood at the world's origin, the root of a file, stands there."""
        place = as_transform(transform, _refuse("mounted"))
        return replace(self, base=compose(place, self.base))

    def with_tool(self, transform: ArrayLike) -> Robot:
        """The same robot with another tool: the 4x4 transform from the last frame of its table to the tool frame."""
        return replace(self, tool=as_transform(transform, _refuse("with_tool")))

    def with_tip(self, name: str) -> Robot:
        """The same robot with another tip: tools are mounted at the frame of that name (`frame_names`); none is yet.

        What the robot holds is held there.
        """
        frame = self.frame(name)
        if frame.link < 0:
            raise InputError(f"with_tip: frame {name!r} is fixed to the base; expected one that moves")
        return replace(self, tip=frame.link, flange=frame.pose, tool=NO_TRANSFORM)

    def with_payload(
        self, mass: float, com: ArrayLike = (0.0, 0.0, 0.0), inertia: ArrayLike = NO_TENSOR, *, beside: bool = False
    ) -> Robot:
        """The same robot holding a body in place of what it held, or beside it: a gripper, and what that holds.

        Mass, centre of mass and centroidal tensor are given in the tool frame (the last frame, if there is no tool).
        """
        body = {"mass": mass, "com": com, "inertia": inertia}
        payload = toml.make_payload(body, lambda _key: "with_payload")
        for problem in of_payload(replace(self, payload=payload)):
            warnings.warn(problem, ModelWarning, stacklevel=2)
        return replace(self, payload=payload.beside(self.payload) if beside and self.payload else payload)

    def most_payload(
        self,
        motion: Trajectory | Iterable[Trajectory],
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        *,
        gyration: ArrayLike | None = None,
        torque: ArrayLike | None = None,
        power: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        samples: int = 1000,
    ) -> MostPayload:
        """Return the largest payload with which all joints stay within their limits along a motion, or along several.

        The result has `mass`, the `joint` that gives out first and its `time`, and the most payload at every time as
        `curves`. `com` and `inertia` are as for `with_payload`; `gyration` is the inertia per kilogram instead, m^2.
        `torque`, `power` and `velocity` are limits in place of the robot's own. What the robot holds stays in its hand.
        A robot that is too weak as it is raises an `InfeasibleError`, one without limits an `InputError`.
        """
        from armwright.trajectory import most_payload  # noqa: PLC0415  (robots that do not move need no motions)

        return most_payload(self, motion, com, inertia, gyration, torque, power, velocity, samples)

    def without_payload(self) -> Robot:
        """The same robot with an empty hand."""
        return replace(self, payload=None)

    def with_friction(self, viscous: PerJoint = None, coulomb: PerJoint = None, smooth: PerJoint = None) -> Robot:
        """The same robot with other friction: viscous qd + coulomb sign(qd), or tanh(qd / smooth) in place of the sign.

        Each is one number for all joints of one freedom (0 for all joints), a list, or a mapping by name; None leaves
        what there is.
        """
        return with_drives(self, "with_friction", viscous=viscous, coulomb=coulomb, smooth=smooth)

    def with_springs(self, stiffness: PerJoint = None, rest: PerJoint = None) -> Robot:
        """The same robot with other springs beside its joints: they pull with -stiffness (q - rest).

        Each is one number for all joints of one freedom (0 for all joints), a list, or a mapping by name; None leaves
        what there is. They are no elastic gearboxes: the joint moves as before, and its drive has their help.
        """
        return with_drives(self, "with_springs", stiffness=stiffness, rest=rest)

    def with_limits(self, position: PerJoint = None, velocity: PerJoint = None, torque: PerJoint = None) -> Robot:
        """The same robot with other limits: (low, high) of the position, and the largest speed and torque at the joint.

        Each is one for all joints, a list with one for each, or a mapping by name; None leaves what there is, and inf,
        or None for a single joint, means no limit.
        """
        return with_drives(self, "with_limits", position=position, velocity=velocity, torque=torque)

    def with_loop(
        self,
        links: Sequence[str],
        at: Sequence[ArrayLike | str] | None = None,
        *,
        dependent: Sequence[str] | None = None,
        reference: Mapping[str, float] | None = None,
        kind: str = "point",
        name: str | None = None,
    ) -> Robot:
        """The same robot with two links held together, so that a frame on one meets a frame on the other.

        `at` has a point, a 4x4 transform or the name of a frame for each, in the frame of its link; "base" is a link,
        too. In a plane, `dependent` are the two joints that the loop moves: they are found in closed form, and are
        coordinates no more. By default they are those whose largest torque is zero. With none, forces hold the loop.
        `reference` says by joint where they are about when it is closed, which tells the two ways to assemble it
        apart. The `kind` "weld" holds whole frames together, "point" their origins.
        """
        data = {"links": links, "at": at, "dependent": dependent, "reference": reference, "kind": kind, "name": name}
        return close(self, data, lambda _key: f"robot {self.name!r}, loop")

    def with_differential(self, joint: str, terms: Mapping[str, float], offset: float = 0.0) -> Robot:
        """The same robot with a joint at the sum of others times factors, plus an offset."""
        return with_differential(self, joint, terms, offset)

    def with_rotors(self, inertia: PerJoint = None, gear: PerJoint = None) -> Robot:
        """The same robot with other rotors: their inertia about their own axis, and its turns per turn of the joint.

        Each is one number for all joints of one freedom (0 for all joints), a list, or a mapping by name; None leaves
        what there is. A joint feels inertia gear^2.
        """
        return with_drives(self, "with_rotors", inertia=inertia, gear=gear)

    @overload
    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        *,
        link_wrenches: Wrenches | None = None,
        formulation: str | None = None,
        raises: Literal[True] = True,
    ) -> Array: ...

    @overload
    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        *,
        link_wrenches: Wrenches | None = None,
        formulation: str | None = None,
        raises: Literal[False],
    ) -> tuple[Array, Array]: ...

    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        *,
        link_wrenches: Wrenches | None = None,
        formulation: str | None = None,
        raises: bool = True,
    ) -> Array | tuple[Array, Array]:
        """The torques that produce the accelerations qdd.

        Where forces hold loops, qdd has to keep them closed; else these torques produce the nearest that does.
        With `raises=False` a second array says which states of a batch are good; others are nan, and cost none.
        """
        if raises and tip_wrench is None and link_wrenches is None and formulation is None:
            return self._inverse_dynamics(q, qd, qdd)
        f = self._solved("inverse_dynamics", formulation)
        if not raises:
            return f(q, qd, qdd, tip_wrench=tip_wrench, link_wrenches=link_wrenches, raises=False)
        return f(q, qd, qdd, tip_wrench=tip_wrench, link_wrenches=link_wrenches)

    @overload
    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        *,
        link_wrenches: Wrenches | None = None,
        formulation: str | None = None,
        raises: Literal[True] = True,
    ) -> Array: ...

    @overload
    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        *,
        link_wrenches: Wrenches | None = None,
        formulation: str | None = None,
        raises: Literal[False],
    ) -> tuple[Array, Array]: ...

    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        *,
        link_wrenches: Wrenches | None = None,
        formulation: str | None = None,
        raises: bool = True,
    ) -> Array | tuple[Array, Array]:
        """The accelerations that the torques tau produce; `raises=False` as in `inverse_dynamics`."""
        if raises and tip_wrench is None and link_wrenches is None and formulation is None:
            return self._forward_dynamics(q, qd, tau)
        f = self._solved("forward_dynamics", formulation)
        if not raises:
            return f(q, qd, tau, tip_wrench=tip_wrench, link_wrenches=link_wrenches, raises=False)
        return f(q, qd, tau, tip_wrench=tip_wrench, link_wrenches=link_wrenches)

    def constraint_forces(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        *,
        link_wrenches: ArrayLike | None = None,
    ) -> Array:
        """Force and moment of every loop that forces hold, shape (..., loops, 6), while the torques tau act.

        They act on the first link of the loop, at the frame it is held by and in the axes of that frame, and as much
        the other way on the second. Where loops are redundant they are the least of all that do the same.
        """
        return self._solved("constraint_forces")(q, qd, tau, tip_wrench=tip_wrench, link_wrenches=link_wrenches)

    def loop_errors(self, q: ArrayLike) -> Array:
        """How far the ends of every loop that forces hold are apart, and by how much turned; shape (..., loops, 6).

        In the axes of the link on which the ways to both ends part. The turn of a weld, by an angle up to pi, is a
        vector along its axis with the length 2 sin(angle / 2); of a point it is zero.
        """
        return self._solved("loop_errors")(q)

    def closed(self, q: ArrayLike, qd: ArrayLike | None = None) -> tuple[Array, Array]:
        """Return the nearest position at which all loops that forces hold are closed, and velocities that keep them so.

        Where they cannot be closed exactly, they are open the least there, and a warning says by how much. An error if
        that is more than 0.01 m or rad.
        """
        at = checked("q", q, (self.nq,), np.dtype(float), "one position per joint")
        v = np.zeros(self.n) if qd is None else checked("qd", qd, (self.n,), np.dtype(float), "one velocity per joint")
        if at.ndim > 1 or v.ndim > 1:
            raise InputError(f"closed got q of shape {at.shape} and qd of shape {v.shape}; expected one state")
        if all(loop.dependent for loop in self.loops):
            return at, v
        return closed(self, self.loop_errors, self._solved("loop_jacobian"), at, v)

    def inverse_dynamics_derivatives(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> tuple[Array, Array, Array]:
        """dtau/dq, dtau/dqd and M = dtau/dqdd, each of shape (..., n, n): row i for torque i."""
        return _three(self._solved("inverse_dynamics_derivatives")(q, qd, qdd))

    def forward_dynamics_derivatives(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> tuple[Array, Array, Array]:
        """dqdd/dq, dqdd/dqd and M^-1 = dqdd/dtau, each of shape (..., n, n): row i for acceleration i."""
        return _three(self._solved("forward_dynamics_derivatives")(q, qd, tau))

    def mass_matrix(self, q: ArrayLike, *, formulation: str | None = None) -> Array:
        """M(q), shape (..., n, n), rotors included."""
        if formulation is None:
            return self._mass_matrix(q)
        return self._solved("mass_matrix", formulation)(q)

    def bias(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        *,
        link_wrenches: Wrenches | None = None,
        formulation: str | None = None,
    ) -> Array:
        """The torques that hold zero acceleration: gravity, velocity products, friction, springs, wrenches."""
        return self._solved("bias", formulation)(q, qd, tip_wrench=tip_wrench, link_wrenches=link_wrenches)

    def joint_torque(
        self,
        joint: int,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tip_wrench: ArrayLike | None = None,
        *,
        link_wrenches: Wrenches | None = None,
    ) -> Array:
        """The torque of one joint (counted from 0) computed without those of the others (Grigorov 2013)."""
        if not isinstance(joint, Integral) or isinstance(joint, bool) or not 0 <= joint < self.n:
            raise InputError(f"joint = {joint!r}: expected a whole number from 0 to {self.n - 1}")
        f = self._solved(f"joint_torque[{joint}]")
        return f(q, qd, qdd, tip_wrench=tip_wrench, link_wrenches=link_wrenches)

    def gravity_torque(self, q: ArrayLike) -> Array:
        """g(q): the torques that hold the robot still against weight and springs, the gradient of potential_energy."""
        return self._solved("gravity_torque")(q)

    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """C(q, qd) of Christoffel symbols, shape (..., n, n): dM/dt - 2C is skew-symmetric."""
        return self._solved("coriolis_matrix")(q, qd)

    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Shape (...): joules, rotors included."""
        return self._solved("kinetic_energy")(q, qd)

    def potential_energy(self, q: ArrayLike) -> Array:
        """Shape (...): joules of weight, zero where every centre of mass is level with the world's origin, and of
        springs, zero at their rest."""
        return self._solved("potential_energy")(q)

    def gibbs_function(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """The Gibbs function, shape (...), J/s^2, with rotors: its gradient by qdd is the torque without friction."""
        return self._solved("gibbs_function")(q, qd, qdd)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """The velocity (..., n) that leads from q0 to q1 (..., nq) in one second: q1 - q0 but for ball and free joints.

        Of these it is a rotation vector, or the twist of a screw motion, in the axes of the body: as Pinocchio's.
        """
        ends = self._positions("q0", q0), self._positions("q1", q1)
        batch = common_shape({"q0": (ends[0], 1), "q1": (ends[1], 1)})
        return stacked(difference(self.balls, *(scalars(q, batch) for q in ends)), batch, np.dtype(float))

    def integrate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """The position (..., nq) to which the constant velocity v (..., n) leads from q in one second.

        That is q + v but for ball, free and planar joints, of which v is in the axes of the body: as Pinocchio's.
        """
        begin = self._positions("q", q)
        way = checked("v", v, (self.n,), np.dtype(float), "one velocity per freedom")
        check_finite("v", way)
        if self.balls and (fastest := float(np.abs(way).max(initial=0.0))) > FASTEST:
            raise InputError(f"v has an entry of size {fastest:.3g}; expected velocities below {FASTEST:g}")
        batch = common_shape({"q": (begin, 1), "v": (way, 1)})
        ends = moved(self.balls, scalars(begin, batch), scalars(way, batch))
        return self.unit(stacked(ends, batch, np.dtype(float)))

    def _positions(self, name: str, q: ArrayLike) -> Array:
        array = checked(name, q, (self.nq,), np.dtype(float), "a position")
        check_finite(name, array)
        return checked_unit(self, name, array)

    def forward_kinematics(self, q: ArrayLike, frame: str | None = None) -> Array:
        """The pose of the tool frame, or of the frame of that name, seen from the world; shape (..., 4, 4)."""
        return self._seen(frame)._solved("forward_kinematics")(q)

    def link_poses(self, q: ArrayLike) -> Array:
        """The poses of the link frames seen from the world, shape (..., links, 4, 4)."""
        return self._solved("link_poses")(q)

    def link_positions(self, q: ArrayLike) -> Array:
        """The origins of frame 0, of each link frame and of the tool frame in the world, shape (..., links + 2, 3).

        Without the last of them where there are several tips and none is chosen.
        """
        return self._solved("link_positions")(q)

    def jacobian(self, q: ArrayLike, frame: str | None = None, *, axes: str = "world") -> Array:
        """J with J qd = velocity of the origin of a frame, then its angular velocity; shape (..., 6, n).

        `frame` is the name of one (`frame_names`), the tool by default; `axes` says in which axes: "world", or "frame"
        for its own. For the tool, frame="base" and frame="tip" say the same two in one word, unless frames of the robot
        have these names. The torques that balance a tip wrench are -J^T tip_wrench, with J in the axes of the frame.
        """
        seen, axes = self._looked_at(frame, axes)
        return seen._solved(_in_axes(axes, "jacobian"))(q)

    def jacobian_derivative(
        self, q: ArrayLike, qd: ArrayLike, frame: str | None = None, *, axes: str = "world"
    ) -> Array:
        """dJ/dt of `jacobian`, shape (..., 6, n)."""
        seen, axes = self._looked_at(frame, axes)
        return seen._solved(_in_axes(axes, "jacobian_derivative"))(q, qd)

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Of all links and the payload, in the world; shape (..., 3)."""
        return self._solved("center_of_mass")(q)

    def center_of_mass_jacobian(self, q: ArrayLike) -> Array:
        """J with J qd = velocity of the centre of mass, in the axes of the world; shape (..., 3, n)."""
        return self._solved("center_of_mass_jacobian")(q)

    def centroidal_momentum(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Momentum, then angular momentum about the centre of mass, in the axes of the world; shape (..., 6).

        Of links and payload; rotors are left out, of which nothing is known but the inertia about their joint.
        """
        return self._solved("centroidal_momentum")(q, qd)

    def centroidal_momentum_matrix(self, q: ArrayLike) -> Array:
        """A with A qd = `centroidal_momentum`, shape (..., 6, n)."""
        return self._solved("centroidal_momentum_matrix")(q)

    def partial_velocities(self, q: ArrayLike) -> Array:
        """Kane's, shape (..., links, 6, n): times qd, each link's velocity at its centre of mass, then its angular one.

        In the axes of the world.
        """
        return self._solved("partial_velocities")(q)

    def convective_accelerations(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """What accelerates each link while no joint accelerates, in its link frame; shape (..., links, 3, 3).

        Rows: angular, of the origin, of the centre of mass; Grigorov's C_eps, C_V and C_VC.
        """
        return self._solved("convective_accelerations")(q, qd)

    def joint_velocities(
        self, q: ArrayLike, twist: ArrayLike, frame: str | None = None, *, axes: str = "world", damping: float = 0.0
    ) -> Array:
        """qd with J qd = twist (..., 6): velocity of the tool's origin, then its angular velocity; J as `jacobian`.

        The shortest qd where there are many, and least squares for fewer than six joints, a metre weighing as a
        radian. A twist that cannot be had because the position is singular is an error, unless there is
        `damping`: then |J qd - twist|^2 + damping^2 |qd|^2 is smallest.
        """
        return joint_rates(self, self.jacobian(q, frame, axes=axes), "twist", twist, None, damping)

    def joint_accelerations(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        twist_rate: ArrayLike,
        frame: str | None = None,
        *,
        axes: str = "world",
        damping: float = 0.0,
    ) -> Array:
        """qdd with J qdd + dJ/dt qd = twist_rate (..., 6): the rate of the twist's components in these axes.

        The shortest, the nearest or the damped one, as for `joint_velocities`.
        """
        drift = (self.jacobian_derivative(q, qd, frame, axes=axes) @ np.asarray(qd, float)[..., None])[..., 0]
        return joint_rates(self, self.jacobian(q, frame, axes=axes), "twist_rate", twist_rate, drift, damping)

    def support_forces(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, contacts: Contacts) -> Support:
        """Torques `tau` that produce qdd, none of them on the base, which floats, and `wrenches` that hold it.

        `contacts` are the frames that are held: a list of names, for points at their origins, or a mapping from names
        to "point" or "frame", which takes moments too. Of all forces that support the base the shortest are found, a
        newton weighing as a newton metre; they may pull, and do not know friction. The wrenches are by name, in the
        axes of the frames: as `link_wrenches` of `inverse_dynamics` they leave nothing for the base.
        """
        rows = held_rows(self, contacts)
        tau, f = supporting(self, self.inverse_dynamics(q, qd, qdd), all_jacobians(self, rows, q))
        return Support(tau, by_name(self, rows, q, f))

    def contact_dynamics(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, contacts: Contacts) -> HeldMotion:
        """The accelerations `qdd` that the torques tau produce while `contacts` are held, and the `wrenches` there.

        Contacts and wrenches are as in `support_forces`. The held points and frames do not accelerate; if they move,
        they go on as they do. Contacts that cannot all be held, as two points of a body that turns, are an error.
        """
        rows = held_rows(self, contacts)
        given = {"q": (q, self.nq), "qd": (qd, self.n), "tau": (tau, self.n)}
        arrays = {name: checked(name, x, (size,), np.dtype(float), MEANING[name]) for name, (x, size) in given.items()}
        batch = common_shape({name: (x, 1) for name, x in arrays.items()})
        check_finite("tau", arrays["tau"])
        q, qd, tau = (np.broadcast_to(x, (*batch, x.shape[-1])) for x in arrays.values())
        force = tau - self.bias(q, qd)
        rate = drift(self, rows, q, qd)
        qdd, f = held_motion(self, self.mass_matrix(q), force, all_jacobians(self, rows, q), rate)
        return HeldMotion(qdd, by_name(self, rows, q, f))

    @overload
    def inverse_kinematics(
        self,
        T: Targets,
        q0: ArrayLike | None = None,
        *,
        frame: str | None = None,
        orientation: Orientation = "full",
        path: bool = False,
        tolerance: float = 1e-10,
        attempts: int = 100,
        seed: int = 0,
        raises: Literal[True] = True,
        target: str = "cpu",
    ) -> Array: ...

    @overload
    def inverse_kinematics(
        self,
        T: Targets,
        q0: ArrayLike | None = None,
        *,
        frame: str | None = None,
        orientation: Orientation = "full",
        path: bool = False,
        tolerance: float = 1e-10,
        attempts: int = 100,
        seed: int = 0,
        raises: Literal[False],
        target: str = "cpu",
    ) -> tuple[Array, Array]: ...

    def inverse_kinematics(
        self,
        T: Targets,
        q0: ArrayLike | None = None,
        *,
        frame: str | None = None,
        orientation: Orientation = "full",
        path: bool = False,
        tolerance: float = 1e-10,
        attempts: int = 100,
        seed: int = 0,
        raises: bool = True,
        target: str = "cpu",
    ) -> Array | tuple[Array, Array]:
        """Joint positions (..., nq) within the limits that bring the tool frame to the poses T (..., 4, 4).

        T            poses of the tool, or of the frame that `frame` names; or a mapping from names of frames to poses
                     that are to be had at once
        q0           where to start; without it, and where it does not lead to the target, at random positions
        orientation  "full"; "axis": the tool's z axis is as in T, the rotation about it is free; "free": position only.
                     Of several frames a mapping by their names, "full" for those it does not name
        path         the poses along the first axis of T are a path: each position starts from the one before, and no
                     joint jumps. Between poses far apart the tool is led straight from one to the other
        tolerance    metres and radians by which the pose may differ; some 1e-14 are lost to rounding
        attempts     starts before a target counts as unreachable; `seed` chooses them
        raises       if False, the result is (q, solved), q being nearest to the target where solved is False;
                     if True, such a target is an `UnreachableError`
        target       "cpu"; or "cuda", an NVIDIA card: what is found is the same but for rounding. Poses and q0 of CuPy,
                     PyTorch or JAX are read where they are, and the result is one of theirs; no path
        """
        targets = by_frame(T, frame)
        counts, frames = each_orientation(orientation, targets), tuple(targets) if isinstance(targets, Mapping) else ()
        solver = self._solver(counts, path, frames, target)
        found = inverse_kinematics(solver, targets, q0, path, tolerance, attempts, seed)
        if not raises:
            return found.q, found.solved
        if found.failure is not None:
            raise found.failure
        return found.q

    @cached_property
    def _inverse_dynamics(self) -> Callable[..., Array]:
        return self._solved("inverse_dynamics").single

    @cached_property
    def _mass_matrix(self) -> Callable[..., Array]:
        return self._solved("mass_matrix").single

    @cached_property
    def _forward_dynamics(self) -> Callable[..., Array]:
        return self._solved("forward_dynamics").single

    @cached_property
    def _functions(self) -> dict[tuple[str, str], Function]:
        return {}

    @cached_property
    def _solvers(self) -> dict[tuple[str | tuple[str, ...], bool, tuple[str, ...], str], Solver]:
        return {}

    def _solver(
        self, orientation: str | tuple[str, ...], path: bool, frames: tuple[str, ...] = (), target: str = "cpu"
    ) -> Solver:
        known = orientation if isinstance(orientation, (str, tuple)) else repr(orientation)
        key = (known, bool(path), frames, target if isinstance(target, str) else repr(target))
        if key not in self._solvers:
            self._solvers[key] = Solver(self, *key)
        return self._solvers[key]

    @cached_property
    def _views(self) -> dict[str, Robot]:
        return {}

    def _seen(self, frame: str | None) -> Robot:
        """This robot looked at the frame of that name, kept with what is compiled for it."""
        if frame is None:
            return self
        if not isinstance(frame, str) or frame not in self._views:
            self._views[frame] = self.seen_at(frame)
        return self._views[frame]

    def _looked_at(self, frame: str | None, axes: str) -> tuple[Robot, str]:
        """The same, and the axes; "base" and "tip" are words for the axes of the tool where no frame is called so."""
        if isinstance(frame, str) and frame in AXES and frame not in self.frame_names:
            if axes != "world":
                raise InputError(f"frame={frame!r} says in which axes already; leave axes={axes!r} out")
            return self, AXES[frame]
        return self._seen(frame), axes

    def _solved(self, problem: str, formulation: str | None = None) -> Function:
        """A problem of this robot, compiled once."""
        key = (problem, formulation if isinstance(formulation, str) else repr(formulation))
        if key not in self._functions:
            self._functions[key] = compile_function(self, problem, formulation)
        return self._functions[key]


def _three(result: Array) -> tuple[Array, Array, Array]:
    return result[..., 0, :, :], result[..., 1, :, :], result[..., 2, :, :]


def _kept(text: str, path: str | Path | None) -> str:
    """The text, also written to a file if one is named."""
    if path is not None:
        try:
            write(path, text)
        except (OSError, TypeError, ValueError) as error:
            raise ModelError(f"cannot write the robot to {path!r}: {error}") from None
    return text


def _refuse(where: str) -> Callable[[str], NoReturn]:
    def fail(message: str) -> NoReturn:
        raise ModelError(f"{where}: {message}")

    return fail


def _in_axes(axes: str, problem: str) -> str:
    """The name of a quantity in the axes of the world or of the frame."""
    names = {"world": problem, "frame": f"tip_{problem}"}
    if not isinstance(axes, str) or axes not in names:
        raise unknown("axes", axes, names)
    return names[axes]


def random_robot(n: int, seed: int, prismatic: float = 0.3) -> Robot:
    """A robot with n random joints and links that could exist; each joint is prismatic with the given probability."""
    return Robot.from_description(random_description(n, seed, prismatic))


def random_tree(n: int, seed: int, **choices: Any) -> Robot:
    """A robot of n random bodies, each hung on the base or on one before it (`model.random_robot.random_tree`)."""
    return Robot.from_description(random_tree_description(n, seed, **choices))
