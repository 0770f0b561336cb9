"""The class `Robot` and its constructors, writers and views.

Each layer adds methods to the one below: `changes` to the description, `compiled`, `kinematics`, `dynamics`, `Robot`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from armwright.errors import ModelError, ModelWarning
from armwright.files import write
from armwright.model import toml, toml_writer
from armwright.model.description import EARTH_GRAVITY, Description
from armwright.model.dh_tables import DH_CONVENTIONS, check_rows
from armwright.model.loop_tables import with_loop_table
from armwright.model.printed_tables import as_table, follower_count, joint_count
from armwright.model.random_robot import random_description
from armwright.model.random_robot import random_tree as random_tree_description
from armwright.names import shown
from armwright.presentation import ServedPage, present
from armwright.robot.changes import PerJoint
from armwright.robot.dynamics import DynamicRobot
from armwright.rules.apply import unit_problems

if TYPE_CHECKING:
    from armwright.trajectory import MostPayload, Trajectory

__all__ = ["PerJoint", "Robot", "random_robot", "random_tree"]


class Robot(DynamicRobot):
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
        gravity: ArrayLike = EARTH_GRAVITY,
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
        """Return a robot from a DH table: one mapping per joint, with the keys of `docs/notation.md`.

        convention   "modified" (Craig), "standard", "angeles" (b = -d) or "saha" (b, standard frames). A table means
                     another robot in each, so there is no default
        units        units of the numbers, such as "mm" or {"length": "mm", "angle": "deg"}; SI and radians by default
        gravity      acceleration of free fall (3,), m/s^2
        base, tool   transforms (4, 4); `payload` is a mapping with mass, com and inertia
        tip, frames  the link that holds the tool; further named frames, each {name, link, pose}
        floating     the base moves freely and is the body `base_link`
        accept       kinds of problems that need no warning

        The `parent` of a row is any row before it. A faulty table raises a `ModelError`. Lengths that look like
        millimetres and angles that look like degrees raise a warning; `armwright.problems` lists all that looks wrong.
        """
        if convention is None:
            raise ModelError(
                "a DH table means another robot in each convention, and none was named; expected convention='modified' "
                f"(Craig's), or another of {', '.join(DH_CONVENTIONS)} (docs/notation.md)"
            )
        check_rows(rows, convention)
        data = {
            "name": name, "convention": convention, "link": rows, "gravity": gravity, "base": base, "tool": tool,
            "payload": payload, "source": source, "licence": licence, "accept": accept, "tip": tip,
            "frame": frames, "floating": floating, "base_link": base_link, "units": units,
        }  # fmt: skip
        read = toml.fields(data, lambda *_place: "", f"robot {name!r}")
        robot, table = cls.from_fields(read), read.table
        wrong = [p for p in unit_problems(robot, table.written) if p.severity != "note"]
        if unexpected := [problem for problem in wrong if not problem.accepted_by(robot)]:
            warnings.warn(f"robot {name!r}: " + "; ".join(unexpected), ModelWarning, stacklevel=2)
        return robot

    @classmethod
    def from_description(cls, description: Description) -> Robot:
        """Return a robot with the numbers of a description."""
        return cls(**{field.name: getattr(description, field.name) for field in fields(Description)})

    @classmethod
    def from_toml(cls, path: str | Path) -> Robot:
        """Return the robot of a TOML file; `armwright.load` also fits actuators and warns of what looks wrong.

        A file that is missing or faulty raises a `ModelError` with the line.
        """
        if not isinstance(path, (str, Path)):
            raise ModelError(f"from_toml got {type(path).__name__}; expected the path of a .toml file")
        return cls.from_fields(toml.read(Path(path)))

    @classmethod
    def from_fields(cls, f: toml.RobotFields) -> Robot:
        """Return the robot of the fields that a TOML reader has found."""
        if f.actuators is not None:
            _, where = f.actuators
            raise ModelError(f"{where(None)}: this robot has actuators; read it with armwright.load, which fits them")
        robot = cls(
            f.name, f.table.joints, f.table.links, f.gravity, f.base, f.tool, f.payload, f.source, f.accept, f.flange,
            f.table.followers, f.visuals, f.table.parents, f.tip, f.frames,
            licence=f.licence,
            rated_payload=f.rated_payload,
        )  # fmt: skip
        for loop, where in f.loops:
            robot = with_loop_table(robot, loop, where, f.table)
        return robot

    def to_toml(self, path: str | Path | None = None) -> str:
        """Return the robot as TOML text, and write it to `path` if there is one. Reading it returns an equal robot.

        Meshes are named as package://folder/file; `packages=` of `load` gives the place of the folder.
        """
        return _written(toml_writer.toml_text(self), path)

    def to_urdf(self, path: str | Path | None = None) -> str:
        """Return the robot as URDF text, without gravity, and write it to `path` if there is one.

        Meshes are named as in `to_toml`.
        """
        from armwright.model import urdf_writer  # noqa: PLC0415

        return _written(urdf_writer.urdf_text(self), path)

    def to_mjcf(self, path: str | Path | None = None) -> str:
        """Return the robot as MuJoCo XML, and write it to `path` if there is one. Comments name the meshes."""
        from armwright.model import mjcf  # noqa: PLC0415

        return _written(mjcf.mjcf_text(self), path)

    def view(self, *, host: str = "127.0.0.1", port: int | None = None, browser: bool | None = None) -> ServedPage:
        """Show the robot on a page with sliders, a tool to drag and live torques (needs viser); returns at once.

        The result has `url` and `close()`; a notebook shows it below the cell. It listens at `host`, this
        machine alone by default, and at a free `port`; `browser` is whether to open one.
        """
        page: ServedPage = present("view", self, host=host, port=port, browser=browser)
        return page

    def __repr__(self) -> str:
        followers = f", {count} following" if (count := follower_count(self)) else ""
        return f"<Robot {shown(self.name)}: {joint_count(self)} {self.joint_types}{followers}>"

    def __str__(self) -> str:
        return as_table(self)

    def _repr_html_(self) -> str:
        """Return a picture, and tables of joints and links, as HTML for notebooks."""
        return str(present("robot_cell", self))

    def plot(self, q: ArrayLike | None = None, ax: Any = None) -> Any:
        """Draw the robot at q, by default its neutral position, with matplotlib; return the axes."""
        return present("plot_robot", self, q, ax)

    def picture(
        self,
        path: str | Path,
        q: ArrayLike | None = None,
        size: tuple[int, int] = (1280, 720),
        azimuth: float = -55.0,
        elevation: float = 18.0,
    ) -> Path:
        """Write a picture of the robot as PNG, at q or at its neutral position; return its path.

        size                pixels
        azimuth, elevation  direction of the camera in degrees: around z, and above the floor
        """
        written: Path = present("picture_robot", self, path, q, size, (azimuth, elevation))
        return written

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
        """Return the largest payload with which all joints stay within their limits along one or several motions.

        com, inertia             as for `with_payload`; `gyration` is the inertia per kilogram instead, m^2
        torque, power, velocity  limits in place of those of the robot: N m, W, rad/s (N and m/s for prismatic joints)
        samples                  number of instants of each motion

        The result has `mass`, the `joint` at its limit and its `time`, and the largest payload over time as `curves`.
        The robot keeps its present payload. An `InfeasibleError` names the joint that is too weak or too slow even for
        that; a robot without limits of torque and power raises an `InputError`.
        """
        from armwright.trajectory import most_payload  # noqa: PLC0415  (robots that do not move need no motions)

        return most_payload(self, motion, com, inertia, gyration, torque, power, velocity, samples)


def _written(text: str, path: str | Path | None) -> str:
    """Return the text, and write it to a file if there is a path."""
    if path is not None:
        try:
            write(path, text)
        except (OSError, TypeError, ValueError) as error:
            raise ModelError(f"cannot write the robot to {path!r}: {error}") from None
    return text


def random_robot(n: int, seed: int, prismatic: float = 0.3) -> Robot:
    """Return a robot with n random joints and links that could exist.

    Each joint is prismatic with the probability `prismatic`; equal seeds give equal robots.
    """
    return Robot.from_description(random_description(n, seed, prismatic))


def random_tree(n: int, seed: int, **choices: Any) -> Robot:
    """Return a robot of n random bodies, each on the base or on an earlier one (`model.random_robot.random_tree`)."""
    return Robot.from_description(random_tree_description(n, seed, **choices))
