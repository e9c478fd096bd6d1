"""
Which view carries which cluster?
=================================

Thirteen measurements of 178 wines in three views: basic chemistry, phenols, and colour.
A third of the wines lack a view or two. Do all views tell the same story, and which
measurements make a cluster what it is?
"""

from sklearn.datasets import load_wine

import imvc
from imvc.datasets import random_mask

wine = load_wine(as_frame=True)
table = (wine.data - wine.data.mean()) / wine.data.std()
phenols = ["total_phenols", "flavanoids", "nonflavanoid_phenols", "proanthocyanins"]
colour = ["color_intensity", "hue", "od280/od315_of_diluted_wines"]
views = {
    "chemistry": table.drop(columns=[*phenols, *colour]),
    "phenols": table[phenols],
    "colour": table[colour],
}
mask = random_mask(len(table), 3, 1 / 3, random_state=0)
model = imvc.AnchorBridge(3, random_state=0).fit(views, mask=mask)

# %%
# How well does each view alone tell the clusters? 0 is no better than chance. Diamonds
# are the weights that the method gave to the views, by itself.

found = imvc.explain(model, views, mask=mask)
ax = imvc.plot.view_agreement(found)

# %%
# And which measurements are high or low in which cluster?

ax = imvc.plot.profiles(found)

# %%
# Colour tells the most, but no view tells everything. One cluster stands out in the
# chemistry, with much proline and alcohol; one in phenols and colour, with few
# flavanoids and a low hue; the third has little alcohol and pale colour, and phenols
# like all wines together.
#
# The wines come from three cultivars, which took no part so far.

ax = imvc.plot.flow(wine.target_names[wine.target], model, ("cultivar", "cluster"))
