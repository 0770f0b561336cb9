"""A simulation described in a TOML file: a robot, its trajectory, torque law, events and integrator.

robot = "puma560"                      # or the path of a robot file, relative to this one; or {file = "dog.urdf",
                                       # floating = true}, with base, tip, locked, packages, mappings; a robot on the
                                       # command line replaces it
duration = 3.0                         # by default the duration of the trajectory
every = 0.01                           # seconds between records
q0 = [0, 0, 0, 0, 0, 0]                # by default the start of the trajectory, else zero (neutral, for quaternions)
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
noise = {std = 0.5, hold = 0.01, seed = 1}  # random torques, drawn anew every `hold` seconds

[[event]]                              # an event that ends the motion: any of `events.EVENTS`, with its arguments
type = "limits"

[[phase]] tables replace [trajectory] and duration by consecutive phases (`phases`), each with its duration, payload,
trajectory, torque and events that end it (until).

A file without a motion (no duration, q0, qd0, trajectory, torque or phase) only changes the robot, such as its payload:
the robot then picks and places, as without a file.
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
