"""A sizing as one page: the sets, the margins, and each motor's torque over its speed within its limits."""

from __future__ import annotations

from typing import Any

from armwright.report.plot import COLOURS, Curve, Plot, figures


def page(sizing: Any) -> str:
    """The page of a `Sizing`."""
    from armwright.sizing.result import HEADS  # noqa: PLC0415

    tables = [
        ("The best set", [HEADS, *sizing.rows()]),
        ("Used of each limit", sizing.margin_rows()),
        ("The best sets", sizing.set_rows()),
    ]
    if sizing.notes:
        tables.append(("Not known", [("what", ""), *((note, "") for note in sizing.notes)]))
    plots = [_plot(chosen) for chosen in sizing.best.joints]
    return figures(f"{sizing.robot.name}: actuators", sizing.summary, plots, tables)


def _plot(chosen: Any) -> Plot:
    """Torque over speed of the shaft of one motor, a curve for each motion with each payload."""
    motor, gear = chosen.actuator.motor, chosen.actuator.gearbox
    fast = min(motor.top_speed, gear.max_input_speed or motor.top_speed)
    curves = [
        Curve(f"case {i + 1}", chosen.speed[case].tolist(), chosen.torque[case].tolist(), colour=COLOURS[i % 10])
        for i, case in enumerate(chosen.cases)
    ]
    curves.append(_box("peak", fast, motor.peak_torque, COLOURS[6]))
    if motor.continuous_torque is not None:
        curves.append(_box("continuous", fast, motor.continuous_torque, COLOURS[7]))
    note = f"{motor.name}, {gear.name}; binding: {chosen.binding}, {chosen.used[chosen.binding]:.0%} used"
    return Plot(f"{chosen.joint}: motor", "speed, rad/s", "torque, N m", curves, note=note, height=320)


def _box(name: str, speed: float, torque: float, colour: str) -> Curve:
    x = [speed, speed, -speed, -speed, speed]
    y = [-torque, torque, torque, -torque, -torque]
    return Curve(name, x, y, dashed=True, colour=colour)
