"""MJCF, the XML of MuJoCo: a tree of links read from a file, and a robot written as one.

| file            | contents                                                                   |
|-----------------|----------------------------------------------------------------------------|
| `model_files`   | the file, its includes and the models it attaches                          |
| `strip`         | the part of a file for MuJoCo: bodies, joints, masses; no textures         |
| `numbered_xml`  | that part as XML, with the element of each line for messages               |
| `read`          | MuJoCo's compiled model as a `Tree`, with its defaults and shape inertias  |
| `options`       | flags of a file that switch effects off                                    |
| `link_builder`  | bodies, joints and sites as links and joints                               |
| `actuators`     | limits, armature and damping of actuators                                  |
| `equality`      | joints that follow others, and loops                                       |
| `elimination`   | the follower of each of several equations                                  |
| `tendons`       | fixed tendons that couple joints                                           |
| `unsupported`   | warnings of effects that are not read                                      |
| `visuals`       | the shapes of the bodies, without opening a mesh                           |
| `mujoco_engine` | MuJoCo itself                                                              |
| `pose`          | quaternions and principal axes                                             |
| `mujoco_bodies` | links and joints as MuJoCo's                                               |
| `write`         | a robot as MJCF                                                            |
"""

from armwright.model.mjcf.read import read, tree_of
from armwright.model.mjcf.write import mjcf_text

__all__ = ["mjcf_text", "read", "tree_of"]
