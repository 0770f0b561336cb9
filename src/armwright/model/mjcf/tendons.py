"""Fixed tendons that couple joints; their length is a sum of joint positions times factors.

Spatial tendons are not read: their length is linear only if every segment lies on the axis of a prismatic joint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from armwright.model.xml import Element

TENDON_ATTRIBUTES = ("tendon1", "tendon2")


def coupling(root: Element) -> Element:
    """Return the document with the fixed tendons of its <equality>, and without equations of other tendons."""
    fixed = {e.attributes.get("name", "") for section in root.all("tendon") for e in section.all("fixed")}
    sections = []
    for section in root.children:
        children = section.children
        if section.tag == "equality":
            children = [e for e in children if e.tag != "tendon" or _names(e) <= fixed]
        if section.tag == "tendon":
            named = {name for s in root.all("equality") for e in s.all("tendon") for name in _names(e)}
            children = [_bare(e) for e in section.all("fixed") if e.attributes.get("name") in named]
        sections.append(replace(section, children=children))
    return replace(root, children=sections)


def unread_equations(root: Element) -> Iterator[str]:
    """Yield the equations of tendons that `coupling` removes."""
    fixed = {e.attributes.get("name", "") for section in root.all("tendon") for e in section.all("fixed")}
    for section in root.all("equality"):
        for e in section.all("tendon"):
            if not _names(e) <= fixed and e.attributes.get("active") != "false":
                yield f"the equation of a spatial tendon in line {e.line}"


def _names(equation: Element) -> set[str]:
    return {equation.attributes[end] for end in TENDON_ATTRIBUTES if end in equation.attributes}


def _bare(tendon: Element) -> Element:
    """Return a fixed tendon with only its name and joints."""
    joints = [
        replace(e, attributes={key: e.attributes[key] for key in ("joint", "coef") if key in e.attributes}, children=[])
        for e in tendon.all("joint")
    ]
    return replace(tendon, attributes={"name": tendon.attributes["name"]}, children=joints)


def joint_factors(mujoco: Any, model: Any, tendon: int) -> dict[int, float]:
    """Return the length of a fixed tendon as factors of joint positions, by joint number."""
    start, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
    factors: dict[int, float] = {}
    for k in range(start, start + count):
        assert model.wrap_type[k] == mujoco.mjtWrap.mjWRAP_JOINT
        joint = int(model.wrap_objid[k])
        factors[joint] = factors.get(joint, 0.0) + float(model.wrap_prm[k])
    return factors
