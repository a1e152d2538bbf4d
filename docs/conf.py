"""The documentation: python -m sphinx -W --keep-going -j 2 docs out/docs."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_extensions")]

import bayesgraph  # noqa: E402

project = "bayesgraph"
release = version = bayesgraph.__version__
project_copyright = "the authors of bayesgraph, BSD-3-Clause"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "api_pages",
    "live_pages",
    "mathtext",
]
exclude_patterns = ["_extensions"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"

myst_enable_extensions = ["dollarmath", "colon_fence", "html_image"]
myst_heading_anchors = 3
html_math_renderer = "mathtext"

autosummary_generate = False
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "furo"
html_title = "bayesgraph"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sphinx = False
highlight_language = "python"
