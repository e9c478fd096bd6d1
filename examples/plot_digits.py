"""Five views of handwritten digits, half of the samples incomplete.

Clusters scikit-learn's digits from pixels, Fourier magnitudes, Zernike moments,
profiles and gradients, when half of the samples lack some of these views, and draws
the embedding beside what is missing.

    python examples/plot_digits.py --output demo_output
"""

import argparse
import os
from pathlib import Path

import numpy as np

from imvc import RISE
from imvc.datasets import load_digits_views
from imvc.metrics import score_all


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("demo_output"))
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)

    data = load_digits_views(incomplete=0.5, random_state=0)
    model = RISE(n_clusters=10, random_state=0).fit(data.Xs, mask=data.mask)

    print(f"{data.n_samples} samples, views: {', '.join(data.names)}")
    print(f"{(~data.mask.all(axis=1)).mean():.0%} of the samples lack some views\n")
    for name, value in score_all(data.y, model.labels_).items():
        print(f"{name:>15}  {value:.3f}")
    print(f"{'pattern leakage':>15}  {model.pattern_leakage_:.3f}\n")

    labels = output / "labels.csv"
    np.savetxt(
        labels,
        np.column_stack([np.arange(data.n_samples), model.labels_]),
        fmt="%d",
        delimiter=",",
        header="sample,cluster",
        comments="",
    )
    picture = draw(model, data, output / "digits.png")
    print(f"labels:  {labels}")
    print(f"picture: {picture}")


def draw(model, data, path):
    """The embedding in two dimensions, and the samples per missing pattern."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    import matplotlib.pyplot as plt
    from sklearn.decomposition import PCA

    unit = model.embedding_ / np.linalg.norm(model.embedding_, axis=1, keepdims=True)
    plane = PCA(2, random_state=0).fit_transform(unit)
    figure, axes = plt.subplots(1, 2, figsize=(12, 5.2), layout="constrained")
    axes[0].scatter(*plane.T, c=model.labels_, cmap="tab10", s=8)
    axes[0].set(title="RISE embedding, coloured by cluster", xticks=[], yticks=[])
    observed = data.mask.mean(axis=0)
    axes[1].barh(data.names, observed, color="0.8", edgecolor="0.3")
    for v, share in enumerate(observed):
        axes[1].text(share - 0.02, v, f"{share:.0%}", ha="right", va="center")
    axes[1].set(title="Samples observed per view", xlim=(0, 1))
    axes[1].invert_yaxis()
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path


if __name__ == "__main__":
    main()
