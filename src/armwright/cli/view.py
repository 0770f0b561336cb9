"""`armwright view`: serve a page that shows a robot or runs until the command ends."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from armwright.cli.command import JSON_OPTION, ROBOT_FILES, RobotOptions, report_missing_meshes, robot_of
from armwright.cli.output import console, escape, report, report_errors, show_json
from armwright.errors import InputError
from armwright.model.records import Payload
from armwright.model.transforms import tensor, triple
from armwright.pages.viewer import view
from armwright.pages.viewer.server import LOCAL_HOST, LOOPBACK_HOSTS, viser_package
from armwright.robot import Robot
from armwright.simulation import Run

RUN_SUFFIX = ".parquet"


def run_view(
    robot: Annotated[RobotOptions, f"A packaged robot, {ROBOT_FILES}, or a run (.parquet)."],
    second: Annotated[Path | None, typer.Argument(help="A second run, shown as a ghost.")] = None,
    host: Annotated[str, typer.Option(help="The address to listen at; others can then view and control.")] = LOCAL_HOST,
    port: Annotated[int | None, typer.Option(help="The port; a free one by default.")] = None,
    browser: Annotated[bool | None, typer.Option(help="Open it in a browser; by default if there is a screen.")] = None,
    once: Annotated[bool, typer.Option("--once", help="End when its last page is closed.")] = False,
    json: JSON_OPTION = False,
) -> None:
    """Open a page that shows a robot or runs: sliders, a tool to drag, live torques, simulations to play.

    Ends on Ctrl-C.

    Example: armwright view panda
    """
    viser_package()
    with report_errors():
        first, others = _robot_or_runs(robot, second)
    payloads = [Payload(mass, triple(com), tensor(inertia)) for mass, com, inertia in robot.payloads]
    viewer = view(first, *others, host=host, port=port, browser=browser, payloads=payloads)
    try:
        _print_address(viewer.url, host, json)
        report_missing_meshes(first.robot if isinstance(first, Run) else first)
        viewer.wait(once)
    except KeyboardInterrupt:  # Ctrl-C before the wait
        viewer.close()


def _print_address(url: str, host: str, json: bool) -> None:
    """Print the address of the page, and a warning if other machines can reach it."""
    if host not in LOOPBACK_HOSTS:
        report("warning", "yellow", f"listening at {host}: everybody who can reach this machine can view and control")
    if json:
        show_json({"url": url})
    else:
        console().print(f"{escape(url)}  (Ctrl-C ends it)", soft_wrap=True)


def _robot_or_runs(robot: RobotOptions, second: Path | None) -> tuple[Robot | Run, list[Run]]:
    """Return a robot, or a run, and the second run if there is one."""
    if Path(robot.name).suffix != RUN_SUFFIX:
        if second is not None:
            raise InputError(f"{second}: a second file needs a run; expected two {RUN_SUFFIX} files, or one robot")
        return robot_of(robot, visuals=True), []
    if options := [option for option in robot.used_options if option != "--package"]:
        raise InputError(f"{', '.join(options)}: a run contains its robot; remove these options")
    first, *others = (Run.from_parquet(path, robot.packages) for path in (robot.name, second) if path is not None)
    return first, others
