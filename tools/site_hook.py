"""What the documentation site has besides docs/: a gallery of examples/, NOTICE, and links that lead out of docs/ made to stay.

Where Zig is installed (it is among the tools of development) the page on exports shows WebAssembly at work.

pip install ".[docs]" && mkdocs build        # build/site, opens without a server, fetches nothing
"""

from __future__ import annotations

import ast
import re
import tempfile
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
GALLERY = "gallery.md"
GRAVITY = "gravity.html"
LICENCES = "licences.md"

_OUT = re.compile(r"\[([^\]]*)\]\((?:\.\./)+((?:src|examples|tools|benchmarks|tests)[^)#]*|[A-Z]+\.\w+)\)")
"""A link to a file of the project that is not in docs/."""


def on_files(files: Any, config: Any) -> Any:
    """The gallery is a page like any other."""
    from mkdocs.structure.files import File  # noqa: PLC0415

    files.append(File.generated(config, GALLERY, content=gallery()))
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    files.append(File.generated(config, LICENCES, content=f"# Licences\n\n```text\n{notice}```\n"))
    if find_spec("ziglang"):
        files.append(File.generated(config, GRAVITY, content=gravity()))
    return files


def gravity() -> str:
    """The page of examples/wasm, compiled now."""
    spec = spec_from_file_location("build", EXAMPLES / "wasm" / "build.py")
    assert spec is not None and spec.loader is not None
    build = module_from_spec(spec)
    spec.loader.exec_module(build)
    with tempfile.TemporaryDirectory() as folder:
        page: Path = build.main("panda", Path(folder))
        return page.read_text(encoding="utf-8")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links to examples lead into the gallery; to other files of the project they become their names.

    The page on exports has the example of WebAssembly in it.
    """
    if page.file.src_uri == "export.md" and files.get_file_from_path(GRAVITY):
        frame = f'<iframe src="{GRAVITY}" title="Gravity torques in WebAssembly" width="100%" height="470" style="border: 0"></iframe>'
        markdown = markdown.replace("## WebAssembly\n", f"## WebAssembly\n\n{frame}\n", 1)

    def kept(link: re.Match[str]) -> str:
        text, path = link[1], link[2]
        up = "../" * page.file.src_uri.count("/")
        if path == "examples":
            return f"[{text}]({up}{GALLERY})"
        if path.startswith("examples/") and path.endswith(".py"):
            return f"[{text}]({up}{GALLERY}#{anchor(Path(path))})"
        return text if path in text else f"{text} (`{path}`)"

    return _OUT.sub(kept, markdown)


def anchor(path: Path) -> str:
    return path.stem.replace("_", "-")


def gallery() -> str:
    """Every script of examples/ with what it says of itself, its picture and its code."""
    parts = ["# Gallery\n", "Each is a short script in `examples/`, run by the tests.\n"]
    for path in sorted(EXAMPLES.glob("[0-9]*.py")):
        text = path.read_text(encoding="utf-8")
        told = ast.get_docstring(ast.parse(text)) or ""
        title, _, rest = told.partition("\n\n")
        picture = ROOT / "docs" / "pictures" / f"{path.stem}.svg"
        number, _, name = path.stem.partition("_")
        parts.append(f"## {int(number)}. {name.replace('_', ' ').capitalize()} {{ #{anchor(path)} }}\n")
        parts.append(f"**{' '.join(title.split())}**\n\n{rest}\n")
        if picture.exists():
            parts.append(f"![{name}](pictures/{picture.name})\n")
        parts.append(f'??? example "examples/{path.name}"\n')
        code = text[text.index('"""', text.index('"""') + 3) + 3 :].strip()
        parts.append(
            "    ```python\n" + "".join(f"    {line}\n" if line else "\n" for line in code.split("\n")) + "    ```\n"
        )
    return "\n".join(parts)
