"""Pages: names that try to run script, seen by a real browser; the floor of the picture."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import armwright as aw
from armwright.report.html import as_data, escape, filled, policy
from armwright.report.page import bones, drawn_points, page

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))
from hostile_pages import HOSTILE, ORDER, PAGES, browser, complaints, named, opened

IN_BROWSER = pytest.mark.skipif(browser() is None, reason="no Chromium here (apt-get install chromium)")
WORST = "".join(name for name in HOSTILE if not name.startswith("<!--"))
"""All hostile names in one; one that opens a comment would hide the others."""


def data_of(text: str) -> dict:
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


@IN_BROWSER
@pytest.mark.parametrize("kind", ["run", "identified", "figures"])
def test_no_name_runs_script_in_a_browser(kind: str) -> None:
    plain = opened(PAGES[kind]("plain"))
    for name in ("{{data}}", WORST):
        assert complaints(opened(PAGES[kind](name)), plain, name) == []


@IN_BROWSER
def test_a_joint_that_would_be_an_image_is_a_text() -> None:
    arm = named(f"<img src=x onerror={ORDER}>")
    seen = opened(page(aw.simulate(replace(arm, name="{{data}}"), duration=0.1), "{{data}}"))
    assert not seen.owned
    assert "img" not in seen.tags
    assert seen.tags["canvas"] == 8  # the page itself works: seven charts and the arm


@IN_BROWSER
@pytest.mark.parametrize("kind", ["run", "figures"])
def test_the_policy_alone_stops_script_that_got_in(kind: str) -> None:
    text = PAGES[kind]("plain").replace("</h1>", f"</h1><img src=x onerror={ORDER}><script>{ORDER}</script>")
    seen = opened(text)
    assert seen.tags["img"] == 1
    assert not seen.owned
    assert any("Content Security Policy" in line for line in seen.console)
    assert opened(re.sub(r"<meta http-equiv[^>]*>", "", text)).owned  # so that the test would see it


@pytest.mark.parametrize("kind", ["run", "figures"])
def test_every_page_has_a_policy_and_nothing_of_a_name(kind: str) -> None:
    for name in HOSTILE:
        text = PAGES[kind](name)
        assert text.count("Content-Security-Policy") == 1
        assert text.index("Content-Security-Policy") < text.index("<title>")
        assert "unsafe" not in text
        if "<" in name:
            assert name not in text


def test_a_value_is_never_replaced_again() -> None:
    assert filled("{{a}} {{b}}", {"a": "{{b}}", "b": "{{a}}"}) == "{{b}} {{a}}"
    assert json.loads(as_data({"a": "</script><!--&"})) == {"a": "</script><!--&"}
    assert not set("<>&") & set(as_data("</script><!--&"))
    assert escape("<\x1b\n\u202e'\"") == r"&lt;\x1b\n\u202e&#x27;&quot;"
    assert policy("").count("-src") == 1


def test_the_floor_lies_in_the_world_and_not_at_frame_0() -> None:
    arm = aw.load("rr")
    lifted = arm.mounted([[1, 0, 0, 2.0], [0, 1, 0, -1.0], [0, 0, 1, 0.7], [0, 0, 0, 1]])
    for robot in (arm, lifted):
        data = data_of(page(aw.simulate(robot, duration=0.1), robot.name))
        scene, points = data["scene"], np.array(data["points"]).reshape(-1, 4, 3)
        assert scene["foot"] == [*robot.link_positions([0, 0])[0, :2].round(7), 0.0]
        assert np.all(np.linalg.norm(points - scene["centre"], axis=-1) <= scene["radius"] * (1 + 1e-6))
        assert np.linalg.norm(np.subtract(scene["foot"], scene["centre"])) <= scene["radius"] * (1 + 1e-6)
    assert data["points"][0][2] == 0.7


def test_what_is_not_a_number_is_a_gap_and_the_page_can_be_read() -> None:
    run = aw.simulate(aw.load("rr"), duration=0.1)
    broken = replace(run, tau=np.full_like(run.tau, np.nan))
    torques = next(chart for chart in data_of(page(broken, "rr"))["charts"] if chart["title"] == "Torque")
    assert torques["curves"] == [[None] * len(run.t)] * 2


def test_a_tree_is_drawn_as_one() -> None:
    """Each link joined to its parent, a base that floats to nothing, every branch to where it ends."""
    dog, puma = aw.load("anymal_c"), aw.load("puma560")
    points, ends = drawn_points(dog, dog.neutral[None])
    assert points.shape == (1, 1 + 13 + 4, 3) and all(dog.links[i].name.endswith("SHANK") for i in ends)
    assert bones(dog, ends)[:4] == [[1, 2], [2, 3], [3, 4], [1, 5]] and bones(dog, ends)[-1] == [13, 17]
    assert bones(puma, drawn_points(puma, puma.neutral[None])[1]) == [[i, i + 1] for i in range(7)]
