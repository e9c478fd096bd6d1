"""The pictures of docs/concepts, from imvc itself: ``python docs/make_concepts.py``."""

import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ["MPLBACKEND"] = "Agg"  # before anything imports pyplot

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

import imvc
from imvc import datasets
from imvc.kernels._anchor_graph import anchor_weights, weights_to_csr
from imvc.metrics import adjusted_rand, clustering_accuracy
from imvc.plot._look import LIGHT

DOCS = Path(__file__).parent
# The same bytes on every run; texts as texts, which are small and can be searched.
_SETTINGS = {
    "svg.hashsalt": "imvc",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": matplotlib.cycler(color=LIGHT.clusters),
}
_NAMES = ("expression", "proteins", "clinical")


def _panels(*shape: int, size: tuple[float, float], **how: Any) -> tuple[Any, Any]:
    return plt.subplots(*shape, figsize=size, layout="constrained", **how)


def _legend_below(figure: Any, ax: Any, columns: int) -> None:
    figure.legend(
        *ax.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
    )


def views() -> Any:
    """Eighteen samples in three tables, side by side."""
    data = datasets.make_views(18, (8, 5, 3), 3, incomplete=0.7, random_state=4)
    figure, axes = _panels(
        1, 3, size=(6.4, 3.2), sharey=True, width_ratios=data.n_features
    )
    colours = matplotlib.colormaps["viridis"].with_extremes(bad=LIGHT.rest)
    for ax, X, seen, name in zip(axes, data.Xs, data.mask.T, _NAMES, strict=True):
        ax.imshow(np.where(seen[:, None], X, np.nan), colours, aspect="auto")
        ax.set(title=f"{name}\n{seen.sum()} of 18", xlabel="features", xticks=[])
        ax.set_yticks(range(18), [f"S{i + 1}" for i in range(18)], fontsize=7)
    return figure


def patterns() -> Any:
    """The same tables with 200 samples, counted by pattern."""
    data = datasets.make_views(200, (8, 5, 3), 3, incomplete=0.6, random_state=4)
    Xs = dict(zip(_NAMES, data.Xs, strict=True))
    return imvc.plot.patterns(imvc.inspect(Xs, mask=data.mask)).figure


def protocols() -> Any:
    """Six ways to be incomplete, all of them called a rate of 0.5."""
    data = datasets.make_views(60, (8, 6, 5, 4), 3, shuffle=False, random_state=0)
    figure, axes = _panels(1, 6, size=(7.2, 3), sharey=True)
    for ax, protocol in zip(axes, datasets.list_protocols(), strict=True):
        mask = datasets.protocol_mask(data, protocol.name, 0.5, 0)
        missing, complete = datasets.missing_shares(mask)
        ax.imshow(
            ~mask,
            matplotlib.colors.ListedColormap([LIGHT.mark, LIGHT.rest]),
            aspect="auto",
            interpolation="none",
        )
        ax.set(title=f"{protocol.name}\n{missing:.0%} missing\n{complete:.0%} complete")
        ax.set_xticks(range(4), range(1, 5))
    axes[0].set(ylabel="samples, sorted by class", yticks=[])
    figure.supxlabel("view", fontsize=9)
    return figure


def leakage() -> Any:
    """Digits 0 to 3: who lacks what against the clusters of two methods."""
    digits = datasets.load_digits_views()
    few = digits.y < 4
    y, Xs = digits.y[few], [digits.Xs[v][few] for v in (0, 1)]
    mask = datasets.random_mask(len(y), 2, 0.7, 0)
    kinds = {"both": mask.all(axis=1), "pixels only": ~mask[:, 1]}
    kinds["fourier only"] = ~mask[:, 0]
    figure, axes = _panels(1, 2, size=(6.4, 2.6), sharey=True)
    for ax, method in zip(axes, (imvc.ImputeKMeans, imvc.AnchorBridge), strict=True):
        model = method(n_clusters=4, random_state=0).fit(Xs, mask=mask)
        shares = [
            np.bincount(model.labels_[rows], minlength=4) / rows.sum()
            for rows in kinds.values()
        ]
        left = np.zeros(3)
        for k, share in enumerate(np.transpose(shares)):
            ax.barh(list(kinds), share, left=left, label=f"cluster {k}")
            left += share
        ax.set(
            title=f"{method.__name__}: leakage {model.pattern_leakage_:.2f}, "
            f"ARI {adjusted_rand(y, model.labels_):.2f}",
            xlabel="share of the samples",
        )
    axes[0].invert_yaxis()
    _legend_below(figure, axes[0], 4)
    return figure


def bridge() -> Any:
    """What one sample, seen in the first view only, is guessed to be in the second."""
    data = datasets.make_views(300, (2, 2), 3, separation=6, random_state=3)
    both = np.arange(300) < 120
    anchors = [
        KMeans(12, n_init=4, random_state=0).fit(X).cluster_centers_ for X in data.Xs
    ]
    Z, W = (
        weights_to_csr(*anchor_weights(X, A, 3)[:2], 12).toarray()
        for X, A in zip(data.Xs, anchors, strict=True)
    )
    P = Z[both].T @ W[both]
    P /= P.sum(axis=1, keepdims=True)
    one = 200
    figure, axes = _panels(1, 2, size=(6.4, 3))
    for v, (ax, weights) in enumerate(zip(axes, (Z[one], Z[one] @ P), strict=True)):
        X, A = data.Xs[v], anchors[v]
        ax.scatter(
            *X[both].T, s=5, color=LIGHT.muted, alpha=0.5, lw=0, label="has both views"
        )
        ax.scatter(
            *A.T,
            s=20 + 400 * weights,
            color=LIGHT.hot,
            alpha=0.8,
            lw=0,
            label="anchor, by its weight",
        )
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set(visible=True, color=LIGHT.rest)
    axes[0].plot(
        *data.Xs[0][one], "*", ms=13, color=LIGHT.mark, mec="white", label="the sample"
    )
    axes[0].set_title("view 1: the sample and its anchors")
    axes[1].set_title("view 2: not seen; anchors over the bridge")
    _legend_below(figure, axes[0], 3)
    return figure


def shared() -> Any:
    """How many samples two views must share, on planted clusters."""
    counts, methods = (0, 3, 6, 10, 20, 40, 80), ("bridge", "rise", "impute-kmeans")
    found = np.zeros((3, len(counts)))
    for seed in range(3):
        data = datasets.make_views(400, (10, 8), 4, separation=4.5, random_state=seed)
        for j, count in enumerate(counts):
            mask = np.ones((400, 2), bool)
            middle = count + (400 - count) // 2
            mask[count:middle, 1] = mask[middle:, 0] = False
            for i, name in enumerate(methods):
                model = imvc.get_method(name)(n_clusters=4, random_state=0)
                labels = model.fit_predict(data.Xs, mask=mask)
                found[i, j] += adjusted_rand(data.y, labels) / 3
    figure, ax = _panels(size=(5, 2.8))
    for name, line in zip(methods, found, strict=True):
        ax.plot(line, marker="o", ms=4, label=name)
    ax.set_xticks(range(len(counts)), counts)
    ax.set(
        xlabel="samples that have both views, of 400",
        ylabel="adjusted Rand index",
        ylim=(0, 1),
    )
    ax.legend(frameon=False)
    return figure


def stability() -> Any:
    """Clear clusters, a continuum and noise: what they look like, and what is said."""
    rng = np.random.default_rng(1)
    data = datasets.make_views(300, (20, 15), 4, incomplete=0.4, random_state=1)
    along = rng.uniform(-4, 4, (300, 1))
    stretched, noise = (
        [line * rng.normal(size=p) + rng.normal(size=(300, p)) for p in (20, 15)]
        for line in (along, 0)
    )
    figure, axes = _panels(2, 3, size=(7.2, 4.4))
    cases = {"four clusters": data.Xs, "a continuum": stretched, "noise": noise}
    for (top, low), (name, Xs) in zip(axes.T, cases.items(), strict=True):
        mask = data.mask if Xs is data.Xs else None
        model = imvc.AnchorBridge(random_state=0).fit(Xs, mask=mask)
        plane = PCA(2).fit_transform(np.hstack(Xs))
        for k in range(model.n_clusters_):
            top.scatter(*plane[model.labels_ == k].T, s=6, lw=0, rasterized=True)
        top.set_title(
            f"{name}\n{model.n_clusters_} suggested, evidence {model.evidence_}"
        )
        top.axis("off")
        k, r, v = np.transpose(model.stability_curve_)
        low.plot(k, r, marker="o", ms=3, label="worst cluster comes back")
        low.plot(k, v, "--", marker="s", ms=3, label="valleys are full")
        low.axhline(0.75, color=LIGHT.rest, zorder=0)
        low.set(xlabel="number of clusters", ylim=(0, 2))
    _legend_below(figure, low, 2)
    return figure


def scores() -> Any:
    """RISE as docs/reproduction.md has it, and a search where nothing is."""
    page = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    table = page[page.index("| set | method | default") :].split("\n\n")[0].splitlines()
    names = [cell.strip() for cell in table[0].split("|")[3:-1]]
    figure, (left, right) = _panels(1, 2, size=(7.2, 3.2))
    for name in ("prokaryotic", "webkb"):
        row = next(line for line in table if line.startswith(f"| {name} "))
        acc = [float(cell.split()[0]) for cell in row.split("|")[3:-1]]
        left.plot(acc, names, "o-", label=name)
    left.invert_yaxis()
    left.grid(axis="y", color=LIGHT.rest)
    left.set(
        title="RISE: the more is chosen with labels, ...",
        xlabel="ACC in per cent",
        xlim=(40, 100),
    )
    left.legend(frameon=False, loc="lower left", fontsize=8)

    tries = _search_in_noise()
    best = np.array(
        [tries[:, : m + 1, 0].argmax(axis=1) for m in range(tries.shape[1])]
    )
    for draw, name in ((0, "as chosen"), (1, "the same setting, drawn again")):
        values = np.take_along_axis(tries[:, :, draw], best.T, axis=1).mean(axis=0)
        right.plot(np.arange(len(best)) + 1, 100 * values, label=name)
    right.set(
        title="... the better: also in noise",
        xlabel="settings tried",
        ylabel="ACC in per cent",
        ylim=(38, 52),
    )
    right.legend(frameon=False, loc="upper left", fontsize=8)
    return figure


def _search_in_noise() -> np.ndarray:
    """ACC of shape (data sets, settings, two draws) where there is nothing to find."""
    settings = [
        {"n_anchors": m, "n_neighbors": k, "beta": beta}
        for m in (8, 16, 24)
        for k in (2, 5)
        for beta in (1, 10, 100)
    ]
    found = np.empty((8, len(settings), 2))
    for seed, scores in enumerate(found):
        rng = np.random.default_rng(seed)
        Xs, y = [rng.normal(size=(60, 4)) for _ in range(2)], np.arange(60) % 3
        for row, setting in zip(scores, settings, strict=True):
            for draw in (0, 1):
                model = imvc.RISE(
                    3, random_state=draw, n_init=2, max_iter=10, **setting
                )
                row[draw] = clustering_accuracy(y, model.fit_predict(Xs))
    return found


_DRAWN: tuple[Callable[[], Any], ...] = (
    *(views, patterns, protocols, leakage, bridge, shared, stability, scores),
)


def pictures() -> Iterator[tuple[str, Any]]:
    """Every picture's path and its figure."""
    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pictures of what imvc warns of
        for draw in _DRAWN:
            yield f"figures/concepts-{draw.__name__}.svg", draw()


def main() -> None:
    for target, figure in pictures():
        with matplotlib.rc_context(_SETTINGS):
            figure.savefig(DOCS / target, metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
