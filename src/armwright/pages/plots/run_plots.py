"""Plots of a run: quantities over time, and the torque of each joint over its speed with the limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from armwright.errors import InputError, unknown
from armwright.pages.plots.style import STYLE, joint_colour, joint_indices, plain_label, pyplot
from armwright.simulation.run import Run

QUANTITY_TITLES = {
    "q": ("Position", "rad or m"),
    "qd": ("Velocity", "rad/s or m/s"),
    "qdd": ("Acceleration", "rad/s² or m/s²"),
    "tau": ("Torque", "N m or N"),
    "power": ("Power", "W"),
    "stop_torque": ("Torque of stops", "N m or N"),
    "energy": ("Energy", "J"),
}
DEFAULT_QUANTITIES = ("q", "qd", "tau", "energy")


def plot_run(run: Run, what: Sequence[str] | str = DEFAULT_QUANTITIES, joints: Any = None) -> Any:
    """Return a figure with a chart for each of `what`: q, qd, qdd, tau, power, stop_torque or energy.

    The reference is dashed; limits that a joint approaches are dotted.
    """
    plt, indices = pyplot(), joint_indices(run.robot, joints)
    listed = [what] if isinstance(what, str) else list(what)
    if not listed or not indices:
        raise InputError(f"what = {what!r} and joints = {joints!r} plot nothing; expected at least one of each")
    for name in listed:
        if name not in QUANTITY_TITLES:
            raise unknown("quantity", name, QUANTITY_TITLES)
        if name == "stop_torque" and not run.stop_torque.size:
            raise InputError("this run has no stop_torque; expected a run with stops=True, or another quantity")
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(len(listed), 1, sharex=True, squeeze=False, figsize=(8, 1 + 2.1 * len(listed)))
        for ax, name in zip(axes[:, 0], listed, strict=True):
            ax.set_title(f"{QUANTITY_TITLES[name][0]}, {_unit(run, name, indices)}")
            _draw_energies(ax, run) if name == "energy" else _draw_curves(ax, run, name, indices)
        axes[-1, 0].set_xlabel("t, s")
        names = [plain_label(run.robot.joints[i].name) for i in indices]
        handles = [plt.Line2D([], [], color=joint_colour(i)) for i in indices]
        figure.legend(handles, names, loc="outside right upper")
        figure.suptitle(plain_label(run.robot.name), x=0.02, ha="left", fontweight="bold")
    return figure


def _unit(run: Run, name: str, indices: list[int]) -> str:
    """Return the unit of a quantity: one if all joints are revolute or all prismatic, else both."""
    revolute, *prismatic = QUANTITY_TITLES[name][1].split(" or ")
    kinds = {bool(run.robot.joints[i].prismatic) for i in indices}
    if len(kinds) > 1:
        return QUANTITY_TITLES[name][1]
    return prismatic[0] if kinds == {True} and prismatic else revolute


def _draw_curves(ax: Any, run: Run, name: str, indices: list[int]) -> None:
    values = run.places if name == "q" else getattr(run, name)
    reference = dict(zip(("q", "qd", "qdd"), run.reference or (), strict=run.reference is not None)).get(name)
    for i in indices:
        ax.plot(run.t, values[:, i], color=joint_colour(i))
        if reference is not None and reference.shape == values.shape:
            ax.plot(run.t, reference[:, i], color=joint_colour(i), linestyle="--", alpha=0.5)
    low, high = view = ax.get_ylim()
    for i in indices:
        joint = run.robot.joints[i]
        limit = {"tau": joint.max_torque, "qd": joint.max_velocity}.get(name)
        for level in () if limit is None else (-limit, limit):
            if 1.3 * view[0] <= level <= 1.3 * view[1]:
                ax.axhline(level, color=joint_colour(i), linestyle=":", alpha=0.8)
                low, high = min(low, 1.05 * level), max(high, 1.05 * level)
    ax.set_ylim(low, high)


def _draw_energies(ax: Any, run: Run) -> None:
    parts = {"kinetic": run.kinetic, "potential": run.potential - run.potential[0], "work": run.work}
    if np.any(run.losses):
        parts["losses"] = run.losses
    for k, (name, values) in enumerate(parts.items()):
        ax.plot(run.t, values, label=name, color="0.2", linestyle=("-", "--", ":", "-.")[k])
    ax.legend(loc="upper left", ncols=len(parts), fontsize="small")


def plot_torque_speed(run: Run, joints: Any = None) -> Any:
    """Return a figure with a chart for each joint: torque over speed, with the limits of both as a box."""
    plt, indices = pyplot(), joint_indices(run.robot, joints)
    columns = min(3, len(indices))
    rows = math.ceil(len(indices) / columns)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(rows, columns, squeeze=False, figsize=(3.4 * columns, 2.9 * rows))
        for ax in axes.flat[len(indices) :]:
            ax.set_visible(False)
        for ax, i in zip(axes.flat, indices, strict=False):
            joint, use = run.robot.joints[i], run.utilisation.joints[i]
            ax.plot(run.qd[:, i], run.tau[:, i], color=joint_colour(i))
            _draw_limits(ax, plt, joint.max_velocity, joint.max_torque, use.too_weak or use.too_slow)
            used = f" {use.torque:.0%}" if use.torque is not None else ""
            ax.set_title(f"{plain_label(joint.name)}{used}")
            ax.set_xlabel(use.units[1])
            ax.set_ylabel(use.units[0])
        figure.suptitle(f"{plain_label(run.robot.name)}: torque over speed", x=0.02, ha="left", fontweight="bold")
    return figure


def _draw_limits(ax: Any, plt: Any, speed: float | None, torque: float | None, exceeded: bool) -> None:
    """Draw the known limits of torque and speed, in red if the joint exceeds them."""
    line = {"color": "#d92d20" if exceeded else "0.4", "linestyle": ":", "linewidth": 1.2}
    if speed is not None and torque is not None:
        ax.add_patch(plt.Rectangle((-speed, -torque), 2 * speed, 2 * torque, fill=False, **line))
        ax.margins(0.08)
        ax.autoscale_view()
    for level, draw in ((speed, ax.axvline), (torque, ax.axhline)):
        if level is not None and (speed is None or torque is None):
            for value in (-level, level):
                draw(value, **line)
