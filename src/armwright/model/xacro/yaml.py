"""Small YAML parameter files of xacro, with its units such as `!degrees 90`."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any

from armwright.files import contents
from armwright.model.refusal import Refused
from armwright.model.xacro.evaluate import BUILT_IN_NAMES, Budget, Namespace, Value, evaluate, size

MAX_YAML_BYTES = 64 << 10
"""The largest size of a file, which PyYAML parses in half a second."""
YAML_UNITS = {
    "!radians": 1.0, "!degrees": math.pi / 180, "!meters": 1.0, "!millimeters": 1e-3, "!foot": 0.3048,
    "!inches": 0.0254,
}  # fmt: skip


def read(path: Path, budget: Budget) -> Value:
    """Return the data of a file, through PyYAML's safe loader."""
    try:
        yaml = importlib.import_module("yaml")
    except ImportError:
        raise Refused(f"{path} is YAML, which needs PyYAML: pip install pyyaml") from None
    try:
        data = contents(path, MAX_YAML_BYTES)
    except OSError as error:
        raise Refused(f"cannot read {path}: {error.strerror}") from None
    try:
        budget.spend(len(data))
        values = yaml.load(data, _loader(yaml, budget))
        budget.spend(size(values))
        return _plain(values)
    except (yaml.YAMLError, OSError, ValueError, RecursionError, Refused) as error:
        raise Refused(f"{path} is not usable YAML: {' '.join(str(error).split())}") from None


def _loader(yaml: Any, budget: Budget) -> Any:
    """Return a separate safe loader, so that the units are not added to the global one."""

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """PyYAML's safe loader with the units of xacro."""

    for tag, unit in YAML_UNITS.items():
        Loader.add_constructor(tag, lambda loader, node, unit=unit: unit * _number(loader, node, budget))
    return Loader


def _number(loader: Any, node: Any, budget: Budget) -> float:
    return float(evaluate(str(loader.construct_scalar(node)), Namespace(BUILT_IN_NAMES), budget))


def _plain(value: Any) -> Value:
    """Return lists, dictionaries, numbers and texts; other values of YAML, such as dates, as text."""
    if isinstance(value, (list, tuple, set)):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {_plain(key): _plain(part) for key, part in value.items()}
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
