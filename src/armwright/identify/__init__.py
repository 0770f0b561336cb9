"""Identification: the parameters that a robot's torques depend on, motions that excite them, and their estimates.

base = base_parameters(robot)                        what can be identified
motion = excitation(robot)                           a motion that excites them
result = estimate(robot, "measured.csv")             values, standard deviations, residuals; result.robot
result.validate("other.csv")                         the residuals on data that were not used in the fit
payload = estimate_payload(robot, q, qd, qdd, tau)   the payload of the robot
"""

from armwright.identify.base_set import BaseParameters, base_parameters
from armwright.identify.excitation_motion import Fourier, condition, excitation
from armwright.identify.least_squares import Identification, Residual, estimate
from armwright.identify.measured_data import Measurement, measurement, read
from armwright.identify.parameter_vector import parameter_names, parameters, with_parameters
from armwright.identify.payload_estimate import PayloadEstimate, estimate_payload
from armwright.identify.regressor_arrays import regressor
from armwright.identify.validation import Validation

__all__ = [
    "BaseParameters",
    "Fourier",
    "Identification",
    "Measurement",
    "PayloadEstimate",
    "Residual",
    "Validation",
    "base_parameters",
    "condition",
    "estimate",
    "estimate_payload",
    "excitation",
    "measurement",
    "parameter_names",
    "parameters",
    "read",
    "regressor",
    "with_parameters",
]
