"""Exported C as WebAssembly: what a browser computes is what Python computes."""

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import close

import armwright as aw

pytest.importorskip("ziglang", reason="no compiler for WebAssembly: pip install ziglang")
EXAMPLE = Path(__file__).parent.parent / "examples" / "wasm"
ARM = aw.load("stanford")
STATES = np.random.default_rng(0).uniform(-1, 1, (5, 6))

CALL = """
import {{ readFileSync }} from "node:fs";
import {{ load }} from "{module}";
const [about, bytes] = ["about.json", "stanford.wasm"].map((name) => readFileSync("{folder}/" + name));
const robot = await load(bytes, JSON.parse(about));
const states = {states};
console.log(JSON.stringify(states.map((q) => [...robot.gravity_torque(q)])));
console.log(JSON.stringify([...robot.link_positions(states[0])]));
try {{ robot.gravity_torque([0]); }} catch (error) {{ console.log(error.message); }}
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = importlib.util.spec_from_file_location("build", EXAMPLE / "build.py")
    assert spec is not None and spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    return build.main("stanford", tmp_path_factory.mktemp("page"))


@pytest.mark.skipif(shutil.which("node") is None, reason="no node on this machine")
def test_node_computes_the_same(page: Path) -> None:
    script = page.parent / "call.mjs"
    module = (EXAMPLE / "robot.mjs").as_uri()
    script.write_text(CALL.format(module=module, folder=page.parent, states=json.dumps(STATES.tolist())))
    printed = subprocess.run(["node", str(script)], check=True, capture_output=True, text=True).stdout.splitlines()
    close(json.loads(printed[0]), ARM.gravity_torque(STATES), 1e-12)
    close(np.reshape(json.loads(printed[1]), (-1, 3)), ARM.link_positions(STATES[0]), 1e-12)
    assert printed[2] == "gravity_torque: got 1 numbers, expected 6"


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium on this machine")
def test_the_page_shows_torques_of_the_position_in_its_address(page: Path) -> None:
    address = f"{page.as_uri()}#{','.join(map(repr, STATES[0].tolist()))}"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000"]
    shown = subprocess.run(["chromium", *flags, "--dump-dom", address], check=True, capture_output=True, text=True)
    assert 'data-ready="yes"' in shown.stdout
    close([float(x) for x in re.findall('data-exactly="([^"]*)"', shown.stdout)], ARM.gravity_torque(STATES[0]), 1e-12)
    assert "http" not in page.read_text().replace("http-equiv", "")
