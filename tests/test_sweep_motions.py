"""Studies in which motions, tools and the floor vary: each rollout is what `simulate` finds for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import armwright as aw
from armwright.errors import ModelError
from armwright.sweep.chunk import compute_chunk, compute_row
from armwright.sweep.prepare import setup_of

TOOL = np.array([[0.0, -1, 0, 0.1], [1, 0, 0, 0.2], [0, 0, 1, 0.3], [0, 0, 0, 1]])
PAYLOAD = {"mass": 2.0, "com": [0.1, 0.2, 0.05], "inertia": [0.03, 0.02, 0.025, 0.001, 0.002, 0.003]}
MOTION = {"type": "quintic", "times": [0, 0.2, 0.4], "points": [[0, 0], [0.5, -0.3], [0.2, 0.1]]}
TRAPEZE = {"type": "trapezoidal", "from": [0, 0], "to": [1, 0.5], "velocity": 4, "acceleration": 40}


def study(vary: dict, **more: object) -> aw.Study:
    how: dict = {
        "robot": aw.load("rr").with_tool(TOOL).with_payload(**PAYLOAD),
        "duration": 0.4,
        "every": 0.1,
        "integrator": {"method": "rk4", "step": 0.01},
        "trajectory": MOTION,
        "torque": {"law": "computed_torque", "kp": 30, "kd": 5, "friction": {"viscous": 0.3}},
        "want": {"measures": ["peak_torque", "tracking_error", "final_q"]},
        "design": {"method": "list"},
    }
    return aw.Study(vary=vary, **{**how, **more})


def rows_of(made: aw.Study) -> list[dict]:
    return pyarrow.parquet.read_table(pyarrow.BufferReader(compute_chunk(made, 0).rows)).to_pylist()


def simulated(robot: aw.Robot, motion: Any, kp: Any = 30) -> Any:
    law = aw.torque.computed_torque(motion.holding(), kp=kp, kd=5, model=study({}).robot)
    law = law + aw.torque.friction(viscous=0.3)
    return aw.simulate(robot, law, duration=0.4, every=0.1, integrator="rk4", step=0.01)


def same(row: dict, run: Any) -> None:
    assert row["ok"]
    assert [row["final_q1"], row["final_q2"]] == pytest.approx(run.q[-1].tolist(), rel=1e-9)


def test_points_times_and_gains_of_a_motion_vary_together() -> None:
    vary = {"trajectory.points.2.1": [0.0, 0.7], "trajectory.times.2": [0.15, 0.25], "torque.kp.2": [10.0, 40.0]}
    for row in rows_of(study(vary)):
        points = [[0, 0], [row["trajectory.points.2.1"], -0.3], [0.2, 0.1]]
        motion = aw.trajectory.quintic([0, row["trajectory.times.2"], 0.4], points)
        run = simulated(study({}).robot, motion, kp=[30, row["torque.kp.2"]])
        same(row, run)
        error = np.abs(run.q - motion.holding()(run.t)[0]).max(axis=0)
        assert [row["tracking_error1"], row["tracking_error2"]] == pytest.approx(error.tolist(), abs=1e-12)


def test_velocity_and_ends_of_a_trapezoidal_motion_vary() -> None:
    vary = {"trajectory.velocity": [3.0, 5.0], "trajectory.to.2": [0.3, 0.6], "q0.1": [0.0, 0.1]}
    for row in rows_of(study(vary, trajectory=TRAPEZE)):
        motion = aw.trajectory.trapezoidal([0, 0], [1, row["trajectory.to.2"]], row["trajectory.velocity"], 40)
        law = aw.torque.computed_torque(motion.holding(), kp=30, kd=5, model=study({}).robot)
        law = law + aw.torque.friction(viscous=0.3)
        q0 = [row["q0.1"], 0.0]
        same(
            row,
            aw.simulate(study({}).robot, law, q0, duration=0.4, every=0.1, integrator="rk4", step=0.01),
        )


def rotation(roll: float, pitch: float, yaw: float) -> np.ndarray:
    def about(axis: int, angle: float) -> np.ndarray:
        c, s, R = np.cos(angle), np.sin(angle), np.eye(3)
        i, k = [j for j in range(3) if j != axis]
        sign = -1 if axis == 1 else 1
        R[i, i], R[k, k], R[i, k], R[k, i] = c, c, -sign * s, sign * s
        return R

    return about(2, yaw) @ about(1, pitch) @ about(0, roll)


def test_a_tool_takes_what_it_holds_with_it_and_a_floor_leans() -> None:
    vary = {
        "tool.x": [0.1, -0.2],
        "tool.roll": [0.3, 0.0],
        "tool.yaw": [0.5, -1.0],
        "payload.com.z": [0.05, 0.2],
        "gravity.roll": [0.1, 0.4],
        "gravity.pitch": [-0.2, 0.3],
    }
    held, motion = study({}).robot, aw.trajectory.quintic(MOTION["times"], MOTION["points"])
    for row in rows_of(study(vary)):
        tool = TOOL.copy()
        tool[0, 3] = row["tool.x"]
        tool[:3, :3] = rotation(row["tool.roll"], 0.0, row["tool.yaw"])
        gravity = rotation(row["gravity.roll"], row["gravity.pitch"], 0.0) @ np.array(held.gravity)
        arm = held.with_tool(tool).with_gravity(gravity)
        arm = arm.with_payload(**{**PAYLOAD, "com": [0.1, 0.2, row["payload.com.z"]]})
        same(row, simulated(arm, motion))


@pytest.mark.parametrize(
    "vary",
    [
        {"trajectory.points.2.1": [0.0, 0.5, -0.2], "tool.z": [0.0, 0.1, 0.3], "start": [0.0, 0.05, 0.1]},
        {"start": [0.0, 0.1, 0.1], "duration": [0.2, 0.3, 0.2], "actuators.joint2": [1, 2, 2]},
    ],
    ids=["motion", "actuators"],
)
def test_a_row_alone_has_the_bits_of_its_chunk(vary: dict) -> None:
    small = {"motor": "typical servo 100 W", "gearbox": "typical strain wave 35 N m 1:80"}
    large = {"motor": "typical servo 750 W", "gearbox": "typical strain wave 107 N m 1:120"}
    made = study(vary, actuators={"joint2": [small, large]})
    for i, row in enumerate(rows_of(made)):
        alone, _ = compute_row(setup_of(made), i)
        assert repr({name: x.tolist()[0] for name, x in alone.items()}) == repr(row)


WRONG = {
    "no such point": ({"trajectory.points.4.1": [0, 1]}, "did you mean 'trajectory.points"),
    "times that fall": ({"trajectory.times.2": [0.1, 0.5]}, r"row 1 would have trajectory.times.2 = 0.5: expected increasing times"),
    "no velocity": ({"trajectory.velocity": [1, 2]}, "have no 'trajectory.velocity' that can vary"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_motions_that_cannot_be_are_told_before_they_start(case: str) -> None:
    vary, message = WRONG[case]
    with pytest.raises(ModelError, match=message):
        setup_of(study(vary))


def test_what_cannot_vary_is_told() -> None:
    speeds = {"trajectory.velocity": [3.0, 5.0]}
    with pytest.raises(ModelError, match=r"this gives motions different durations; expected duration = for all"):
        setup_of(study(speeds, trajectory=TRAPEZE, duration=None))
    with pytest.raises(
        ModelError, match=r"row 1 would have trajectory.velocity = 50: expected a velocity that all rows reach"
    ):
        setup_of(study({"trajectory.velocity": [3.0, 50.0]}, trajectory=TRAPEZE))
    with pytest.raises(ModelError, match=r"row 0 would have trajectory.velocity = -1: expected more than zero"):
        setup_of(study({"trajectory.velocity": [-1.0]}, trajectory=TRAPEZE))
    with pytest.raises(ModelError, match=r"trajectory.velocity varies too, for all joints"):
        setup_of(study({**speeds, "trajectory.velocity.1": [1, 2]}, trajectory=TRAPEZE))
    with pytest.raises(ModelError, match=r"rr has no payload to move"):
        setup_of(replace(study({"tool.x": [0, 1]}), robot="rr"))
