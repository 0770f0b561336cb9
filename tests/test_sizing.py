"""Sizing: the search finds what trying every set finds; a fitted robot has the torques the search counted with."""

import itertools
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import package_catalogue
import pytest
from typer.testing import CliRunner

import armwright as aw
from armwright import sizing
from armwright.actuators import assignment
from armwright.cli import app
from armwright.sizing import (
    Actuator,
    Brake,
    Catalogue,
    Cylinder,
    CylinderLever,
    Gearbox,
    Hydraulic,
    Motor,
    catalogue,
    fitted,
    scaling,
    sizing_file,
)
from armwright.sizing.criteria import JointDemand, Requirements
from armwright.sizing.electric_criteria import ElectricDrives, gearbox_twist
from armwright.sizing.loads import JointLoad, MassLinear
from armwright.sizing.result import actuator_set
from armwright.trajectory.torques import torques

SAMPLES = 16


def small(seed: int, strong: float = 1.0, motors: int = 3, gears: int = 2) -> Catalogue:
    """Motors and gearboxes whose masses, prices and strengths have little to do with each other."""
    rng = np.random.default_rng(seed)

    def scattered(part, **names: float):
        return replace(part, **{name: getattr(part, name) * rng.uniform(0.6, 1.6) for name in ("mass", "price")})

    torques = strong * np.geomspace(0.3, 6.0, motors)
    made = [scattered(scaling.servo(float(t))) for t in torques]
    boxes = [
        scattered(scaling.strain_wave(float(t), r))
        for t, r in zip(strong * np.geomspace(60, 900, gears), (50, 90, 140), strict=False)
    ]
    screws = [
        replace(
            box,
            name=f"screw {box.ratio:g}",
            linear=True,
            peak_torque=50 * box.peak_torque,
            continuous_torque=50 * box.continuous_torque,
            ratio=4 * box.ratio,
        )
        for box in boxes
    ]
    return Catalogue("small", tuple(made), (*boxes, *screws))


def motion(robot: aw.Robot, seed: int, seconds: float = 1.5) -> aw.trajectory.Trajectory:
    points = np.random.default_rng(seed).uniform(-0.8, 0.8, (3, robot.n))
    return aw.trajectory.quintic([0, 0.4 * seconds, seconds], points)


def settled(path: aw.trajectory.Trajectory) -> list[np.ndarray]:
    """The states that are looked at; a speed that is nothing but rounding has no direction."""
    q, qd, qdd = path(np.linspace(path.start, path.end, SAMPLES + 1))
    return [q, np.where(np.abs(qd) > 1e-12 * np.abs(qd).max(axis=0), qd, 0.0), qdd]


def by_hand(
    drive: Actuator, motions: list, loads: list, rates: list, inertia: float, gravity: float, ambient: float = 40.0
) -> tuple[dict, float]:
    """The same criteria for one actuator of one joint, one number at a time: loads and rates are lists by case."""
    m, g = drive.motor, drive.gearbox
    used, joules = dict.fromkeys(("peak", "rms", "heat", "gear", "gear rms", "volts"), 0.0), 0.0
    fastest = 0.0
    for path, load, (qd, qdd) in zip(motions, loads, rates, strict=True):
        torque = []
        for tau, v, a in zip(load, qd, qdd, strict=True):
            through = tau / g.efficiency if tau * v >= 0 else tau * g.backward
            torque.append(
                through / g.ratio
                + drive.inertia * g.ratio * a
                + drive.dry_friction * np.sign(v)
                + drive.viscous_friction * g.ratio * v
            )
        torque, w = np.array(torque), g.ratio * qd
        t = np.linspace(0, path.duration, len(qd))
        used["peak"] = max(used["peak"], np.abs(torque).max() / m.peak_torque)
        used["rms"] = max(used["rms"], math.sqrt(np.trapezoid(torque**2, t) / t[-1]) / m.continuous_torque)
        used["gear"] = max(used["gear"], np.abs(load).max() / g.peak_torque)
        used["gear rms"] = max(used["gear rms"], math.sqrt(np.trapezoid(load**2, t) / t[-1]) / g.continuous_torque)
        used["volts"] = max(
            used["volts"], np.abs(m.torque_constant * w + m.resistance / m.torque_constant * torque).max() / m.voltage
        )
        used["heat"] = max(used["heat"], hottest(m, torque, t) / (m.max_temperature - ambient))
        taken = np.maximum(0.0, torque * w + losses(m) * torque**2)
        joules += np.trapezoid(taken, t)
        fastest = max(fastest, np.abs(w).max())
    used |= {"speed": fastest / m.max_speed, "gear speed": fastest / g.max_input_speed}
    used["ratio"] = inertia / (g.ratio**2 * drive.inertia) / 400
    if drive.brake is not None:
        used["brake"] = gravity / (drive.brake.holding_torque * g.ratio)
    return used, joules


def losses(motor: Motor) -> float:
    """Watts per square newton metre, with the winding as hot as it may be."""
    return motor.resistance / motor.torque_constant**2 * (1 + 0.00393 * (motor.max_temperature - 20))


def hottest(motor: Motor, torque: np.ndarray, t: np.ndarray) -> float:
    """The rise of the winding after cycles enough that it repeats itself, step by step."""
    loss, step = losses(motor) * torque**2, t[1] - t[0]
    middle = (loss[1:] + loss[:-1]) / 2
    total = np.zeros(len(middle))
    for resistance, constant in zip(motor.thermal_resistances, motor.thermal_times, strict=True):
        decay, rise, last = math.exp(-step / constant), 0.0, 0.0
        for p in middle:
            last = decay * last + (1 - decay) * p
        rise = last / (1 - decay ** len(middle))
        states = []
        for p in middle:
            states.append(rise)
            rise = decay * rise + (1 - decay) * p
        total += resistance * np.array(states)
    return total.max()


def brute_force(
    robot: aw.Robot, motions: list, payloads: list, book: Catalogue, mounts_at=None, brake: Brake | None = None
) -> dict:
    """What every feasible set costs in mass, price and energy, by inverse dynamics of the robot with its masses."""
    options = [
        [Actuator(m, g, brake) for m in book.motors for g in book.gearboxes if g.linear == joint.prismatic]
        for joint in robot.joints
    ]
    states = [settled(path) for path in motions]
    feasible, judged = {}, {}
    for rows in itertools.product(*(range(len(own)) for own in options)):
        drives = [own[row] for own, row in zip(options, rows, strict=True)]
        masses = tuple(d.mass for d in drives)
        if masses not in judged:
            bodies = replace(robot, links=fitted(robot, drives, mounts_at).links).with_rotors(0.0)
            judged[masses] = loaded(bodies, payloads, states)
        loads, gravity, inertia = judged[masses]
        costs, good = np.zeros(3), True
        for j, drive in enumerate(drives):
            rates = [(qd[:, j], qdd[:, j]) for _ in payloads for _, qd, qdd in states]
            used, joules = by_hand(
                drive, motions * len(payloads), [tau[:, j] for tau in loads], rates, inertia[j], gravity[j]
            )
            good = good and all(value <= 1 for value in used.values())
            if not good:
                break
            costs += (drive.mass, drive.price, joules)
        if good:
            feasible[tuple(d.name for d in drives)] = costs
    return feasible


def loaded(bodies: aw.Robot, payloads: list, states: list) -> tuple[list, np.ndarray, np.ndarray]:
    loads, gravity, inertia = [], [], []
    for payload in payloads:
        held = bodies if payload is None else bodies.with_payload(payload)
        free = held.with_friction(0.0, 0.0).mechanism()
        for q, qd, qdd in states:
            loads.append(torques(held.mechanism(), q, qd, qdd).T)
            still = np.zeros_like(q)
            resting = torques(free, q, still, still)
            gravity.append(np.abs(resting).max(axis=1))
            inertia.append(
                [(torques(free, q, still, still + np.eye(held.n)[j]) - resting)[j].max() for j in range(held.n)]
            )
    return loads, np.max(gravity, axis=0), np.max(inertia, axis=0)


def fork() -> aw.Robot:
    """Two arms on one turning base."""
    link = {"mass": 4.0, "com": [0.2, 0.0, 0.05], "inertia": [0.01, 0.05, 0.05, 0, 0, 0], "d": 0.0, "theta": 0.0}
    rows = [
        {"name": "base", "type": "revolute", "alpha": 0.0, "a": 0.0, **link},
        {"name": "left", "type": "revolute", "alpha": "pi/2", "a": 0.2, **link},
        {"name": "right", "type": "revolute", "alpha": "pi/2", "a": 0.3, "parent": "base", **link},
    ]
    return aw.Robot.from_dh(rows, "modified", name="fork", tip="right")


ROBOTS = {
    "rr": lambda: aw.load("rr"),
    "random": lambda: aw.random_robot(3, 3, 0.0).with_friction(0.2, 0.5),
    "sliding": lambda: aw.random_robot(3, 5, 0.5),
    "fork": fork,
    "wrist": lambda: aw.random_robot(3, 11, 0.0),
}


def check_best(robot: aw.Robot, motions: list, payloads: list, book: Catalogue, **options) -> dict[str, sizing.Sizing]:
    """The four best sets by each objective are those of trying every set."""
    brake = options.get("brakes")
    every = brute_force(robot, motions, payloads, book, options.get("mounts_at"), brake and book.brake(brake))
    assert every, "the case is of no use: nothing is feasible"
    found = {}
    for column, objective in enumerate(("mass", "price", "energy")):
        best = sorted(costs[column] for costs in every.values())[:4]
        own = aw.size(
            robot, motions, payloads, book, objective, samples=SAMPLES, sets=4, inertia_ratio=400.0, **options
        )
        assert np.allclose([s.cost for s in own.sets], best, rtol=1e-10)
        for s in own.sets:
            names = tuple(chosen.actuator.name for chosen in s.joints)
            assert math.isclose(every[names][column], s.cost, rel_tol=1e-10)
            for chosen in s.joints:
                assert math.isclose(chosen.inertia_ratio, 400 * chosen.used["inertia ratio"], rel_tol=1e-9)
        found[objective] = own
    return found


@pytest.mark.parametrize("name", ROBOTS)
def test_the_search_finds_what_trying_every_set_finds(name: str) -> None:
    robot = ROBOTS[name]()
    check_best(robot, [motion(robot, 1), motion(robot, 2, 2.0)], [None, 1.5], small(len(name)))


def seesaw() -> tuple[aw.Robot, dict]:
    """An arm that turns about a level axis, with the actuator of its second joint far behind this axis."""
    link = {
        "mass": 6.0,
        "com": [0.5, 0.0, 0.0],
        "inertia": [0.01, 0.1, 0.1, 0, 0, 0],
        "d": 0.0,
        "theta": 0.0,
        "type": "revolute",
    }
    rows = [
        {"name": "beam", "alpha": "pi/2", "a": 0.0, **link},
        {"name": "hand", "alpha": "pi/2", "a": 0.9, **link, "mass": 1.0},
    ]
    return aw.Robot.from_dh(rows, "modified", name="seesaw"), {"joint2": ("beam", (-0.7, 0.0, 0.0))}


def test_a_heavier_actuator_that_balances_the_arm_is_found() -> None:
    """Lighter beyond is not better here: of motors for the hand the heavy one saves more at the beam than it weighs."""
    robot, behind = seesaw()
    light, strong = scaling.servo(1.0, "light"), scaling.servo(4.0, "strong")
    gears = scaling.strain_wave(36.0, 50.0, "small"), replace(scaling.strain_wave(200.0, 50.0, "large"), mass=8.0)
    book = Catalogue(
        "two",
        (light, replace(light, name="same but heavy", mass=light.mass + 3.5, price=light.price + 1.0), strong),
        gears,
    )
    path = aw.trajectory.quintic([0, 1, 2], [[0.0, 0.0], [0.3, 0.4], [0.0, 0.0]])
    found = check_best(robot, [path], [None], book, mounts_at=behind)["mass"]
    assert found.best.actuators["joint2"].motor.mass > light.mass
    assert found.best.actuators["joint1"].gearbox.name == "small"
    cheapest_beyond = aw.size(
        robot, [path], [None], Catalogue("one", (light, strong), gears), mounts_at=behind, samples=SAMPLES
    )
    assert cheapest_beyond.best.mass >= found.best.mass


def test_a_brake_holds_what_hangs_on_it() -> None:
    robot, book = ROBOTS["wrist"](), small(7)
    held = replace(book, brakes=(scaling.holding(1.0, "weak"), scaling.holding(1e-4, "none")))
    found = check_best(robot, [motion(robot, 1)], [None], held, brakes="weak")["mass"]
    assert all(chosen.used["brake"] <= 1 and chosen.actuator.brake.name == "weak" for chosen in found.best.joints)
    with pytest.raises(aw.InfeasibleError, match="brake"):
        aw.size(robot, [motion(robot, 1)], [None], held, brakes="none", samples=SAMPLES)


@pytest.mark.parametrize("name", ["rr", "random", "sliding", "fork"])
def test_the_fitted_robot_has_the_torques_of_the_search(name: str) -> None:
    """By inverse dynamics along the motion, compiled, of the robot with rotors, friction and masses as they were fitted."""
    robot, path = ROBOTS[name](), None
    path = motion(robot, 1)
    found = aw.size(robot, path, [1.5], small(len(name)), samples=30)
    run = aw.torques_along(found.fitted.with_payload(1.5), path, every=path.duration / 30)
    tau = np.array([chosen.tau for chosen in found.best.joints]).T
    moving = np.abs(run.qd) > 1e-12 * np.abs(run.qd).max(axis=0)  # friction at rest has the sign of rounding
    assert np.allclose(run.tau[moving], tau[moving], rtol=0, atol=1e-11 * np.abs(tau).max())
    assert not run.utilisation.too_slow
    carried = sum(c.actuator.mass for c, joint in zip(found.best.joints, robot.parents, strict=True) if joint >= 0)
    assert math.isclose(sum(link.mass for link in found.fitted.links), sum(link.mass for link in robot.links) + carried)


def test_what_is_used_is_used_by_the_torques_of_the_motor() -> None:
    robot = ROBOTS["random"]()
    best = aw.size(robot, motion(robot, 1), [None], small(1), samples=30, reserve=0.1).best
    for chosen in best.joints:
        motor = chosen.actuator.motor
        assert math.isclose(np.abs(chosen.torque).max() / motor.peak_torque, chosen.used["peak torque"])
        assert math.isclose(np.abs(chosen.speed).max() / motor.max_speed, chosen.used["speed"])
        assert max(chosen.used.values()) == chosen.used[chosen.binding] <= 0.9 and chosen.margin >= 0.1
        assert "brake" not in chosen.used and "power" not in chosen.used  # there is no such limit


def test_power_that_flows_back_costs_torque_at_the_motor_less() -> None:
    """A gearbox of efficiency 1/2 doubles the torque that lifts and takes away all of what holds back (2 - 1/eta = 0)."""
    robot = aw.load("rr").with_friction(0.0, 0.0)
    gear = Gearbox("half", 50.0, 0.5, 1e4, 0.0, 0.0)
    motor = Motor("m", 0.0, 100.0, 0.1, continuous_torque=90.0, max_speed=1e3)
    chosen = aw.size(robot, motion(robot, 1), [None], Catalogue("c", (motor,), (gear,)), samples=30).best.joints[0]
    driving = chosen.tau * chosen.speed >= 0
    assert 0 < driving.sum() < len(driving)
    assert np.allclose(chosen.torque, np.where(driving, chosen.tau * 2 / 50, 0.0))


def test_the_winding_of_a_steady_load_is_as_warm_as_its_resistances_say() -> None:
    motor = scaling.servo(1.0)
    torque = np.full(50, motor.continuous_torque)
    assert math.isclose(hottest(motor, torque, np.linspace(0, 5, 50)), motor.max_temperature - 20, rel_tol=1e-9)


def test_nothing_feasible_names_the_joint_and_what_it_lacks() -> None:
    robot = ROBOTS["random"]()
    with pytest.raises(
        aw.InfeasibleError, match=r"no actuator .* is enough for .*: the nearest, .* would use \d+% of its"
    ) as told:
        aw.size(robot, motion(robot, 1), [500.0], small(1), samples=SAMPLES)
    assert told.value.joint in [joint.name for joint in robot.joints] and told.value.used > 1


GOOD = """name = "own"
[[motor]]
name = "m"
rotor_inertia = 1e-5
peak_torque = 3.0
continuous_torque = 1.0
max_speed = 500
mass = 1.0
[[gearbox]]
name = "g"
ratio = 100
efficiency = 0.8
peak_torque = 100
mass = 1
inertia = 1e-5
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("peak_torque = 3.0\n", "", r"own.toml, line 2: motor 'm': missing key 'peak_torque': expected a number in N m"),
        ("peak_torque = 3.0", "peak_torque = -3.0", r"own.toml, line 5: motor 'm': peak_torque = -3.0: expected N m, above zero"),
        ("peak_torque = 3.0", "peak_torque = 0.5", r"own.toml, line 6: motor 'm': continuous_torque = 1.0 is more than peak_torque = 0.5"),
        ("continuous_torque = 1.0\n", "", r"own.toml, line 2: motor 'm': its continuous torque is not known"),
        ("max_speed = 500\n", "", r"own.toml, line 2: motor 'm': its largest speed is not known"),
        ("max_speed", "max_sped", r"own.toml, line 7: motor 'm': unknown key 'max_sped'; did you mean 'max_speed'"),
        ("mass = 1.0", 'mass = "1 kg"', r"own.toml, line 8: motor 'm': mass = '1 kg' is not a number"),
        ("efficiency = 0.8", "efficiency = 80", r"own.toml, line 12: gearbox 'g': efficiency = 80.0: expected a fraction"),
        ("ratio = 100", "ratio = 0", r"own.toml, line 11: gearbox 'g': ratio = 0.0: expected turns of the motor per turn"),
        ("ratio = 100", "ratio = nan", r"own.toml, line 11: gearbox 'g': ratio = nan is not finite"),
        ("[[gearbox]]", "[gearbox]", r"own.toml, line 9: catalogue: write each gearbox as a \[\[gearbox\]\] table"),
        ("[[gearbox]]", "[[gear_box]]", r"unknown key 'gear_box'; did you mean 'gearbox'"),
        ('name = "g"\n', "", r"own.toml, line 9: gearbox 1: missing key 'name'"),
        ("ratio = 100", "ratio = 100\nlinear = 1", r"own.toml, line 12: gearbox 'g': linear = 1: expected true or false"),
    ],
)  # fmt: skip
def test_a_bad_catalogue_is_named_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(aw.ModelError, match=message):
        catalogue.read(path)


def test_bad_requests_are_named_before_anything_runs() -> None:
    robot, book = aw.load("rr"), catalogue.parse(GOOD)
    path = motion(robot, 1)
    for options, message in (
        ({"objective": "price"}, "'m' has no price; objective='price' needs one"),
        ({"objective": "energy"}, "'m' has no torque_constant and resistance"),
        ({"objective": "weight"}, "objective"),
        ({"brakes": "b"}, "brake"),
        ({"brakes": 3}, "brakes = 3: expected the name of a brake"),
        ({"brakes": {"elbow9": "b"}}, "elbow9"),
        ({"mounts_at": {"elbow9": 1}}, "elbow9"),
        ({"reserve": 1.0}, "reserve = 1.0"),
        ({"samples": 1}, "samples = 1"),
        ({"payloads": []}, "no payloads"),
        ({"motions": []}, "no motions"),
        ({"motions": None}, "size got the motion None"),
        ({"motions": [path.holding()]}, "has no finite duration"),
        ({"motions": aw.trajectory.linear([0, 1], [[0, 0], [1, 1]])}, "jumps by 1 rad/s or m/s at t = 0 s"),
        ({"motions": aw.trajectory.linear([0, 1, 2], [[0, 0], [1, 1], [0, 0]])}, "jumps by 2 rad/s or m/s at t = "),
        ({"payloads": "a"}, "mass = 'a' is not a number"),
        ({"payloads": -1.0}, "mass = -1.0 is negative"),
        ({"reserve": "a tenth"}, "reserve = 'a tenth' is not a number"),
        ({"ambient": None}, "ambient = None is not a number"),
        ({"catalogue": "unusual"}, "unusual"),
        ({"catalogue": Catalogue("none")}, "has no gearboxes or no motors"),
    ):
        with pytest.raises(aw.ArmwrightError, match=message):
            aw.size(**{"robot": robot, "motions": [path], "catalogue": book, **options})
    with pytest.raises(aw.InputError, match=r"Motor 'x': peak_torque = -1\.0"):
        Motor("x", 0.0, -1.0, 1.0, continuous_torque=1.0, max_speed=1.0)
    with pytest.raises(aw.InputError, match="torque = 0: expected N m, above zero"):
        sizing.scaling.servo(0)
    with pytest.raises(aw.InputError, match="twice"):
        book + book
    with pytest.raises(aw.InputError, match="2 joints"):
        fitted(robot, [])


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"payloads": [math.nan]}, "mass = nan is not finite"),
        ({"payloads": [{"kg": 1.0}]}, "payload: unknown key 'kg'"),
        ({"motions": aw.trajectory.quintic([0, 1], [[0], [1]])}, "expected a trajectory of 2 joints"),
        ({"catalogue": 3}, "read from 3; expected a path, or the name of a packaged one"),
        ({"levers": "joint1"}, "levers = 'joint1': expected a mapping"),
        ({"without_drives": 2.0}, "without_drives = 2.0: expected a mapping"),
        ({"max_twist": 0.0}, "max_twist = 0.0: expected radians, or metres, above zero"),
        ({"max_twist": {"joint7": 0.1}}, "joint7"),
        ({"min_frequency": math.nan}, "min_frequency = nan: expected hertz, above zero"),
        ({"samples": 10**9}, "samples = 1000000000: expected a whole number from 2 to 100000"),
    ],
)
def test_nonsense_is_named(told: dict, message: str) -> None:
    robot = aw.load("rr")
    with pytest.raises(aw.ArmwrightError, match=re.escape(message)):
        aw.size(**{"robot": robot, "motions": motion(robot, 1), **told})


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"rotor_inertia": 44.0}, "rotor_inertia = 44.0 of a motor of 0.39 kg; expected kg m^2, not g cm^2"),
        ({"peak_torque": 2080.0}, "peak_torque = 2080.0 of a motor of 0.39 kg; expected N m, not mN m"),
        ({"max_speed": 5000.0}, "max_speed = 5000.0, while voltage / torque_constant is 527.5; expected rad/s"),
        ({"name": ""}, "expected a name"),
        ({"mass": -0.39}, "mass = -0.39: expected kg, above zero"),
        ({"peak_torque": None}, "missing key 'peak_torque': expected a number in N m"),
    ],
)
def test_a_motor_in_other_units_or_without_a_torque_is_an_error(told: dict, message: str) -> None:
    (motor,) = (m for m in sizing.packaged("products").motors if m.name == "maxon EC-i 40 488607")
    with pytest.raises(aw.InputError, match=re.escape(message)):
        replace(motor, **told)


def test_parts_of_the_wrong_kind_are_named() -> None:
    motor, gear = sizing.packaged().motors[0], sizing.packaged().gearboxes[0]
    with pytest.raises(aw.InputError, match="expected a tuple of Motors"):
        Catalogue("x", motors=(gear,))
    with pytest.raises(aw.InputError, match="expected a Motor, a Gearbox, and a Brake or none"):
        Actuator(gear, motor)
    with pytest.raises(aw.InputError, match="fitted got 3; expected actuators by joint"):
        fitted(aw.load("rr"), 3)
    with pytest.raises(aw.InputError, match="Gearbox 'g': linear = 1: expected true or false"):
        Gearbox("g", 1.0, 1.0, 1.0, 0.5, 0.0, linear=1)


def test_what_is_not_known_is_reported() -> None:
    robot = aw.load("rr")
    found = aw.size(
        robot,
        motion(robot, 1),
        [None],
        replace(catalogue.parse(GOOD), gearboxes=(Gearbox("g", 200.0, 0.8, 1e4, 1.0, 1e-5),)),
        samples=SAMPLES,
    )
    assert found.notes == [
        "the friction of m, g is unknown: none is counted",
        "the continuous torque of g is unknown: only the peak torque is checked",
        "the thermal data of m are unknown: the RMS torque is checked instead",
    ]
    assert "gear RMS" not in found.best.joints[0].used


def test_twist_and_natural_frequency_are_those_of_the_gearbox_under_its_load() -> None:
    robot, path = aw.load("rr"), motion(aw.load("rr"), 1)
    book = small(3, strong=4.0, gears=3)
    stiff = [
        replace(g, stiffness=k, backlash=b)
        for g, k, b in zip(book.gearboxes[:3], (2e4, 9e4, 3e5), (0.002, 0.0, 0.001), strict=True)
    ]
    book = replace(book, gearboxes=(*stiff, replace(stiff[2], name="unknown", stiffness=None)))
    every = aw.size(robot, path, [None], book, samples=SAMPLES, sets=10**4).sets
    q, qd, qdd = settled(path)
    good = []
    for own in every:
        loaded = (
            fitted(robot, own.actuators)
            .with_rotors(0.0)
            .with_friction(*zip(*((j.viscous, j.coulomb) for j in robot.joints), strict=True))
        )
        tau, inertia = torques(loaded.mechanism(), q, qd, qdd), np.diagonal(loaded.mass_matrix(q), axis1=1, axis2=2)
        parts = [(d.gearbox.stiffness, d.gearbox.backlash) for d in own.actuators.values()]
        twist = [np.inf if k is None else np.abs(t).max() / k + b / 2 for t, (k, b) in zip(tau, parts, strict=True)]
        hertz = [
            0 if k is None else math.sqrt(k / m.max()) / (2 * math.pi)
            for m, (k, _) in zip(inertia.T, parts, strict=True)
        ]
        good.append((twist, hertz, own.cost))
    for most, least in ((0.004, None), (None, 6.0), ({"joint2": 0.0025}, 4.0)):
        bound = most if isinstance(most, dict) else dict.fromkeys(("joint1", "joint2"), most or np.inf)
        limits = [bound.get(name, np.inf) for name in ("joint1", "joint2")]
        costs = [
            cost for twist, hertz, cost in good if np.all(np.array(twist) <= limits) and min(hertz) >= (least or 0)
        ]
        found = aw.size(robot, path, [None], book, samples=SAMPLES, max_twist=most, min_frequency=least)
        assert 0 < len(costs) < len(every) and found.best.cost == pytest.approx(min(costs))
        for chosen in found.best.joints:
            assert ("twist" in chosen.used) == (most is not None and chosen.joint in bound)
            assert ("frequency" in chosen.used) == (least is not None)


def test_the_tip_is_off_by_what_the_gearboxes_give() -> None:
    link = {
        "alpha": 0.0,
        "d": 0.0,
        "theta": 0.0,
        "type": "revolute",
        "mass": 1.0,
        "com": [0.5, 0, 0],
        "inertia": [0, 0.1, 0.1, 0, 0, 0],
    }
    robot = aw.Robot.from_dh(
        [{"name": "one", "a": 0.0, **link}], "modified", tool=np.diag([1.0, 1, 1, 1]) + np.eye(4, k=3), accept=["thin"]
    )
    found = aw.size(robot, aw.trajectory.quintic([0, 1], [[0], [1]]), [None], samples=SAMPLES)
    chosen, gear = found.best.joints[0], found.best.joints[0].actuator.gearbox
    assert found.tip_deflection == pytest.approx(
        np.abs(chosen.load).max() / gear.stiffness + gear.backlash / 2
    )  # 1 m out
    assert np.allclose(
        chosen.load,
        robot.inverse_dynamics(*aw.trajectory.quintic([0, 1], [[0], [1]])(np.linspace(0, 1, SAMPLES + 1)))[:, 0],
    )
    rough = replace(gear, stiffness=None)
    unknown = aw.size(
        robot, aw.trajectory.quintic([0, 1], [[0], [1]]), [None], replace(sizing.packaged(), gearboxes=(rough,))
    )
    assert unknown.tip_deflection is None


def test_margins_are_those_of_the_search_and_rest_has_no_direction() -> None:
    robot = aw.load("rr")
    found = aw.size(robot, motion(robot, 1), [1.0], samples=SAMPLES)
    again = sizing.margins(robot, motion(robot, 1), found.best.actuators, [1.0], samples=SAMPLES)
    assert [c.used for c in again.joints] == [c.used for c in found.best.joints] and again.cost == found.best.cost
    q, qd = np.array([0.3, 0.2]), np.array([0.5, -0.4])
    stops = [aw.trajectory.hermite([0, t], [q, q + qd * t / 2], [qd, 0 * qd]) for t in np.linspace(0.5, 0.6, 11)]
    used = [sizing.margins(robot, stop, found.best.actuators).joints[0].used["peak torque"] for stop in stops]
    assert np.ptp(np.diff(used)) < 1e-3  # no jumps, which the sign of rounding at rest would make
    with pytest.raises(aw.InputError, match="margins got no actuator for joint2; expected one for every joint"):
        sizing.margins(robot, stops[0], {"joint1": found.best.actuators["joint1"]})


def test_a_robot_without_its_drives_and_fitted_with_equal_ones_is_itself() -> None:
    robot, _ = levered()
    motor = Motor("m", 0.0, 1.0, 1.5, continuous_torque=1.0, max_speed=9.0)
    part = Actuator(motor, Gearbox("g", 1.0, 1.0, 1.0, 0.5, 0.0))
    less = sizing.without_drives(robot, {"boom": (2.0, tuple(assignment.mounts(robot)[1].point))})
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 2))
    assert less.links[0].mass == 198.0
    assert np.allclose(fitted(less, {"joint2": part}).inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd))
    lighter = sizing.without_drives(robot, {"boom": 100.0})
    assert lighter.links[0].com == robot.links[0].com
    assert np.allclose(lighter.links[0].inertia, np.array(robot.links[0].inertia) / 2)


def test_drives_that_a_link_cannot_have_are_an_error() -> None:
    robot, _ = levered()
    for masses, message in (
        ({"hand": 1.0}, "unknown link of digger: 'hand'"),
        ({"boom": 1e3}, "boom has drives of 1000 kg; expected less than its 200 kg"),
        ({"boom": -1.0}, "mass = -1.0 is negative; expected kilograms"),
        ({"boom": math.nan}, "mass = nan is not finite"),
        ({"boom": (100.0, (9.0, 9.0, 9.0))}, "which no body has; expected less, another point, or the mass alone"),
    ):
        with pytest.raises(aw.ArmwrightError, match=re.escape(message)):
            sizing.without_drives(robot, masses)


@pytest.mark.parametrize("book", package_catalogue.catalogues(), ids=lambda book: book.name)
def test_a_packaged_catalogue_is_what_its_tool_writes_and_reads_back(book: Catalogue) -> None:
    assert sizing.packaged(book.name) == book
    assert catalogue.parse(book.to_toml()) == book


def test_parts_are_looked_up_by_name() -> None:
    book = sizing.packaged()
    assert book.actuator("typical servo 400 W", "typical strain wave 107 N m 1:80").mass == pytest.approx(2.3)
    with pytest.raises(aw.UnknownNameError, match="typical servo 400 W"):
        book.actuator("typical servo 401 W", "typical strain wave 107 N m 1:80")


MECHANICAL = {"maxon EC 90 flat 323772": 22.3e-3, "maxon EC 90 flat 244879": 14.9e-3, "maxon RE 65 353297": 3.25e-3}
"""Seconds that the data sheets print: J R / kt^2."""


@pytest.mark.parametrize("motor", sizing.packaged("products").motors, ids=lambda motor: motor.name)
def test_the_figures_of_a_product_agree_with_each_other(motor: Motor) -> None:
    assert motor.source and motor.peak_torque >= motor.continuous_torque
    assert 100 < motor.top_speed < 700 and 0.1 < motor.mass < 3 and 1e-7 < motor.rotor_inertia < 1e-3
    if motor.voltage is not None:
        assert motor.voltage / motor.torque_constant == pytest.approx(motor.max_speed, rel=0.04)
    if motor.warms:
        assert motor.torque_constant * motor.voltage / motor.resistance == pytest.approx(motor.peak_torque, rel=0.02)
        assert motor.rotor_inertia * motor.loss_factor == pytest.approx(MECHANICAL[motor.name], rel=0.01)
        lost = (motor.max_temperature - 25) / sum(motor.thermal_resistances)  # all heat from the winding, in air of 25
        assert 1 < math.sqrt(lost / losses(motor)) / motor.continuous_torque < 1.25


@pytest.mark.parametrize("gear", sizing.packaged("products").gearboxes, ids=lambda gear: gear.name)
def test_the_figures_of_a_gearbox_are_of_their_units(gear: Gearbox) -> None:
    assert gear.source and gear.peak_torque > (gear.continuous_torque or 0) and gear.ratio >= 5
    assert gear.backlash is None or 2e-4 < gear.backlash < 7e-3
    assert gear.stiffness is None or 1e-4 < gear.peak_torque / gear.stiffness < 5e-3  # radians at its peak


def test_a_cylinder_of_the_standard_has_the_areas_of_its_diameters() -> None:
    book = sizing.packaged("iso6020")
    (one,) = (c for c in book.cylinders if c.name == "ISO 6020-2 50/36 x 400 mm")
    assert (one.push, one.pull) == pytest.approx((31416, 15130), rel=1e-4)  # 160 bar
    assert all("estimated" in c.source for c in book.cylinders)


def test_a_module_goes_with_its_own_gearbox_alone() -> None:
    robot, book = aw.load("rr").with_gravity((0, 0, 0)), sizing.packaged("products")
    found = aw.size(robot, motion(robot, 1, seconds=3), [None], book, samples=SAMPLES)
    pairs = 7 * 13 + 5
    assert found.full_product == pairs**2
    own = replace(book, motors=book.motors[-1:], gearboxes=book.gearboxes[:2])
    with pytest.raises(aw.InputError, match="no motor of 'products' fits any gearbox; check their goes_with"):
        aw.size(robot, motion(robot, 1), [None], own, samples=SAMPLES)
    with pytest.raises(aw.InputError, match=r"goes_with = 'g' is not a list of texts"):
        replace(book.motors[0], goes_with="g")


def test_a_page_and_a_table(tmp_path: Path) -> None:
    robot = replace(aw.load("rr"), name="<b>rr")
    found = aw.size(robot, motion(robot, 1), [None, 1.0], samples=30)
    text = found.to_html(tmp_path / "page.html").read_text()
    assert "&lt;b&gt;rr" in text and text.count("<figure") == 2 and "binding" in text
    assert "The best of 2.304e+05 sets by mass" in str(found) and f"{found.judged:,} evaluations" in str(found)
    assert found.full_product == 480**2


def test_curves_are_named_by_motion_and_payload(tmp_path: Path) -> None:
    """By the names that the motions have, and by mass; payloads of one mass are numbered."""
    robot = aw.load("rr")
    pick, place = motion(robot, 1), motion(robot, 2)
    for motions, payloads, titles in (
        (pick, [None], ("motion",)),
        ([pick, place], [None], ("motion 1", "motion 2")),
        ({"pick": pick, "place": place}, [0.0, 1.0], ("pick, 0 kg", "place, 0 kg", "pick, 1 kg", "place, 1 kg")),
        ({"pick": pick}, [1.0, {"mass": 1.0, "com": [0.1, 0, 0]}], ("pick, payload 1, 1 kg", "pick, payload 2, 1 kg")),
    ):
        found = aw.size(robot, motions, payloads, samples=4)
        assert found.best.joints[0].titles == titles
    with pytest.raises(aw.InputError, match="size got no motions; expected at least one trajectory"):
        aw.size(robot, {}, samples=4)
    text = """
robot = "rr"
samples = 4
[[motion]]
name = "pick"
type = "quintic"
times = [0, 1]
points = [[0, 0], [0.2, 0.2]]
"""
    (tmp_path / "cell.toml").write_text(text)
    assert list(sizing_file.read(tmp_path / "cell.toml")["motions"]) == ["pick"]
    (tmp_path / "cell.toml").write_text(text + text[text.index("[[motion]]") :])
    with pytest.raises(aw.ModelError, match="name = 'pick' is the name of another"):
        sizing_file.read(tmp_path / "cell.toml")


def test_a_cylinder_pushes_by_its_head_and_pulls_by_its_rod() -> None:
    cylinder = Cylinder("c", head_area=2e-3, rod_area=1e-3, pressure=2e7, flow=4e-4, stroke=0.5, mass=20.0)
    assert (cylinder.push, cylinder.pull) == pytest.approx((4e4, 2e4)) and cylinder.speeds == pytest.approx((0.2, 0.4))


def levered() -> tuple[aw.Robot, dict[str, CylinderLever]]:
    """A boom and a stick that turn about level axes, each by a cylinder."""
    link = {"d": 0.0, "theta": 0.0, "type": "revolute", "inertia": [1.0, 20.0, 20.0, 0, 0, 0]}
    rows = [
        {"name": "boom", "alpha": "pi/2", "a": 0.0, **link, "mass": 200.0, "com": [0.9, 0.0, 0.0]},
        {"name": "stick", "alpha": 0.0, "a": 2.0, **link, "mass": 120.0, "com": [0.8, 0.0, 0.0]},
    ]
    levers = {"joint1": CylinderLever(0.9, 0.45, 1.4), "joint2": CylinderLever(0.8, 0.3, "80 deg")}
    return aw.Robot.from_dh(rows, "modified", name="digger"), levers


@pytest.mark.parametrize("objective", ["mass", "price", "energy"])
def test_the_best_cylinders_are_those_of_trying_every_set(objective: str) -> None:
    robot, levers = levered()
    rng = np.random.default_rng(2)
    bores = [scaling.cylinder(bore, 0.7) for bore in (0.02, 0.025, 0.032, 0.04, 0.05, 0.063)]
    own = [replace(c, mass=c.mass * rng.uniform(0.5, 2), price=rng.uniform(1, 9)) for c in bores]
    path = aw.trajectory.quintic([0, 2, 4], [[0.2, -0.2], [0.6, 0.5], [0.2, -0.2]])
    q, qd, qdd = path(np.linspace(0, 4, SAMPLES + 1))
    t, costs = np.linspace(0, 4, SAMPLES + 1), []
    for drives in itertools.product(own, repeat=2):
        tau = torques(
            fitted(robot, [Hydraulic(c, lever) for c, lever in zip(drives, levers.values(), strict=True)]).mechanism(),
            q,
            qd,
            qdd,
        )
        good, joules = True, 0.0
        for j, (c, lever) in enumerate(zip(drives, levers.values(), strict=True)):
            length = lever.length(q[:, j])
            speed = lever.arm(q[:, j]) * qd[:, j]
            force = tau[j] / lever.arm(q[:, j])
            good &= bool(force.max() <= c.push and -force.min() <= c.pull and np.ptp(length) <= c.stroke)
            good &= bool((np.where(speed > 0, c.head_area, -c.rod_area) * speed).max() <= c.flow)
            joules += np.trapezoid(c.pressure * np.where(speed > 0, c.head_area, -c.rod_area) * speed, t)
        if good:
            costs.append(
                {"mass": sum(c.mass for c in drives), "price": sum(c.price for c in drives), "energy": joules}[
                    objective
                ]
            )
    found = aw.size(
        robot, path, [None], Catalogue("c", cylinders=tuple(own)), objective, levers=levers, samples=SAMPLES, sets=3
    )
    assert 3 < len(costs) < 36
    assert np.allclose([s.cost for s in found.sets], sorted(costs)[:3], rtol=1e-10)
    for chosen, j in zip(found.best.joints, range(2), strict=True):
        assert np.allclose(chosen.torque * chosen.speed, chosen.tau * qd[:, j])  # virtual work
        assert np.allclose(chosen.tau, torques(found.fitted.mechanism(), q, qd, qdd)[j])
        assert chosen.inertia_ratio is None and set(chosen.used) == {"push", "pull", "flow", "stroke"}


def test_a_lever_is_as_long_as_its_triangle_and_its_arm_is_how_that_grows() -> None:
    lever, q = CylinderLever(0.9, 0.4, 1.0), np.linspace(-0.5, 1.5, 7)
    step = 1e-6
    assert np.allclose(lever.arm(q), (lever.length(q + step) - lever.length(q - step)) / (2 * step), rtol=1e-8)
    assert np.allclose(lever.length(np.array([np.pi - 1.0, -1.0])), [1.3, 0.5])
    with pytest.raises(aw.InputError, match=r"lever: before = -1\.0: expected metres"):
        CylinderLever(-1.0, 0.4, 0.0)
    robot, _ = levered()
    path = aw.trajectory.quintic([0, 1], [[0, 0], [1, 1]])
    for levers, message in (
        ({"joint1": None}, "expected a sizing.CylinderLever"),
        ({"joint1": lever}, "has no cylinders"),
    ):
        with pytest.raises(aw.InputError, match=message):
            aw.size(robot, path, levers=levers)


REQUEST = """robot = "rr"
payloads = [0.0, {mass = 1.0, com = [0.1, 0.0, 0.0]}]
samples = 20
[[motion]]
type = "quintic"
times = [0, 1, 2]
points = [[0, 0], [1, 0.5], [0, 0]]
[mounts]
joint2 = {link = "base", point = [0.0, 0.0, 0.0]}
[without_drives]
link1 = 0.1
"""


def test_the_command_shows_the_best_set_and_writes_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cell.toml").write_text(REQUEST)
    shown = CliRunner().invoke(app, ["size", "cell.toml"])
    assert shown.exit_code == 0 and "The best of 2.304e+05 sets by mass" in shown.stdout
    assert Path("rr_actuators.html").exists()
    told = json.loads(CliRunner().invoke(app, ["size", "cell.toml", "--json"]).stdout)
    direct = aw.size(
        aw.load("rr"),
        aw.trajectory.quintic([0, 1, 2], [[0, 0], [1, 0.5], [0, 0]]),
        [None, {"mass": 1.0, "com": [0.1, 0, 0]}],
        samples=20,
        mounts_at={"joint2": ("base", (0, 0, 0))},
        without_drives={"link1": 0.1},
    )
    assert told["feasible"] and told["sets"][0]["cost"] == direct.best.cost
    assert [joint["used"] for joint in told["sets"][0]["joints"]] == [chosen.used for chosen in direct.best.joints]


def test_the_command_ends_with_1_where_nothing_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "cell.toml"
    path.write_text(REQUEST.replace("mass = 1.0", "mass = 5000.0"))
    shown = CliRunner().invoke(app, ["size", str(path), "--json"])
    told = json.loads(shown.stdout)
    assert shown.exit_code == 1 and not told["feasible"] and told["joint"] == "joint2" and told["used"] > 1
    assert CliRunner().invoke(app, ["size", str(path)]).exit_code == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"rr"', '"rrr"', "rrr"),
        ("samples", "sample", "cell.toml, line 3: unknown key 'sample'; did you mean 'samples'"),
        ("[0, 1, 2]", "[0, 1]", "cell.toml, line 5, motion 1"),
        ("[[motion]]", "[[motions]]", "unknown key 'motions'"),
        ("payloads = [0.0", 'payloads = ["heavy"', "cell.toml, line 2: payload 'heavy'"),
        ("link1 = 0.1", "link1 = {kg = 0.1}", "link1 = .*: expected kilograms, or {mass = kg, point ="),
        ("{link =", "{on =", "cell.toml, line 8: joint2"),
        (
            "[mounts]",
            "[levers]\njoint1 = {before = 0, on = 1, angle = 0}\n[mounts]",
            "cell.toml, line 9, levers: joint1: lever: before = 0.0",
        ),
        ("samples = 20", 'catalogue = "none.toml"', "cannot read the catalogue none.toml"),
    ],
)
def test_a_bad_request_is_named_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "cell.toml").write_text(REQUEST.replace(old, new))
    with pytest.raises(aw.ArmwrightError, match=message):
        sizing_file.read(tmp_path / "cell.toml")


def test_backlash_adds_half_of_itself_to_the_twist_of_a_gearbox() -> None:
    """One joint under a known torque of at most 12 N m: 12 / 2000 + 0.01 / 2 = 0.011 rad, of which 0.02 are allowed."""
    gear = sizing.Gearbox(
        "g", ratio=50, efficiency=0.8, peak_torque=50, mass=1, inertia=0.0, stiffness=2000.0, backlash=0.01
    )
    motor = sizing.Motor("m", rotor_inertia=1e-5, peak_torque=1, mass=1, continuous_torque=0.5, max_speed=300)
    t, zero, one = np.linspace(0, 1, 3), np.zeros((0, 3)), np.ones(3)
    torque = MassLinear(np.array([3.0, -12.0, 5.0]), zero)
    load = JointLoad(
        "joint1",
        False,
        (),
        0 * t,
        0 * t,
        0 * t,
        torque,
        torque,
        MassLinear(one, zero),
        (slice(0, 3),),
        ("",),
        one / 3,
        t,
    )
    demand = JointDemand.between(load, np.zeros(0), np.zeros(0))
    stiff = sizing.Gearbox(
        "s", ratio=50, efficiency=0.8, peak_torque=50, mass=1, inertia=0.0, stiffness=2000.0, backlash=0.0
    )
    unknown = sizing.Gearbox("u", ratio=50, efficiency=0.8, peak_torque=50, mass=1, inertia=0.0, stiffness=2000.0)
    drives = ElectricDrives.of([sizing.Actuator(motor, g) for g in (gear, stiff, unknown)])
    used = drives.utilisation(demand, Requirements(twist={"joint1": 0.02}))["twist"]
    np.testing.assert_allclose(used, [0.55, 0.3, np.inf], rtol=1e-14)
    np.testing.assert_allclose(gearbox_twist(np.array([3.0, -12.0, 5.0]), 2000.0, 0.01), [0.0065, 0.011, 0.0075])
    chosen = actuator_set(2.0, [sizing.Actuator(motor, gear)], [load], Requirements()).joints[0]
    assert chosen.twist is not None
    np.testing.assert_allclose(chosen.twist, [0.0065, 0.011, 0.0075], rtol=1e-14)
