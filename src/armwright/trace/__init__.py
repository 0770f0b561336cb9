"""From a formulation and a robot to a program.

| module                | content                                                             |
|-----------------------|---------------------------------------------------------------------|
| `tracing`             | a formulation run with tracing scalars                              |
| `cheapest`            | the formulation with the fewest operations for a robot              |
| `regroup`             | inertial parameters reduced to base parameters                      |
| `reframe`             | frames moved to save operations                                     |
| `chain_loops`         | the steps of two recursions, for chains too long for straight code  |
| `evaluation_strategy` | straight code, a chain loop or arrays as scalars                    |
| `outlined_equations`  | linear systems of large robots, solved in a loop                    |
| `solvability`         | refusal of robots without accelerations                             |
"""
