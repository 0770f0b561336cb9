"""An MJCF file with its includes and the models that it attaches.

The rule for files is that of meshes (`model.meshes`). As in MuJoCo, a name is relative to the folder of the main file,
or else of the file it is in, and a file is included once. An attached model is a separate document, with its own folder
and settings.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from armwright.errors import ModelError
from armwright.files import contents
from armwright.model.meshes import MeshFolders, MissingMeshError
from armwright.model.refusal import OutsideFolder
from armwright.model.xml import MAX_XML_BYTES, MAX_XML_DEPTH, MAX_XML_ELEMENTS, Element, parse

MAX_MODEL_FILES = 500
"""The largest number of files of a model."""

MAX_ATTACH_DEPTH = 20
"""The largest depth of models that attach each other."""


@dataclass
class Document:
    """An MJCF document without includes, and the documents it may attach, by the names of their models.

    `folder` is the folder of this file relative to that of the main file.
    """

    root: Element
    folder: str
    models: dict[str, Document] = field(default_factory=dict)

    def setting(self, name: str, default: str) -> str:
        """Return a setting of the last <compiler> that has it."""
        settings = self.root.all("compiler")
        return next((e.attributes[name] for e in reversed(settings) if name in e.attributes), default)

    def mesh_file(self, mesh: Element, places: MeshFolders, what: str = "mesh") -> str:
        """Return the package name of a mesh, as MuJoCo locates it, or raise `OutsideFolder`."""
        file, under = mesh.attributes["file"].strip(), self.setting("meshdir", self.setting("assetdir", ""))
        if self.setting("strippath", "false") == "true":
            file = PurePosixPath(file.replace("\\", "/")).name
        candidates = candidate_names(mesh, self.root, file)
        names = [_joined(under, name) for name in candidates]
        names += [candidates[-1]] if mesh.file != self.root.file else []
        return file_name(places, [_joined(self.folder, name) for name in names], what)

    def documents(self) -> Iterator[Document]:
        """Yield this document and all attached ones, each once."""
        documents, stack = {id(self): self}, [self]
        while stack:
            for model in stack.pop().models.values():
                if id(model) not in documents:
                    documents[id(model)] = model
                    stack.append(model)
        yield from documents.values()


def read_document(root: Element, places: MeshFolders) -> Document:
    """Return the document of a parsed file, with its includes and attached models. `places` limits the files."""
    return _FileReader(places).document(root, "", ())


def attachment_assets(document: Document, names: Mapping[int, str]) -> list[Element]:
    """Return an <asset> of the attached models under these file names; no element without models."""
    file, line = document.root.file, document.root.line
    models = [Element("model", {"name": n, "file": names[id(m)]}, file, line) for n, m in document.models.items()]
    return [Element("asset", {}, file, line, models)] if models else []


def candidate_names(element: Element, root: Element, file: str) -> list[str]:
    """Return the name of a file relative to the document's folder, and to that of the included file."""
    folder = os.path.relpath(os.path.dirname(element.file) or ".", os.path.dirname(root.file) or ".")
    return list(dict.fromkeys([file, file if folder == "." else _joined(folder.replace("\\", "/"), file)]))


def file_name(places: MeshFolders, names: list[str], what: str) -> str:
    """Return the package name of the first existing file, else that of the first name."""
    if len(names) > 1:
        for name in names:
            try:
                file = places.package_name(name, what)
                places.exact(file, what)
            except (OutsideFolder, MissingMeshError):
                continue
            return file
    return places.package_name(names[0], what)


def _joined(folder: str, file: str) -> str:
    complete = not folder or file.startswith(("/", "\\")) or ":" in file
    return file if complete else f"{folder.rstrip('/')}/{file}"


@dataclass
class _FileReader:
    """The files read so far, and the remaining limits."""

    places: MeshFolders
    files: int = 1
    elements: int = 0
    characters: int = 0
    documents: dict[Path, Document] = field(default_factory=dict)

    def document(self, root: Element, folder: str, attaching: tuple[Path, ...]) -> Document:
        """Return a document; `attaching` are the files that attach it."""
        if root.tag != "mujoco":
            root.fail(f"<{root.tag}> is not an MJCF model; expected <mujoco> as the outermost element")
        self._count(root)
        document, included = Document(root, folder), set[Path]()
        root.children = self._expanded(document, root.children, included, 2)
        for asset in root.all("asset"):
            for model in asset.all("model"):
                name, inner = self._model(document, model, attaching)
                if name in document.models:
                    model.fail(f"a second model is called {name!r}; expected a different name for each")
                document.models[name] = inner
        return document

    def _expanded(self, document: Document, children: list[Element], included: set[Path], depth: int) -> list[Element]:
        """Return elements with includes replaced by their contents."""
        expanded: list[Element] = []
        for child in children:
            if depth > MAX_XML_DEPTH:
                child.fail(f"elements are nested more than {MAX_XML_DEPTH} deep, with included files")
            if child.tag == "include":
                inside = self._included(document, child, included)
                expanded += self._expanded(document, inside, included, depth + 1)
            else:
                child.children = self._expanded(document, child.children, included, depth + 1)
                expanded.append(child)
        return expanded

    def _included(self, document: Document, element: Element, included: set[Path]) -> list[Element]:
        if element.children:
            element.fail("<include> has child elements; expected them in its file")
        path, _ = self._file(document, element)
        if path in included or path == Path(document.root.file).resolve():
            element.fail(f"<include>: {path.name!r} is included already; MuJoCo includes every file once")
        included.add(path)
        root = self._parsed(path, self._displayed_path(document, path))
        if not root.children:
            root.fail(f"<{root.tag}> is empty; expected elements to include")
        return root.children

    def _model(self, document: Document, element: Element, attaching: tuple[Path, ...]) -> tuple[str, Document]:
        path, name = self._file(document, element)
        if path in attaching or path == Path(document.root.file).resolve():
            element.fail(f"<model>: {path.name!r} attaches itself")
        if path not in self.documents:
            if len(attaching) >= MAX_ATTACH_DEPTH:
                element.fail(f"models attach each other more than {MAX_ATTACH_DEPTH} deep")
            root = self._parsed(path, self._displayed_path(document, path))
            folder = os.path.dirname(name)
            self.documents[path] = self.document(root, folder, (*attaching, Path(document.root.file).resolve()))
        model = self.documents[path]
        return element.attributes.get("name") or model.root.attributes.get("model", "MuJoCo Model"), model

    def _file(self, document: Document, element: Element) -> tuple[Path, str]:
        """Return the file that an element names, and its name relative to the main file's folder."""
        what, file = f"<{element.tag}>", element.text_of("file").strip()
        names = [_joined(document.folder, name) for name in candidate_names(element, document.root, file)]
        problem = ""
        for name in names:
            try:
                return self.places.exact(self.places.package_name(name, what), what), name
            except (OutsideFolder, MissingMeshError) as error:
                problem = problem or str(error)
        element.fail(problem)

    def _parsed(self, path: Path, shown: str) -> Element:
        self.files += 1
        if self.files > MAX_MODEL_FILES:
            raise ModelError(f"{shown}: more than {MAX_MODEL_FILES} files; expected fewer")
        try:
            data = contents(path, MAX_XML_BYTES - self.characters)
        except (OSError, ValueError) as error:
            raise ModelError(f"cannot read {shown}: {getattr(error, 'strerror', None) or error}") from None
        self.characters += len(data)
        root = parse(data, shown)
        self._count(root)
        return root

    def _count(self, root: Element) -> None:
        self.elements += sum(1 for _ in root.walk())
        if self.elements > MAX_XML_ELEMENTS:
            root.fail(f"more than {MAX_XML_ELEMENTS} elements, with included files")

    @staticmethod
    def _displayed_path(document: Document, path: Path) -> str:
        """Return the path of a file in the style of the document's path."""
        main = Path(document.root.file)
        return os.path.join(main.parent, os.path.relpath(path, main.resolve().parent))
