"""Plots of actuators along the motions: torque over speed of a motor, or force over speed of a rod, with limits."""

from __future__ import annotations

from typing import Any

from armwright.actuators.actuator import Hydraulic
from armwright.pages.report.plot import COLOURS, Curve, Plot


def drive_plot(chosen: Any) -> Plot:
    """Return the plot of one actuator, with a curve for each motion and payload, and its limits."""
    drive = chosen.actuator
    curves = [
        Curve(title, chosen.speed[case].tolist(), chosen.torque[case].tolist(), colour=COLOURS[i % 6])
        for i, (title, case) in enumerate(zip(chosen.titles, chosen.cases, strict=True))
    ]
    note = f"{drive.name}; binding: {chosen.binding}, {chosen.used[chosen.binding]:.0%} used"
    if isinstance(drive, Hydraulic):
        (out, back), cylinder = drive.cylinder.speeds, drive.cylinder
        curves.append(_box("limits", (-back, out), (-cylinder.pull, cylinder.push), COLOURS[6]))
        return Plot(f"{chosen.joint}: rod", "speed, m/s", "force, N", curves, note=note, height=320)
    motor, gear = drive.motor, drive.gearbox
    fast = min(motor.top_speed, gear.max_input_speed or motor.top_speed)
    curves.append(_box("peak", (-fast, fast), (-motor.peak_torque, motor.peak_torque), COLOURS[6]))
    if (torque := motor.continuous_torque) is not None:
        curves.append(_box("continuous", (-fast, fast), (-torque, torque), COLOURS[7]))
    return Plot(f"{chosen.joint}: motor", "speed, rad/s", "torque, N m", curves, note=note, height=320)


def _box(name: str, x: tuple[float, float], y: tuple[float, float], colour: str) -> Curve:
    left, right, low, high = *x, *y
    return Curve(name, [right, right, left, left, right], [low, high, high, low, low], dashed=True, colour=colour)
