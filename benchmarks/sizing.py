"""The best actuators for six joints out of 40 motors and 30 gearboxes, along three motions with two payloads.

    pip install . && python benchmarks/sizing.py

The catalogue is made by the laws of `armwright.sizing.scaling`; scattered, masses and prices lie up to a fifth beside
them, so that stronger is not always heavier or dearer. Catalogues and motions are those of a seed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import armwright as aw
from armwright.sizing import Catalogue, scaling

MOTORS, GEARBOXES = 40, 30
PAYLOADS = [None, 5.0]
SCATTER = 0.2


def catalogue(scatter: float, seed: int = 0) -> Catalogue:
    rng = np.random.default_rng(seed)

    def beside(part: Any) -> Any:
        mass, price = rng.uniform(1 - scatter, 1 + scatter, 2)
        return replace(part, mass=mass * part.mass, price=price * part.price)

    waves = [scaling.strain_wave(t, r) for t in np.geomspace(15, 900, 8).tolist() for r in (50, 100, 160)]
    planets = [scaling.planetary(t, 10) for t in np.geomspace(20, 500, GEARBOXES - len(waves)).tolist()]
    motors = [scaling.servo(t) for t in np.geomspace(0.16, 16, MOTORS).tolist()]
    return Catalogue("synthetic", tuple(map(beside, motors)), tuple(map(beside, [*waves, *planets])))


def motions(seed: int = 0) -> list[aw.trajectory.Trajectory]:
    points = np.random.default_rng(seed).uniform(-1.2, 1.2, (3, 4, 6))
    return [aw.trajectory.quintic([0, 1, 2, 3], through) for through in points]


def main() -> None:
    table = Table("robot", "catalogue", "objective", "best", "judgements", "nodes", "seconds", box=None, pad_edge=False)
    sets = 0
    for name in ("ur5e", "puma560"):
        arm = aw.load(name).with_friction(0.0, 0.0)
        for kind, scatter in (("by laws", 0.0), ("scattered", SCATTER)):
            for objective in ("mass", "price", "energy"):
                found = aw.size(arm, motions(), PAYLOADS, catalogue(scatter), objective)
                cost, work = found.cost_text(found.best.cost), (f"{found.judged:,}", f"{found.nodes:,}")
                table.add_row(name, kind, objective, cost, *work, f"{found.seconds:.1f}")
                sets = found.full_product
    Console(width=120).print(table)
    print(f"The full product is {sets:.4g} sets of six actuators, each to be judged along 3 motions with 2 payloads.")


if __name__ == "__main__":
    main()
