"""A robot's dynamics for use elsewhere: as C, C++, Python, or as a function of another package."""

from armwright.export.exporting import export
from armwright.export.forms import EXPORTS, Form, Wanted
from armwright.export.names import identifier

__all__ = ["EXPORTS", "Form", "Wanted", "export", "identifier"]
