"""Which files a robot file may read: those of the model's folder and of the packages that the user named.

The model's folder is that of its meshes (`model.meshes`). A package that nobody named is a folder called like it:
within the model's folder, above or beside the file that asks; else one that the model's folder lies in, through which
a name may lead back into it. Nothing outside is read, nor through a link that leads out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from armwright.model.meshes import SCHEME, given, model_folder
from armwright.model.xacro.evaluate import Refused


class Missing(Refused):
    """A file or a package that is not there."""


@dataclass(frozen=True)
class Folders:
    """`root` is the model's folder, `packages` those that the user named."""

    root: Path
    packages: Mapping[str, Path]

    @classmethod
    def around(cls, path: Path, packages: Mapping[str, str | Path] | None) -> Folders:
        return cls(model_folder(path.resolve().parent), given(packages))

    def package(self, name: str, file: Path) -> Path | None:
        """The folder of a package: as the user named it, or one of that name above or beside the file, in the root."""
        if name in self.packages:
            return self.packages[name]
        return next((folder for folder in _named(name, file) if folder.is_relative_to(self.root)), None)

    def file(self, name: str, file: Path) -> Path:
        """The file called `name` in `file`; an error where it is missing, or outside of what may be read."""
        path = self._path(name, file)
        try:
            path = path.resolve()
            inside = any(path.is_relative_to(folder) for folder in (self.root, *self.packages.values()))
            there = inside and path.is_file()
        except (OSError, ValueError, RuntimeError) as error:  # too long, with a NUL, a loop of links
            raise Missing(f"{name[:80]!r} is not the name of a file: {error}") from None
        if not inside:
            raise Refused(
                f"{name!r} leads out of the robot's folder, {self.root}; to allow it, name the package it is in: "
                f"packages={{name: folder}}"
            )
        if not there:
            raise Missing(f"{name!r} does not exist: there is no file {path}")
        return path

    def _path(self, name: str, file: Path) -> Path:
        name = name.removeprefix("file://")
        if not name.startswith(SCHEME):
            return file.parent / name
        package, _, rest = name.removeprefix(SCHEME).partition("/")
        around = (folder for folder in self.root.parents if package and folder.name == package)
        folder = self.package(package, file) or next(around, None)
        if folder is None:
            raise Missing(f"unknown package {package!r}; {self._advice(package, file)}")
        return folder / rest

    def _advice(self, package: str, file: Path) -> str:
        """Where the package probably is: a folder of that name that may not be used unasked."""
        near = next(_named(package, file), None)
        return f"say where it is: packages={{{package!r}: {str(near) if near else '<its folder>'!r}}}"


def _named(name: str, file: Path) -> Iterator[Path]:
    """The folders of that name above the file, or beside one that is above it."""
    if not name or Path(name).name != name or "\0" in name:
        return
    for folder in file.parents:
        if folder.name == name:
            yield folder
        elif (folder / name).is_dir():
            yield (folder / name).resolve()
