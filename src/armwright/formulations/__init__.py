"""Every published formulation of the dynamics of a chain, written once over any scalar.

| here         | what                                                                                     |
|--------------|------------------------------------------------------------------------------------------|
| one file each| the published formulations                                                               |
| `parts`      | what several of them are made of                                                         |
| `quantities` | what is computed in one way only: kinematics, energies, Coriolis matrix, derivatives, regressor |
| `problem`    | what can be asked, one record each                                                       |
| `registry`   | all formulations by problem and name                                                     |
"""

from armwright.formulations.problem import PROBLEMS, Problem, problem_of
from armwright.formulations.registry import FORMULATIONS, Formulation, default_for, find, formulations

__all__ = ["FORMULATIONS", "PROBLEMS", "Formulation", "Problem", "default_for", "find", "formulations", "problem_of"]
