"""Exported C++: Eigen's types over the C functions, and a controller of ROS 2 around them."""

import dataclasses
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import close

import armwright as aw

CPP = shutil.which("g++") or shutil.which("clang++")
C = shutil.which("gcc") or shutil.which("clang")
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
EIGEN = next(
    (
        place
        for root in ("/usr/include", *(f"{entry}/cmeel.prefix/include" for entry in sys.path))
        if (place := Path(root, "eigen3")).is_dir()
    ),
    None,
)
needs_compiler = pytest.mark.skipif(CPP is None or C is None, reason="no C and C++ compiler on this machine")
needs_eigen = pytest.mark.skipif(EIGEN is None, reason="no Eigen on this machine: pip install cmeel-eigen")

PANDA = aw.load("panda")
Q, QD, QDD = np.random.default_rng(1).uniform(-1, 1, (3, 7))


def compiled(folder: Path, *sources: Path, include: tuple[str, ...] = ()) -> str:
    """What a program prints that is made of C and C++ files, the C ones without C++."""
    objects = []
    for source in sources:
        plain = source.suffix == ".c"
        command = [C, "-std=c99"] if plain else [CPP, "-std=c++17", *include]
        objects.append(str(folder / f"{source.stem}.o"))
        subprocess.run([*command, *STRICT, f"-I{folder}", "-c", str(source), "-o", objects[-1]], check=True)
    subprocess.run([CPP, *objects, "-o", str(folder / "program"), "-lm"], check=True)
    return subprocess.run([str(folder / "program")], check=True, capture_output=True, text=True).stdout


def row(name: str, values: np.ndarray) -> str:
    return f"static const double {name}[] = {{{', '.join(map(repr, np.ravel(values).tolist()))}}};\n"


USE = r"""
#define EIGEN_RUNTIME_NO_MALLOC
#include "panda.hpp"
#include <cstdio>

template <typename Derived> void show(const Eigen::MatrixBase<Derived> &m)
{
    for (int i = 0; i < m.rows(); ++i) for (int j = 0; j < m.cols(); ++j) std::printf("%.17g ", m(i, j));
    std::printf("\n");
}

int main()
{
    using V = Eigen::Matrix<double, 7, 1>;
    Eigen::internal::set_is_malloc_allowed(false);
    const Eigen::Map<const V> q_(q), qd_(qd), qdd_(qdd);
    Eigen::Matrix<double, 7, 3> state;
    state << q_, qd_, qdd_;
    const double mass = 1.5;
    show(panda::inverse_dynamics(state.col(0), 2 * state.col(1) / 2, state.col(2), mass));  // columns and expressions
    double torques[7];
    panda::inverse_dynamics(q_, qd_, qdd_, mass, Eigen::Map<V>(torques));
    show(Eigen::Map<V>(torques));
    const Eigen::Matrix<double, 6, 7> J = panda::jacobian(q_, mass);
    show(J);
    std::printf("%.17g\n", panda::kinetic_energy(q_, qd_, mass));
    show(panda::link_poses(q_, mass).middleRows<4>(4 * 6));
    static_assert(panda::joints == 7, "");
    return 0;
}
"""


@needs_compiler
@needs_eigen
def test_eigen_views_compute_the_same_and_allocate_nothing(tmp_path: Path) -> None:
    functions = ["inverse_dynamics", "jacobian", "kinetic_energy", "link_poses"]
    paths = aw.export(PANDA, "cpp", tmp_path, functions, vary=["payload.mass"])
    assert paths[0].name == "panda.hpp"
    (tmp_path / "use.cpp").write_text(row("q", Q) + row("qd", QD) + row("qdd", QDD) + USE)
    printed = compiled(tmp_path, tmp_path / "panda.c", tmp_path / "use.cpp", include=("-isystem", str(EIGEN)))
    got = [np.array(line.split(), float) for line in printed.splitlines()]
    held = PANDA.with_payload(1.5)
    torques = held.inverse_dynamics(Q, QD, QDD)
    poses = held.link_poses(Q)[6]
    for line, expected in zip(
        got, (torques, torques, held.jacobian(Q), held.kinetic_energy(Q, QD), poses), strict=True
    ):
        close(line, np.ravel(expected), 1e-12)


ONE = r"""
#include "one.hpp"
#include <cstdio>

template <int n> void generic()
{
    Eigen::Matrix<double, n, 1> q_ = Eigen::Map<const Eigen::Matrix<double, n, 1>>(q), still = 0 * q_;
    Eigen::Matrix<double, n, n> M = one::mass_matrix(q_, 1.5);
    Eigen::Matrix<double, n, 1> tau = one::inverse_dynamics(q_, 2 * q_, still, 1.5);
    Eigen::Matrix<double, 6, n> J = one::jacobian(q_, 1.5);
    double given[n];
    one::inverse_dynamics(q_, 2 * q_, still, 1.5, Eigen::Map<Eigen::Matrix<double, n, 1>>(given));
    std::printf("%.17g %.17g %.17g %.17g\n", M(0), tau(0), given[0], one::kinetic_energy(q_, 2 * q_, 1.5));
    for (int i = 0; i < 6; ++i) std::printf("%.17g ", J(i, 0));
}

int main()
{
    generic<1>();
    std::printf("\n%.17g\n", one::inverse_dynamics(q[0], 2 * q[0], 0.0, 1.5)(0));
    return 0;
}
"""


@needs_compiler
@needs_eigen
def test_a_robot_with_one_joint_takes_and_gives_vectors_of_one_entry(tmp_path: Path) -> None:
    arm = dataclasses.replace(aw.random_robot(1, 1), name="one")
    functions = ["inverse_dynamics", "jacobian", "mass_matrix", "kinetic_energy"]
    aw.export(arm, "cpp", tmp_path, functions, vary=["payload.mass"])
    (tmp_path / "use.cpp").write_text(row("q", [0.4]) + ONE)
    printed = compiled(tmp_path, tmp_path / "one.c", tmp_path / "use.cpp", include=("-isystem", str(EIGEN)))
    held, q, qd = arm.with_payload(1.5), [0.4], [0.8]
    tau = held.inverse_dynamics(q, qd, [0.0])[0]
    energies = [held.mass_matrix(q)[0, 0], tau, tau, held.kinetic_energy(q, qd)]
    got = np.array(printed.split(), float)
    close(got, np.concatenate([energies, held.jacobian(q)[:, 0], [tau]]), 1e-12)


@needs_compiler
@needs_eigen
def test_the_cpp_of_the_document_compiles(tmp_path: Path) -> None:
    document = (Path(__file__).parent.parent / "docs" / "export.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```cpp\n(.*?)^```", document, flags=re.S | re.M)
    aw.export(PANDA, "cpp", tmp_path, ["inverse_dynamics", "jacobian", "mass_matrix"])
    (tmp_path / "use.cpp").write_text(code)
    command = [CPP, "-std=c++17", *STRICT, "-isystem", str(EIGEN), f"-I{tmp_path}", "-fsyntax-only"]
    subprocess.run([*command, str(tmp_path / "use.cpp")], check=True)


ROS = Path(__file__).parent.parent / "examples" / "ros2_control"
STUBS = Path(__file__).parent / "stubs" / "ros2"

DRIVE = r"""
#include "armwright_control/computed_torque_controller.hpp"
#include <cmath>
using namespace armwright_control;
using Point = trajectory_msgs::msg::JointTrajectoryPoint;

static void show(ComputedTorqueController &c)
{
    const bool good = c.update({}, {}) == controller_interface::return_type::OK;
    std::printf("%d", good);
    for (auto &command : c.command_interfaces_) std::printf(" %.17g", command.held);
    std::printf("\n");
}

int main()
{
    ComputedTorqueController c;
    const auto good = controller_interface::CallbackReturn::SUCCESS;
    if (c.on_init() != good || c.on_configure({}) != good) return 1;
    for (auto &name : c.state_interface_configuration().names) std::printf("%s ", name.c_str());
    std::printf("\n%s\n", c.command_interface_configuration().names[6].c_str());
    for (double x : q) c.state_interfaces_.push_back({x});
    for (double x : qd) c.state_interfaces_.push_back({x});
    c.command_interfaces_.resize(7);
    if (c.on_activate({}) != good) return 2;
    show(c);  // holding still
    auto heard = std::static_pointer_cast<rclcpp::Subscription<Point>>(c.get_node()->last)->heard;
    Point point;
    point.positions.assign(std::begin(q), std::end(q));
    point.velocities.assign(std::begin(qd), std::end(qd));
    point.accelerations.assign(std::begin(qdd), std::end(qdd));
    heard(std::make_shared<Point>(point));
    show(c);  // on the reference
    point.positions[1] += 100;
    heard(std::make_shared<Point>(point));
    show(c);  // far off: all the torque there is
    point.positions.pop_back();
    heard(std::make_shared<Point>(point));  // left out
    c.state_interfaces_[3].held = NAN;
    show(c);
    c.get_node()->parameters["kp"] = {1, 2};
    if (c.on_configure({}) == good) return 3;
    return 0;
}
"""


@needs_compiler
@pytest.mark.parametrize("flags", [(), ("-DBEFORE_JAZZY",)], ids=["jazzy", "humble"])
def test_the_controller_of_ros_2_commands_computed_torques(flags: tuple[str, ...], tmp_path: Path) -> None:
    aw.export(PANDA, "c", tmp_path, ["inverse_dynamics"])
    robot = (ROS / "robot.hpp.in").read_text().replace("@ROBOT_UPPER@", "PANDA").replace("@ROBOT@", "panda")
    (tmp_path / "robot.hpp").write_text(robot)
    (tmp_path / "drive.cpp").write_text(row("q", Q) + row("qd", QD) + row("qdd", QDD) + DRIVE)
    controller = ROS / "src" / "computed_torque_controller.cpp"
    include = ("-isystem", str(STUBS), f"-I{ROS / 'include'}", *flags)
    printed = compiled(tmp_path, tmp_path / "panda.c", controller, tmp_path / "drive.cpp", include=include)
    names, effort, *lines = printed.splitlines()
    joints = [joint.name for joint in PANDA.joints]
    assert names.split() == [f"{joint}/{kind}" for kind in ("position", "velocity") for joint in joints]
    assert effort == "panda_joint7/effort"
    holding, following, far, broken = [np.array(line.split(), float) for line in lines]
    limits = np.array([joint.max_torque for joint in PANDA.joints])
    close(holding[1:], np.clip(PANDA.inverse_dynamics(Q, QD, -20 * QD), -limits, limits), 1e-12)
    close(following[1:], np.clip(PANDA.inverse_dynamics(Q, QD, QDD), -limits, limits), 1e-12)
    assert far[2] == limits[1] and holding[0] == following[0] == far[0] == 1
    assert broken[0] == 0 and np.array_equal(broken[1:], far[1:])
    assert "armwright_control/ComputedTorqueController" in (ROS / "controllers.xml").read_text()
