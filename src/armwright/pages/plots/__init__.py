"""Pictures by matplotlib, in one style: `run.plot()`, `run.plot_torque_speed()`, `arm.plot(q)`."""

from armwright.pages.plots.motion import plot_run, plot_torque_speed
from armwright.pages.plots.robot import plot_robot

__all__ = ["plot_robot", "plot_run", "plot_torque_speed"]
