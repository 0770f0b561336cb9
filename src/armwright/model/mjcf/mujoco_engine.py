"""MuJoCo, which compiles the files, imported when a file needs it; its warnings are suppressed."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from armwright.errors import ModelError


def engine(path: Path) -> Any:
    """Return the package `mujoco`, for a file."""
    try:
        return importlib.import_module("mujoco")
    except ImportError:
        raise ModelError(f"{path} is MJCF, which MuJoCo reads: pip install mujoco") from None


@contextmanager
def quiet(mujoco: Any) -> Iterator[None]:
    """Suppress MuJoCo's warnings, which otherwise go to the terminal and to MUJOCO_LOG.TXT."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda _message: None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        mujoco.set_mju_user_warning(before)


def refusals(mujoco: Any) -> tuple[type[Exception], ...]:
    """Return the exceptions that MuJoCo raises for an invalid file."""
    return ValueError, TypeError, RuntimeError, MemoryError, mujoco.FatalError


def sentence(error: Exception) -> str:
    """Return the message of an error of MuJoCo as one line."""
    return "; ".join(str(error).split("\n")).strip("; ")


def parsed(mujoco: Any, text: str, models: Mapping[str, bytes], meshes: Mapping[str, bytes]) -> Any:
    """Return the specification in a text; `models` are the files of attached models, `meshes` those of its meshes."""
    include = {"include": dict(models)} if models else {}
    return mujoco.MjSpec.from_string(text, assets=dict(meshes), **include)
