"""MuJoCo itself, which compiles what is read: imported when a file needs it, and quiet."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from armwright.errors import ModelError


def engine(path: Path) -> Any:
    """The package `mujoco`, for a file."""
    try:
        return importlib.import_module("mujoco")
    except ImportError:
        raise ModelError(f"{path} is MJCF, which MuJoCo reads: pip install mujoco") from None


@contextmanager
def quiet(mujoco: Any) -> Iterator[None]:
    """MuJoCo writes its warnings to the terminal and to MUJOCO_LOG.TXT in the working directory, if not told better."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda _message: None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        mujoco.set_mju_user_warning(before)


def refusals(mujoco: Any) -> tuple[type[Exception], ...]:
    """What MuJoCo raises where it refuses a file."""
    return ValueError, TypeError, RuntimeError, MemoryError, mujoco.FatalError


def sentence(error: Exception) -> str:
    """What MuJoCo says of an error, in one line."""
    return "; ".join(str(error).split("\n")).strip("; ")


def parsed(mujoco: Any, text: str, models: Mapping[str, bytes], meshes: Mapping[str, bytes]) -> Any:
    """The specification in a text; `models` are the files of what it attaches, `meshes` those of its meshes."""
    more = {"include": dict(models)} if models else {}
    return mujoco.MjSpec.from_string(text, assets=dict(meshes), **more)
