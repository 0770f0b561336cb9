"""What is computed in one way only: kinematics, energies, Coriolis matrix, regressor, derivatives."""
