"""Names of meshes, and the rule for names that a robot file may use. Nothing is opened on loading.

Robot files and their meshes may come from unknown sources, so a name must stay in the model's folder. That is the
nearest folder above the file with a package.xml, else the folder of the file, or the one above it for a folder called
`urdf`, `robots`, `xacro` or `mjcf`, next to `meshes`. The root of the file system, a home, and folders for temporary
files are too large; the folder of the file replaces them. A name is stored as one of a package, so that it keeps its
meaning in any file to which the robot is written:

| in the file                                           | stored as                                                   |
|-------------------------------------------------------|-------------------------------------------------------------|
| package://p/a.stl, model://p/a.stl                    | package://p/a.stl                                           |
| a.stl, ../meshes/a.stl, file://, /abs/a.stl           | package://<model's folder>/meshes/a.stl, if it is in there  |
| the same, in a folder that packages= names            | package://<that package>/a.stl                              |
| ../../p/a.stl, p being the name of a folder above     | package://p/a.stl                                           |
| http://, and other schemes                            | unchanged, and never found                                  |
| other names outside of the model's folder             | refused                                                     |

A mesh of package://p/ is searched in the folder that packages= names p, then in a folder p within the model's folder,
then in a folder p that contains the model's folder. Since folders are renamed and copied, shorter ends of its name are
searched in these folders next: meshes/a.stl, then a.stl. Symbolic links out of them are not followed.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import NoReturn

from armwright.errors import ModelError
from armwright.lazy import cached_property
from armwright.model.packages import SCHEME, MissingFile, ReadableFolders, checked_packages, model_folder
from armwright.model.refusal import OutsideFolder, Refused

MAX_NAME_CHARS = 1000
"""Largest number of characters of a mesh name."""

_ANY_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+")  # at least two letters: one is a drive


class MissingMeshError(ModelError):
    """A mesh that is in none of its possible folders."""


@dataclass(frozen=True)
class MeshFolders:
    """The folders for the meshes of a robot file: the model's folder, and the packages named by the user."""

    file: str
    packages: tuple[tuple[str, str], ...] = ()

    @classmethod
    def around(cls, file: str | Path, packages: Mapping[str, str | Path] | None = None) -> MeshFolders:
        folders = tuple((name, str(folder)) for name, folder in checked_packages(packages).items())
        return cls(os.path.abspath(file), folders)

    @cached_property
    def file_folder(self) -> Path:
        """The folder of the file."""
        return Path(self.file).resolve().parent

    @cached_property
    def root(self) -> Path:
        """The model's folder."""
        return model_folder(self.file_folder)

    @cached_property
    def folders(self) -> dict[str, Path]:
        """The folders of the user's packages, and the model's folder under its name."""
        named = {name: Path(folder) for name, folder in self.packages}
        name = self.root.name or "model"
        while named.get(name, self.root) != self.root:  # the user has another folder of this name
            name += "_"
        return {name: self.root, **named}

    def package_name(self, name: str, what: str = "mesh") -> str:
        """Return the package name of a file; raise `OutsideFolder` if it is outside of the folders."""
        text = name.replace("\\", "/").strip()
        if not text or len(text) > MAX_NAME_CHARS or not text.isprintable():
            text = f"is not the name of a file; expected 1 to {MAX_NAME_CHARS} printable characters"
            raise OutsideFolder(f"{what} {name[:80]!r} {text}")
        scheme, separator, rest = text.partition("://")
        scheme = scheme.lower()
        if separator and scheme in ("package", "model"):
            package, _, inner = rest.lstrip("/").partition("/")
            parts = _parts(inner)
            if package in ("", ".", "..") or not parts or parts[0] == "..":
                _refuse(what, name, "leads out of its package")
            return _joined(package, parts)
        if separator and scheme != "file" and _ANY_SCHEME.fullmatch(scheme):
            return text
        if text[:5].lower() == "file:":
            text = text[5:].removeprefix("//")
            if text.startswith(SCHEME):  # file://$(find package)/, in which xacro keeps the name of the package
                return self.package_name(text, what)
        return self._path(what, name, text)

    def _path(self, what: str, name: str, text: str) -> str:
        """Return the package name of a path, absolute or relative to the folder of the file."""
        absolute = PurePosixPath(text).is_absolute() or bool(PureWindowsPath(text).drive)
        path = Path(os.path.normpath(text if absolute else self.file_folder / text))
        for package, folder in self.folders.items():
            if path.is_absolute() and path != folder and path.is_relative_to(folder):
                return _joined(package, list(path.relative_to(folder).parts))
        if absolute:
            _refuse(what, name, f"is an absolute path, and not in the model's folder, {self.root}")
        down = [part for part in _parts(text) if part != ".."]
        above = {folder.name for folder in (self.file_folder, *self.file_folder.parents)}
        if len(down) > 1 and down[0] in self.folders.keys() | above:
            return _joined(down[0], down[1:])
        _refuse(what, name, f"leads out of the model's folder, {self.root}")

    def find(self, name: str, packages: Mapping[str, str | Path] | None = None) -> Path:
        """Return the file of a package name, or raise an error if it is missing or a link to the outside."""
        if not name.startswith(SCHEME):
            raise MissingMeshError(f"mesh {name!r} is not in a file; expected a name that starts with {SCHEME}")
        folders = ReadableFolders(self.root, {**self.folders, **checked_packages(packages)})
        here = self.file_folder / Path(self.file).name
        try:
            return folders.file(name, here)
        except Refused as error:
            if not isinstance(error, MissingFile):
                raise ModelError(f"{self.file}: mesh {error}") from None
            for path in self._candidates(name, folders.packages.values()):
                with suppress(Refused):
                    return folders.file(str(path), here)
            raise MissingMeshError(f"{self.file}: mesh {error}") from None

    def exact(self, name: str, what: str = "mesh") -> Path:
        """Return the file of a package name, without a search by ends of the name, or raise an error."""
        try:
            return ReadableFolders(self.root, self.folders).file(name, self.file_folder / Path(self.file).name)
        except MissingFile as error:
            raise MissingMeshError(f"{what} {error}") from None
        except Refused as error:
            raise OutsideFolder(f"{what} {error}") from None

    def _candidates(self, name: str, folders: Iterable[Path]) -> Iterator[Path]:
        """Yield paths of a file of an unknown package: by ends of its name, the longest first, in all folders."""
        parts = name.removeprefix(SCHEME).split("/")[1:]
        for k in range(len(parts)):
            yield from (folder.joinpath(*parts[k:]) for folder in dict.fromkeys([self.file_folder, *folders]))


def _refuse(what: str, name: str, why: str) -> NoReturn:
    alternative = ", or load the robot without visuals: visuals=False" if what == "mesh" else ""
    text = f"expected a name within it. To read it, name its folder: packages={{name: folder}}{alternative}"
    raise OutsideFolder(f"{what} {name[:80]!r} {why}; {text}")


def _parts(path: str) -> list[str]:
    """Return the parts of a path without '.' and 'x/..', so that '..' remains at the start only."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return parts


def _joined(package: str, parts: list[str]) -> str:
    return SCHEME + "/".join([package, *parts])
