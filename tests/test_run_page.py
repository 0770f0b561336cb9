"""The page of a run in a real Chromium: it is drawn, moves, is switched and saved, asks for nothing and complains of nothing.

Pictures of it, light and dark, 1280 and 390 wide, are kept in the folder that ARMWRIGHT_SCREENSHOTS names.
"""

import csv
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import trimesh

import armwright as aw
from armwright.pages import run_scene

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))
from browser import NARROW, TALL, WIDE, Chromium, Tab, browser

pytestmark = pytest.mark.skipif(browser() is None, reason="no Chromium here (apt-get install chromium)")

MOTION = aw.trajectory.quintic([0, 1], [[0, 0], [0.5, -0.3]])


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    with Chromium() as made:
        yield made


@pytest.fixture(scope="module")
def run() -> aw.Run:
    """With a payload, limits one of which is exceeded, and a reference that it does not reach."""
    arm = aw.load("rr").with_payload(1.0, [0.1, 0, 0]).with_limits(torque=[150, 20], velocity=2, position=[[-2, 2]] * 2)
    return aw.simulate(arm, aw.torque.pd(MOTION.holding(), kp=300, kd=40), duration=1.5, every=0.005)


@pytest.fixture(scope="module")
def path(run: aw.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run.to_html(tmp_path_factory.mktemp("pages") / "run.html", "<b>arm</b>")


@pytest.fixture(scope="module")
def tab(chromium: Chromium, path: Path) -> Iterator[Tab]:
    with chromium.opened(path) as opened:
        yield opened


def quiet(tab: Tab) -> bool:
    """Nothing complained of, and nothing asked for but the page itself."""
    return (
        tab.console == []
        and all(address.startswith(("file:", "blob:")) for address in tab.asked)
        and len(tab.asked) >= 1
    )


def matrices(tab: Tab) -> np.ndarray:
    """Where the links are drawn."""
    return np.array(tab.run("armwright.scene.links.map(link => link.matrix.elements)")).reshape(-1, 4, 4).swapaxes(1, 2)


@pytest.mark.parametrize("light", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(WIDE, 860), (NARROW, TALL)])
def test_it_is_drawn_on_desk_and_telephone(chromium, path, tmp_path, light, width, height) -> None:
    with chromium.opened(path, width, height, light == "dark") as tab:
        folder = Path(os.environ.get("ARMWRIGHT_SCREENSHOTS", tmp_path))
        shot = tab.photograph(folder / f"run-{light}-{width}.png")
        assert shot.stat().st_size > 20_000
        assert tab.run("document.documentElement.scrollWidth") == width  # nothing sticks out
        pixels = "(() => {const c = armwright.scene.canvas, g = document.createElement('canvas').getContext('2d'); g.drawImage(c, 0, 0, 300, 150); return new Set(g.getImageData(0, 0, 300, 150).data).size})()"
        assert tab.run(pixels) > 30  # shades of a robot, not one colour
        assert quiet(tab)


def test_time_moves_the_robot(tab: Tab, run: aw.Run) -> None:
    """By the slider, by the keyboard, by pointing at a curve, by an instant in the table."""
    arm = run.robot
    tab.run("{const s = document.getElementById('time'); s.value = 0.75; s.dispatchEvent(new Event('input'))}")
    k = int(np.argmin(abs(run.t - tab.run("armwright.now"))))
    np.testing.assert_allclose(matrices(tab), arm.link_poses(run.q[k]), atol=2e-3)
    assert tab.run("document.getElementById('clock').textContent").startswith("0.75")
    tab.run("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))")
    assert tab.run("armwright.now") == pytest.approx(0.765, abs=2e-3)
    over = "armwright.charts[3].ups[0].over"
    tab.run(
        f"{{const r = {over}.getBoundingClientRect(); {over}.dispatchEvent(new PointerEvent('pointermove', {{clientX: r.left + r.width / 3, clientY: r.top + 5}}))}}"
    )
    assert tab.run("armwright.now") == pytest.approx(0.5, abs=0.02)
    before = matrices(tab)
    tab.run("document.querySelectorAll('.jump')[0].click()")
    assert tab.run("armwright.now") == pytest.approx(run.utilisation.joints[0].peak_torque_at)
    assert abs(matrices(tab) - before).max() > 0.01
    assert quiet(tab)


def test_play_goes_on_and_space_stops_it(tab: Tab) -> None:
    press = "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: ' ', bubbles: true}))"
    tab.run("armwright.go(0)")
    tab.run("document.getElementById('play').click()")
    tab.rest(0.3)
    assert tab.run("armwright.now") > 0.02
    assert tab.run("document.getElementById('play').textContent") == "Pause"
    tab.run(press)
    stopped = tab.run("armwright.now")
    tab.rest(0.1)
    assert tab.run("armwright.now") == stopped
    assert tab.run("document.getElementById('live').textContent") == tab.run(
        "document.getElementById('clock').textContent"
    )


def test_a_joint_is_switched_off_and_curves_are_parted_and_shared(tab: Tab, run: aw.Run) -> None:
    torque = "armwright.charts[3]"
    shows = f"{torque}.ups[0].series.slice(1).map(s => s.show)"
    assert tab.run(shows) == [True, True]
    tab.run("document.querySelectorAll('.chip')[1].click()")
    assert tab.run(shows) == [True, False]
    assert tab.run("document.querySelectorAll('.chip')[1].getAttribute('aria-pressed')") == "false"
    tab.run("document.getElementById('each').click()")
    assert tab.run(f"{torque}.ups.length") == 2 and tab.run(f"{torque}.small.map(s => s.box.hidden)") == [False, True]
    tab.run("document.getElementById('all').click(); document.getElementById('share').click()")
    shares = np.array(tab.run(f"{torque}.ups[0].data.slice(1)"))
    np.testing.assert_allclose(shares, 100 * run.tau.T / np.array([[150.0], [20.0]]), atol=1e-3)
    top, bottom = tab.run(f"[{torque}.ups[0].scales.y.max, {torque}.ups[0].scales.y.min]")
    assert top >= 100 or bottom <= -100  # a limit that is near is seen
    tab.run("document.getElementById('together').click()")
    assert quiet(tab)


def test_the_curves_and_the_picture_are_saved(chromium: Chromium, tab: Tab, run: aw.Run) -> None:
    tab.run("document.getElementById('csv').click(); document.getElementById('png').click()")
    for _ in range(100):
        found = {file.suffix: file for file in chromium.downloads.glob("*") if file.suffix in (".csv", ".png")}
        if len(found) == 2:
            break
        tab.rest(0.1)
    assert found[".png"].read_bytes()[:4] == b"\x89PNG"
    assert found[".csv"].name == "b_arm_b.csv"
    text = found[".csv"].read_text()
    assert text == tab.run("armwright.csv()")
    head, *rows = csv.reader(io.StringIO(text))
    assert head[:11] == ["t", "q1", "q2", "qd1", "qd2", "qdd1", "qdd2", "tau1", "tau2", "power1", "power2"]
    values = np.array(rows, dtype=float)
    assert (values[:, 0] == run.t).all()
    expected = np.concatenate([run.q, run.qd, run.qdd, run.tau, run.power], axis=1)
    np.testing.assert_allclose(values[:, 1:11], expected, rtol=1e-6, atol=1e-6)


def test_what_a_screen_reader_and_a_printer_get(tab: Tab) -> None:
    assert tab.run("[...document.querySelectorAll('[role=img]')].every(e => e.getAttribute('aria-label'))")
    assert tab.run(
        "[...document.querySelectorAll('button, select, input')].every(e => e.textContent || e.labels?.length || e.getAttribute('aria-label'))"
    )
    assert tab.run("document.querySelectorAll('.joints tbody th[scope=row]').length") == 2
    assert tab.run("document.querySelector('h1').textContent") == "<b>arm</b>"
    tab.call("Emulation.setEmulatedMedia", media="print")
    assert tab.run(
        "[...document.querySelectorAll('.controls, .overlay')].every(e => getComputedStyle(e).display === 'none')"
    )
    assert len(tab.call("Page.printToPDF", printBackground=False)["data"]) > 50_000
    tab.call("Emulation.setEmulatedMedia", media="")
    assert tab.run("document.documentElement.dataset.theme") is None


def test_meshes_are_drawn_and_a_page_of_them_stays_small(chromium, tmp_path, monkeypatch) -> None:
    """A ball of more triangles than may be on each link, another mesh missing."""
    monkeypatch.setattr(run_scene, "MAX_PAGE_TRIANGLES", 3000)
    ball = trimesh.creation.icosphere(4, 0.1)
    ball.export(tmp_path / "ball.ply")
    text = aw.load("rr").to_toml()
    seen = 'visuals = [{mesh = "ball.ply", rgba = [1.0, 0.0, 0.0, 1.0]}, {mesh = "none.stl"}]'
    text = text.replace('"joint1"', '"manufacturer_of_arms_joint_1"').replace("[[link]]", f"[[link]]\n{seen}")
    (tmp_path / "arm.toml").write_text(text)
    run = aw.simulate(aw.load(tmp_path / "arm.toml"), duration=0.2)
    path = run.to_html(tmp_path / "page.html")
    assert path.stat().st_size < 1e6
    with chromium.opened(path, 620, 400) as tab:
        faces, bound = tab.run(
            "(() => {const g = armwright.scene.links[1].children[0].geometry; return [g.getAttribute('position').count / 3, g.boundingSphere.radius]})()"
        )
        assert 1000 < faces <= 3000 < len(ball.faces)
        assert bound == pytest.approx(0.1, rel=0.1)
        assert "none.stl" in tab.run("document.body.textContent")
        cell = "document.querySelector('.joints th[scope=row]')"  # a long name is there to its end
        assert tab.run(f"{cell}.scrollWidth <= {cell}.clientWidth && getComputedStyle({cell}).textOverflow") == "clip"
        assert quiet(tab)
