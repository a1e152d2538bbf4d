"""Formulas as vectors, drawn by matplotlib: no font, script or program from elsewhere."""

import io
import re

from docutils import nodes
from matplotlib import rc_context
from matplotlib.mathtext import math_to_image


def svg(formula, size):
    """Return a formula of LaTeX as an SVG element in the colour of the text around it."""
    buffer = io.BytesIO()
    look = {"svg.hashsalt": "bayesgraph", "mathtext.fontset": "stix", "figure.facecolor": "none"}
    with rc_context(look):
        depth = math_to_image(f"${formula}$", buffer, format="svg", dpi=72, color="#010203")
    drawn = buffer.getvalue().decode()
    drawn = drawn[drawn.index("<svg") :]
    drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL)
    drawn = drawn.replace("#010203", "currentColor")
    width, height = (
        float(re.search(rf'{side}="([\d.]+)pt"', drawn)[1]) for side in ("width", "height")
    )
    scale = size / 10  # mathtext is 10 points high
    style = (
        f"width:{width * scale / 12:.3f}em;height:{height * scale / 12:.3f}em;"
        f"vertical-align:{-depth * scale / 12:.3f}em"
    )
    head = f'<svg class="formula" role="img" style="{style}" '
    return drawn.replace("<svg ", head, 1)


def inline(translator, node):
    """Draw a formula in a line."""
    translator.body.append(svg(node.astext(), 13))
    raise nodes.SkipNode


def block(translator, node):
    """Draw a formula on lines of its own, one for each that is divided by two backslashes."""
    translator.body.append('<div class="formulas">')
    for line in re.split(r"\\\\", node.astext()):
        translator.body.append(f"<div>{svg(' '.join(line.split()), 14)}</div>")
    translator.body.append("</div>")
    raise nodes.SkipNode


def setup(app):
    """Add the renderer of formulas."""
    app.add_html_math_renderer("mathtext", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
