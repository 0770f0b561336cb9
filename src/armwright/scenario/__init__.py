"""A simulation described in a TOML file: which robot, along what, driven by what, integrated how.

robot = "puma560"                      # or the path of a robot file, seen from this one; the command line's wins; or
                                       # {file = "dog.urdf", floating = true}; base, tip, locked, packages, mappings
duration = 3.0                         # by default as long as the trajectory lasts
every = 0.01                           # seconds between records
q0 = [0, 0, 0, 0, 0, 0]                # by default where the trajectory starts, else zero (neutral, for quaternions)
qd0 = [0, 0, 0, 0, 0, 0]
gravity = [0, 0, -9.81]
payload = {mass = 2.0, com = [0, 0, 0.1], inertia = [0, 0, 0, 0, 0, 0]}
stops = true                           # at the limits of the joints; or {stiffness = ..., damping = ...}

[integrator]
method = "dop853"
rtol = 1e-9                            # or step = 0.001; atol, max_step

[trajectory]                           # its types are in `motions`
type = "quintic"
times = [0, 1, 2]
points = [[0, 0, 0, 0, 0, 0], [1, 0.5, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]

[torque]
law = "computed_torque"                # any of `armwright.torque.LAWS`, with its parameters (docs/simulation.md);
kp = 100                               # target = [...] in place of a trajectory
kd = 20
limit = 200                            # of every torque, or one per joint
friction = {viscous = 0.1, coulomb = 0.0, smooth = 0.0}
noise = {std = 0.5, hold = 0.01, seed = 1}  # random torques, drawn anew after so many seconds

[[event]]                              # what ends it: any of `events.EVENTS`, with its arguments
type = "limits"

In place of [trajectory] and duration, [[phase]] tables say what is done one after the other (`phases`), each with its
duration, payload, trajectory, torque and what ends it (until).

A file that says nothing of a motion (no duration, q0, qd0, trajectory, torque or phase) changes the robot alone, its
payload say: the robot then picks and places as it does without a file.
"""

from armwright.former_names import add_former_names
from armwright.scenario.motions import MOTION_TYPES, motion_of, trajectory_of
from armwright.scenario.parse import (
    Scenario,
    is_scenario,
    parse,
    pick_and_place,
    read,
    read_data,
    robot_in,
    scenario_from_tables,
    scenarios_in,
)

__all__ = [
    "MOTION_TYPES",
    "Scenario",
    "is_scenario",
    "motion_of",
    "parse",
    "pick_and_place",
    "read",
    "read_data",
    "robot_in",
    "scenario_from_tables",
    "scenarios_in",
    "trajectory_of",
]

add_former_names(__name__, made="parse.scenario_from_tables")
