"""
Do patients of different clusters live differently long?
========================================================

Patients are clustered by what was measured of them. Whether they died, and when, was no
part of it, and so it can tell whether the clusters mean anything.
"""

import numpy as np

import imvc
from imvc.datasets import make_views

n = 240
data = make_views(n, (40, 25, 12), 3, incomplete=0.6, random_state=0)
names = ("expression", "methylation", "proteins")
views = imvc.as_views(dict(zip(names, data.Xs)), data.mask)

# %%
# What is known of the patients besides. Time until death depends on the planted
# cluster, age a little, sex and hospital not at all. Whoever lived at the end of the
# study counts as censored.

rng = np.random.default_rng(0)
months = rng.exponential(np.array([12, 30, 60])[data.y])
known = {
    "age": rng.normal(60 + 4 * (data.y == 0), 9).round(),
    "sex": rng.choice(["female", "male"], n),
    "hospital": rng.choice(["north", "east", "south"], n),
    "months": np.minimum(months, 48).round(1),
    "died": months < 48,
}

# %%
# Clusters first, then the comparison.

model = imvc.AnchorBridge(random_state=0).fit(views)
print(f"{model.n_clusters_} clusters, evidence: {model.evidence_}")
found = imvc.associate(model.labels_, known, survival=("months", "died"))
ax = imvc.plot.survival(found)

# %%
# The three clusters live differently long, and the bands say how sure that is. The
# other columns are compared as well; bars are hollow where no difference was found.

ax = imvc.plot.associations(found)
for column in found.columns:
    print(column.sentence)

# %%
# The cluster that dies soonest is also a little older. That is how these data were
# made, and the reason to look at all columns: a difference of survival may be one of
# age.
