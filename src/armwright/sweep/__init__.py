"""Studies: one motion with numbers that vary, cut into chunks that are computed anywhere and kept in a folder."""

from pathlib import Path
from typing import Any as _Any

from armwright.sweep.results import Results, open_study
from armwright.sweep.study import Study
from armwright.sweep.study_engine import compute_study as _compute_study

__all__ = ["Results", "Study", "open_study"]


def _run_study(study: Study, folder: str | Path, **options: _Any) -> Results:
    """Compute the missing chunks of a study into a folder, and open the results."""
    _compute_study(study, folder, **options)
    return open_study(folder)


Study.runner = _run_study
