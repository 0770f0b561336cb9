"""What the examples share: the picture that each writes if it is called with --picture FILE.svg."""

import re
import sys

from armwright.pages.report.plot import write

ROW, WIDEST, GAP = 340, 580, 16
"""The height of drawings, the width that one may have, and the space around each, in pixels."""


def show(*drawings: str) -> None:
    """Write SVG drawings beside each other on one white card where --picture says so; without it do nothing."""
    if "--picture" not in sys.argv:
        return
    path, x, parts = sys.argv[sys.argv.index("--picture") + 1], float(GAP), []
    for drawing in drawings:
        _, _, width, height = map(float, re.search(r'viewBox="([^"]*)"', drawing)[1].split())
        wide = min(ROW * width / height, WIDEST)
        head = f'<svg x="{x:.0f}" y="{GAP}" width="{wide:.0f}" height="{ROW}" '
        start, rest = drawing[len("<svg ") :].split(">", 1)
        parts.append(head + re.sub(r' (width|height)="\d+"', "", start) + ">" + rest)
        x += wide + GAP
    card = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {x:.0f} {ROW + 2 * GAP}" color="#1f2937">'
    back = '<rect width="100%" height="100%" rx="10" fill="#ffffff"/>'
    write(path, "\n".join([card, back, *parts, "</svg>\n"]), folders=True)
    print(f"picture in {path}")
