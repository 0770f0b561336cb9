"""Quantities with one formulation: kinematics, energies, Coriolis matrix, regressor, derivatives."""
