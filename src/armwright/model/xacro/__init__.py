"""Xacro files to plain XML, without ROS and without executing anything.

The document is walked in order, as xacro itself does it since its 'in-order' mode: a property or a macro is known from
where it stands, a macro sees what its caller sees, a property is computed when it is first used. The walk keeps its own
stack and counts its steps, so neither depth nor size of what a file asks for can exhaust the machine.

| file       | does                                                                            |
|------------|---------------------------------------------------------------------------------|
| `expand`   | the walk: a method for every xacro element                                      |
| `scope`    | what names mean where: properties, macros, blocks                               |
| `text`     | ${...} and $(...) in attributes and texts                                       |
| `evaluate` | expressions, over Python's syntax tree, bounded                                 |
| `folders`  | which files may be read: those of the robot's own package and of packages given |
| `yaml`     | parameter files                                                                 |
"""

from armwright.model.xacro.expand import expand

__all__ = ["expand"]
