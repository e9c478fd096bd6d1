"""
Do the clusters follow what is missing?
=======================================

A clustering of incomplete views may sort the samples by which views they *have*
instead of by what is *in* them, and the clusters look like any others. How can one tell
without labels?
"""

import matplotlib.pyplot as plt
import numpy as np

import imvc
from imvc.datasets import make_views
from imvc.metrics import clustering_accuracy

data = make_views(400, (20, 30, 15), 4, incomplete=0.5, random_state=0)
n_views = np.array([f"{n} of 3 views" for n in data.mask.sum(axis=1)])

# %%
# The rows of RISE's embedding are longer the more views a sample has. k-means on the
# rows as they are takes length for a difference; on rows of length one, the default,
# only directions count. Both are fitted to the same samples.

models = {
    "rows as they are": imvc.RISE(4, beta=1, row_normalize=False, random_state=0),
    "rows of length one": imvc.RISE(4, beta=1, row_normalize=True, random_state=0),
}
for model in models.values():
    model.fit(data.Xs, mask=data.mask)

# %%
# The first number to look at after a fit is ``pattern_leakage_``: 0 if the clusters
# know nothing of the missing pattern, 1 if they are the same. It needs no labels.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for ax, (name, model) in zip(axes, models.items()):
    imvc.plot.flow(n_views, model, ("views that samples have", "cluster"), ax=ax)
    ax.set_title(f"{name}: leakage {abs(model.pattern_leakage_):.2f}")

# %%
# On the left three clusters hold samples with all three views and no others; whoever
# lacks a view is in the fourth. On the right every cluster has samples of all kinds.
# The map shows what was lost: four groups, cut across by the clusters on the left.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for ax, (name, model) in zip(axes, models.items()):
    imvc.plot.samples(model, ax=ax)
    accuracy = clustering_accuracy(data.y, model.labels_)
    ax.set_title(f"{name}: {accuracy:.0%} as planted")

# %%
# Here the planted clusters are known, so the loss can be counted. With data of your own
# ``pattern_leakage_`` is what remains; ``imvc cluster`` warns where it is high.
