"""One offline page that shows a model and answers questions about it, exactly.

`snapshot` takes from a model what the page needs, or says why the page could not answer exactly;
`layout` places the variables; `page` joins the snapshot, the front end and the model itself to one
file. The front end, plain JavaScript in the folder ``front``, has its own engine.
"""

from __future__ import annotations

from bayesgraph.explorer.page import read_html, to_html, write_html
from bayesgraph.explorer.snapshot import LIMIT, Snapshot, take_snapshot

__all__ = ["LIMIT", "Snapshot", "read_html", "take_snapshot", "to_html", "write_html"]
