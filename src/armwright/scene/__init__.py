"""What a robot looks like: the shapes and meshes of its file, or clean bodies made of its frames where it has none.

`looks(robot)` is what pages, viewer and plots ask for; `svg(robot, q)` is a picture for documents.
"""

from armwright.scene.drawing import svg
from armwright.scene.extent import directions, extent, floor_below
from armwright.scene.looks import Looks, looks
from armwright.scene.triangles import Triangles, triangles

__all__ = ["Looks", "Triangles", "directions", "extent", "floor_below", "looks", "svg", "triangles"]
