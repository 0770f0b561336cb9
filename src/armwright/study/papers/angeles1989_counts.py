"""Angeles, Ma and Rojas (1989), section 6: whose count is the lowest, and what a prismatic joint adds.

Table 1 compares Kane's equations with Khalil's version of Newton-Euler. Its 105 products per joint for Khalil belong to
moments I wd + w x I w, as in the paper itself; with Euler's tensor both need 96. Both are counted both ways here.
"""

from __future__ import annotations

from armwright.algebra import IDENTITY, ZERO, Matrix, Rotation, Scalar, Vector, euler_moment
from armwright.formulations import Formulation, find_formulation, kane, khalil
from armwright.formulations.parts.link_motion import TensorMotion, tensor_motion
from armwright.formulations.parts.recursion import inward, outward
from armwright.formulations.parts.types import Coordinates, Loads
from armwright.graph import Graph, OperationCount, count
from armwright.mechanism import AnyLink, Joint, Link, Mechanism, Wrench
from armwright.study.operation_counts import count_on, polynomial, products_and_sums
from armwright.study.papers.finding import Finding, below, claim, compare
from armwright.study.published import Published
from armwright.trace.tracing import general_mechanism


def khalil_by_inertia(
    mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> list[Scalar]:
    """Return the torques of `khalil` with moments J wd + w x J w, as in 1986."""
    motions = tensor_motion(mechanism, q, qd, qdd)
    return inward(
        mechanism.parents, _force, khalil.KhalilForce(ZERO, ZERO), mechanism.joints, mechanism.links, motions, loads
    )


def _force(
    outer: khalil.KhalilForce, joint: Joint, link: AnyLink, m: TensorMotion, load: Wrench
) -> tuple[khalil.KhalilForce, Scalar]:
    J, h = link.origin_inertia, link.moment
    f = link.mass * m.sdd + m.Omega @ h + outer.f - load.force
    n = J @ m.wd + m.w.cross(J @ m.w) + h.cross(m.sdd) + outer.n - load.moment
    f_inner = m.R @ f
    return khalil.KhalilForce(f_inner, m.R @ n + m.s.cross(f_inner)), f.z if joint.prismatic else n.z


def kane_by_euler(
    mechanism: Mechanism, q: Coordinates, qd: Coordinates, qdd: Coordinates, loads: Loads
) -> list[Scalar]:
    """Return the torques of `kane` with the rate of angular momentum by Euler's tensor."""
    base = kane.Accelerated(Rotation(1, 0, 1, 0), ZERO, ZERO, ZERO, ZERO, IDENTITY * 0, -mechanism.gravity)
    motions = outward(mechanism.parents, kane.motion, base, mechanism.joints, mechanism.bodies, q, qd, qdd)
    return inward(
        mechanism.parents, _sums, kane.KaneSums(ZERO, ZERO), mechanism.joints, mechanism.bodies, motions, loads
    )


def _sums(
    outer: kane.KaneSums, joint: Joint, link: Link, m: kane.Accelerated, load: Wrench
) -> tuple[kane.KaneSums, Scalar]:
    u = link.mass * m.p
    v = outer.v + u - load.force
    moment = outer.moment + euler_moment(m.W, link.inertia.euler) + link.com.cross(u) - load.moment
    v_inner = m.Q @ v
    return kane.KaneSums(v_inner, m.Q @ moment + m.a.cross(v_inner)), v.z if joint.prismatic else moment.z


def _variant(name: str, rigid: object) -> Formulation:
    return Formulation(name, "inverse_dynamics", "-", "n", rigid)  # type: ignore[arg-type]


TENSORS = {
    "without Euler's tensor": (find_formulation("inverse_dynamics", "kane"), _variant("khalil", khalil_by_inertia)),
    "with Euler's tensor in both": (_variant("kane", kane_by_euler), find_formulation("inverse_dynamics", "khalil")),
}
"""Kane's and Khalil's equations with the same form of moments."""


def general_count(method: Formulation, joints: int | str) -> OperationCount:
    """Return the operation count for a general robot of n joints, or of these joint types."""
    graph = Graph()
    return count_on(general_mechanism(graph, joints), graph, method)


def formulas(method: Formulation) -> tuple[str, str]:
    """Return products and sums as polynomials in n."""
    sizes = (3, 4, 5)
    counts = [general_count(method, n) for n in sizes]
    return polynomial(sizes, [c.multiplications for c in counts]), polynomial(sizes, [c.additions for c in counts])


def lowest(printed: Published) -> list[Finding]:
    """Return the findings on section 6: 'less than the most efficient algorithm in the literature', Khalil's."""
    findings = []
    for how, pair in TENSORS.items():
        ours, theirs = (products_and_sums(general_count(method, 6)) for method in pair)
        texts = ["{} and {}".format(*formulas(method)) for method in pair]
        findings.append(
            claim("section 6", f"less than every other algorithm of table 1, {how}", "lowest",
                  f"kane {ours} ({texts[0]}), khalil {theirs} ({texts[1]}) operations for six joints",
                  below(ours, theirs), "true of the printed counts; counted alike, khalil saves more at first links",
                  words="khalil's,")
        )  # fmt: skip
    plain = general_count(TENSORS["without Euler's tensor"][1], 6)
    why = (
        "the version that has the printed slope of products; the constants are those of all savings at the first links"
    )
    for kind, theirs, count_of_ours in zip(
        ("products", "sums"), printed.six, (plain.multiplications, plain.additions), strict=True
    ):
        what = f"Khalil et al., without Euler's tensor: {kind}, six joints"
        findings.append(compare("table 1", what, theirs, count_of_ours, why))
    return findings


def stages_of(kind: str) -> list[tuple[int, int]]:
    """Return products and sums of stage 1, and of stages 1 and 2, for an inner joint: "R" or "P" (prismatic)."""
    graph = Graph()
    mechanism = general_mechanism(graph, f"R{kind}")

    def symbols(name: str) -> Vector:
        return Vector(*(graph.input(f"{name}{axis}") for axis in "xyz"))

    q, qd, qdd = (graph.input(name) for name in ("q", "qd", "qdd"))
    inner, joint = mechanism.joints
    W = Matrix(symbols("Wx"), symbols("Wy"), symbols("Wz"))
    before = mechanism.bodies[0].com, symbols("w"), symbols("wd"), W, symbols("p")
    last = kane.Accelerated(inner.rotation(graph.input("q1")), ZERO, *before)
    m = kane.motion(last, joint, mechanism.bodies[1], q, qd, qdd)
    results = list(joint.offset(q)), [*m.w, *m.wd, *(x for row in m.W for x in row), *m.p]
    return [(c.multiplications, c.additions) for c in map(count, results)]


def prismatic_terms() -> list[Finding]:
    """Return the findings on the terms in p, the number of prismatic joints, of (52) and (56)."""
    stages = [[b - a for a, b in zip(*pair, strict=True)] for pair in zip(*map(stages_of, "RP"), strict=True)]
    (products_1, _), (products, sums) = stages
    more, fewer = (general_count(find_formulation("inverse_dynamics", "kane"), types) for types in ("RRRPRR", "RRRRRR"))
    dropped = (
        "its rates drop 4 sums and its acceleration takes 3; a - rho, off line for a rotational joint, takes 2; the "
        "listed step has 4"
    )
    return [
        compare("eq. (52)", "stage 1, products per prismatic joint", 2, products_1),
        compare("eq. (56)", "stage 2, products per prismatic joint more", 2, products - products_1),
        compare("eq. (56)", "stage 2, sums per prismatic joint more", 2, sums, dropped),
        compare("eqs. (52), (56)", "all stages, products per prismatic joint more", 4,
                more.multiplications - fewer.multiplications, "(58) leaves the 4p of its parts out"),
    ]  # fmt: skip
