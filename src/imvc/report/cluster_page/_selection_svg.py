"""Survival of a selection as a picture of its own, outside of any page."""

from collections.abc import Mapping
from html import escape

from imvc.insight import Survival
from imvc.report._inline_svg import HEIGHT, RIGHT, TOP, WIDTH
from imvc.report.cluster_page._meaning_svg import survival_plot

_STYLE = """
.plot{font:13px system-ui,sans-serif;color-scheme:light dark;
--fg:#1c2024;--muted:#565d66;--line:#d5d9de;--c0:#0072b2;--c1:#e69f00}
.plot text{fill:var(--muted)}
.plot .key{fill:currentColor;font-weight:600}
.plot .grid{stroke:var(--line)}
.plot .axis{stroke:var(--muted)}
.plot .survival{fill:none;stroke:currentColor;stroke-width:2.2}
.plot .band{fill:currentColor;fill-opacity:.14}
@media screen and (prefers-color-scheme:dark){
.plot{--fg:#e7eaee;--muted:#a7b0ba;--line:#39414a;--c0:#4b9fe0;--c1:#f0ad1e}
}
"""


def survival_picture(survival: Survival, names: Mapping[int, str]) -> str:
    """Curves of two groups with their names, as a whole SVG document.

    `names` has the groups in the order of their colours. Colours follow the reader's
    light or dark setting.
    """
    looks = {group: (i, i) for i, group in enumerate(names)}
    keys = [
        f'<text class="key" style="color:var(--c{i})" x="{WIDTH - RIGHT}" '
        f'y="{TOP + 14 + 18 * i}" text-anchor="end">{escape(name)}</text>'
        for i, name in enumerate(names.values())
    ]
    drawn = survival_plot(survival, looks)
    for group, name in names.items():
        drawn = drawn.replace(
            f"<title>Cluster {group}</title>", f"<title>{escape(name)}</title>"
        )
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
    )
    drawn = drawn.replace("<svg ", opening, 1).replace(
        ">", f"><style>{_STYLE}</style>", 1
    )
    return drawn.removesuffix("</svg>") + "".join(keys) + "</svg>"
