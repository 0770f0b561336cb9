"""Makes the libraries that pages carry again: three.js with what a page uses of it, and uPlot, as text in the package.

    python tools/vendor_web.py            # fetch, bundle, write src/armwright/pages/report/web
    python tools/vendor_web.py --check    # the same, and say whether what is in the package is what comes out

It needs npm and a network. Packages are taken by version and by the sum of their archives, so that anybody gets the same bytes.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

WEB = Path(__file__).parent.parent / "src" / "armwright" / "pages" / "report" / "web"

ARCHIVES = {
    "three-0.187.0": "ff540832ded0cfe919764d24a3d88f3e2a05f23303f876423e4f893841e90728",
    "uplot-1.6.32": "4b8a8191e425658e3ea8c8c1314b0fc679c861ee3a1af2b20c7b16ba50b5133d",
}
"""Packages of npm, and the sha256 of what npm has of them."""

BUNDLER = "esbuild@0.28.2"

ENTRY = """
export {
  BoxGeometry, BufferAttribute, BufferGeometry, CanvasTexture, CapsuleGeometry, CircleGeometry, Color, ConeGeometry, CylinderGeometry,
  DirectionalLight, Group, HemisphereLight, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshBasicMaterial,
  MeshStandardMaterial, PerspectiveCamera, Quaternion, Scene, ShadowMaterial, SphereGeometry,
  Sprite, SpriteMaterial, SRGBColorSpace, TorusGeometry, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
export { Line2 } from "three/examples/jsm/lines/Line2.js";
export { LineGeometry } from "three/examples/jsm/lines/LineGeometry.js";
export { LineMaterial } from "three/examples/jsm/lines/LineMaterial.js";
export { toCreasedNormals } from "three/examples/jsm/utils/BufferGeometryUtils.js";
"""
"""What a page uses of three.js; the rest is left out of the bundle."""

OPTIONS = ("--bundle", "--minify", "--format=iife", "--global-name=THREE", "--target=es2020", "--legal-comments=none")

SUMS = {
    "three.min.js": "ddcdba1565883d563e32889a06e65f00ebb611235a4f29288e1c31af8c91c6f6",
    "three.LICENSE": "8b378ebe60e2fe500158cb0ac71cb5e8b7d92953c2abcc63a0eb90499653b5bc",
    "uplot.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uplot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    "uplot.LICENSE": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
}
"""The files in the package and their sha256."""


def main(check: bool) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = bundled(folder)
    wrong = 0
    for file, content in made.items():
        found = hashlib.sha256(content).hexdigest()
        differs = found != SUMS[file] or (check and (WEB / file).read_bytes() != content)
        wrong += differs
        print(f"{file}: {len(content)} bytes, sha256 {found}{', which is not the one named here' if differs else ''}")
        if not check:
            WEB.mkdir(exist_ok=True)
            (WEB / file).write_bytes(content)
    return wrong


def bundled(folder: Path) -> dict[str, bytes]:
    """What goes into the package, by file name."""
    modules = folder / "node_modules"
    for archive, expected in ARCHIVES.items():
        package, _, version = archive.rpartition("-")
        npm(folder, "pack", f"{package}@{version}")
        packed = folder / f"{archive}.tgz"
        found = hashlib.sha256(packed.read_bytes()).hexdigest()
        if found != expected:
            sys.exit(f"{packed.name} has the sha256 {found}, expected {expected}: it is not the archive it was")
        with tarfile.open(packed) as tar:
            tar.extractall(folder / package, filter="data")
    npm(folder, "install", "--no-save", "--prefix", str(folder / "bundler"), BUNDLER)
    modules.mkdir()
    (folder / "three" / "package").rename(modules / "three")
    (folder / "entry.js").write_text(ENTRY, encoding="utf-8")
    esbuild = folder / "bundler" / "node_modules" / ".bin" / "esbuild"
    subprocess.run([esbuild, "entry.js", *OPTIONS, "--outfile=three.min.js"], cwd=folder, check=True)
    uplot = folder / "uplot" / "package"
    taken = {
        "three.min.js": folder / "three.min.js",
        "three.LICENSE": modules / "three" / "LICENSE",
        "uplot.min.js": uplot / "dist" / "uPlot.iife.min.js",
        "uplot.min.css": uplot / "dist" / "uPlot.min.css",
        "uplot.LICENSE": uplot / "LICENSE",
    }
    return {file: path.read_bytes() for file, path in taken.items()}


def npm(folder: Path, *words: str) -> None:
    subprocess.run(["npm", *words, "--silent"], cwd=folder, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]) > 0)
