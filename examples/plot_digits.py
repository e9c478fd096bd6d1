"""
Are the ten digits found when half of the images lack views?
============================================================

Handwritten digits are described by five views: pixels, Fourier magnitudes, Zernike
moments, profiles and gradients. Half of the images lack some of them. No image is
dropped, nothing is filled in, and nobody tells which digit is which.
"""

import imvc
from imvc.datasets import load_digits_views
from imvc.metrics import clustering_accuracy

data = load_digits_views(incomplete=0.5, random_state=0)
views = imvc.as_views(dict(zip(data.names, data.Xs)), data.mask)

# %%
# What is missing
# ---------------
# One bar per set of views that images have, the most frequent first.

ax = imvc.plot.patterns(imvc.inspect(views))

# %%
# The clusters
# ------------
# Images that are alike over the views they have lie close together.

model = imvc.RISE(n_clusters=10, random_state=0).fit(views)
ax = imvc.plot.samples(model)

# %%
# Clusters and digits
# -------------------
# Only now the digits are looked at, to see what came out.

ax = imvc.plot.flow(data.y, model, ("digit", "cluster of RISE"))
ax.figure.set_size_inches(5, 5.5)
print(f"accuracy        {clustering_accuracy(data.y, model.labels_):.2f}")
print(f"pattern leakage {model.pattern_leakage_:.2f}")

# %%
# Most digits are one cluster each. Ones fall apart by how they are written, and eights
# have no cluster of their own: they are divided between some of the ones and the nines.
# The leakage near 0 says that clusters do not follow what is missing.
