"""
What becomes of two clusters when three are asked for?
======================================================

Tumours of the breast, measured under the microscope in three views: the mean over the
cells, the spread, and the worst cells. Half of the tumours lack some of them. Asked for
two clusters and then for three: is one of the two split, or does everything change
places? And what have they to do with the diagnosis, which took no part?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import imvc
from imvc.datasets import random_mask

tumours = load_breast_cancer()
X = scale(np.log(tumours.data + 0.001))  # most measurements are skewed
views = dict(zip(("mean", "spread", "worst"), np.split(X, 3, axis=1)))
mask = random_mask(len(X), 3, 0.5, random_state=0)
two = imvc.AnchorBridge(2, random_state=0).fit(views, mask=mask)
three = imvc.AnchorBridge(3, random_state=0).fit(views, mask=mask)

# %%
diagnosis = tumours.target_names[tumours.target]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
imvc.plot.flow(two, three, ("two clusters", "three clusters"), ax=left)
imvc.plot.flow(diagnosis, three, ("diagnosis", "three clusters"), ax=right)

# %%
# Left: the larger cluster is split, and a few tumours of the other one join its smaller
# part. Right: that larger cluster are the benign tumours, with some malignant ones. So
# the third cluster is a kind of benign tumours, and no diagnosis that was overlooked.
