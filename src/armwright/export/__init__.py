"""Export of a robot's functions as code: C, C++, CUDA, FMI, Python, or functions of another package."""

from armwright.export.formats import EXPORTS, ExportFormat
from armwright.export.names import identifier
from armwright.export.request import ExportRequest
from armwright.export.robot_export import export
from armwright.former_names import add_former_names

__all__ = ["EXPORTS", "ExportFormat", "ExportRequest", "export", "identifier"]


add_former_names(__name__, Form="ExportFormat", Wanted="ExportRequest")
