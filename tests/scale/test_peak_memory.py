"""The peak of resident memory of a fit on files, each in a process of its own."""

import os
import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the allocator is that of Linux"
)

MIB = 2**20
N, WIDTH, BUDGETS = 250_000, 100, (32, 512)  # 300 MB in three views
BESIDE = 16  # MiB: labels, masks, and scratch of the threads

FIT = """
import resource, sys, warnings
import numpy as np
import imvc

method, folder, budget, options = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4]
views = [f"{folder}/{v}.npy" for v in range(3)]
warnings.simplefilter("ignore")
model = getattr(imvc, method)(
    4, random_state=0, n_jobs=2, memory_budget=budget, **eval(options)
)
model.fit(views, mask=f"{folder}/mask.npy")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
print(np.bincount(model.labels_, minlength=4).tolist())
"""


def write_views(folder, n):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, n)
    mask = rng.random((n, 3)) > 0.4
    mask[~mask.any(axis=1), 0] = True
    folder.mkdir()
    np.save(folder / "mask.npy", mask)
    for v in range(3):
        centers = 2 * rng.standard_normal((4, WIDTH), dtype=np.float32)
        X = np.lib.format.open_memmap(folder / f"{v}.npy", "w+", np.float32, (n, WIDTH))
        for start in range(0, n, 50_000):
            part = labels[start : start + 50_000]
            noise = rng.standard_normal((len(part), WIDTH), dtype=np.float32)
            X[start : start + 50_000] = centers[part] + noise
    return folder


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return write_views(tmp_path_factory.mktemp("peak") / "large", N)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return write_views(tmp_path_factory.mktemp("peak") / "small", 5000)


def peak(method, folder, budget, **options):
    """``(peak in MiB, sizes of the clusters)`` of a fit by two threads."""
    done = subprocess.run(
        [sys.executable, "-c", FIT, method, folder, f"{budget}MiB", repr(options)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    mib, sizes = done.stdout.splitlines()
    return int(mib), sizes


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("RISE", {}),
        ("AnchorBridge", {"learn_sample": 3000, "n_anchors": 40}),
    ],
)
def test_two_threads_keep_to_the_budget(large, small, method, options):
    start, _ = peak(method, small, BUDGETS[0], **options)
    above, sizes = {}, set()
    for budget in BUDGETS:
        mib, found = peak(method, large, budget, **options)
        above[budget] = mib - start
        sizes.add(found)
        assert above[budget] <= budget + BESIDE
    assert len(sizes) == 1
    assert above[BUDGETS[0]] < above[BUDGETS[1]]


def test_a_learning_sample_and_its_statistics_keep_to_the_budget(large, small):
    """Of 20 000 samples; two threads once needed 370 MiB beside Python for it."""
    start, _ = peak("RISE", small, 32)  # Python, its packages and next to nothing
    assert peak("AnchorBridge", large, 256)[0] - start <= 256 + BESIDE
