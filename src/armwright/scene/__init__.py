"""What a robot looks like: the shapes and meshes of its file, or clean bodies made of its frames where it has none.

`looks(robot)` is what pages, viewer and plots show; `svg(robot, q)` is a picture for documents, a `Stage` draws slides.
"""

from armwright.scene.drawing import svg
from armwright.scene.extent import directions, extent, floor_below
from armwright.scene.looks import Looks, looks
from armwright.scene.raster import Camera, Stage, write_film, write_picture
from armwright.scene.triangles import Triangles, triangles

__all__ = [
    "Camera",
    "Looks",
    "Stage",
    "Triangles",
    "directions",
    "extent",
    "floor_below",
    "looks",
    "svg",
    "triangles",
    "write_film",
    "write_picture",
]
