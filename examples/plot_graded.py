"""
Does a difference between clusters prove that there are clusters?
=================================================================

442 people with diabetes, in two views: body and blood. A year later the progression
of the disease was measured. If clusters of the views differ in it, have types of the
disease been found?
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

import imvc

people = load_diabetes(as_frame=True)
views = {
    "body": people.data[["age", "bmi", "bp"]],
    "blood": people.data[["s1", "s2", "s3", "s4", "s5", "s6"]],
}
model = imvc.AnchorBridge(3, random_state=0).fit(views)
found = imvc.associate(model.labels_, {"progression": people.target})
print(found.columns[0].sentence)
ax = imvc.plot.associations(found, "progression")

# %%
# Hardly a doubt is left that the three differ. But that is another question than
# whether there are three: also a cloud without any gap, cut into pieces, has pieces
# that differ. ``imvc.structure`` asks whether clusters of these people are more stable
# than those of the same columns, each shuffled by itself.

structure = imvc.structure(model, views)
print(f"structure found: {structure.found}")
print(structure.reason)

# %%
figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.4), layout="constrained")
imvc.plot.samples(model, plane="principal axes", ax=axes[0])
progression = people.target.rename("progression")
imvc.plot.samples(model, progression, plane="principal axes", ax=axes[1])

# %%
# There is no gap between the clusters. Progression rises from one end of the cloud to
# the other: body and blood do tell it, but by degrees. A regression on them says more
# than three types of people.
