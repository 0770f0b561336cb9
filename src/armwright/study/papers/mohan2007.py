"""Mohan and Saha (2007): the DeNOC recursion, its operation count, and a PUMA that leaves its path after 5.5 s.

A. Mohan, S. K. Saha, 'A recursive, numerically stable, and efficient simulation algorithm for serial robots',
Multibody System Dynamics 17 (2007). The formulation is `formulations/denoc.py`. Here are table 1, which counts
operations, table 2 and figure 4; `mohan2007_runs.py` has the simulations of figures 5 to 9 and table 3, and
`mohan2007_claim.py` examines their claim that the recursion follows the path longer because it is numerically stable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from armwright.formulations import find_formulation
from armwright.formulations.parts.spatial import Inertia, eliminate, rigid, screw
from armwright.graph import Graph, OperationCount
from armwright.pages.report.plot import Curve, Plot
from armwright.robot import Robot
from armwright.study.crossing import MAX_CROSSING_JOINTS, cheaper_from, fitted_formulas, general
from armwright.study.operation_counts import VALID_FROM, count_at_rest, count_without_bias, products
from armwright.study.operation_counts import compare as compare_counts
from armwright.study.papers.finding import (
    Against,
    Finding,
    PaperStudy,
    Part,
    below,
    claim,
    compare,
    rough,
    same,
    unchecked,
)
from armwright.study.papers.judgement import Formula, Printed, Worst
from armwright.study.papers.mohan2007_claim import arithmetic, cause, many_digits
from armwright.study.papers.mohan2007_runs import JOINTS, PERIOD, arm, desired_motion, joint_curve, simulations
from armwright.study.papers.mohan2007_steps import compare_step_counts, slender_chain
from armwright.study.papers.mohan2007_tables import from_tables
from armwright.study.published import PUBLISHED, evaluate, tables

MOHAN_ROWS = {row.authors: row for row in PUBLISHED if row.table == "Mohan 1"}
PROPOSED, EARLIER, WALKER = (MOHAN_ROWS[authors] for authors in ("Mohan, Saha", "Saha", "Walker, Orin"))

COMPOSITE = "composite_body"
MOHAN_OWN_FORM = (
    "not the algorithm cited but this project's form of it: bodies about the link origins, in the ten numbers in which "
    "M is linear, cross a joint as two screws"
)

MOHAN_TABLES = tables("mohan2007")
CROSSINGS = MOHAN_TABLES["crossings"]

MOHAN_SIZES = range(VALID_FROM, 40)
FITTED_SIZES = range(VALID_FROM, VALID_FROM + 5)

BIAS_TOO = (
    "like with like: bias torques are counted on both sides; the paper omits them from its own row and of that of "
    "Walker and Orin, but not of Featherstone's"
)


def study() -> PaperStudy:
    """Return all findings and figures of the paper."""
    return PaperStudy.of_parts(
        "mohan2007",
        "Mohan, Saha 2007: decoupled natural orthogonal complement",
        "The recursion is right once its misprints are mended, and its printed count is the sum of its steps. The "
        "simulation departs as published, within a second after link 3, 8.8 kg on 2 cm, comes above the horizontal at "
        "5 s: from there on it is an inverted pendulum, errors grow by up to 33 1/s, by 1e42 until 10 s. What grows is "
        "the error of the integrator. The recursion does not help: with and without it the run departs at the same "
        "time, in doubles, in single precision and with fifty digits, and a tighter tolerance moves that time as the "
        "growth rate predicts. The mass matrix is never near singular. The printed 5.4 s and 4.8 s come out if the "
        "torques are a table, with rows every 0.01 s and every 0.1 s, again with and without the recursion.",
        {
            **{counts: 2.2, robot_and_torques: 0.1, simulations: 1.9, from_tables: 3.1, cause: 0.1},
            **{arithmetic: 7.5, many_digits: 40.0},
        },
    )


# Table 1 and section 4.1: operation counts


def counts() -> Part:
    """Return the findings and the plot of operation counts."""
    return [*printed_crossings(), *recounted_rows(), own_form(), *recounted_crossings(), *steps()], [count_plot()]


def printed_crossings() -> list[Finding]:
    """Return findings on n*, n+ and the counts printed with them, by the printed formulas."""
    findings, right = [], 0
    for authors, (n_star, n_plus, numbers) in CROSSINGS.items():
        row = MOHAN_ROWS[authors]
        follow = evaluate(row.products, n_star), evaluate(row.products, n_plus), evaluate(row.sums, n_plus)
        right += sum(a == b for a, b in zip(follow, numbers, strict=True))
        if row is not WALKER:
            found = crossings((row.products, row.sums), (WALKER.products, WALKER.sums))
            for what, printed, n in (("n*", n_star, found[0]), ("n+", n_plus, max(found))):
                why = "" if n == printed else still_cheaper(printed)
                about = f"{authors}: {what} by the printed formulas"
                findings.append(compare("Table 1", about, printed, n, why, follows=True))
    total = 3 * len(CROSSINGS)
    what, obtained = "counts printed beside n* and n+", f"{right} follow from the formulas"
    findings.append(
        claim("Table 1", what, f"{total} numbers", obtained, same(right, total), "misprinted", against=Against.PRINT)
    )
    return [*findings, most_efficient()]


def still_cheaper(n: int) -> str:
    """Return the reason why a printed n* or n+ is wrong: at n the formulas of Walker and Orin give fewer operations."""
    products, sums = evaluate(WALKER.products, n), evaluate(WALKER.sums, n)
    return f"a slip: for n = {n} the formulas of Walker and Orin give {products} M {sums} A, which is less"


def crossings(these: tuple[str, str], those: tuple[str, str]) -> tuple[int, int]:
    """Return the n from which the first formulas stay below the second, for products and for sums; n+ is the larger."""
    found = [
        cheaper_from(MOHAN_SIZES, *([float(evaluate(text, n)) for n in MOHAN_SIZES] for text in pair))
        for pair in zip(these, those, strict=True)
    ]
    return found[0] or MAX_CROSSING_JOINTS, found[1] or MAX_CROSSING_JOINTS


def most_efficient() -> Finding:
    """Return the finding on the claim that the proposed algorithm needs the fewest operations."""
    both = [[float(evaluate(r.products, n) + evaluate(r.sums, n)) for n in MOHAN_SIZES] for r in (PROPOSED, EARLIER)]
    first = cheaper_from(MOHAN_SIZES, *both)
    what = "the proposed algorithm is the most efficient"
    why = "by the printed formulas Saha's earlier one, for links of any shape, takes fewer operations up to n = 6"
    lowest = same(first or MAX_CROSSING_JOINTS, VALID_FROM)
    return claim("Table 1", what, "yes", f"from n = {first} on", lowest, why, words="n", against=Against.PRINT)


def recounted_rows() -> list[Finding]:
    """Return findings that compare each row for six joints with our counts."""
    findings = []
    for each in compare_counts(6):
        row = each.published
        if row.table == "Mohan 1":
            parts = [Printed(str(a), b, exact=True) for a, b in zip(row.six, each.ours, strict=True)]
            printed, ours = (f"{products} M {sums} A" for products, sums in (row.six, each.ours))
            ours += " ({:.2f} and {:.2f} times)".format(*(part.ratio for part in parts))
            what = f"{row.authors}: n = 6, recounted"
            findings.append(Finding("Table 1", what, printed, ours, Worst(tuple(parts)), row.why))
    return findings


def own_form() -> Finding:
    """Return the finding that compares the row of Walker and Orin with `composite_body`, a different algorithm."""
    count = count_without_bias(COMPOSITE, 6)
    numbers = products(count), count.additions
    parts = [Printed(str(a), b, exact=True) for a, b in zip(WALKER.six, numbers, strict=True)]
    theirs, ours = (f"{x} M {y} A" for x, y in (WALKER.six, numbers))
    ours += " ({:.2f} and {:.2f} times)".format(*(part.ratio for part in parts))
    what = f"{WALKER.authors} beside {COMPOSITE}: n = 6, recounted"
    return Finding("Table 1", what, theirs, ours, Worst(tuple(parts)), MOHAN_OWN_FORM)


def recounted_crossings() -> list[Finding]:
    """Return findings on n* and n+ by our counts, without bias as in the paper and with bias on both sides."""
    formulas = {name: complete(name) for name in ("denoc", "articulated_body", WALKER.ours, COMPOSITE)}
    findings = []
    for those, named in ((WALKER.ours, "Walker, Orin"), (COMPOSITE, COMPOSITE)):
        bare = crossings(without_bias("denoc"), without_bias(those))
        for authors, part, found, why in (
            ("Mohan, Saha", "without bias", bare, "both sides are leaner here"),
            ("Mohan, Saha", "complete", crossings(formulas["denoc"], formulas[those]), BIAS_TOO),
            ("Featherstone", "complete", crossings(formulas["articulated_body"], formulas[those]), BIAS_TOO),
        ):
            (n_star, n_plus, _), note = CROSSINGS[authors], why if those == WALKER.ours else f"{why}; {MOHAN_OWN_FORM}"
            what = f"{authors} against {named}: {{}}, recounted, {part}"
            findings.append(compare("Table 1", what.format("n*"), n_star, found[0], note))
            findings.append(compare("Table 1", what.format("n+"), n_plus, max(found), note))
    return findings


def complete(name: str) -> tuple[str, str]:
    """Return products and sums of forward dynamics including bias, as polynomials in n."""
    return general(find_formulation("forward_dynamics", name), VALID_FROM).formulas


def without_bias(name: str) -> tuple[str, str]:
    """Return products and sums of forward dynamics with known bias, as the paper counts them."""
    return fitted_formulas(FITTED_SIZES, [count_without_bias(name, n) for n in FITTED_SIZES])


def steps() -> list[Finding]:
    """Return the findings of section 4.1: the sum of the printed steps, and our counts."""
    findings = []
    for what, (each, but_one, once) in MOHAN_TABLES["braces"].items():
        printed = getattr(PROPOSED, what)
        added = f"{sum(each) + sum(but_one)}n{sum(once) - sum(but_one):+d}"
        sizes, why = tuple(MOHAN_SIZES), "" if added == printed else "misprinted"
        total = Formula(printed, sizes, tuple(float(evaluate(added, n)) for n in sizes))
        about = f"{what} of all steps added"
        findings.append(Finding("Section 4.1", about, printed, added, total, why, against=Against.PRINT))
    rods = fitted_formulas(FITTED_SIZES, [count_slender(n) for n in FITTED_SIZES])
    rows = ((PROPOSED.products, PROPOSED.sums), rods, without_bias("denoc"))
    printed, slender, anyone = (f"{products} M, {sums} A" for products, sums in rows)
    why = f"in frames fixed to the links the link matrices are constant; for links of any shape it is {anyone}"
    counts = [tuple(float(evaluate(formula, n)) for n in MOHAN_SIZES) for formula in rods]
    parts = [Formula(formula, tuple(MOHAN_SIZES), ours) for formula, ours in zip(rows[0], counts, strict=True)]
    what = "count for slender links, recounted"
    findings.append(Finding("Section 4.1", what, printed, slender, Worst(tuple(parts)), why))
    return [*findings, third_component(), *compare_step_counts(MOHAN_TABLES["steps"]), written_out()]


def written_out() -> Finding:
    """Return the finding on the fifteen steps in the frames of the paper, with all savings at both end links."""
    rods = fitted_formulas(FITTED_SIZES, [count_slender(n, "denoc_stepwise") for n in FITTED_SIZES])
    printed = PROPOSED.products, PROPOSED.sums
    counts = [tuple(float(evaluate(formula, n)) for n in MOHAN_SIZES) for formula in rods]
    parts = [Formula(formula, tuple(MOHAN_SIZES), ours) for formula, ours in zip(printed, counts, strict=True)]
    why = "step 5 takes more for each link than is printed, and links 1 and n save more"
    theirs, ours = (f"{products} M, {sums} A" for products, sums in (printed, rods))
    what = "the fifteen steps written out, slender links"
    return Finding("Section 4.1", what, theirs, ours, Worst(tuple(parts)), why)


def count_slender(n: int, formulation: str = "denoc") -> OperationCount:
    """Return the counts for slender rods."""
    graph = Graph()
    return count_at_rest(slender_chain(graph, n), graph, formulation)


def third_component() -> Finding:
    """Return the finding on z of the force part of psi-hat = M^ p (33), which steps 8, 9 and 13 take as zero."""
    rng = np.random.default_rng(0)
    mechanism = slender_robot(rng.uniform(0.1, 1.0, (JOINTS, 5)).tolist()).mechanism()
    carried, found = None, []
    for joint, link in zip(reversed(mechanism.joints), reversed(mechanism.links), strict=True):
        M: Inertia = rigid(link) if carried is None else rigid(link).plus(carried)
        found.append(abs(float(M.column(joint).linear.z)))
        carried = screw(joint, 0.4).inertia_to_parent(eliminate(M, joint).rest)
    what, why = "third component of psi-hat 1", "it vanishes for link n only, so some steps need more products"
    return claim("Section 4.1", what, "0 for all links", f"up to {max(found):.2g} kg m", below(max(found), 1e-12), why)


def count_plot() -> Plot:
    """Return the plot of counts over the number of joints."""
    sizes = list(range(VALID_FROM, 31))
    ours = {f"{name}, ours": without_bias(name) for name in ("denoc", WALKER.ours, COMPOSITE)}
    printed = {f"{name}, printed": (row.products, row.sums) for name, row in MOHAN_ROWS.items()}
    curves = [
        Curve(name, sizes, [float(evaluate(a, n) + evaluate(b, n)) for n in sizes], dashed="printed" in name)
        for name, (a, b) in {**ours, **printed}.items()
    ]
    note = "All without bias torques but those of Featherstone, Valasek and Brandl. More: armwright crossing."
    return Plot("Table 1: operations of forward dynamics", "joints", "products and sums", curves, note=note)


# Table 2 and figure 4: the robot and its torques


def robot_and_torques() -> Part:
    """Return the plots of the robot and of its torques."""
    t = np.linspace(0, PERIOD, 401)
    tau = arm().inverse_dynamics(*desired_motion(t), formulation="denoc")
    peaks = ", ".join(f"{x:.3g}" for x in np.max(np.abs(tau), axis=0))
    why = "curves without numbers, and the direction of gravity is not told (here it is against z of the base)"
    findings = [
        unchecked("Figures 1-3, A.1", "drawings of robot and frames", "drawings", "nothing to compute"),
        same_robot(),
        unchecked("Figure 4", "largest torques, N m", "curves", why, peaks),
    ]
    note = "Inverse dynamics along equation (38). Joint 2 carries everything and has a separate plot."
    return findings, [
        Plot("Figure 4: torques", "t, s", "N m", [joint_curve(i, t, tau) for i in (0, 2, 3, 4, 5)], note=note),
        Plot("Figure 4: torque of joint 2", "t, s", "N m", [joint_curve(1, t, tau)], height=300),
    ]


def slender_robot(rows: Sequence[Sequence[float]]) -> Robot:
    """Return a robot from rows like those of table 2."""
    links = [
        {"type": "revolute", "alpha": alpha, "a": a, "b": b, "theta": 0.0, "slender": {"mass": mass, "hub": hub}}
        for a, b, alpha, mass, hub in rows
    ]
    problems = ["non-positive mass", "triangle inequality", "suspicious units"]
    return Robot.from_dh(links, convention="saha", gravity=[0.0, 0.0, -9.81], accept=problems)


def same_robot() -> Finding:
    """Return the finding that compares the packaged robot with one made from the printed table."""
    q = np.random.default_rng(0).uniform(-3, 3, (20, JOINTS))
    printed = [[float(x) for x in line.split()] for line in MOHAN_TABLES["table_2"].strip().splitlines()]
    rows = [(a, b, math.radians(alpha), *body) for a, b, alpha, *body in printed]
    off = float(np.max(np.abs(slender_robot(rows).mass_matrix(q) - arm().mass_matrix(q))))
    what, why = "mass matrix of the packaged robot", "the packaged data are not the printed ones"
    return claim("Table 2", what, "30 numbers", f"off by {rough(off)}", below(off, 1e-13), why, against=Against.NUMBER)
