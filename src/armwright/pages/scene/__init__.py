"""The appearance of a robot: the shapes and meshes of its file, or shapes generated from its frames.

Pages, viewer and plots show `appearance_of(robot)`; `svg(robot, q)` draws for documents, a `Stage` for slides.
"""

from armwright.pages.scene.appearance import Appearance, appearance_of
from armwright.pages.scene.drawing import svg
from armwright.pages.scene.extent import extent, floor_below, view_directions
from armwright.pages.scene.raster import Camera, Stage, write_film, write_picture
from armwright.pages.scene.triangles import Triangles, triangles

__all__ = [
    "Appearance",
    "Camera",
    "Stage",
    "Triangles",
    "appearance_of",
    "extent",
    "floor_below",
    "svg",
    "triangles",
    "view_directions",
    "write_film",
    "write_picture",
]
