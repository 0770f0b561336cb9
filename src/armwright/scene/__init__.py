"""What a robot looks like: the shapes and meshes of its file, or clean bodies made of its frames where it has none.

`looks(robot)` is all that pages, viewer and plots ask for.
"""

from armwright.scene.looks import Looks, looks
from armwright.scene.triangles import Triangles, triangles

__all__ = ["Looks", "Triangles", "looks", "triangles"]
