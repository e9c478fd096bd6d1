"""What type checkers must report, with mypy's word for it on the line."""

import imvc
from imvc import RISE
from imvc.datasets import make_views
from imvc.io import read_views
from imvc.metrics import nmi

data = make_views(90, (5, 6), 3, random_state=0)
model = RISE(n_clusters=3)

# Constructors.
RISE(n_clusters="3")  # error: arg-type
RISE(n_clutsers=3)  # error: call-arg
RISE()  # error: call-arg
RISE(3, 10)  # error: call-arg
RISE(3, scale="units")  # error: arg-type
imvc.SNF(3, beta=10.0)  # error: call-arg

# Names.
imvc.RIZE(3)  # error: attr-defined
imvc.get_method("rize")  # error: arg-type
imvc.workflow.clutser(data.Xs)  # error: attr-defined
imvc.report.write_reprot("page.html")  # error: attr-defined

# Methods and attributes of estimators.
model.fit(data.Xs, maks=data.mask)  # error: call-arg
model.fit_predcit(data.Xs)  # error: attr-defined
print(model.lables_)  # error: attr-defined
imvc.SNF(3).fit(data.Xs).predict(data.Xs)  # error: attr-defined
model.save(3)  # error: arg-type

# Functions.
imvc.compare(data.Xs, n_cluster=3)  # error: call-arg
imvc.explain(model, data.Xs, n_features="all")  # error: arg-type
imvc.annotate(data, model, keys="imvc")  # error: call-arg
nmi(data.y, data.y, average="mean")  # error: arg-type
make_views(90, random_sate=0)  # error: call-arg
read_views(3)  # error: arg-type
imvc.load_model("model.imvc").fit_predict("x", 1, 2)  # error: call-arg
