"""Opens every kind of page in Chromium with names that try to run script: none may run, add an element or go missing.

    python tools/hostile_pages.py                # every name in every kind of page
    python tools/hostile_pages.py run '<b>'      # one kind of page with one name

It needs a Chromium on the PATH, or named by CHROMIUM (apt-get install chromium).
"""

from __future__ import annotations

import atexit
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

from browser import Chromium, browser

import armwright as aw
from armwright.check import Finding, Proof, Report, compare
from armwright.identify import Measurement, estimate, excitation
from armwright.names import shown
from armwright.pages.report.plot import Curve, Plot, figures
from armwright.pages.run_scene import page
from armwright.study.precision import precision
from armwright.study.work_precision import work_precision

ORDER = "document.documentElement.setAttribute('owned',1)"
"""What a name tries to run; the element that it would mark is looked at afterwards."""

HOSTILE = [
    *("{{data}}", "{{title}}", "{{policy}}", "{{nothing}}", "{{{{data}}}}"),
    f"<img src=x onerror={ORDER}>",
    f"<svg onload={ORDER}>",
    f"<script>{ORDER}</script>",
    f"</script><script>{ORDER}</script>",
    f"<!--<script>{ORDER}",
    f"--><script>{ORDER}</script>",
    f"]]><script>{ORDER}</script>",
    f"</title><script>{ORDER}</script>",
    f"</style><script>{ORDER}</script>",
    f"</pre></details><script>{ORDER}</script>",
    f'" autofocus tabindex=1 onfocus={ORDER} x="',
    f"' onmouseover={ORDER} x='",
    f'"><input autofocus onfocus={ORDER}>',
    f"&lt;img src=x onerror={ORDER}&gt;",
    f"\\u003cimg src=x onerror={ORDER}\\u003e",
    f"</svg><image href=x onerror={ORDER}>",
    f'<iframe srcdoc="<script>parent.{ORDER}</script>"></iframe>',
    f'<meta http-equiv="refresh" content="0;url=javascript:{ORDER}">',
    f'<a href="javascript:{ORDER}" id=play>x</a>',
    *('<base href="https://example.invalid/">', '<link rel=stylesheet href="x.css">', "<style>*{display:none}</style>"),
    *(f"${{{ORDER}}}", f"`;{ORDER};`", f"';{ORDER};//", "__proto__", "constructor"),
    *("\x1b]0;owned\x07", "a\nb", "a\u2028b", "\u202etxt.exe", "\x00", "\ud800", "\U0001f916", "é"),
]
"""Names of robots, joints and links, titles and texts of scenarios, each of which would run if it were taken literally."""


@dataclass
class Seen(HTMLParser):
    """What a browser made of a page: its elements, their attributes, its text, and what it complained of."""

    console: list[str] = field(default_factory=list)
    tags: Counter[str] = field(default_factory=Counter)
    attributes: Counter[str] = field(default_factory=Counter)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes.update(f"{tag} {name}" for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def owned(self) -> bool:
        return "html owned" in self.attributes


@cache
def chromium() -> Chromium:
    """One for all pages."""
    atexit.register((made := Chromium()).__exit__)
    return made.__enter__()


def opened(text: str) -> Seen:
    """The page as Chromium shows it, after its scripts have run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(text, encoding="utf-8")
        with chromium().opened(path, 620, 300) as tab:
            seen = Seen([*tab.console, *(f"asked for {address}" for address in tab.asked[1:])])
            seen.feed(tab.run("document.documentElement.outerHTML"))
    return seen


def named(name: str) -> aw.Robot:
    """A robot of two joints with this name everywhere."""
    arm = aw.load("rr")
    joints = tuple(replace(joint, name=f"{name}{i}") for i, joint in enumerate(arm.joints))
    links = tuple(replace(link, name=f"{name}{i}") for i, link in enumerate(arm.links))
    return replace(arm, name=name, joints=joints, links=links, source=name)


def _run(name: str) -> str:
    return page(aw.simulate(named(name), duration=0.2, every=0.05), name, f"# {name}")


def _identified(name: str) -> str:
    arm = named(name)
    motion = excitation(arm, period=2.0, seed=1)
    run = aw.torques_along(arm, motion, every=0.02)
    with tempfile.TemporaryDirectory() as folder:
        path = estimate(arm, Measurement(run.t, run.q, run.qd, run.qdd, run.tau)).to_html(Path(folder) / "page.html")
        return path.read_text(encoding="utf-8")


def _figures(name: str) -> str:
    curve = Curve(name, [0.0, 1.0], [0.0, 1.0])
    return figures(name, name, [Plot(name, name, name, [curve], note=name)], [(name, [[name], [name]])])


def _compared(name: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = compare(named(name), named(name).with_gravity([0, 0, -1])).to_html(Path(folder) / "page.html")
        return path.read_text(encoding="utf-8")


def _checked(name: str) -> str:
    finding, proof = Finding("error", "mass", name, name, line=1), Proof(name, True, name)
    with tempfile.TemporaryDirectory() as folder:
        report = Report(name, name, (name, "fine"), (name,), (finding,), (proof,))
        return report.to_html(Path(folder) / "page.html").read_text(encoding="utf-8")


PAGES: dict[str, Callable[[str], str]] = {
    "run": _run,
    "identified": _identified,
    "figures": _figures,
    "compared": _compared,
    "checked": _checked,
    "precision": lambda name: precision(named(name), 2).page(),
    "integrators": lambda name: work_precision(named(name), 0.01).page(),
}
"""Every kind of page, made with a name."""


def complaints(seen: Seen, plain: Seen, name: str) -> list[str]:
    """What is wrong with a page of a hostile name, beside the same page of a plain one."""
    found = ["script ran"] if seen.owned else []
    found += [f"console: {line}" for line in seen.console]
    for what in ("tags", "attributes"):
        one, other = (_counted(getattr(page, what)) for page in (seen, plain))
        found += [f"{what}: {one - other} too many, {other - one} missing"] if one != other else []
    found += [] if shown(name) in seen.text else ["the name is not shown"]
    return found


def _counted(found: Counter[str]) -> Counter[str]:
    """How many there are of each, but for marks on axes, whose number depends on what was measured."""
    return Counter(
        {name: 1 if name.split()[0] in ("line", "text", "circle", "title") else n for name, n in found.items()}
    )


def main(kinds: list[str], names: list[str]) -> int:
    failures = 0
    for kind in kinds:
        plain = opened(PAGES[kind]("plain"))
        wrong = {name: found for name in names if (found := complaints(opened(PAGES[kind](name)), plain, name))}
        failures += len(wrong)
        print(f"{kind}: {len(names)} names, {len(wrong)} wrong", flush=True)
        for name, found in wrong.items():
            print(f"  {name!r}: {'; '.join(found)}")
    return failures


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if browser() is None:
        sys.exit("no Chromium here: apt-get install chromium, or name one by CHROMIUM")
    asked = sys.argv[1:]
    sys.exit(main(asked[:1] or list(PAGES), asked[1:] or HOSTILE) > 0)
