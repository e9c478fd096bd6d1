"""
How many clusters are there, if any?
====================================

Every method cuts data into as many pieces as it is told to, also data without any
clusters. Without a number, AnchorBridge tries 2 to 20, takes the largest whose
clusters all come back when they are sought again from other anchors, and says how good
the evidence is. Does it notice when there is nothing to be found?
"""

import warnings

import imvc
from imvc.datasets import make_views

# %%
# Four planted clusters
# ---------------------

four = make_views(300, (12, 9, 7), 4, separation=5, incomplete=0.4, random_state=0)
model = imvc.AnchorBridge(random_state=0).fit(four.Xs, mask=four.mask)
print(f"{model.n_clusters_} clusters, evidence: {model.evidence_}")
print(model.evidence_reason_)
axes = imvc.plot.stability_curve(model)

# %%
# The number taken is dashed. Left: up to four clusters all of them come back; of five
# and more the worst does not. Right: few samples lie between four clusters, so there
# are valleys.
#
# One cloud
# ---------

cloud = make_views(300, (12, 9, 7), 1, incomplete=0.4, random_state=0)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it warns of what is printed here
    none = imvc.AnchorBridge(random_state=0).fit(cloud.Xs, mask=cloud.mask)
print(f"{none.n_clusters_} clusters, evidence: {none.evidence_}")
print(none.evidence_reason_)
axes = imvc.plot.stability_curve(none)

# %%
# Two or three pieces of a cloud may come back as well, since it is longer in some
# directions than in others. But samples lie as densely between the pieces as within
# them: on the right all numbers stand above the upper level. So there is a number, as
# the method has to give one, and next to it stands that nothing speaks for it.
