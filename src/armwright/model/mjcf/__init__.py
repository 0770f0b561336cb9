"""MJCF, the XML of MuJoCo: a tree of links read from a file, and a robot written as one.

| file          | does                                                                                 |
|---------------|--------------------------------------------------------------------------------------|
| `documents`   | the file, what it includes and the models it attaches                                |
| `strip`       | what of a file MuJoCo gets to see: bodies, joints, masses; no textures               |
| `lines`       | what MuJoCo gets to see as XML, and which element its messages name                  |
| `read`        | MuJoCo's model to a `Tree`: its defaults and its inertias of shapes are MuJoCo's own |
| `options`     | what the flags of a file switch off                                                  |
| `links`       | bodies, joints and sites                                                             |
| `actuators`   | what actuators add to their joints                                                   |
| `equations`   | joints that follow others, and loops                                                 |
| `elimination` | which joint follows which, where several equations name one                          |
| `tendons`     | fixed tendons, as far as equations couple joints by them                             |
| `left_out`    | what is not taken over                                                               |
| `visuals`     | what a viewer shows: the shapes of the bodies, without opening a mesh                |
| `engine`      | MuJoCo itself                                                                        |
| `pose`        | quaternions                                                                          |
| `write`       | a robot as MJCF                                                                      |
"""

from armwright.model.mjcf.read import read, tree_of
from armwright.model.mjcf.write import mjcf_text

__all__ = ["mjcf_text", "read", "tree_of"]
