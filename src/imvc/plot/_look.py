"""One look for all plots: the page's colours, for the ground that is drawn on."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from imvc.insight._column_kinds import day_text

MARKERS = ("o", "^", "s", "D", "v", "P")  # the page's six shapes
DASHES: tuple[Any, ...] = (
    *("-", (0, (6, 3)), (0, (2, 3)), (0, (8, 3, 2, 3)), (0, (4, 2)), (0, (10, 4))),
)


@dataclass(frozen=True)
class Look:
    """Colours by their part, as in ``report/templates/cluster.css``.

    Parameters
    ----------
    clusters : tuple of str
        Eight that readers with a colour vision deficiency tell apart.
    ramp : tuple of str
        From low to high.
    mark, muted, rest : str
        Of bars and lines, of what is unknown, and of what is left over.
    hot, cold : str
        Above and below the mean, and how deep they are mixed into the ground.
    deep : float
    ink, ground : str or tuple of float
        Of texts, and what is drawn on.
    """

    clusters: tuple[str, ...]
    ramp: tuple[str, ...]
    mark: str
    muted: str
    rest: str
    hot: str
    cold: str
    deep: float
    ink: Any = "black"
    ground: Any = "white"


LIGHT = Look(
    clusters=(
        *("#0072b2", "#e69f00", "#009e73", "#cc5200"),
        *("#41a5e0", "#c2649b", "#b5a800", "#3d4249"),
    ),
    ramp=(
        *("#440154", "#46327e", "#365c8d", "#277f8e"),
        *("#1fa187", "#4ac16d", "#a0b91e"),
    ),
    mark="#0072b2",
    muted="#565d66",
    rest="#d5d9de",
    hot="#cc5200",
    cold="#0072b2",
    deep=0.7,
)
DARK = Look(
    clusters=(
        *("#4b9fe0", "#f0ad1e", "#1fc494", "#f07a3c"),
        *("#8fd3ff", "#e08fbd", "#f0e442", "#d0d5db"),
    ),
    ramp=(
        *("#7a4fa3", "#5f66b5", "#4783b3", "#35a0a8"),
        *("#3fbf95", "#86d549", "#fde725"),
    ),
    mark="#56b4e9",
    muted="#a7b0ba",
    rest="#39414a",
    hot="#f07a3c",
    cold="#56b4e9",
    deep=0.55,
)


def pyplot() -> Any:
    """The module ``matplotlib.pyplot``, or an error that names the extra."""
    try:
        import matplotlib.pyplot
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"imvc.plot needs {error.name}: pip install 'imvc[report]'",
            name=error.name,
        ) from error
    return matplotlib.pyplot


def axes_or_new(
    ax: Any, width: float, height: float, layout: str = "constrained"
) -> Any:
    """`ax`, or axes of a new figure of so many inches."""
    if ax is None:
        return pyplot().subplots(figsize=(width, height), layout=layout)[1]
    return checked_axes(ax)


def checked_axes(ax: Any) -> Any:
    """`ax`, or an error that tells what it is."""
    if not hasattr(ax, "get_xaxis_transform"):
        raise TypeError(
            f"ax is {a_or_an(type(ax).__name__)}; pass matplotlib Axes, or None for a "
            "new figure."
        )
    return ax


def look_of(ax: Any) -> Look:
    """Colours that are seen on `ax`: by its ground, or by its texts if it has none.

    Texts have the colour that ``rcParams`` gave to those of the axes.
    """
    from matplotlib.colors import to_rgb, to_rgba

    ink = ax.xaxis.label.get_color()
    grounds = (ax.get_facecolor(), ax.figure.get_facecolor())
    seen = [to_rgb(c) for c in grounds if to_rgba(c)[3] > 0.5]
    dark = lightness(seen[0]) < 0.5 if seen else lightness(to_rgb(ink)) > 0.5
    ground = seen[0] if seen else ("black" if dark else "white")
    return replace(DARK if dark else LIGHT, ink=ink, ground=ground)


def lightness(colour: tuple[float, ...]) -> float:
    """0 of black to 1 of white, as eyes weigh the three parts."""
    return float(np.dot(colour[:3], (0.299, 0.587, 0.114)))


def mixed(ground: Any, colour: Any, share: float) -> tuple[float, ...]:
    """`colour` laid on `ground`, so that a print has no transparency to flatten."""
    from matplotlib.colors import to_rgb

    mix = (1 - share) * np.array(to_rgb(ground)) + share * np.array(to_rgb(colour))
    return tuple(mix.tolist())


def ramp_map(look: Look) -> Any:
    """The ramp as a colour map."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("imvc", look.ramp)


def only_axis(ax: Any, *sides: str) -> None:
    """Leave those sides of the frame; the others carry nothing."""
    for side, spine in ax.spines.items():
        spine.set_visible(side in sides)
    ax.grid(False)


def date_axis(axis: Any) -> None:
    """A few days on an axis of days since 1970."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(4))
    axis.set_major_formatter(lambda day, _: day_text(day))


def plain_rows(ax: Any, names: list[str]) -> None:
    """Rows by name, the first on top, without ticks."""
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) - 0.4, -0.6)


def legend(ax: Any, look: Look, where: str, **options: Any) -> Any:
    """A legend beside or above the axes, where it covers nothing."""
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
    if where == "above":
        place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0)}
        place |= {"columnspacing": 1.2}
    place |= {"frameon": False, "labelcolor": look.ink, "fontsize": "small"}
    made = ax.legend(**(place | {"borderaxespad": 0.2} | options))
    title = made.get_title()
    title.set(color=look.ink, fontsize=made.get_texts()[0].get_fontsize())
    return made


def a_or_an(name: str) -> str:
    """``an ndarray``, ``a list``."""
    vowel = name[:1].lower() in "aeiou" or name == "ndarray"
    return f"{'an' if vowel else 'a'} {name}"
