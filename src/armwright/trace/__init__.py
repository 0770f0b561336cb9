"""From a formulation and a robot to a program.

| here      | what                                                                  |
|-----------|-----------------------------------------------------------------------|
| `tracing` | a formulation run with tracing scalars                                |
| `choose`  | which formulation is the cheapest for a robot                         |
| `regroup` | inertial parameters reduced to base parameters                        |
| `reframe` | frames moved to where they cost less                                  |
| `loops`   | the steps of two recursions, for chains too long for straight code    |
| `form`    | straight code, loop or neither                                        |
"""
