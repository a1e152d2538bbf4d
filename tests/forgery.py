"""Native files with a content that their writer never wrote, and a checksum that matches."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def forged(
    path: Path,
    change: Callable[[dict[str, Any]], object],
    exact: Mapping[str, Any] | None = None,
    **members: Any,
) -> None:
    """Rewrite a file with another header or other members, and a checksum that matches.

    Underscores of keywords stand for dots; names in `exact` are as they are.
    """
    with zipfile.ZipFile(path) as file:
        content: dict[str, Any] = {name: file.read(name) for name in file.namelist()}
    header = json.loads(content["header.json"])
    change(header)
    content["header.json"] = json.dumps(header, separators=(",", ":")).encode()
    content.update({name.replace("_", "."): value for name, value in members.items()})
    content.update(exact or {})
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.comment = b"sha256:" + b"0" * 64
        for name, value in content.items():
            if value is not None:
                file.writestr(name, value)
    data = stream.getvalue()[:-64]
    path.write_bytes(data + hashlib.sha256(data).hexdigest().encode())
