"""
What is lost as more views go missing?
======================================

The same digits, with ever more images that lack some of their five views. Three ways to
go about it: fill every gap with the mean of its column and run k-means, RISE, and
AnchorBridge. At which share of incomplete samples do they fall behind?
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import PercentFormatter

import imvc
from imvc.datasets import load_digits_views, nested_masks
from imvc.metrics import clustering_accuracy

data = load_digits_views()
some = slice(None, None, 4)  # a quarter is enough to see it
Xs, y = [X[some] for X in data.Xs], data.y[some]

# %%
# The masks are nested: what is missing at one share is missing at all larger ones.
# Two draws show how much is chance.

shares = [0, 0.5, 1]
methods = ["impute-kmeans", "rise", "bridge"]
draws = range(2)
scores = np.empty((len(methods), len(shares), len(draws)))
leakage = {}
for seed in draws:
    masks = nested_masks(len(y), len(Xs), shares, random_state=seed)
    for j, mask in enumerate(masks.values()):
        for i, name in enumerate(methods):
            model = imvc.get_method(name)(n_clusters=10, random_state=seed)
            labels = model.fit_predict(Xs, mask=mask)
            scores[i, j, seed] = clustering_accuracy(y, labels)
            leakage[name] = model.pattern_leakage_  # of the last fit stays

# %%
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name, own, marker in zip(methods, scores, "os^"):
    (line,) = ax.plot(shares, own.mean(axis=1), marker=marker, label=name)
    band = own.min(axis=1), own.max(axis=1)
    ax.fill_between(shares, *band, color=line.get_color(), alpha=0.15, lw=0)
ax.set(xlabel="share of incomplete samples", ylabel="accuracy", ylim=(0, 1))
ax.xaxis.set_major_formatter(PercentFormatter(1))
ax.legend(frameon=False, loc="lower left")

for name, value in leakage.items():
    print(f"{name}: pattern leakage {value:.2f} where no image is complete")

# %%
# With all views everywhere k-means is a tenth behind. When no image is complete it has
# lost a third of its accuracy: filled gaps are alike, and its clusters begin to follow
# them. RISE and AnchorBridge use what is there, and lose about a tenth.
