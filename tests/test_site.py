"""The documentation site builds strictly, its links lead somewhere, and its pages ask no other host for anything."""

import inspect
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import site_hook

import armwright as aw

ROOT = Path(__file__).parent.parent
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
FETCHED = {
    ("script", "src"),
    ("link", "href"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("object", "data"),
}
"""What a browser fetches when it shows a page; an <a> is followed by the reader alone."""


class Page(HTMLParser):
    """What a page fetches, where it leads and which places it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.fetched, self.links, self.places = set[str](), set[str](), set[str]()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if (tag, name) in FETCHED:
                self.fetched.add(value or "")
            elif name == "href":
                self.links.add(value or "")
            elif name in ("id", "name"):
                self.places.add(value or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install .[docs]")
    pytest.importorskip("mkdocstrings", reason="mkdocstrings is not installed: pip install .[docs]")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


def test_every_page_stays_on_its_host_and_leads_somewhere(site: Path) -> None:
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    assert len(pages) > 25
    for path, page in pages.items():
        for address in page.fetched | page.links:
            there = urlsplit(address)
            if there.scheme or there.netloc or path.name == "404.html":
                assert address not in page.fetched or path.name == "404.html" or there.scheme == "data", (path, address)
                continue
            target = (path.parent / unquote(there.path)).resolve() if there.path else path
            assert target.exists(), (path, address)
            if there.fragment and target in pages:
                assert unquote(there.fragment) in pages[target].places | {"__top"}, (path, address)


def test_styles_fetch_nothing(site: Path) -> None:
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(https?:)?//", path.read_text(encoding="utf-8")), path


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    told = set().union(*(Page(path).places for path in (site / "api").glob("*.html")))
    for name in aw.__all__:
        thing = getattr(aw, name)
        module = getattr(thing, "__module__", None)
        place = f"{module}.{thing.__qualname__}" if module else thing.__name__
        assert place in told, f"{name} ({place}) is in no page of docs/api"


def test_the_gallery_has_every_example_with_its_picture(site: Path) -> None:
    page = Page(site / "gallery.html")
    for path in site_hook.EXAMPLES.glob("[0-9]*.py"):
        assert site_hook.anchor(path) in page.places
        assert f"pictures/{path.stem}.svg" in page.fetched


def test_every_page_of_docs_is_in_the_navigation() -> None:
    told = set(re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("nav:")[1], re.M))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert told == pages | {site_hook.GALLERY, site_hook.LICENCES}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: str(d.relative_to(ROOT)))
def test_links_of_a_document_lead_to_files(document: Path) -> None:
    """As they are read in the repository, where there is no site."""
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.S)
    for address in re.findall(r"\]\(([^)\s]+)\)", text):
        there = urlsplit(address)
        if not there.scheme and there.path:
            assert (document.parent / there.path).exists(), address


@pytest.mark.parametrize("name", aw.__all__)
def test_every_public_name_says_what_it_is(name: str) -> None:
    thing = getattr(aw, name)
    assert (thing.__doc__ or "").strip()
    if inspect.isclass(thing):
        methods = {n: getattr(thing, n) for n in dir(thing) if not n.startswith("_")}
        assert not [n for n, m in methods.items() if inspect.isfunction(m) and not inspect.getdoc(m)]


def test_columns_of_a_docstring_become_definitions() -> None:
    pytest.importorskip("griffe", reason="griffe comes with mkdocstrings")
    listed = import_module("site_docstrings").listed
    assert listed("What it does.\n\na      one thing,\n       and more\nb, c   others") == (
        "What it does.\n\n`a`\n:   one thing, and more\n\n`b, c`\n:   others"
    )
    code = "found = size(robot)\nfound.best     what is chosen"
    assert listed(code) == "    found = size(robot)\n    found.best     what is chosen"
    assert listed("Plain words.\n\n    tau = M qdd") == "Plain words.\n\n    tau = M qdd"
