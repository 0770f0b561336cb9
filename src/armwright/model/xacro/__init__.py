"""Xacro files to plain XML, without ROS and without executing code.

Elements are expanded in order, as in xacro itself. A property or macro is known from its definition on, a macro sees
the names of its caller, and a property is evaluated at its first use. An explicit stack and a count of steps bound
depth and size, so a file cannot exhaust the machine.

| file             | contents                                                     |
|------------------|--------------------------------------------------------------|
| `expand`         | a method for every xacro element                             |
| `scope`          | properties, macros and blocks by name                        |
| `text`           | ${...} and $(...) in attributes and texts                    |
| `evaluate`       | expressions, over Python's syntax tree, bounded              |
| `yaml`           | parameter files                                              |
| `model.packages` | the files that may be read                                   |
"""

from armwright.model.xacro.expand import expand

__all__ = ["expand"]
