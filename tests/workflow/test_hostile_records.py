"""A ``run.json`` with nonsense inside is refused by name, before anything is fitted."""

import json

import numpy as np
import pytest

from imvc.datasets import make_views
from imvc.workflow import InputFiles, cluster, read_record, repeat


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder of a run, and its record."""
    folder = tmp_path_factory.mktemp("study")
    data = make_views(30, (3, 2), 2, separation=7, random_state=0)
    for v, X in enumerate(data.Xs):
        rows = [f"s{i}," + ",".join(map(str, row)) for i, row in enumerate(X)]
        head = ",".join(["id", *(f"f{v}{j}" for j in range(X.shape[1]))])
        (folder / f"v{v}.csv").write_text("\n".join([head, *rows]))
    files = InputFiles([folder / "v0.csv", folder / "v1.csv"])
    run = cluster(files, n_clusters=2, method="impute-kmeans", n_refits=0)
    path = run.save(folder / "out", report=False)["run.json"]
    return path, json.loads(path.read_text())


@pytest.fixture
def forged(written):
    """A function that puts a value into the record, and gives its path."""
    path = written[0].with_name("bad.json")

    def forge(place, value):
        content = json.loads(json.dumps(written[1]))
        *holders, last = place
        holder = content
        for key in holders:
            holder = holder[key]
        if value is LEFT_OUT:
            del holder[last]
        else:
            holder[last] = value
        path.write_text(json.dumps(content))
        return path

    return forge


LEFT_OUT = "left out"
INPUTS = ("request", "inputs")
NONSENSE = [
    (("files",), [3]),
    (("files",), []),
    (("files", 0, "path"), None),
    (("files", 0, "relative"), ["v0.csv"]),
    (("outputs",), {"labels.csv": 3}),
    (("versions",), {"numpy": 2}),
    (("command",), "imvc"),
    (("command",), [None]),
    (("request",), LEFT_OUT),
    (("request", "n_clusters"), True),
    (("request", "n_clusters"), ["a"]),
    (("request", "n_clusters"), 2.5),
    (("request", "n_clusters"), float("nan")),
    (("request", "n_clusters"), -3),
    (("request", "random_state"), "a"),
    (("request", "random_state"), 10**40),
    (("request", "parameters"), {"n_init": "a"}),
    (("request", "parameters"), {"unheard": 1}),
    (("request", "parameters"), {"n_init": [[]]}),
    (("request", "parameters"), LEFT_OUT),
    (("request", "survival"), ["a", 3]),
    (("request", "survival"), ["a"]),
    (("request", "survival"), ["a", "b", "c"]),
    (("request", "batch"), "../../x"),
    (("request", "adjust"), 7),
    (("request", "not_kept"), [3]),
    (("request", "method"), "../../x"),
    ((*INPUTS, "names"), 3),
    ((*INPUTS, "names"), [3, 4]),
    ((*INPUTS, "names"), [[], []]),
    ((*INPUTS, "names"), ["a", "b", "c"]),
    ((*INPUTS, "parts"), None),
    ((*INPUTS, "parts"), [10**12]),
    ((*INPUTS, "parts"), [-1, 3]),
    ((*INPUTS, "parts"), [True, True]),
    ((*INPUTS, "parts"), ["1", "1"]),
    ((*INPUTS, "id_columns"), 3),
    ((*INPUTS, "id_columns"), {"v0": 3}),
    ((*INPUTS, "transpose"), 3),
    ((*INPUTS, "metadata"), "yes"),
    ((*INPUTS, "metadata"), True),
    ((*INPUTS, "match_ids"), None),
    ((*INPUTS, "match_ids"), "unheard"),
    ((*INPUTS, "sheet"), []),
    ((*INPUTS, "guard"), False),
    ((*INPUTS, "unheard"), 1),
    ((*INPUTS, "columns"), []),
    ((*INPUTS, "columns", "kinds"), {"f00": "unheard"}),
    ((*INPUTS, "columns", "ordinals"), {"f00": 3}),
    ((*INPUTS, "columns", "drop"), {"v0": "f00"}),
    ((*INPUTS, "columns", "metadata"), None),
    ((*INPUTS, "preparation", "scale"), 3),
    ((*INPUTS, "preparation", "scale"), "unheard"),
    ((*INPUTS, "preparation", "log1p"), [3]),
    ((*INPUTS, "preparation", "top_variance"), {"v0": "a"}),
    ((*INPUTS, "preparation", "top_variance"), float("inf")),
    ((*INPUTS, "preparation", "empty_cells"), LEFT_OUT),
]


@pytest.mark.parametrize(("place", "value"), NONSENSE, ids=repr)
def test_nonsense_is_refused_by_name(forged, place, value):
    with pytest.raises(ValueError, match=r"bad\.json: "):
        repeat(forged(place, value))


def test_a_record_of_depth_without_end_is_refused(written):
    path = written[0].with_name("bad.json")
    text = json.dumps(written[1]).replace("null", "[" * 50_000 + "]" * 50_000, 1)
    path.write_text(text)
    # Python 3.14 reads lists in lists however deep; what they stand for is wrong still.
    with pytest.raises(ValueError, match=r"bad\.json: (is not JSON|'\w+' is missing)"):
        read_record(path)


def test_a_number_of_thousands_of_digits_is_refused(written):
    path = written[0].with_name("bad.json")
    path.write_text(json.dumps(written[1]).replace("null", "1" * 5000, 1))
    with pytest.raises(ValueError, match=r"bad\.json: is not JSON"):
        read_record(path)


def test_a_file_that_became_unreadable_is_still_named_itself(forged, written):
    bad = written[0].parent / "cut.csv"
    bad.write_bytes(b"PAR1")
    path = forged(("files", 0, "relative"), "cut.csv")
    with pytest.raises(ValueError, match=r"cut\.csv"):
        repeat(path, force=True)


def test_a_record_that_nobody_touched_is_repeated(written):
    again = repeat(written[0])
    assert np.bincount(again.model.labels_).tolist() == [15, 15]


def test_a_repeated_run_guards_its_files_if_asked_to(written):
    record = read_record(written[0])
    assert record.inputs(guard=True).guard
    assert not record.inputs().guard
