"""The <equality> section of an MJCF file: joints that follow others, and loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy.polynomial import Polynomial

from armwright.model.mjcf.elimination import Contradiction, Elimination, FollowerRule
from armwright.model.mjcf.pose import transform, translation
from armwright.model.mjcf.tendons import joint_factors
from armwright.model.tree import TreeLoop


@dataclass(frozen=True)
class Couplings:
    """The followers by joint number; `unread` names the couplings that are not read."""

    by_joint: dict[int, FollowerRule]
    unread: tuple[str, ...]


class Side(NamedTuple):
    """One side of an equation: a sum of joint positions times factors, relative to the reference."""

    factors: dict[int, float]
    reference: float


class Equation(NamedTuple):
    """An equation: the first side is a polynomial of the second, or a constant without one."""

    sides: tuple[Side, Side | None]
    polynomial: tuple[float, ...]

    @property
    def nonlinear(self) -> bool:
        return self.sides[1] is not None and any(self.polynomial[2:])

    @property
    def linear_form(self) -> tuple[dict[int, float], float]:
        """The factors of the joints, and the value of the sum."""
        one, two = self.sides
        factor = self.polynomial[1] if two is not None else 0.0
        factors, value = dict(one.factors), one.reference + self.polynomial[0]
        for joint, k in two.factors.items() if two is not None else ():
            factors[joint] = factors.get(joint, 0.0) - factor * k
        return factors, value - (factor * two.reference if two is not None else 0.0)

    @property
    def joints(self) -> list[int]:
        return [joint for side in self.sides if side is not None for joint in side.factors]


def couplings(mujoco: Any, model: Any, joint_names: Sequence[str]) -> Couplings:
    """Return the couplings of joints of a compiled model, by joints or by fixed tendons.

    MuJoCo measures from the reference: q - ref = c0 + c1 (q_other - ref_other) + ...
    """
    elimination = Elimination()
    equations = list(_equations(mujoco, model))
    linear = [equation for equation in equations if not equation.nonlinear]
    for equation in sorted(linear, key=lambda equation: len(equation.joints) > MAX_FIRST_JOINTS):
        factors, value = equation.linear_form
        joints = list(equation.joints)
        try:
            if len(joints) <= MAX_FIRST_JOINTS and joints and factors[joints[0]]:
                first, *others = joints
                other, k = (others[0], -factors[others[0]] / factors[first]) if others else (None, 0.0)
                elimination.add(first, other, k, value / factors[first])
            else:
                elimination.add_sum(factors, value)
        except Contradiction:
            about = " and ".join(joint_names[joint] for joint in joints)
            raise Contradiction(
                f"the <equality> of joint {about} contradicts those before it, or repeats them but for "
                "rounding; expected consistent equations"
            ) from None
    nonlinear = [equation for equation in equations if equation.nonlinear]
    unread = [_description_of(equation, joint_names) for equation in nonlinear if not _add_curve(elimination, equation)]
    return Couplings(elimination.solved(), tuple(unread))


MAX_FIRST_JOINTS = 2
"""Number of joints in the equations that are solved first."""


def _equations(mujoco: Any, model: Any) -> Iterator[Equation]:
    for i in range(model.neq):
        one, two, c = int(model.eq_obj1id[i]), int(model.eq_obj2id[i]), model.eq_data[i]
        if not model.eq_active0[i]:
            continue
        if model.eq_type[i] == mujoco.mjtEq.mjEQ_JOINT:
            sides = _joint(model, one), _joint(model, two) if two >= 0 else None
        elif model.eq_type[i] == mujoco.mjtEq.mjEQ_TENDON:
            sides = _tendon(mujoco, model, one), _tendon(mujoco, model, two) if two >= 0 else None
        else:
            continue
        yield Equation(sides, tuple(map(float, c[:5])))


def _joint(model: Any, j: int) -> Side:
    return Side({j: 1.0}, float(model.qpos0[model.jnt_qposadr[j]]))


def _tendon(mujoco: Any, model: Any, tendon: int) -> Side:
    return Side(joint_factors(mujoco, model, tendon), float(model.tendon_length0[tendon]))


def _add_curve(elimination: Elimination, equation: Equation) -> bool:
    """Add a polynomial between two joints; return False for other equations, and for a joint that is a follower."""
    one, two = equation.sides
    if two is None or len(one.factors) != 1 or len(two.factors) != 1:
        return False
    ((joint, k),), ((other, factor),) = one.factors.items(), two.factors.items()
    if not k or joint == other:
        return False
    polynomial = Polynomial(equation.polynomial)(Polynomial([-two.reference, factor])) + one.reference
    return elimination.add_curve(joint, other, [*(polynomial / k).coef.tolist(), 0.0])


def _description_of(equation: Equation, joint_names: Sequence[str]) -> str:
    first, *others = (joint_names[joint] for joint in equation.joints)
    return f"the curved coupling of {first} to {', '.join(others)}"


def loops(mujoco: Any, model: Any, body_names: Sequence[str]) -> Iterator[TreeLoop]:
    """Yield bodies or sites that are connected at a point, or welded; a weld without torques is a point."""
    m, kinds = model, mujoco.mjtEq
    for i in range(m.neq):
        weld = m.eq_type[i] == kinds.mjEQ_WELD
        if not m.eq_active0[i] or not (weld or m.eq_type[i] == kinds.mjEQ_CONNECT):
            continue
        ids, data = (int(m.eq_obj1id[i]), int(m.eq_obj2id[i])), m.eq_data[i]
        if m.eq_objtype[i] == mujoco.mjtObj.mjOBJ_SITE:
            bodies = [int(m.site_bodyid[k]) for k in ids]
            poses = [transform(m.site_pos[k], m.site_quat[k]) for k in ids]
        else:
            bodies, first, second = list(ids), data[:3], data[3:6]
            if weld:
                poses = [transform(second, data[6:10]), translation(first)]
            else:
                poses = [translation(first), translation(second)]
        names = body_names[bodies[0]], body_names[bodies[1]]
        name = m.equality(i).name or f"{names[0]}-{names[1]}"
        yield TreeLoop(name, bool(weld and data[10]), names, (poses[0], poses[1]))
