"""Pictures by matplotlib, in one style: `run.plot()`, `run.plot_torque_speed()`, `arm.plot(q)`."""

from armwright.pages.plots.robot_plot import plot_robot
from armwright.pages.plots.run_plots import plot_run, plot_torque_speed

__all__ = ["plot_robot", "plot_run", "plot_torque_speed"]
