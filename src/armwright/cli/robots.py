"""The robot a command is about."""

from __future__ import annotations

from armwright.load import load
from armwright.robot import Robot


def robot_of(name: str, base: str | None = None, tip: str | None = None) -> Robot:
    """A packaged robot or one from a file, without what it looks like: where its meshes lie is of no concern."""
    return load(name, base, tip, visuals=False)
