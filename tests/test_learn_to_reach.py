"""The example that learns: its estimates are what their definitions say, and a dozen updates bring tips nearer."""

import importlib.util
import runpy
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

EXAMPLE = Path(__file__).parent.parent / "examples" / "17_learn_to_reach.py"


def test_a_quick_run_learns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    threads = torch.get_num_threads()
    curve = tmp_path / "curve.svg"
    monkeypatch.setattr("sys.argv", [str(EXAMPLE), "--quick", "--picture", str(curve)])
    try:
        runpy.run_path(str(EXAMPLE), run_name="__main__")
    finally:
        torch.set_num_threads(threads)
    said = capsys.readouterr().out
    distances = [float(line.split(" s ")[1].split(" cm")[0]) for line in said.splitlines() if " cm from" in line]
    assert distances[0] > 70
    assert distances[-1] < 0.6 * distances[0], said
    assert ET.fromstring(curve.read_text()).tag.endswith("svg")


def test_a_run_writes_no_file_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = importlib.util.spec_from_file_location("learn_to_reach", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, example)
    spec.loader.exec_module(example)
    distance = np.full(10, 0.1)
    monkeypatch.setattr(example, "learn", lambda how: (None, [example.Mark(k, k, distance) for k in range(3)]))
    monkeypatch.setattr(example, "trial", lambda *of: distance)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(EXAMPLE)])
    example.main()
    assert not list(tmp_path.iterdir())
    assert "on 1000 targets" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", [str(EXAMPLE), "--picture", "curve.svg"])
    example.main()
    assert [file.name for file in tmp_path.iterdir()] == ["curve.svg"]


def test_advantages_are_sums_of_what_was_better_than_expected() -> None:
    """Of two environments: one whose episode is truncated in the middle, one whose is terminated."""
    example = runpy.run_path(str(EXAMPLE))
    how = example["Settings"](gamma=0.5, lam=0.5)
    reward = torch.tensor([[1.0, 1.0], [2.0, 2.0], [0.0, 0.0], [4.0, 4.0]])
    ended = torch.tensor([[False, False], [True, True], [False, False], [False, False]])
    terminated = ended & torch.tensor([False, True])
    value = torch.tensor([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [5.0, 5.0], [6.0, 6.0]])
    e = example["Experience"](torch.zeros(5, 2, 1), torch.zeros(4, 2, 1), reward, terminated, ended, ended)
    last = 4 + 0.5 * 6 - 5
    cut, ends = 2 + 0.5 * 3 - 2, 2 - 2
    expected = [
        [1 + 0.5 * 2 - 1 + 0.25 * cut, 1 + 0.5 * 2 - 1 + 0.25 * ends],
        [cut, ends],
        [0 + 0.5 * 5 - 3 + 0.25 * last] * 2,
        [last] * 2,
    ]
    assert torch.allclose(example["advantages"](e, value, how), torch.tensor(expected))
