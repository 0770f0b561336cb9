"""Every published formulation of the dynamics of a chain, written once over any scalar.

| module       | content                                                                                  |
|--------------|------------------------------------------------------------------------------------------|
| one file each| the published formulations                                                               |
| `parts`      | recursions and algebra that several of them share                                        |
| `quantities` | quantities with one formulation: kinematics, energies, Coriolis matrix, derivatives, regressor |
| `problem`    | the problems, one record each                                                            |
| `registry`   | all formulations by problem and name                                                     |
"""

from armwright.former_names import add_former_names
from armwright.formulations.problem import PROBLEMS, Problem, problem_of
from armwright.formulations.registry import FORMULATIONS, Formulation, default_for, find_formulation, formulations

__all__ = [
    "FORMULATIONS",
    "PROBLEMS",
    "Formulation",
    "Problem",
    "default_for",
    "find_formulation",
    "formulations",
    "problem_of",
]


add_former_names(__name__, find="find_formulation")
