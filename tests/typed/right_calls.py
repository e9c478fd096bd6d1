"""What a user may write, once around the public surface: checked, and run, by tests."""

from pathlib import Path

import numpy as np

import imvc
from imvc import RISE, AnchorBridge, IncompleteViews
from imvc.datasets import make_views, random_mask
from imvc.io import InputError, read_views, write_labels
from imvc.methods import Cost, MethodName, MultiViewClusterer
from imvc.metrics import nmi, score_all
from imvc.testing import multiview_checks
from imvc.workflow import ClusterRun, Comparison, InputFiles, inspect_source

# Data and masks.
data = make_views(90, (5, 6), 3, separation=8, incomplete=0.3, random_state=0)
mask: np.ndarray = random_mask(90, 2, 0.3, random_state=0)
views: IncompleteViews = imvc.as_views({"a": data.Xs[0], "b": data.Xs[1]}, data.mask)

# Estimators: parameters by name, the number of clusters also without.
model = RISE(3, n_neighbors=3, scale=None, random_state=0)
labels: np.ndarray = model.fit_predict(data.Xs, mask=data.mask)
again: RISE = model.set_params(beta=10.0).fit(views)
count: int = again.n_clusters + again.n_iter_
leakage: float = again.pattern_leakage_
new: np.ndarray = again.predict([data.Xs[0][:2], None])
embedded: np.ndarray = again.transform(views) + again.embedding_
paths: list[RISE] = model.beta_path(data.Xs, [1.0, 10.0], mask=data.mask)
bridge = AnchorBridge(random_state=0)
several = AnchorBridge(n_clusters=[2, 3, 4], n_init=None)
bridge.set_params(n_clusters=3).fit(views, batch=["x", "y"] * 45).update(views)

# By name.
names: tuple[MethodName, ...] = imvc.list_methods()
methods: list[MultiViewClusterer] = [imvc.get_method(name)(3) for name in names]
cost: Cost = imvc.estimate_cost("rise", 1000, [10, 20], 5)

# What a clustering is made of, and how it compares.
print(imvc.inspect(views).to_dict()["n_samples"])
explained = imvc.explain(again, views)
carried: list[str] = [effect.feature for effect in explained.features]
sure: np.ndarray = imvc.confidence(again, views, n_refits=1).score
found: bool | None = imvc.structure(again, views, n_draws=4).found
told = imvc.associate(again.labels_, {"age": list(range(90))}, n_permutations=9)
print(str(told), [column.name for column in told.columns])
compared: Comparison = imvc.compare(
    views, ["rise", ("weak", RISE(3, beta=1.0))], 3, y=data.y, random_state=0
)
print(compared.rows[0], compared.to_frame is not None)
scores: dict[str, float] = score_all(data.y, labels)
agreement: float = nmi(data.y, labels, average="max")

# Files.
for v, X in enumerate(data.Xs):
    rows = "\n".join(f"s{i}," + ",".join(map(str, row)) for i, row in enumerate(X))
    head = ",".join(["id", *(f"x{j}" for j in range(X.shape[1]))])
    Path(f"view{v}.csv").write_text(f"{head}\n{rows}\n")
read = read_views(["view0.csv", Path("view1.csv")], id_columns="id")
files = InputFiles(["view0.csv", "view1.csv"])
print(read.views.n_samples, read.notes)
inspection, notes = inspect_source(files)
run: ClusterRun = imvc.workflow.cluster(files, n_clusters=3, n_refits=0)
written: dict[str, Path] = run.save("out")
write_labels("labels.csv", ["s0", "s1"], {"cluster": labels[:2]})
again.save("model.imvc", updatable=True)
loaded = imvc.load_model("model.imvc")
print(loaded.predict(data.Xs, mask=data.mask), RISE.load("model.imvc").beta)
try:
    read_views(["missing.csv"])
except (InputError, FileNotFoundError) as error:
    print(error)
print(imvc.__version__, [name for name, _ in multiview_checks(model)])
