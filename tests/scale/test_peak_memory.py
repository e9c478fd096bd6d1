"""The peak of resident memory of fits on files, in a process of their own."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the allocator is that of Linux"
)

N, WIDTH = 100_000, 60  # 72 MB in three views
BESIDE = 16  # MiB: labels, masks, and scratch of the threads

FITS = """
import json, sys, warnings
import numpy as np
import imvc
from imvc._machine import PeakMemory

method, folder = sys.argv[1:3]
budgets, options = map(json.loads, sys.argv[3:])
views = [f"{folder}/{v}.npy" for v in range(3)]
warnings.simplefilter("ignore")

def fit(budget, views, mask, **options):
    model = getattr(imvc, method)(
        4, random_state=0, n_jobs=2, memory_budget=f"{budget}MiB", **options
    )
    return model.fit(views, mask=mask)

mask = np.load(f"{folder}/mask.npy")[:5000]
first = [np.load(x, "r")[:5000] for x in views]
fit(8, first, mask, learn_sample=1000)  # what is loaded at first is not of the budget
for budget in budgets:
    with PeakMemory() as peak:
        labels = fit(budget, views, f"{folder}/mask.npy", **options).labels_
    print(json.dumps([peak.above / 2**20, np.bincount(labels, minlength=4).tolist()]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Views of four clusters, and their mask."""
    folder, rng = tmp_path_factory.mktemp("peak"), np.random.default_rng(0)
    labels = rng.integers(0, 4, N)
    mask = rng.random((N, 3)) > 0.4
    mask[~mask.any(axis=1), 0] = True
    np.save(folder / "mask.npy", mask)
    for v in range(3):
        centers = 2 * rng.standard_normal((4, WIDTH), dtype=np.float32)
        noise = rng.standard_normal((N, WIDTH), dtype=np.float32)
        np.save(folder / f"{v}.npy", centers[labels] + noise)
    return folder


def peaks(method, folder, *budgets, **options):
    """``[MiB beside Python, sizes of the clusters]`` of fits by two threads."""
    done = subprocess.run(
        [sys.executable, "-c", FITS, method, folder]
        + [json.dumps(x) for x in (budgets, options)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("RISE", {}),
        ("AnchorBridge", {"learn_sample": 3000, "n_anchors": 40}),
    ],
)
def test_two_threads_keep_to_the_budget(folder, method, options):
    (small, sizes), (large, same) = peaks(method, folder, 8, 256, **options)
    assert sizes == same
    assert small <= 8 + BESIDE
    assert small < large <= 256 + BESIDE


def test_a_learning_sample_and_its_statistics_keep_to_the_budget(folder):
    """Of 20 000 samples; two threads once needed 260 MiB beside Python for it."""
    ((mib, _),) = peaks("AnchorBridge", folder, 192)
    assert mib <= 192 + BESIDE
