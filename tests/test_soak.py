"""The soak of benchmarks/: its rounds leave nothing, its summary tells what grows."""

import gc
import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
psutil = pytest.importorskip("psutil")
if not hasattr(psutil.Process, "num_fds"):
    pytest.skip("this system does not count file handles", allow_module_level=True)


@pytest.fixture(scope="module", autouse=True)
def benchmarks():
    """Modules of the benchmarks, which are scripts beside each other."""
    with pytest.MonkeyPatch.context() as patch:
        folder = Path(__file__).resolve().parents[1] / "benchmarks"
        patch.syspath_prepend(str(folder))
        yield


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder of all temporary files; `Soak` makes it."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # put back afterwards
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path / "temporary"


@pytest.mark.filterwarnings("ignore")
def test_a_round_twice_gives_the_same_labels_and_opens_no_more_handles(temporary):
    import soak

    jobs = soak.Soak(temporary.parent)
    first, second = jobs.round(0), jobs.round(0)
    assert first["failures"] == second["failures"] == []
    assert len(first["labels"]) == 20
    assert first["labels"] == second["labels"]
    assert first["temporary"] == second["temporary"] == 0
    handles = [x["processes"]["process"]["handles"] for x in (first, second)]
    assert handles[1] <= handles[0]


@pytest.mark.filterwarnings("ignore")
def test_a_round_on_workers_gives_labels_and_measures_every_process(temporary):
    pytest.importorskip("distributed")
    import soak

    with ExitStack() as stack:
        found = soak.Soak(temporary.parent, stack=stack).round(0)
    assert found["failures"] == []
    assert len(found["labels"]) == 6
    assert set(found["processes"]) == {"client", "worker 0", "worker 1"}
    assert found["temporary"] == 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["npy", "parquet"])
def test_handles_and_folders_go_with_the_model_not_with_the_collector(temporary, form):
    import soak_jobs

    temporary.mkdir()
    tempfile.tempdir = str(temporary)
    (temporary.parent / "data").mkdir()
    data = soak_jobs.write_data(temporary.parent / "data", seed=0)
    Xs, mask = getattr(data, form), data.mask_file if form == "npy" else None

    def fit_and_update():
        model = data.rise(memory_budget="1MiB").fit(Xs, mask=mask)
        model.update(**data.part(soak_jobs.NEW))
        assert list(temporary.iterdir())  # where its graph rows are

    fit_and_update()
    handles = psutil.Process().num_fds()
    gc.disable()
    try:
        for _ in range(5):
            fit_and_update()
        assert psutil.Process().num_fds() == handles
        assert list(temporary.iterdir()) == []
    finally:
        gc.enable()


def records(memory, handles=9, labels="a", failures=()):
    """Rounds of a process with this memory."""
    size = len(memory)
    handles, labels = np.broadcast_to(handles, size), np.broadcast_to(labels, size)
    return [
        {
            "round": i,
            "at": 2.0 * i,
            "processes": {
                "process": {
                    "allocated": float(memory[i]),
                    "rss": float(memory[i]),
                    "uss": float(memory[i]),
                    "handles": int(handles[i]),
                    "threads": 4,
                }
            },
            "children": 0,
            "temporary": 0,
            "uncollected": [0, 9],
            "labels": {"rise": str(labels[i])},
            "failures": list(failures),
        }
        for i in range(size)
    ]


def wandering(n, rng):
    """Memory as it is: readings that resemble those before, and high ones."""
    noise = np.zeros(n)
    for i in range(1, n):
        noise[i] = 0.8 * noise[i - 1] + rng.standard_normal()
    return 300 + noise + 30 * (rng.random(n) < 0.02)


def test_the_interval_of_the_slope_holds_the_planted_one(rng):
    from soak_summary import slope

    x = np.arange(1000) / 100
    middle, low, high = slope(x, wandering(1000, rng) + 3 * x)
    assert low < 3 < high
    assert low < middle < high < low + 2


def test_memory_that_wanders_is_no_problem_and_memory_that_grows_is_one(rng):
    from soak_summary import problems

    memory = wandering(1000, rng)
    assert problems(records(memory)) == []
    found = problems(records(memory + 0.03 * np.arange(1000)))
    assert [x.split(" grows")[0] for x in found] == ["memory of process"]


def test_the_warm_up_does_not_count():
    from soak_summary import problems

    memory = 300 + np.r_[np.linspace(0, 50, 10), np.full(90, 50)]
    assert problems(records(memory)) == []


def test_handles_labels_and_failures_are_problems():
    from soak_summary import problems

    flat, late = np.full(100, 300.0), np.arange(100) > 60
    (handles,) = problems(records(flat, handles=np.arange(100)))
    assert handles.startswith("handles of process grew")
    (labels,) = problems(records(flat, labels=np.where(late, "b", "a")))
    assert labels.startswith("labels of rise changed in rounds [61,")
    (failed,) = problems(records(flat, failures=["fits: ValueError"]))
    assert failed.startswith("100 failures")


def test_the_report_is_a_table_with_a_row_for_the_process():
    from soak_summary import report

    text = report(records(np.full(100, 300.0)))
    assert "| process | 300.0 | 300.0 | 0.00 (0.00 to 0.00) |" in text
    assert "labels of 1 fits: always the same" in text
    assert text.endswith("no problems")
