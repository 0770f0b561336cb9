"""`armwright sweep`: run or continue a study, and show its results."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from armwright import files
from armwright.backends.interface import BACKENDS
from armwright.cli.command import JSON_OPTION
from armwright.cli.output import console, escape, report_page, show_json, show_progress, show_rows
from armwright.cli.output import report as note
from armwright.errors import InputError
from armwright.names import tidy
from armwright.pages.report.plot import write
from armwright.sweep.chunk import compute_row, pyarrow_modules
from armwright.sweep.prepare import setup_of
from armwright.sweep.results import open_study
from armwright.sweep.study import Study
from armwright.sweep.study_engine import ProgressCallback, StudyProgress, compute_study
from armwright.sweep.study_page import study_page, study_summary

REPORT_NAME = "report.html"


def run_sweep(
    study: Annotated[Path, typer.Argument(help="A study file (docs/studies.md), or the folder of its results.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The folder; STUDY_results by default.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of this process; all cores by default.", min=1)] = None,
    workers: Annotated[int | None, typer.Option(help="Processes of this machine, in place of threads.", min=1)] = None,
    cluster: Annotated[str | None, typer.Option(help="The address of a Dask cluster, tls://host:8786.")] = None,
    target: Annotated[str | None, typer.Option(help=f"{', '.join(BACKENDS)}; by default that of the study.")] = None,
    chunk: Annotated[str | None, typer.Option(metavar="K/N", help="Only part K of N, for job arrays.")] = None,
    status: Annotated[bool, typer.Option("--status", help="Print the progress, and compute nothing.")] = False,
    report: Annotated[bool, typer.Option("--report", help=f"Write {REPORT_NAME} of the results so far.")] = False,
    row: Annotated[int | None, typer.Option(help="Run only this rollout, and write its history.", min=0)] = None,
    allow_functions: Annotated[
        bool, typer.Option("--allow-functions", help="Run the Python functions that a folder of results names.")
    ] = False,
    json: JSON_OPTION = False,
) -> bool | None:
    """Run a study: many rollouts with varied parameters, kept in a folder; run it again to finish it.

    The exit code is 1 if no rollout finished.

    Example: armwright sweep study.toml
    """
    folder = output or (study if study.is_dir() else _default_folder(study))
    if row is not None:
        _rerun(_study(study, target, allow_functions), row, json)
        return None
    if status or report:
        _show_status(folder, report, json)
        return None
    part = _part(chunk)
    try:
        with _progress_bar(not json) as show:
            source = _study(study, target, allow_functions)
            progress = compute_study(source, folder, threads, workers, cluster, part, show)
    except KeyboardInterrupt:
        note("stopped", "yellow", f"{folder} keeps the chunks that were done; run the same command to continue")
        raise
    new, summary = progress.done - progress.earlier, study_summary(open_study(folder))
    successful = part is not None or summary["failed"] < summary["rollouts"]  # other parts may still run
    if json:
        show_json({**summary, "computed": new})
        return successful
    failed = f", of which {progress.failed} failed" if progress.failed else ""
    before = f"{progress.earlier} existed, " if progress.earlier else ""
    report_page(folder, f"{before}{new} computed{failed}; armwright sweep {folder} --report")
    return successful


def _default_folder(study: Path) -> Path:
    """Return the default folder; refuse a link, which could lead anywhere."""
    folder = study.with_name(f"{study.stem}_results")
    if folder.is_symlink():
        raise InputError(f"{folder} is a link; expected a folder; name one with -o")
    return folder


def _study(path: Path, target: str | None, allow_functions: bool) -> Study:
    """Return the study of a file, or of a folder of results, which may come from an untrusted source."""
    study = open_study(path, allow_functions).study if path.is_dir() else Study.read(path)
    if path.is_dir() and allow_functions and (named := (study.want or {}).get("functions")):
        note("warning", "yellow", f"{path} names Python functions, which are run: {', '.join(named)} of {study.folder}")
    return study if target is None else replace(study, target=target)


def _part(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    k, _, of = text.partition("/")
    if not (k.isdecimal() and of.isdecimal() and 1 <= int(k) <= int(of)):
        raise InputError(f"--chunk {text}: expected K/N, such as --chunk 3/16")
    return int(k), int(of)


@contextmanager
def _progress_bar(shown: bool) -> Iterator[ProgressCallback]:
    """Show a progress bar with the rate, the remaining time and the number of failures."""
    from rich import progress as rich  # noqa: PLC0415

    text = rich.TextColumn("{task.completed:,.0f} of {task.total:,.0f}, {task.fields[rate]}{task.fields[failed]}")
    out = console(stderr=True)
    columns = (rich.BarColumn(), text, rich.TimeRemainingColumn())
    bar = rich.Progress(*columns, console=out, transient=True, disable=not (shown and out.is_terminal))
    begin = time.perf_counter()
    with bar:
        task = bar.add_task("", total=0, rate="preparing", failed="")

        def show(progress: StudyProgress) -> None:
            rate = (progress.done - progress.earlier) / max(time.perf_counter() - begin, 1e-9)
            failed = f", {progress.failed:,} failed" if progress.failed else ""
            bar.update(task, total=progress.total, completed=progress.done, rate=f"{rate:,.0f} a second", failed=failed)

        yield show


def _show_status(folder: Path, report: bool, json: bool) -> None:
    results = open_study(folder)
    summary: dict[str, Any] = study_summary(results)
    if report:
        with show_progress("reading the results"):
            summary["page"] = write(folder / REPORT_NAME, study_page(results))
    if json:
        show_json(summary)
        return
    console().print(
        f"{escape(folder)}: {summary['rollouts']:,} of {summary['of']:,} rollouts, {summary['chunks']} of "
        f"{summary['of_chunks']} chunks; {summary['failed']:,} failed",
        soft_wrap=True,
    )
    if report:
        report_page(folder / REPORT_NAME, "distributions, correlations and worst cases")


def _rerun(study: Study, row: int, json: bool) -> None:
    """Simulate one row; print its results and write its history."""
    setup = setup_of(study)
    numbers, history = compute_row(setup, row)
    arrow, parquet = pyarrow_modules()
    path = Path(f"row_{row}.parquet")
    parquet.write_table(arrow.table(history), buffer := arrow.BufferOutputStream())
    try:
        files.write(path, buffer.getvalue().to_pybytes())
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    values = {name: x[0] for name, x in numbers.items()}
    if json:
        show_json({**values, "history": path})
        return
    rows = [(name, tidy(x, ".8g") if isinstance(x, float) else str(x)) for name, x in values.items() if x is not None]
    show_rows([("column", "value"), *rows], f"row {row}")
    report_page(path, "t, q, qd, qdd, tau")
