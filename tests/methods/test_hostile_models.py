"""Model files with right checksums and nonsense inside are refused by name."""

import hashlib
import io
import json
import zipfile

import numpy as np
import pytest

from imvc import RISE, AnchorBridge, ImputeKMeans
from imvc.datasets import make_views
from imvc.methods import load_model

NAMED = r"'bad\.imvc' cannot be read: .*or make it again"


@pytest.fixture(scope="module")
def data():
    return make_views(40, (4, 3), 2, incomplete=0.4, random_state=0)


@pytest.fixture(scope="module")
def files(data, tmp_path_factory):
    """Model files of every method that places new samples, by its name."""
    folder, holes = tmp_path_factory.mktemp("models"), [X.copy() for X in data.Xs]
    holes[0][3, 1] = np.nan
    models = {
        "rise": RISE(2, n_anchors=8, random_state=0).fit(data.Xs, mask=data.mask),
        "bridge": AnchorBridge(2, n_anchors=8, random_state=0).fit(
            data.Xs, mask=data.mask
        ),
        "impute": ImputeKMeans(2, random_state=0).fit(data.Xs, mask=data.mask),
        "filled": RISE(2, n_anchors=8, empty_cells="fill", random_state=0).fit(
            holes, mask=data.mask
        ),
    }
    for name, model in models.items():
        kept = {} if name == "impute" else {"updatable": True}
        model.save(folder / f"{name}.imvc", **kept)
    return {name: folder / f"{name}.imvc" for name in models}


def npy(array):
    """The bytes of a .npy file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def lying(shape, descr="<f8", body=b"\0" * 64):
    """A .npy file whose head says something of its own."""
    buffer = io.BytesIO()
    head = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, head)
    return buffer.getvalue() + body


@pytest.fixture
def forged(files, tmp_path):
    """A function that changes a model file and makes its checksums anew."""

    def forge(name, change=lambda header: None, text=None, more=(), **arrays):
        with zipfile.ZipFile(files[name]) as old:
            parts = {own: old.read(own) for own in old.namelist()}
        header = json.loads(parts.pop("header.json"))
        del parts["header.sha256"]
        for own, content in arrays.items():
            parts[f"{own}.npy"] = content
            header["arrays"][own] = hashlib.sha256(content).hexdigest()
        change(header)
        head = json.dumps(header) if text is None else text(json.dumps(header))
        path = tmp_path / "bad.imvc"
        with zipfile.ZipFile(path, "w") as new:
            new.writestr("header.json", head)
            digest = hashlib.sha256(head.encode()).hexdigest()
            new.writestr("header.sha256", digest)
            for own, content in (*parts.items(), *more):
                new.writestr(own, content)
        return path

    return forge


METHODS = ["rise", "bridge", "impute", "filled"]


@pytest.mark.parametrize("method", METHODS)
def test_what_is_only_packed_anew_is_loaded(forged, files, data, method):
    again, model = load_model(forged(method)), load_model(files[method])
    np.testing.assert_array_equal(
        again.predict(data.Xs, mask=data.mask), model.predict(data.Xs, mask=data.mask)
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("content", "text"),
    [
        (lying((2**40, 2**3)), "says that it has shape"),
        (lying((-1, 8)), "says that it has shape"),
        (lying((2**62, 2**62)), "says that it has shape"),
        (npy(np.zeros((0, 10**12))), "has shape"),
        (npy(np.array([[None]])), "is of type object"),
        (npy(np.zeros((2, 2), [("a", "f8")])), "is of type"),
        (npy(np.array([["a", "b"]])), "is of type <U1"),
        (npy(np.zeros((2, 2), complex)), "is of type complex128"),
        (npy(np.full((2, 2), np.nan)), "cluster_centers_ h"),
        (npy(np.full((2, 2), -1e308)), "cluster_centers_ h"),
        (npy(np.zeros((5, 5, 5))), "has shape"),
        (b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f8', ", "has no head of an array"),
        (b"", "has no head of an array"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_centres_that_cannot_be_are_refused(forged, method, content, text):
    path = forged(method, **{"attribute/cluster_centers_": content})
    with pytest.raises(ValueError, match=f"(?=.*{text}){NAMED}"):
        load_model(path)


@pytest.mark.parametrize(
    ("method", "array", "content"),
    [
        ("rise", "attribute/anchors_.0", np.zeros((8, 9))),
        ("rise", "attribute/anchors_.0", np.full((8, 4), np.inf)),
        ("rise", "attribute/labels_", np.zeros(40)),
        ("rise", "attribute/labels_", np.zeros(39, np.int64)),
        ("rise", "attribute/labels_", np.full(40, 255)),
        ("rise", "state/C0", np.zeros((3, 2))),
        ("rise", "state/A0", np.zeros((2, 3))),
        ("rise", "state/J1", np.zeros((8, 5))),
        ("rise", "state/rows0.0", np.array([10**12, 2])),
        ("rise", "state/rows0.1", np.zeros(3, np.uint8)),
        ("rise", "state/rows0.2", np.full((30, 5), 200, np.uint8)),
        ("bridge", "state/learnt0", np.zeros(7)),
        ("bridge", "state/learnt2", np.zeros((8, 9))),
        ("bridge", "attribute/overlap_", np.zeros((3, 3), np.int64)),
        ("impute", "state/center0", np.zeros(3)),
        ("impute", "state/deviation1", np.full(3, np.nan)),
        ("impute", "state/deviation1", np.zeros(3)),
        ("impute", "attribute/means_.1", np.zeros((3, 1))),
        ("filled", "state/fill0.mean", np.zeros(5)),
        ("filled", "state/fill0.ridge", np.ones(10**5)),
    ],
)
def test_arrays_that_do_not_fit_the_others_are_refused(forged, method, array, content):
    with pytest.raises(ValueError, match=NAMED):
        load_model(forged(method, **{array: npy(content)}))


def test_an_index_beyond_the_anchors_never_reaches_scipy(forged, files):
    """SciPy would write out of bounds."""
    with zipfile.ZipFile(files["rise"]) as old:
        indices = np.load(io.BytesIO(old.read("state/rows0.2.npy")))
    indices[0, 0] = 255
    with pytest.raises(ValueError, match="graph rows of block 0 do not fit"):
        load_model(forged("rise", **{"state/rows0.2": npy(indices)}))


def test_weights_that_are_no_shares_are_refused(forged, files):
    with zipfile.ZipFile(files["rise"]) as old:
        weights = np.load(io.BytesIO(old.read("state/rows0.3.npy")))
    weights[0, 0] = -1e308
    with pytest.raises(ValueError, match="graph rows of block 0 do not fit"):
        load_model(forged("rise", **{"state/rows0.3": npy(weights)}))


def value(content):
    return {"value": content}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("section", "name", "entry"),
    [
        ("attributes", "n_features_in_", value(7)),
        ("attributes", "n_features_in_", {"value": [2**62, 3], "tuple": True}),
        ("attributes", "n_features_in_", {"value": [4, -3], "tuple": True}),
        ("attributes", "n_features_in_", {"value": [4.0, 3.5], "tuple": True}),
        ("attributes", "n_views_in_", value(None)),
        ("attributes", "n_views_in_", value(10**30)),
        ("attributes", "view_names_", {"value": [["a"], {}], "tuple": True}),
        ("attributes", "view_names_", value(None)),
        ("attributes", "labels_", {"array": "state/none"}),
        ("attributes", "labels_", {"array": ["state/none"]}),
        ("attributes", "labels_", {"list": 3}),
        ("attributes", "labels_", {"objects": [[1], "a", None]}),
        ("attributes", "labels_", {}),
        ("attributes", "labels_", {"array": "a", "value": 3}),
        ("attributes", "n_iter_", value("many")),
        ("attributes", "stage_seconds_", value([1, 2])),
        ("attributes", "__class__", value("x")),
        ("attributes", "predict", value("x")),
        ("attributes", "_schema", value(None)),
        ("params", "n_clusters", value("two")),
        ("params", "n_clusters", value(float("nan"))),
        ("params", "n_jobs", value([[]])),
        ("params", "unknown", value(1)),
        ("values", "feature_names", 3),
        ("values", "feature_names", [["a"], None]),
    ],
)
def test_values_that_cannot_be_are_refused(forged, method, section, name, entry):
    def change(header):
        header[section][name] = entry

    with pytest.raises(ValueError, match=NAMED):
        load_model(forged(method, change))


@pytest.mark.parametrize(
    ("method", "name", "entry"),
    [
        ("rise", "patterns", "a"),
        ("rise", "patterns", [[0, 0]]),
        ("rise", "patterns", [[5]]),
        ("rise", "starts", [0, "a"]),
        ("rise", "starts", [0, 10**30]),
        ("rise", "starts", [0, 10**9]),
        ("rise", "seeds", None),
        ("rise", "dtype", "|O"),
        ("bridge", "learnt", None),
        ("bridge", "learnt", []),
        ("bridge", "learnt", [{"type": "object", "fields": {}}]),
        ("bridge", "learnt", [{"type": "ComponentModel", "fields": {"c": 2}}]),
    ],
)
def test_states_that_cannot_be_are_refused(forged, method, name, entry):
    def change(header):
        header["values"][name] = entry

    with pytest.raises(ValueError, match=NAMED):
        load_model(forged(method, change))


def test_a_part_of_a_bridge_of_another_type_is_refused(forged):
    def change(header):
        learnt = header["values"]["learnt"][0]["fields"]
        learnt["joint"]["fields"]["shares"] = 3

    with pytest.raises(ValueError, match="JointGraph has a shares of another type"):
        load_model(forged("bridge", change))


@pytest.mark.parametrize("key", ["class", "params", "values", "arrays"])
@pytest.mark.parametrize("content", [None, 3, [], "x"])
def test_a_header_of_another_kind_is_refused(forged, key, content):
    def change(header):
        header[key] = content

    with pytest.raises(ValueError, match=r"'bad\.imvc' (cannot be read|holds a 'x')"):
        load_model(forged("rise", change))


@pytest.mark.parametrize("key", ["params", "attributes", "values", "arrays"])
def test_a_header_without_one_of_its_keys_is_refused(forged, key):
    with pytest.raises(ValueError, match=f"header has no '{key}'"):
        load_model(forged("rise", lambda header: header.pop(key)))


def test_a_header_with_an_unknown_key_is_refused(forged):
    with pytest.raises(ValueError, match="header has an unknown 'extra'"):
        load_model(forged("rise", lambda header: header.update(extra=1)))


@pytest.mark.parametrize(
    "text",
    [
        lambda head: "[" * 50_000 + "]" * 50_000,
        lambda head: head.replace("null", "[" * 50_000 + "]" * 50_000, 1),
        lambda head: head.replace("null", "1" * 5000, 1),
        lambda head: "3",
        lambda head: head[:-1],
    ],
    ids=["deep", "deep inside", "long number", "number", "cut"],
)
def test_json_that_cannot_be_is_refused(forged, text):
    with pytest.raises(ValueError, match=NAMED):
        load_model(forged("rise", text=text))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    "name", ["state/C0.npy", "../x.npy", "/x", "state/unknown.npy"]
)
def test_a_part_that_is_there_twice_or_should_not_be_is_refused(forged, name):
    with pytest.raises(ValueError, match="parts are not those that its header lists"):
        load_model(forged("rise", more=[(name, npy(np.zeros(3)))]))


def test_parts_that_share_their_bytes_are_refused(forged, files, tmp_path):
    """A directory may name the same bytes many times, which would be read each time."""
    data = bytearray(files["rise"].read_bytes())
    start = data.rindex(b"PK\x01\x02")
    data[start + 20 : start + 28] = (10**8).to_bytes(4, "little") * 2
    path = tmp_path / "bad.imvc"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="parts are longer than the file"):
        load_model(path)
