"""The rules of the house: the public surface, names with one meaning, no cycles of imports, plain English."""

import typing

import homonyms
import import_cycles
import language
import public_names
import pytest

import armwright as aw

TOO_GENERAL = {*typing.__all__, "Array", "Expr", "Graph", "annotations"}
"""Names that a public module may use and must not offer."""


def test_public_names_are_those_of_the_golden_file() -> None:
    expected, found = public_names.GOLDEN.read_text(encoding="utf-8").splitlines(), public_names.public_names()
    lost, added = sorted(set(expected) - set(found)), sorted(set(found) - set(expected))
    assert expected == found, (
        f"lost: {lost}; added: {added}. Give lost names a former name (armwright.former_names); "
        "then run python tools/public_names.py --update"
    )


@pytest.mark.parametrize("module", public_names.public_modules(), ids=lambda module: module.__name__)
def test_a_public_module_lists_its_names_and_leaks_none(module: object) -> None:
    listed = module.__all__  # type: ignore[attr-defined]
    assert len(set(listed)) == len(listed)
    assert all(hasattr(module, name) for name in listed)
    assert not TOO_GENERAL & set(listed)


def test_dir_of_the_package_lists_public_names_alone() -> None:
    assert {name for name in dir(aw) if not name.startswith("__")} == set(aw.__all__)


def test_homonyms_have_reasons() -> None:
    assert homonyms.homonyms_without_reason() == {}
    assert homonyms.unused_permissions() == []


def test_imports_have_no_cycles() -> None:
    assert import_cycles.cycles(import_cycles.graph()) == []


def test_the_source_is_plain_english() -> None:
    faults = list(language.faults())
    assert not faults, "\n".join(f"{fault.place}:{fault.line}: {fault.rule}: {fault.text}" for fault in faults)
