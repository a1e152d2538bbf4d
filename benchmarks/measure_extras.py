"""Measure what each extra downloads and takes on disk, beside what the library itself needs.

    python -m build --wheel && python benchmarks/measure_extras.py dist/bayesgraph-*.whl

pip downloads the library with each extra into a folder of its own; sizes are those of the files and
of what is in them. Files that are compiled on installation (``.pyc``) come on top, about 15 %. The
table is that of docs/install.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from email.parser import Parser
from pathlib import Path

# Bytes of a megabyte in the table.
MEGABYTE = 1e6


def extras_of(wheel: Path) -> list[str]:
    """Return the extras of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        head = Parser().parsestr(archive.read(name).decode(), headersonly=True)
    return head.get_all("Provides-Extra") or []


def downloaded(wheel: Path, extra: str | None, cache: Path) -> dict[str, tuple[int, int]]:
    """Return the bytes of each file that pip downloads, and those of its content."""
    wanted = str(wheel) if extra is None else f"{wheel}[{extra}]"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-q", "--cache-dir", str(cache)]
        subprocess.run([*command, "-d", folder, wanted], check=True)
        return {path.name: (path.stat().st_size, content(path)) for path in Path(folder).iterdir()}


def content(path: Path) -> int:
    """Return the bytes of what is in a wheel or in a source distribution."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return sum(info.file_size for info in archive.infolist())
    with tarfile.open(path) as archive:
        return sum(member.size for member in archive)


def row(title: str, files: dict[str, tuple[int, int]]) -> str:
    """Return a row of the table: packages, megabytes to download, megabytes on disk."""
    packed, unpacked = (sum(sizes) / MEGABYTE for sizes in zip(*files.values(), strict=True))
    return f"| {title} | {len(files)} | {packed:,.0f} | {unpacked:,.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--extra", action="append", help="One extra; by default all.")
    given = parser.parse_args()
    wheel = given.wheel.resolve()
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        base = downloaded(wheel, None, cache)
        print("| extra | packages | MB to download | MB on disk |")
        print("| :-- | --: | --: | --: |")
        print(row("none", base), flush=True)
        for extra in given.extra or extras_of(wheel):
            found = downloaded(wheel, extra, cache)
            more = {name: sizes for name, sizes in found.items() if name not in base}
            print(row(f"`{extra}`", more), flush=True)


if __name__ == "__main__":
    main()
