"""What a robot looks like: the shapes and meshes of its file, or clean bodies made of its frames where it has none.

`looks(robot)` is what pages, viewer and plots show; `svg(robot, q)` is a picture for documents, a `Stage` draws slides.
"""

from armwright.pages.scene.drawing import svg
from armwright.pages.scene.extent import directions, extent, floor_below
from armwright.pages.scene.looks import Looks, looks
from armwright.pages.scene.raster import Camera, Stage, write_film, write_picture
from armwright.pages.scene.triangles import Triangles, triangles

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
