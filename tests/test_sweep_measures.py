"""Measures that a user's package registers: a study takes them as it takes those of armwright."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import armwright as aw
from armwright import schema
from armwright.algebra import maximum
from armwright.errors import InputError
from armwright.simulation import gauges
from armwright.simulation.measures import MEASURES, Measure
from armwright.sweep.chunk_schema import columns_of
from armwright.sweep.column_labels import label_of
from armwright.sweep.prepare import prepare
from armwright.sweep.study_engine import compute_study
from armwright.sweep.study_measures import STUDY_MEASURES
from armwright.sweep.study_page import study_page

LARGEST_TORQUE = gauges.Gauge("twice the torque", "largest", lambda m: [maximum(2 * x, -2 * x) for x in m.torque])
LONGEST = gauges.Gauge("time", "last", lambda m: [m.at.t], per_joint=False)
EXAMPLE = "aw.simulate_batch(arm, law, duration=0.1)"


@pytest.fixture
def registered() -> Iterator[None]:
    MEASURES.register("doubled_torque", Measure("twice the largest torque", ("N m", "N"), (LARGEST_TORQUE,), EXAMPLE))
    MEASURES.register("last_time", Measure("time of the last record", ("s", "s"), (LONGEST,), EXAMPLE))
    yield
    MEASURES.unregister("doubled_torque")
    MEASURES.unregister("last_time")


@pytest.fixture
def study() -> aw.Study:
    return aw.Study(
        "rr",
        {"payload.mass": [0.0, 1.0, 2.0]},
        want={"measures": ["doubled_torque", "last_time", "peak_torque"]},
        duration=0.2,
        every=0.02,
        integrator={"method": "rk4", "step": 0.002},
        torque={"law": "pd", "kp": 20, "kd": 2, "target": [0.5, -0.3]},
    )


@pytest.mark.usefixtures("registered")
def test_a_registered_measure_has_columns_values_labels_and_a_place_on_the_page(
    study: aw.Study, tmp_path: Path
) -> None:
    results = study.run(tmp_path, threads=1)
    names = ("doubled_torque1", "doubled_torque2", "last_time", "peak_torque1", "peak_torque2")
    assert results.wanted == names and columns_of(prepare(study))[-5:] == names
    found = results.columns(names)
    for k in (1, 2):
        np.testing.assert_allclose(found[f"doubled_torque{k}"], 2 * found[f"peak_torque{k}"], rtol=1e-14)
    np.testing.assert_allclose(found["last_time"], 0.2, rtol=1e-12)
    assert str(label_of(results.robot, "doubled_torque2")) == "doubled torque of joint2, N m"
    assert str(label_of(results.robot, "last_time")) == "last time, s"
    assert "doubled torque" in study_page(results)
    assert set(STUDY_MEASURES) >= {"doubled_torque", "last_time"}
    assert len(STUDY_MEASURES) == len(list(STUDY_MEASURES))
    listed = schema.study()["properties"]["want"]["properties"]["measures"]["items"]["enum"]
    assert {"doubled_torque", "last_time", "heat"} <= set(listed)


@pytest.mark.usefixtures("registered")
def test_the_source_of_a_registered_measure_belongs_to_the_identity_of_a_study(study: aw.Study) -> None:
    identity = prepare(study).identity
    assert set(identity["registered_measures"]) == {"doubled_torque", "last_time"}
    built_in = prepare(aw.Study("rr", {"payload.mass": [0.0, 1.0]}, duration=0.1))
    assert "registered_measures" not in built_in.identity


@pytest.mark.usefixtures("registered")
def test_worker_processes_refuse_a_measure_that_only_this_process_has(study: aw.Study, tmp_path: Path) -> None:
    for options in ({"workers": 2}, {"cluster": "tcp://127.0.0.1:9"}):
        with pytest.raises(
            InputError, match=r"worker processes do not have doubled_torque, last_time, registered by a call"
        ):
            compute_study(study, tmp_path / "results", **options)  # type: ignore[arg-type]
    assert not (tmp_path / "results").exists()


def test_worker_processes_take_a_measure_that_an_installed_package_offers(
    study: aw.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package is on the path alone, with the metadata of an installed one."""
    (tmp_path / "mypackage.py").write_text(
        "from armwright.simulation.gauges import Gauge\n"
        "from armwright.simulation.measures import Measure\n"
        "gauge = Gauge('time', 'last', lambda m: [m.at.t], per_joint=False)\n"
        "measure = Measure('time of the last record', ('s', 's'), (gauge,), 'aw')\n"
    )
    info = tmp_path / "mypackage-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mypackage\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[armwright.measures]\noffered_time = mypackage:measure\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(MEASURES, "_pending", None)
    monkeypatch.setattr(MEASURES, "_added", {})
    offered = aw.Study("rr", study.vary, want={"measures": ["offered_time"]}, duration=0.1, every=0.02)
    results = offered.run(tmp_path / "results", workers=1)
    np.testing.assert_allclose(results.columns(["offered_time"])["offered_time"], 0.1, rtol=1e-12)
