"""Pages: names that try to run script, seen by a real browser; what the page of a run holds."""

import base64
import hashlib
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

import armwright as aw
from armwright.cli import app
from armwright.pages.report.html import escape, fill_template, json_data, policy
from armwright.pages.run_scene import as_quaternions, page
from armwright.study.papers.finding import PaperStudy, compare, index

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))
import vendor_web
from browser import browser
from hostile_pages import HOSTILE, ORDER, PAGES, complaints, named, opened

IN_BROWSER = pytest.mark.skipif(browser() is None, reason="no Chromium here (apt-get install chromium)")
WORST = "".join(name for name in HOSTILE if not name.startswith("<!--"))
"""All hostile names in one; one that opens a comment would hide the others."""


def data_of(text: str) -> dict:
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


def floats(text: str, kind: str = "<f4") -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), kind)


@IN_BROWSER
@pytest.mark.parametrize("kind", ["run", "identified", "figures", "compared"])
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
    assert seen.tags["canvas"] == 9  # the page itself works: seven charts, the arm, and the arm on paper


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
    assert fill_template("{{a}} {{b}}", {"a": "{{b}}", "b": "{{a}}"}) == "{{b}} {{a}}"
    assert json.loads(json_data({"a": "</script><!--&"})) == {"a": "</script><!--&"}
    assert not set("<>&") & set(json_data("</script><!--&"))
    assert escape("<\x1b\n\u202e'\"") == r"&lt;\x1b\n\u202e&#x27;&quot;"
    assert policy("").count("-src") == 1


def test_links_are_where_the_robot_says() -> None:
    """The poses on a page, positions and quaternions, are those of the links at their times; the base that of frame 0."""
    lifted = aw.load("rr").mounted([[1, 0, 0, 2.0], [0, 1, 0, -1.0], [0, 0, 1, 0.7], [0, 0, 0, 1]])
    for robot in (lifted, aw.load("anymal_c")):
        run = aw.simulate(robot, duration=0.1, qd0=np.linspace(-2, 2, robot.n))
        seen = data_of(page(run, robot.name))["picture"]
        t, poses = floats(seen["t"], "<f8"), floats(seen["poses"]).reshape(-1, len(robot.links), 7)
        expected = robot.link_poses(run.q)
        assert (t == run.t).all() and np.reshape(seen["base"], (4, 4)).tolist() == np.array(robot.base).tolist()
        np.testing.assert_allclose(poses[..., :3], expected[..., :3, 3], atol=1e-6)
        turned = Rotation.from_quat(poses[..., 3:].reshape(-1, 4)).as_matrix()
        np.testing.assert_allclose(turned, expected[..., :3, :3].reshape(-1, 3, 3), atol=1e-6)
        assert (
            np.sum(poses[1:, :, 3:] * poses[:-1, :, 3:], axis=-1) > 0
        ).all()  # between two of them a page goes straight
    assert seen["free"] and [row["kind"] for row in seen["joints"]] == ["free"] + ["revolute"] * 12
    assert [row["joint"] for row in seen["joints"]] == [5, *range(6, 18)]


def test_a_quaternion_is_found_whichever_way_a_link_is_turned() -> None:
    turns = Rotation.random(200, rng=1).as_matrix()
    turns[:4] = np.eye(3), np.diag([1, -1, -1]), np.diag([-1, 1, -1]), np.diag([-1, -1, 1])
    poses = np.tile(np.eye(4), (200, 1, 1))
    poses[:, :3, :3] = turns
    np.testing.assert_allclose(Rotation.from_quat(as_quaternions(poses)[:, 3:]).as_matrix(), turns, atol=1e-14)


def test_what_is_not_a_number_is_a_gap_and_the_page_can_be_read() -> None:
    run = aw.simulate(aw.load("rr"), duration=0.1)
    broken = replace(run, tau=np.full_like(run.tau, np.nan))
    torques = next(chart for chart in data_of(page(broken, "rr"))["charts"] if chart["title"] == "Torque")
    assert np.isnan(floats(torques["curves"])).all() and len(floats(torques["curves"])) == 2 * len(run.t)


def test_the_heading_says_what_is_held_what_pulls_and_what_ended_it() -> None:
    moon = aw.load("rr").with_payload(2, [0, 0, 0.1]).with_gravity([0, 0, -1.62])
    text = page(aw.simulate(moon, duration=0.1, qd0=[1, 0], events=[aw.events.position("joint1", 0.05)]), "rr")
    for words in ("2 kg at (0, 0, 0.1) m of the tool", "(0, 0, -1.62) m/s²", "ended by <b>&#x27;joint1"):
        assert words in text
    earth = aw.load("rr").with_gravity([0, 0, -9.80665])
    assert "gravity <b>" not in page(aw.simulate(earth, duration=0.1), "rr")


def test_the_libraries_are_the_ones_that_were_named() -> None:
    for file, expected in vendor_web.SUMS.items():
        assert hashlib.sha256((vendor_web.WEB / file).read_bytes()).hexdigest() == expected
    for file in ("three.min.js", "uplot.min.js"):
        assert "</script" not in (vendor_web.WEB / file).read_text(encoding="utf-8")


def test_a_payload_is_seen_while_it_is_held() -> None:
    arm = aw.load("rr")
    run = aw.simulate_phases([aw.Phase(arm, duration=0.1), aw.Phase(arm.with_payload(2.0), duration=0.1)])
    text = page(run, "rr")
    held = [shape for shape in data_of(text)["picture"]["shapes"] if "from" in shape]
    assert [(shape["link"], shape["kind"], shape["to"]) for shape in held] == [(1, "sphere", 0.2)]
    assert held[0]["from"] == pytest.approx(0.1, abs=1e-12)
    assert "payload <b>2 kg from 0.1 to 0.2 s</b>" in text


def test_the_papers_have_an_index_with_their_verdicts() -> None:
    good, bad = compare("table 1", "a", "2.0", 2.0), compare("table 2", "b", "2.0", 3e3, why="a misprint")
    studies = [PaperStudy("one", "The <first> paper", "", (good, bad)), PaperStudy("two", "The second", "", (good,))]
    text = index(studies)
    assert '<a href="one.html">The &lt;first&gt; paper</a>' in text
    assert (
        text.count('<td class="good"><span>1</span></td>') == 2
        and text.count('<td class="bad"><span>1</span></td>') == 1
    )
    assert '<td class="bad"><span>differs</span></td>' in studies[0].page()


def test_a_check_and_a_comparison_have_pages(tmp_path: Path) -> None:
    aw.load("rr").to_toml(tmp_path / "one.toml")
    aw.load("rr").with_gravity([0, 0, -1]).to_toml(tmp_path / "two.toml")
    for words in (["check", "one.toml", "--quick"], ["compare", "one.toml", "two.toml"]):
        files = [str(tmp_path / word) if word.endswith("toml") else word for word in words]
        CliRunner().invoke(app, [*files, "-o", str(tmp_path / f"{words[0]}.html")])
    assert "one.toml: 2 links, 2 joints" in (tmp_path / "check.html").read_text(encoding="utf-8")
    assert '<td class="bad"><span>counts</span></td>' in (tmp_path / "compare.html").read_text(encoding="utf-8")
