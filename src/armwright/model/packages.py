"""Files that a robot file may read: those in the model's folder and in the packages that the user names.

The model's folder is that of its meshes (`model.meshes`). A package without a folder from the user is a folder of that
name: within the model's folder, above the file or next to a folder above it; else one that contains the model's folder
and leads back into it. Files outside, and links to them, are refused.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from armwright.errors import ModelError
from armwright.model.refusal import Refused


class MissingFile(Refused):
    """A file or a package that does not exist."""


@dataclass(frozen=True)
class ReadableFolders:
    """The folders that may be read: `root` is the model's, `packages` are the user's."""

    root: Path
    packages: Mapping[str, Path]

    @classmethod
    def around(cls, path: Path, packages: Mapping[str, str | Path] | None) -> ReadableFolders:
        """Return the folders for a robot file."""
        return cls(model_folder(path.resolve().parent), checked_packages(packages))

    def package(self, name: str, file: Path) -> Path | None:
        """Return the folder of a package: the user's, or one of that name in the root, above or next to the file."""
        if name in self.packages:
            return self.packages[name]
        return next((folder for folder in _candidates(name, file) if folder.is_relative_to(self.root)), None)

    def file(self, name: str, file: Path) -> Path:
        """Return the file called `name` in `file`, or raise `Refused` if it is missing or outside."""
        path = self._path(name, file)
        try:
            path = path.resolve()
            inside = any(path.is_relative_to(folder) for folder in (self.root, *self.packages.values()))
            exists = inside and path.is_file()
        except (OSError, ValueError, RuntimeError) as error:  # too long, with a NUL, a loop of links
            raise MissingFile(f"{name[:80]!r} is not the name of a file: {error}") from None
        if not inside:
            raise Refused(
                f"{name!r} leads out of the robot's folder, {self.root}; to allow it, name its package: "
                "packages={name: folder}"
            )
        if not exists:
            raise MissingFile(f"{name!r} does not exist: there is no file {path}")
        return path

    def _path(self, name: str, file: Path) -> Path:
        name = name.removeprefix("file://")
        if not name.startswith(SCHEME):
            return file.parent / name
        package, _, rest = name.removeprefix(SCHEME).partition("/")
        containing = (folder for folder in self.root.parents if package and folder.name == package)
        folder = self.package(package, file) or next(containing, None)
        if folder is None:
            raise MissingFile(f"unknown package {package!r}; {self._advice(package, file)}")
        return folder / rest

    def _advice(self, package: str, file: Path) -> str:
        """Return advice that names the probable folder of a package, which needs the user's consent."""
        folder = next(_candidates(package, file), None)
        return f"say where it is: packages={{{package!r}: {str(folder) if folder else '<its folder>'!r}}}"


def _candidates(name: str, file: Path) -> Iterator[Path]:
    """Yield the folders with a name above the file, or next to a folder above it."""
    if not name or Path(name).name != name or "\0" in name:
        return
    for folder in file.parents:
        if folder.name == name:
            yield folder
        elif (folder / name).is_dir():
            yield (folder / name).resolve()


SCHEME = "package://"

ROBOT_FILE_FOLDERS = ("urdf", "robots", "xacro", "mjcf")
"""Names of folders for robot files only; the meshes are in a folder next to them."""


def model_folder(folder: Path) -> Path:
    """Return the folder that must contain the files of a robot whose file is in `folder`."""
    package = next((f for f in (folder, *folder.parents) if (f / "package.xml").is_file()), None)
    root = package or (folder.parent if folder.name in ROBOT_FILE_FOLDERS else folder)
    return folder if _private(root) else root


def _private(folder: Path) -> bool:
    """Return whether a folder may contain private files: near the root, a home, or for temporary files."""
    private = {Path(tempfile.gettempdir()).resolve(), Path("/var/tmp")}
    with suppress(OSError, RuntimeError):  # there is no home
        private.add(Path.home().resolve())
    return len(folder.parts) <= 2 or folder in private or _is_home(folder)


def _is_home(folder: Path) -> bool:
    """Return whether a folder is a user's home: /home/name, C:\\Users\\name."""
    return len(folder.parts) == 3 and folder.parts[1].lower() in ("home", "users")


def checked_packages(packages: Mapping[str, str | Path] | None) -> dict[str, Path]:
    """Return the folders of the user's packages, checked."""
    if packages is None:
        return {}
    if not isinstance(packages, Mapping):
        raise ModelError(f"packages = {packages!r}; expected a mapping of names to folders, as in {{'name': 'folder'}}")
    return {name: _folder(name, folder) for name, folder in packages.items()}


def _folder(name: str, folder: str | Path) -> Path:
    if not isinstance(name, str) or not isinstance(folder, (str, Path)):
        raise ModelError(f"packages[{name!r}] = {folder!r}; expected the name of a package, and its folder as a path")
    try:
        path = Path(folder).resolve()
        exists = path.is_dir()
    except (OSError, ValueError, RuntimeError):  # too long, with a NUL, a loop of links
        exists = False
    if not exists:
        raise ModelError(f"packages[{name!r}] = {str(folder)!r} is not a folder")
    return path
