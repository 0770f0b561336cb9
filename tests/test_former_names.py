"""Former names of public objects work until 0.4, with a warning that gives the new name."""

import inspect
from dataclasses import is_dataclass
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

import armwright as aw
from armwright.former_names import FORMER_NAMES
from armwright.model.records import Payload

for room in (
    "errors",
    "export",
    "formulations",
    "identify",
    "rules",
    "scenario",
    "simulation",
    "sizing",
    "sweep",
    "torque",
):
    import_module(f"armwright.{room}")
if find_spec("gymnasium"):
    import_module("armwright.learn.gym")


@pytest.mark.parametrize(
    ("owner", "old", "new"),
    FORMER_NAMES,
    ids=[f"{owner if isinstance(owner, str) else owner.__name__}.{old}" for owner, old, _ in FORMER_NAMES],
)
def test_a_former_name_gives_the_object_of_the_new_one(owner: type | str, old: str, new: str) -> None:
    name = new.rpartition(".")[2].removesuffix("()")
    with pytest.warns(DeprecationWarning, match=rf"\.{old} will be removed in 0\.4; use .*{name}") as warned:
        if isinstance(owner, str):
            place = import_module(f"{owner}.{new}".rpartition(".")[0])
            expected = getattr(place, name)
            assert getattr(import_module(owner), old) == (expected() if new.endswith("()") else expected)
        else:
            first, _, inner = new.partition(".")
            value = SimpleNamespace(**{inner: 1.5}) if inner else 1.5
            assert getattr(owner, old).fget(SimpleNamespace(**{first: value})) == 1.5
            known = {*dir(owner), *(owner.__dataclass_fields__ if is_dataclass(owner) else ())}
            assert first in known or f"self.{first}" in inspect.getsource(owner)
    assert isinstance(owner, type) or warned[0].filename == __file__


def test_former_names_of_a_robot_work() -> None:
    arm = aw.load("puma560")
    with pytest.warns(DeprecationWarning, match=r"^Robot.hand will be removed in 0.4; use tool_frame$") as warned:
        assert arm.hand == arm.tool_frame  # type: ignore[attr-defined]
    assert warned[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="use combined"):
        assert Payload(1.0).beside(Payload(2.0)) == Payload(1.0).combined(Payload(2.0))  # type: ignore[attr-defined]
    moment = aw.torque.Moment(0.0, [0.1] * 6, [0.0] * 6, arm.mechanism())
    with pytest.warns(DeprecationWarning, match="use displacement_to"):
        assert moment.way_to([0.5] * 6) == moment.displacement_to([0.5] * 6)  # type: ignore[attr-defined]


def test_a_name_that_never_was_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'handy'"):
        _ = aw.load("rr").handy  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"module 'armwright\.sizing' has no attribute 'leverage'"):
        _ = aw.sizing.leverage  # type: ignore[attr-defined]
