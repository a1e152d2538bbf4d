"""Measure what the library and each extra download and take on disk, package by package and in all.

    python -m build --wheel && python benchmarks/measure_extras.py dist/bayesgraph-*.whl

pip downloads the library with each extra into a folder of its own; sizes are those of the files and
of what is in them. Files that are compiled on installation (``.pyc``) come on top, about 15 %. The
tables are those of docs/install.md.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from email.parser import Parser
from pathlib import Path

# Bytes of a megabyte in the table; of packages that have a row in common.
MEGABYTE, SMALL = 1e6, 3e5


def listed(wheel: Path, field: str) -> list[str]:
    """Return the lines of a field of a wheel's metadata, such as "Provides-Extra"."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        head = Parser().parsestr(archive.read(name).decode(), headersonly=True)
    return head.get_all(field) or []


def name_of(text: str) -> str:
    """Return the normalised name of a package that begins the name of a file or a requirement."""
    return re.split(r"-\d|[^\w.-]", text)[0].lower().replace("_", "-")


def downloaded(
    wheel: Path, extra: str | None, cache: Path
) -> tuple[dict[str, tuple[int, int]], dict[str, list[str]]]:
    """Return the bytes of each file that pip downloads and of its content, and who needs it."""
    wanted = str(wheel) if extra is None else f"{wheel}[{extra}]"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-q", "--cache-dir", str(cache)]
        subprocess.run([*command, "-d", folder, wanted], check=True)
        paths = sorted(Path(folder).iterdir())
        needs = {
            path.name: {name_of(n) for n in listed(path, "Requires-Dist") if "extra ==" not in n}
            for path in paths
            if path.suffix == ".whl"
        }
        needed_by = {
            path.name: [name_of(n) for n, named in needs.items() if name_of(path.name) in named]
            for path in paths
        }
        return {path.name: (path.stat().st_size, content(path)) for path in paths}, needed_by


def content(path: Path) -> int:
    """Return the bytes of what is in a wheel or in a source distribution."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return sum(info.file_size for info in archive.infolist())
    with tarfile.open(path) as archive:
        return sum(member.size for member in archive)


def print_packages(files: dict[str, tuple[int, int]], needed_by: dict[str, list[str]]) -> None:
    """Print a row for each package, the largest first, with the packages that need it."""
    print("| package | MB to download | MB on disk | needed by |")
    print("| :-- | --: | --: | :-- |")
    small = [name for name, (_, unpacked) in files.items() if unpacked < SMALL]
    for name in sorted(files.keys() - {*small}, key=lambda name: -files[name][1]):
        print(package_row(name_of(name), [files[name]], ", ".join(needed_by[name])))
    print(package_row(f"{len(small)} others", [files[name] for name in small], ""))
    print(flush=True)


def package_row(title: str, sizes: list[tuple[int, int]], needed_by: str) -> str:
    """Return a row of the table of packages."""
    packed, unpacked = (sum(part) / MEGABYTE for part in zip(*sizes, strict=True))
    return f"| {title} | {packed:.1f} | {unpacked:.1f} | {needed_by} |"


def row(title: str, files: dict[str, tuple[int, int]]) -> str:
    """Return a row of the table: megabytes to download, megabytes on disk, packages."""
    packed, unpacked = (sum(sizes) / MEGABYTE for sizes in zip(*files.values(), strict=True))
    return f"| {title} | {packed:,.0f} | {unpacked:,.0f} | {len(files)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--extra", nargs="*", help="Some extras; by default all.")
    given = parser.parse_args()
    wheel = given.wheel.resolve()
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        base, needed_by = downloaded(wheel, None, cache)
        print_packages(base, needed_by)
        print("| extra | MB to download | MB on disk | packages |")
        print("| :-- | --: | --: | --: |")
        print(row("none", base), flush=True)
        extras = listed(wheel, "Provides-Extra") if given.extra is None else given.extra
        for extra in extras:
            found, _ = downloaded(wheel, extra, cache)
            more = {name: sizes for name, sizes in found.items() if name not in base}
            print(row(f"`{extra}`", more), flush=True)


if __name__ == "__main__":
    main()
