"""Motions of all joints over time: small frozen objects that give q, qd and qdd at any t.

motion = cubic([0, 3, 6], points)        # through via points without stopping
q, qd, qdd = motion(t)                   # t a number or an array
motion.then(other).lasting(10).holding() # join, stretch, rest outside the span
time_optimal(robot, points)              # the fastest motion within the limits
most_payload(robot, motion)              # the largest payload that the robot can carry along it
check_limits(motion, robot)              # false if every joint stays within its limits
"""

from armwright.trajectory.analytic import cycloid, cycloidal, function
from armwright.trajectory.cartesian import cartesian_circle, cartesian_line
from armwright.trajectory.limit_checks import LimitReport, check_limits
from armwright.trajectory.most_payload import MostPayload, PayloadCurve, most_payload
from armwright.trajectory.motion_base import Trajectory
from armwright.trajectory.parabolic_blends import blended
from armwright.trajectory.polynomial import PiecewisePolynomial, linear, normal_spline, rest, trapezoidal
from armwright.trajectory.splines import cubic, hermite, quintic, sampled, spline
from armwright.trajectory.time_optimal import TimeOptimal, time_optimal

__all__ = [
    "LimitReport",
    "MostPayload",
    "PayloadCurve",
    "PiecewisePolynomial",
    "TimeOptimal",
    "Trajectory",
    "blended",
    "cartesian_circle",
    "cartesian_line",
    "check_limits",
    "cubic",
    "cycloid",
    "cycloidal",
    "function",
    "hermite",
    "linear",
    "most_payload",
    "normal_spline",
    "quintic",
    "rest",
    "sampled",
    "spline",
    "time_optimal",
    "trapezoidal",
]
