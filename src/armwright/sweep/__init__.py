"""Studies: one motion with numbers that vary, cut into chunks that are computed anywhere and kept in a folder."""

from armwright.sweep.results import Results, open_study
from armwright.sweep.study import Study

__all__ = ["Results", "Study", "open_study"]
