"""Pictures by matplotlib and what notebooks show: they have what they should, and nothing leaks or is taken for markup."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

import armwright as aw
from armwright.check import check
from armwright.errors import InputError, UnknownNameError
from armwright.pages.report.plot import Curve, Plot, _legend, _legend_entry
from armwright.pages.scene import svg
from armwright.pages.video import positions_at

mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def run() -> aw.Run:
    arm = aw.load("ur5e").with_payload(2.0)
    motion = aw.trajectory.quintic([0, 0.5], [[0, -1.5, 1.5, 0, 0, 0], [0.5, -1.0, 1.0, 0.2, 0.1, 0.3]])
    return aw.simulate(arm, aw.torque.computed_torque(motion, kp=100, kd=20), every=0.02)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def test_a_run_is_drawn_with_its_target_and_its_limits(run: aw.Run) -> None:
    figure = run.plot()
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == ["Position, rad", "Velocity, rad/s", "Torque, N m", "Energy, J"]
    drawn = figure.axes[0].get_lines()
    assert len(drawn) == 12 and np.array_equal(drawn[0].get_ydata(), run.q[:, 0])
    assert np.array_equal(drawn[1].get_ydata(), run.reference[0][:, 0]) and drawn[1].get_linestyle() == "--"
    figure.canvas.draw()
    one = run.plot("tau", joints=["elbow_joint", 0])
    assert [len(ax.get_lines()) >= 2 for ax in one.axes] == [True]
    with pytest.raises(UnknownNameError, match="unknown quantity 'torqe'"):
        run.plot("torqe")
    with pytest.raises(InputError, match="joint 9"):
        run.plot(joints=[9])
    with pytest.raises(UnknownNameError, match="elbow"):
        run.plot(joints="elbow")


def test_names_are_no_formulas_and_stand_in_the_legend(run: aw.Run) -> None:
    names = iter(("_a", "$\\bad{$", "c$", "$d$", "e", "f"))
    arm = replace(run.robot.map_joints(lambda joint: replace(joint, name=next(names))), name="$\\frac{$")
    odd = replace(run, robot=arm)
    figure = odd.plot("tau")
    figure.canvas.draw()
    assert figure.legends[0].get_texts()[0].get_text() == " _a"
    for other in (odd.plot_torque_speed(), arm.plot().figure):
        other.canvas.draw()
    with pytest.raises(InputError, match="plot nothing"):
        run.plot([])


def test_torque_over_speed_has_a_box_of_limits(run: aw.Run) -> None:
    figure = run.plot_torque_speed()
    shown = [ax for ax in figure.axes if ax.get_visible()]
    assert len(shown) == 6
    box = shown[1].patches[0]
    joint = run.robot.joints[1]
    assert (box.get_width(), box.get_height()) == (2 * joint.max_velocity, 2 * joint.max_torque)
    figure.canvas.draw()


@pytest.mark.parametrize("name", ["puma560", "stanford", "anymal_c", "palletiser"])
def test_a_robot_is_drawn_where_it_is(name: str) -> None:
    robot = aw.load(name)
    ax = robot.plot()
    points = robot.link_positions(robot.neutral)[..., :3].reshape(-1, 3)
    for k, limits in enumerate((ax.get_xlim(), ax.get_ylim(), ax.get_zlim())):
        assert limits[0] < points[:, k].min() and points[:, k].max() < limits[1]
    assert robot.plot(robot.neutral, ax=ax) is ax
    with pytest.raises(InputError, match=f"expected {robot.nq} finite numbers"):
        robot.plot(np.zeros((2, robot.nq)))
    with pytest.raises(InputError, match="three dimensions"):
        robot.plot(ax=plt.figure().add_subplot())


def test_a_drawing_moves_with_the_robot() -> None:
    arm = aw.load("panda")
    text, moved = svg(arm), svg(arm, [0.5] * 7)
    assert text.startswith("<svg") and text.count("<polygon") > 300 and text != moved
    numbers = [float(x) for x in re.findall(r"[\d.]+(?=[, \"])", " ".join(re.findall(r'points="([^"]*)"', text)))]
    assert min(numbers) >= 0 and max(numbers) < 2000 and len(text) < 200_000


@pytest.mark.parametrize("values", [[1e308, -1e308], [1e308, 1e308], [np.nan, np.inf], [3e40, 3e40], [0.0, 0.0], [5.0]])
def test_curves_of_any_numbers_are_drawn(values: list[float]) -> None:
    curve = Curve("tau", range(len(values)), values, marks=True)
    assert "nan" not in Plot("t", "s", "N m", [curve]).svg()


def test_what_notebooks_show_has_no_style_that_leaks_and_no_markup_of_strangers(run: aw.Run, tmp_path: Path) -> None:
    hostile = replace(run.robot, name="<script>alert(1)</script>")
    count = aw.count_operations("inverse_dynamics", robot=aw.load("rr"))
    aw.load("rr").to_toml(tmp_path / "robot.toml")
    found = check(tmp_path / "robot.toml")
    motion = aw.trajectory.quintic([0, 1], [[0.0] * 6, [1.0] * 6])
    sized = aw.size(aw.load("rr"), aw.trajectory.quintic([0, 1], [[0, 0], [0.2, 0.2]]), samples=4)
    made = (run.utilisation, motion, motion.holding(), sized, aw.formulations("mass_matrix"))
    for thing in (hostile, replace(run, robot=hostile), run.audit, count, found, *made):
        html = thing._repr_html_()
        assert "<script" not in html and "<style" not in html and " class=" not in html
        assert html.count("<div") == html.count("</div") and html.count("<table") == html.count("</table")
    assert all("<table" in thing._repr_html_() for thing in made)
    assert all(f">{joint.name}</text>" in run._repr_html_() for joint in run.robot.joints)  # the legend of torques
    assert "<td" in sized._repr_html_() and sized.best.joints[0].actuator.motor.name in sized._repr_html_()
    assert "elbow_joint" in run._repr_html_() and "<svg" in run.robot._repr_html_()
    assert str(count.multiplications) in count._repr_html_()
    weak = run.robot.with_limits(torque=1.0)
    assert "color:#d92d20" in replace(run, robot=weak)._repr_html_()


def test_a_picture_shows_the_robot_at_its_size(tmp_path: Path) -> None:
    arm = aw.load("rr")
    path = arm.picture(tmp_path / "arm.png", [0.5, 0.3], size=(320, 180))
    with Image.open(path) as image:
        assert image.size == (320, 180) and image.format == "PNG"
        away, drawn = np.asarray(image)[:3].reshape(-1, 3), np.asarray(image).reshape(-1, 3)
    assert (away == away[0]).all()  # nothing is cut at the edge
    assert (drawn.max(axis=1) < 120).mean() > 0.005  # joints are dark
    other = arm.picture(tmp_path / "other.png", [0.5, 0.3], size=(320, 180), azimuth=30.0)
    assert other.read_bytes() != path.read_bytes()


def test_a_film_lasts_as_long_as_its_motion(tmp_path: Path) -> None:
    run = aw.simulate(aw.load("rr"), duration=0.5, every=0.1)
    path = run.to_video(tmp_path / "run.gif", size=(160, 90), rate=10, speed=0.5)
    with Image.open(path) as image:
        assert (image.size, image.n_frames, image.info["duration"]) == ((160, 90), 11, 100)
    if shutil.which("ffmpeg"):
        assert run.to_video(tmp_path / "run.mp4", size=(161, 91), rate=10).read_bytes()[4:8] == b"ftyp"
    else:
        with pytest.raises(aw.InputError, match="MP4 is written by ffmpeg, which is not installed"):
            run.to_video(tmp_path / "run.mp4")


def test_between_records_a_film_goes_the_shortest_way(run: aw.Run) -> None:
    middle = (run.t[3] + run.t[4]) / 2
    assert positions_at(run, np.array([run.t[3], middle]))[0] == pytest.approx(run.q[3], abs=1e-15)
    assert positions_at(run, np.array([middle]))[0] == pytest.approx((run.q[3] + run.q[4]) / 2, abs=1e-12)
    dog = aw.load("anymal_c")
    thrown = aw.simulate(dog, q0=dog.neutral, qd0=np.r_[0, 0, 0, 3, 2, 1, np.zeros(12)], duration=0.2, every=0.1)
    assert dog.unit(positions_at(thrown, np.array([0.05, 0.15]))) == pytest.approx(
        positions_at(thrown, np.array([0.05, 0.15]))
    )


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ("a.jpeg", {}, "expected a file that ends in .gif or .mp4"),
        ("a.gif", {"size": (10, 10)}, "expected two numbers of pixels"),
        ("a.gif", {"size": 5}, "expected two numbers of pixels"),
        ("a.gif", {"rate": 0}, "rate = 0: expected a number above zero"),
        ("a.gif", {"rate": 1e6}, "pictures; expected at most 3000"),
        ("a.gif", {"azimuth": "left"}, "azimuth = 'left'; expected degrees"),
        ("none/a.gif", {"size": (64, 64), "rate": 1}, "cannot write"),
    ],
)
def test_a_film_that_cannot_be_made_is_refused(
    path: str, options: dict, message: str, run: aw.Run, tmp_path: Path
) -> None:
    with pytest.raises(aw.InputError, match=message):
        run.to_video(tmp_path / path, **options)
    if not path.endswith("gif"):
        with pytest.raises(aw.InputError, match=r"expected a file that ends in \.png"):
            run.robot.picture(tmp_path / path, size=(64, 64))


def test_the_legends_of_dashed_curves_are_dashed() -> None:
    x = [0.0, 1.0]
    plot = Plot("two", "t", "q", [Curve("limit", x, x, dashed=True), Curve("motion", x, x)])
    for legend in (_legend(plot), "".join(_legend_entry(plot.curves[0], "red", 0, 0))):
        of_limit, _, of_motion = legend.partition("limit")
        assert "stroke-dasharray" in of_limit and "stroke-dasharray" not in of_motion
