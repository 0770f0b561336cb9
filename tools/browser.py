"""A real Chromium, spoken to over a pipe: pages are opened, pressed, photographed, and what they complain of is kept.

    with Chromium() as browser:
        with browser.opened(path, width=1280, dark=True) as tab:
            tab.run("document.title")

    python tools/browser.py FOLDER page.html ...    # pictures of pages: light and dark, 1280 and 390 wide

It needs a Chromium on the PATH, or named by CHROMIUM (apt-get install chromium), and nothing else.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SECONDS = 90
WORDS = (
    *(
        "--headless",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--use-angle=swiftshader",
        "--enable-unsafe-swiftshader",
    ),
    *("--hide-scrollbars", "--force-device-scale-factor=1", "--remote-debugging-pipe"),
)
WIDE, HIGH, NARROW, TALL = 1280, 860, 390, 844
"""Of a desk and of a telephone."""

BEGIN = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execvp(sys.argv[3], sys.argv[3:])"
)
"""Chromium reads orders from file 3 and writes answers to file 4."""


def browser() -> str | None:
    """The Chromium to use, if there is one."""
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@dataclass
class Tab:
    """A page that is open; `console` is what it complained of, `asked` every address it asked for."""

    chromium: Chromium
    session: str
    console: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    loaded: bool = False

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.chromium.call(method, params, self.session)

    def run(self, script: str) -> Any:
        """The value of an expression, of a promise what it comes to."""
        answer = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def rest(self, seconds: float = 0.0) -> None:
        """Until what is asked of the page has been drawn."""
        wait = "new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => done(1))), %d))"
        self.run(wait % (1000 * seconds))

    def photograph(self, path: Path, whole: bool = False) -> Path:
        """What is seen, or the whole page, as PNG."""
        self.rest()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]))
        return path

    def hear(self, event: dict[str, Any]) -> None:
        kind, params = event["method"], event["params"]
        if kind == "Page.loadEventFired":
            self.loaded = True
        elif kind == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])
        elif kind == "Runtime.exceptionThrown":
            self.console.append(str(params["exceptionDetails"].get("exception", {}).get("description", params)))
        elif kind == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.console.append(" ".join(str(arg.get("value", arg)) for arg in params["args"]))
        elif kind == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.console.append(params["entry"]["text"])


class Chromium:
    """One browser for many pages; downloads go into `downloads`."""

    def __enter__(self) -> Chromium:
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.downloads = Path(self.folder.name) / "downloads"
        orders, self.orders = os.pipe()
        self.answers, answers = os.pipe()
        words = [browser() or "chromium", *WORDS, f"--user-data-dir={self.folder.name}/profile", "about:blank"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", BEGIN, str(orders), str(answers), *words],
            pass_fds=(orders, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(orders)
        os.close(answers)
        self.number, self.rest, self.tabs = 0, b"", dict[str, Tab]()
        self.call("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(self.downloads)})
        return self

    def __exit__(self, *_: object) -> None:
        self.call("Browser.close", {})
        self.process.wait(SECONDS)
        os.close(self.orders)
        os.close(self.answers)
        self.folder.cleanup()

    def call(self, method: str, params: dict[str, Any], session: str | None = None) -> dict[str, Any]:
        """Send an order and wait for its answer; what happens meanwhile is told to the tabs."""
        self.number += 1
        order = {"id": self.number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        os.write(self.orders, json.dumps(order).encode() + b"\0")
        end = time.monotonic() + SECONDS
        while (message := self._heard(end)).get("id") != self.number:
            pass
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        return message["result"]

    def _heard(self, end: float) -> dict[str, Any]:
        while b"\0" not in self.rest:
            if not select.select([self.answers], [], [], max(end - time.monotonic(), 0))[0]:
                raise TimeoutError(f"Chromium has not answered for {SECONDS} s")
            if not (more := os.read(self.answers, 1 << 20)):
                raise RuntimeError("Chromium has gone")
            self.rest += more
        line, _, self.rest = self.rest.partition(b"\0")
        message = json.loads(line)
        if "method" in message and message.get("sessionId") in self.tabs:
            self.tabs[message["sessionId"]].hear(message)
        return message

    @contextmanager
    def opened(self, path: Path, width: int = WIDE, height: int = HIGH, dark: bool = False) -> Iterator[Tab]:
        """A page in a tab of this size, loaded and drawn."""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        tab = self.tabs[session] = Tab(self, session)
        for part in ("Page", "Runtime", "Log", "Network"):
            tab.call(f"{part}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        tab.call("Emulation.setEmulatedMedia", features=[scheme])
        phone = width < 600
        tab.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1 + phone, mobile=phone
        )
        tab.call("Page.navigate", url=Path(path).resolve().as_uri())
        end = time.monotonic() + SECONDS
        while not tab.loaded:
            self._heard(end)
        tab.rest()
        try:
            yield tab
        finally:
            del self.tabs[session]
            self.call("Target.closeTarget", {"targetId": target})


def photographed(pages: list[Path], folder: Path) -> None:
    """Every page, light and dark, wide and narrow: what is seen first, and all of it."""
    with Chromium() as chromium:
        for path in pages:
            for light in ("light", "dark"):
                for width, height in ((WIDE, HIGH), (NARROW, TALL)):
                    with chromium.opened(path, width, height, light == "dark") as tab:
                        tab.photograph(folder / f"{path.stem}-{light}-{width}.png")
                        tab.photograph(folder / f"{path.stem}-{light}-{width}-whole.png", whole=True)
                        for line in tab.console:
                            print(f"{path}: {line}")


if __name__ == "__main__":
    photographed([Path(name) for name in sys.argv[2:]], Path(sys.argv[1]))
