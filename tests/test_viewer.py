"""The viewer: what it shows is what the robot says, it answers to its own page only, and nothing is left when it ends."""

from __future__ import annotations

import http.client
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hostile_pages import browser
from typer.testing import CliRunner

import armwright as aw
from armwright.cli import app
from armwright.errors import InputError
from armwright.model.records import Payload
from armwright.model.visual import Box, Sphere
from armwright.pages.scene import triangles
from armwright.pages.viewer import Viewer, readout, view
from armwright.pages.viewer.figure import ellipsoid
from armwright.pages.viewer.playback import QUANTITY_CURVES, Playback, curves_of, with_other_run
from armwright.pages.viewer.pose_simulation import DRIVE_CHOICES, FREE_FALL, HOLD_COMPENSATED, HOLD_PD, simulate_from
from armwright.pages.viewer.pose_state import PoseState
from armwright.pages.viewer.run_panel import with_cursor
from armwright.pages.viewer.server import is_allowed, start_server
from armwright.pages.viewer.solids import split_at_edges
from armwright.pages.viewer.worker import Worker
from armwright.progress import progress_reported
from armwright.simulation.joined_runs import shifted

EVIL = "<img src=x onerror=alert(1)>[x](javascript:alert(1))\x1b[31m"


@pytest.fixture(scope="module")
def arm() -> aw.Robot:
    return aw.load("puma560")


@pytest.fixture(scope="module")
def dog() -> aw.Robot:
    return aw.load("anymal_c")


@pytest.fixture(scope="module")
def viewer(arm: aw.Robot) -> Iterator[Viewer]:
    made = arm.view(browser=False)
    yield made
    made.close()


def waited(true: Callable[[], bool], seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


def test_torques_and_energy_are_those_of_the_robot_with_its_load(arm: aw.Robot) -> None:
    state = PoseState(arm)
    state.set_pose([0.3, -0.5, 0.7, 0.2, -0.4, 0.1])
    state.set_payload(2.5)
    state.set_gravity((0.0, 1.0, -1.62))
    loaded = arm.with_payload(2.5).with_gravity((0.0, 1.0, -1.62))
    held = state.static_load()
    assert state.loaded_robot == loaded
    assert held.torques == pytest.approx(loaded.gravity_torque(state.q), abs=1e-12)
    assert held.torques == pytest.approx(loaded.inverse_dynamics(state.q, np.zeros(6), np.zeros(6)), abs=1e-12)
    assert held.energy == pytest.approx(float(loaded.potential_energy(state.q)), abs=1e-12)
    assert held.mass == pytest.approx(sum(link.mass for link in arm.links) + 2.5)


def test_a_payload_that_the_robot_has_keeps_its_place(arm: aw.Robot) -> None:
    state = PoseState(arm.with_payload(1.0, com=(0.1, 0.0, 0.2)))
    state.set_pose(np.full(6, 0.4))
    state.set_payload(3.0)
    expected = arm.with_payload(3.0, com=(0.1, 0.0, 0.2)).gravity_torque(state.q)
    assert state.static_load().torques == pytest.approx(expected, abs=1e-12)
    state.set_payload(0.0)
    assert state.loaded_robot.payload is None


def test_two_payloads_are_held_apart_and_felt_together(arm: aw.Robot) -> None:
    """Each with its centre; the torques are those of both bodies on the tool."""
    gripper, box = Payload(0.8, (0.0, 0.0, 0.06)), Payload(2.0, (0.01, 0.0, 0.15))
    both = arm.with_payload(0.8, gripper.com).with_payload(2.0, box.com, beside=True)
    state = PoseState(both, [gripper, box])
    assert state.loads == [gripper, box]
    assert state.static_load().torques == pytest.approx(both.gravity_torque(state.q), abs=1e-12)
    state.set_payload(1.0, (0.0, 0.1, 0.2), place=1)
    moved = arm.with_payload(0.8, gripper.com).with_payload(1.0, (0.0, 0.1, 0.2), beside=True)
    assert state.loaded_robot.payload == moved.payload
    assert state.static_load().torques == pytest.approx(moved.gravity_torque(state.q), abs=1e-12)
    state.set_payload(0.0)
    assert state.loaded_robot.payload == Payload(1.0, (0.0, 0.1, 0.2))


def test_sliders_of_angles_are_in_degrees(viewer: Viewer) -> None:
    state, panel = viewer.page.state, viewer.page._pose
    for joint, slider in panel._sliders.items():
        assert (slider.min, slider.max) == pytest.approx((np.degrees(joint.low), np.degrees(joint.high)))
    state.set_pose(np.full(6, 0.5))
    panel.refresh()
    assert [slider.value for slider in panel._sliders.values()] == pytest.approx([28.6479] * 6, abs=1e-3)


def test_use_of_a_limit_is_the_part_of_it() -> None:
    robot = aw.load("panda")
    held = PoseState(robot).static_load()
    parts = [use.torque for use in held.uses]
    assert parts == pytest.approx(np.abs(held.torques) / [joint.max_torque for joint in robot.joints], abs=1e-8)


def test_levers_move_their_own_freedom_alone_within_its_limits(dog: aw.Robot) -> None:
    state = PoseState(dog)
    before = [state.value(slider) for slider in state.joint_sliders]
    for i, slider in enumerate(state.joint_sliders):
        state.set_pose(state.home)
        state.set_joint(slider, 0.2)
        assert [state.value(x) for x in state.joint_sliders] == pytest.approx([*before[:i], 0.2, *before[i + 1 :]])
        state.set_joint(slider, 1e300)
        assert state.value(slider) == pytest.approx(slider.high)
        state.set_joint(slider, float("nan"))
        assert slider.low <= state.value(slider) <= slider.high


def test_home_is_within_limits_and_what_floats_stands_on_the_floor(dog: aw.Robot) -> None:
    panda = PoseState(aw.load("panda"))
    assert all(slider.low <= panda.value(slider) <= slider.high for slider in panda.joint_sliders)
    feet = [PoseState(dog).pose(f"{leg}_FOOT")[2, 3] for leg in ("LF", "RF", "LH", "RH")]
    assert min(feet) == pytest.approx(0, abs=1e-9)
    panda.randomise(np.random.default_rng(0))
    assert all(slider.low <= panda.value(slider) <= slider.high for slider in panda.joint_sliders)


def test_the_robot_follows_a_tool_that_is_dragged(arm: aw.Robot) -> None:
    state = PoseState(arm)
    state.set_pose([0.1, -0.6, 0.4, 0.3, 0.5, 0.2])
    target = state.pose("tool").copy()
    target[:3, 3] += [0.05, -0.03, 0.04]
    assert state.follow(target, "tool", "full").reached
    assert state.pose("tool") == pytest.approx(target, abs=1e-5)
    target[:3, 3] = [5.0, 0.0, 0.0]
    reach = state.follow(target, "tool", "free")
    assert not reach.reached and reach.metres > 3 and "out of reach" in str(reach)
    assert np.isfinite(state.q).all()
    assert not state.follow(np.full((4, 4), np.nan), "tool", "full").reached


def test_a_foot_is_dragged_and_the_base_stays(dog: aw.Robot) -> None:
    state = PoseState(dog)
    assert state.frames[:4] == ("LF_FOOT", "LH_FOOT", "RF_FOOT", "RH_FOOT")
    assert state.orientation_for("LF_FOOT") == "free"
    base, target = state.pose("base"), state.pose("LF_FOOT").copy()
    target[:3, 3] += [0.05, 0.02, 0.1]
    assert state.follow(target, "LF_FOOT", "free").reached
    assert state.pose("base") == pytest.approx(base, abs=1e-9)
    target[2, 3] += 3
    assert not state.follow(target, "LF_FOOT", "free").reached
    assert state.pose("base") == pytest.approx(base, abs=1e-9)


def test_a_run_is_shown_between_its_records(arm: aw.Robot) -> None:
    run = aw.simulate(arm, q0=np.full(6, 0.1), duration=0.5)
    played = Playback([run])
    played.seek(0.123)
    now, k = played.at(run), 12
    assert now.q == pytest.approx(0.7 * run.q[k] + 0.3 * run.q[k + 1], abs=1e-12)
    assert now.kinetic + now.potential == pytest.approx(run.energy[0], rel=1e-3)
    played.seek(99)
    assert played.t == 0.5 and played.at(run).q == pytest.approx(run.q[-1])
    played.speed = 2.0
    played.play()
    assert played.t == 0 and played.playing
    played.advance(0.2)
    assert played.t == pytest.approx(0.4) and played.playing
    played.advance(0.2)
    assert played.t == 0.5 and not played.playing


def test_what_a_phase_takes_up_is_in_the_hand(arm: aw.Robot) -> None:
    runs = [aw.simulate(robot, q0=np.zeros(6), duration=0.1) for robot in (arm, arm.with_payload(2.0))]
    played = Playback([aw.Run.joined([runs[0], shifted(runs[1], 0.1)])])
    assert played.at(played.first).payload_mass == 0
    played.seek(0.15)
    assert played.at(played.first).payload_mass == 2


@pytest.mark.parametrize("what", QUANTITY_CURVES)
def test_curves_are_those_of_the_run(arm: aw.Robot, what: str) -> None:
    run = aw.simulate(arm.with_limits(torque=100), q0=np.full(6, 0.1), duration=20, every=0.01, rtol=1e-6)
    found = curves_of(run, what)
    assert len(found.t) <= 700 and found.t[-1] == run.t[-1] and len(found.names) == len(found.values)
    times, *rows, cursor = with_cursor(found, 1.234)
    assert (np.diff(times) >= 0).all() and len(rows) == len(found.names)
    assert cursor.max() == found.range[1] and times[cursor.argmax()] == 1.234


def test_curves_of_a_second_run_stand_beside_those_of_the_first(arm: aw.Robot) -> None:
    one, two = (aw.simulate(arm, q0=np.full(6, 0.1), duration=seconds) for seconds in (0.5, 0.3))
    found = with_other_run(curves_of(one, "speed"), curves_of(two, "speed"))
    assert found.values.shape == (12, 51) and found.values[6:, :31] == pytest.approx(two.qd.T, abs=1e-12)
    assert with_other_run(curves_of(one, "speed"), curves_of(two, "energy")).values.shape == (6, 51)


@pytest.mark.parametrize("law", DRIVE_CHOICES)
def test_simulations_start_from_the_pose(arm: aw.Robot, law: str) -> None:
    q = np.array([0.2, -0.5, 0.3, 0.0, 0.4, 0.0])
    run = simulate_from(arm, q, law, 0.3, limited=True, stops=False)
    assert run.q[0] == pytest.approx(q) and run.t[-1] == pytest.approx(0.3)
    assert (np.abs(run.q[-1] - q).max() < 1e-6) == (law not in (FREE_FALL, HOLD_PD))


@pytest.mark.parametrize("t", [float("nan"), float("inf"), float("-inf")])
def test_a_seek_to_a_time_that_is_no_number_goes_to_the_start(arm: aw.Robot, t: float) -> None:
    played = Playback([shifted(aw.simulate(arm, duration=0.2), 0.5)])
    played.seek(0.6)
    assert played.t == pytest.approx(0.6)
    played.seek(t)
    assert played.t == played.begin == pytest.approx(0.5)
    assert np.isfinite(played.at(played.first).q).all()


def test_a_simulation_ends_where_it_is_stopped(arm: aw.Robot, viewer: Viewer) -> None:
    panel = viewer.page._player
    panel.stop()
    with progress_reported(panel._show_progress):
        run = simulate_from(arm, np.full(6, 0.1), FREE_FALL, 60.0, limited=False, stops=False)
    assert len(run.t) < 100 and "stopped by the user" in run.message
    assert Playback([run]).at(run).q == pytest.approx(np.full(6, 0.1))


def test_a_base_that_floats_is_not_driven(dog: aw.Robot) -> None:
    run = simulate_from(dog, PoseState(dog).home, HOLD_COMPENSATED, 0.1, limited=True, stops=False)
    assert not run.tau[:, :6].any() and run.tau[:, 6:].any()


def test_names_are_texts() -> None:
    evil = hostile(aw.load("rr"))
    state = PoseState(evil)
    run = aw.simulate(evil, duration=0.1)
    played = Playback([run])
    for text in (
        readout.heading(evil, [EVIL]),
        readout.holding_table(state.static_load()),
        readout.instant_table(played.at(run)),
        readout.pose_lines(EVIL, np.eye(4)),
        readout.status(EVIL, False),
    ):
        assert "&lt;img src=x" in text and "<img" not in text and "\x1b" not in text
    assert not any("\x1b" in name for name in curves_of(run, "torque").names)


@pytest.mark.parametrize(
    ("host", "origin", "listening", "answered"),
    [
        ("127.0.0.1:8080", None, "127.0.0.1", True),
        ("localhost:9000", "http://localhost:9000", "127.0.0.1", True),
        ("[::1]:8080", "http://[::1]:8080", "::1", True),
        ("127.0.0.1:8080", "http://evil.example", "127.0.0.1", False),
        ("127.0.0.1:8080", "http://localhost:8080", "127.0.0.1", False),
        ("127.0.0.1:8080", "null", "127.0.0.1", False),
        ("evil.example:8080", "http://evil.example:8080", "127.0.0.1", False),
        ("192.168.0.7:8080", None, "127.0.0.1", False),
        ("192.168.0.7:8080", "http://192.168.0.7:8080", "0.0.0.0", True),
        ("evil.example:8080", "http://evil.example:8080", "0.0.0.0", False),
        ("[broken", None, "127.0.0.1", False),
        (None, None, "127.0.0.1", False),
    ],
)
def test_who_is_answered(host: str | None, origin: str | None, listening: str, answered: bool) -> None:
    assert is_allowed(host, origin, listening) is answered


def asked(viewer: Viewer, path: str = "/", **headers: str) -> int:
    """The status of the answer to a request."""
    with closing(http.client.HTTPConnection("127.0.0.1", port_of(viewer), timeout=20)) as connection:
        connection.request("GET", path, headers=headers)
        with connection.getresponse() as answer:
            return answer.status


def port_of(viewer: Viewer) -> int:
    return int(viewer.url.rpartition(":")[2])


def test_its_page_is_served_to_this_machine_and_to_nobody_else(viewer: Viewer) -> None:
    assert viewer.url.startswith("http://127.0.0.1:") and viewer.url in viewer._repr_html_()
    assert asked(viewer) == 200
    assert asked(viewer, Host="evil.example") == 403
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    key = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": "viser-v0"}
    assert asked(viewer, Origin="http://evil.example", **upgrade, **key) == 403
    assert asked(viewer, Origin=viewer.url, **upgrade, **key) == 101
    for path in ("/../../__init__.py", "/%2e%2e/%2e%2e/__init__.py", "/..%5c..%5c__init__.py", "//etc/passwd"):
        assert asked(viewer, path) == 404
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", port_of(viewer)), timeout=5):
        pass  # another address of this machine, at which somebody who listens everywhere would answer


def test_pages_from_elsewhere_cannot_frame_it(viewer: Viewer) -> None:
    """A click on a page that lays itself over the viewer would steer the robot; notebooks on this machine may show it."""
    with closing(http.client.HTTPConnection("127.0.0.1", port_of(viewer), timeout=20)) as connection:
        connection.request("GET", "/")
        with connection.getresponse() as answer:
            policy = answer.headers["Content-Security-Policy"].split()
    assert policy[:2] == ["frame-ancestors", "'self'"]
    assert {"http://localhost:*", "http://127.0.0.1:*"} <= set(policy[2:])
    assert not {"*", "http:", "https:", "data:"} & set(policy)


def test_nobody_can_have_it_shared(viewer: Viewer) -> None:
    handlers = viewer._server._websock_server._incoming_handlers
    assert not [kind for kind in handlers if "Share" in kind.__name__]


def test_it_ends_whole(arm: aw.Robot) -> None:
    before = set(threading.enumerate())
    made = view(aw.simulate(arm, q0=np.full(6, 0.1), duration=0.1), browser=False)
    assert asked(made) == 200 and made.page.playback is not None
    port = port_of(made)
    made.close()
    with pytest.raises(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        pass
    assert waited(lambda: not {t for t in threading.enumerate() if t.is_alive()} - before, 20)


def test_impossible_requests_are_errors(arm: aw.Robot, viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=f"port {port_of(viewer)}"):
        view(arm, port=port_of(viewer), browser=False)
    for port in (0, True):
        with pytest.raises(InputError, match="expected a number from 1 to 65535"):
            view(arm, port=port, browser=False)
    with pytest.raises(InputError, match="cannot listen at 203"):
        view(arm, host="203.0.113.1", browser=False)
    with pytest.raises(InputError, match="expected a robot, or runs"):
        view("puma560", browser=False)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(InputError, match=r"pip install 'armwright\[view\]'"):
        start_server("127.0.0.1", None, "")


def test_only_the_newest_request_of_a_kind_is_done() -> None:
    done, gate = list[int](), threading.Event()
    worker = Worker(lambda _seconds: False)
    worker.start()
    worker.post("first", lambda: gate.wait(20) and None)
    for k in range(100):
        worker.post("slider", lambda k=k: done.append(k))
    worker.post("other", lambda: done.append(-1))
    gate.set()
    assert waited(lambda: -1 in done) and done == [99, -1]
    worker.stop()


def test_edges_are_sharp_and_what_is_round_stays_round() -> None:
    for shape, vertices in ((Box((1, 2, 3)), 24), (Sphere(1.0), len(triangles(Sphere(1.0)).vertices))):
        mesh = triangles(shape)
        places, faces = split_at_edges(mesh.vertices, mesh.faces)
        assert len(places) == vertices and len(faces) == len(mesh.faces)
        assert np.sort(places[faces].sum(axis=1), axis=0) == pytest.approx(
            np.sort(mesh.vertices[mesh.faces].sum(axis=1), axis=0), abs=1e-5
        )


def test_an_ellipsoid_has_the_inertia_of_its_link() -> None:
    inertia = np.diag([2.0, 3.0, 4.0])
    radii, axes = ellipsoid(5.0, inertia) or (np.zeros(3), np.eye(3))
    moments = 5.0 / 5 * (np.sum(radii**2) - radii**2)
    assert axes @ np.diag(moments) @ axes.T == pytest.approx(inertia, abs=1e-12)
    assert ellipsoid(1.0, np.diag([0.0, 0.0, 0.0])) is None


def test_the_command_ends_on_an_interrupt() -> None:
    command = [sys.executable, "-m", "armwright", "view", "rr", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert asked(SimpleNamespace(url=line.split()[0])) == 200  # type: ignore[arg-type]
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert process.stdout.read() == ""


def test_the_command_reads_what_it_is_given_and_nothing_else(tmp_path: Path, arm: aw.Robot) -> None:
    def says(*words: str) -> str:
        result = CliRunner().invoke(app, ["view", *words, "--no-browser"])
        assert result.exit_code == 2
        return " ".join(result.output.split())

    aw.simulate(arm, duration=0.05).to_parquet(run := tmp_path / "run.parquet")
    assert "a second file needs a run" in says("puma560", str(run))
    assert "--tip" in says(str(run), "--tip", "link3")
    assert "does not exist; expected a run" in says(str(tmp_path / "none.parquet"))
    assert "not a run" in says(str(run), str(_table(tmp_path)))


def _table(folder: Path) -> Path:
    import pyarrow  # noqa: PLC0415
    import pyarrow.parquet  # noqa: PLC0415

    pyarrow.parquet.write_table(pyarrow.table({"a": [1.0]}), path := folder / "other.parquet")
    return path


@pytest.mark.skipif(browser() is None, reason="no Chromium here (apt-get install chromium)")
def test_in_a_browser(arm: aw.Robot) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    said, elsewhere = list[str](), list[str]()
    made = hostile(arm).view(browser=False)
    try:
        with playwright.sync_playwright() as driver:
            flags = ["--no-sandbox", "--enable-unsafe-swiftshader"]
            chromium = driver.chromium.launch(executable_path=browser(), args=flags)
            page = chromium.new_page(viewport={"width": 1300, "height": 800})
            page.set_default_timeout(120_000)
            page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
            page.on("pageerror", lambda error: said.append(str(error)))
            page.on("request", lambda request: elsewhere.append(request.url) if foreign(request.url, made) else None)
            page.goto(made.url)
            used(page, made)
            assert framed(chromium, made, "127.0.0.1")
            assert not framed(chromium, made, "127.0.0.2")
            chromium.close()
        assert said == [] and elsewhere == []
        assert waited(lambda: not made._server.get_clients())
    finally:
        made.close()


def framed(chromium: Any, viewer: Viewer, host: str) -> bool:
    """Whether a page at an address of this machine can show the viewer in a frame."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f'<iframe src="{viewer.url}"></iframe>'.encode())

        def log_message(self, *_: Any) -> None: ...

    with HTTPServer((host, 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = chromium.new_page()
        page.goto(f"http://{host}:{server.server_port}/")
        shown = bool(page.frames[1].url.startswith(viewer.url))
        page.close()
        server.shutdown()
    return shown


def hostile(robot: aw.Robot) -> aw.Robot:
    """With names that are markup."""
    joints = tuple(replace(joint, name=f"{joint.name}{EVIL}") for joint in robot.joints)
    links = tuple(replace(link, name=f"{link.name}{EVIL}") for link in robot.links)
    return replace(robot, name=EVIL, source=EVIL, joints=joints, links=links)


def foreign(url: str, viewer: Viewer) -> bool:
    return not url.startswith((viewer.url, viewer.url.replace("http", "ws"), "data:", "blob:"))


def used(page: Any, viewer: Viewer) -> None:
    """Move a slider, drag the tool, simulate, and play again."""
    state = viewer.page.state
    slider = page.get_by_role("slider").nth(1)
    slider.focus()
    page.keyboard.press("End")
    assert waited(lambda: state.value(state.joint_sliders[1]) == pytest.approx(state.joint_sliders[1].high, abs=2e-3))
    dragged(page, viewer)
    page.get_by_role("tab", name="Look").click()
    for words in ("Transparent", "Frames of links", "Names of links", "Centres of mass", "Inertia ellipsoids"):
        page.get_by_label(words).click()
    page.get_by_role("tab", name="Run").click()
    posed = state.q.copy()
    page.get_by_role("button", name="Simulate", exact=True).click()
    assert waited(lambda: viewer.page.playback is not None)
    played = viewer.page.playback
    assert played is not None and waited(lambda: played.t == played.end)
    assert not played.playing and np.array_equal(played.first.q[0], posed)
    page.get_by_role("button", name="Play", exact=True).click()
    assert waited(lambda: 0 < played.t < played.end)
    assert EVIL[:20] in page.inner_text("body") and page.locator("img[src=x]").count() == 0


def dragged(page: Any, viewer: Viewer) -> None:
    """Pull the tool by the arrow along its z axis: it comes along that axis."""
    state = viewer.page.state
    state.set_pose([0.1, -0.6, 0.4, 0.3, 0.5, 0.2])
    viewer.page.refresh()
    T, arrow = state.pose("tool"), 0.22 * state.size

    def along() -> np.ndarray:
        return T[:3, :3].T @ (state.pose("tool")[:3, 3] - T[:3, 3]) / arrow

    for _ in range(5):  # a browser that draws slowly may not have the arrow where it is pulled yet
        place = page.locator("canvas").first.bounding_box()
        corner = np.array([place["x"], place["y"]])
        begin, end = (corner + seen(viewer, T[:3, 3] + part * arrow * T[:3, 2]) for part in (0.8, 1.2))
        page.mouse.move(*begin)
        time.sleep(1)
        page.mouse.down()
        for part in np.linspace(0.2, 1, 5):
            page.mouse.move(*(begin + part * (end - begin)))
            time.sleep(0.3)
        page.mouse.up()
        if waited(lambda: along()[2] > 0.2, 2):
            break
    assert along() == pytest.approx([0, 0, 0.4], abs=0.15)


def seen(viewer: Viewer, point: np.ndarray) -> np.ndarray:
    """Where on the canvas the first page shows a point."""
    from viser.transforms import SO3  # noqa: PLC0415

    camera = next(iter(viewer._server.get_clients().values())).camera
    x, y, z = SO3(camera.wxyz).as_matrix().T @ (point - camera.position)
    far = camera.image_height / 2 / np.tan(camera.fov / 2)
    return np.array([camera.image_width / 2 + far * x / z, camera.image_height / 2 + far * y / z])
