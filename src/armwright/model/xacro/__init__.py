"""Xacro files to plain XML, without ROS and without executing code.

Elements are expanded in order, as in xacro. A property or macro is known after its definition, a macro knows the names
of its caller, and a property is evaluated at its first use. An explicit stack and a count of steps bound depth and
size, so that a file cannot exhaust the machine.

| file             | contents                                                     |
|------------------|--------------------------------------------------------------|
| `expand`         | a method for every xacro element                             |
| `scope`          | properties, macros and blocks by name                        |
| `text`           | ${...} and $(...) in attributes and texts                    |
| `evaluate`       | expressions, on Python's syntax tree, within limits          |
| `yaml`           | parameter files                                              |
| `model.packages` | the files that may be read                                   |
"""

from armwright.model.xacro.expand import expand

__all__ = ["expand"]
