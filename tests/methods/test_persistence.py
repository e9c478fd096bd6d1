"""Model files: what is written comes back, and what was damaged is refused."""

import json
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imvc import RISE, AnchorBridge, ImputeKMeans
from imvc.datasets import make_views
from imvc.methods import load_model


@pytest.fixture(scope="module")
def data():
    return make_views(80, (6, 5), 3, incomplete=0.5, random_state=0)


@pytest.fixture(scope="module")
def saved(data, tmp_path_factory):
    model = RISE(3, n_anchors=12, random_state=0).fit(data.Xs, mask=data.mask)
    path = tmp_path_factory.mktemp("models") / "model.imvc"
    model.save(path)
    return model, path


def test_a_loaded_model_is_the_saved_one(saved, data):
    model, path = saved
    loaded = RISE.load(path)
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.labels_, model.labels_)
    np.testing.assert_array_equal(loaded.embedding_, model.embedding_)
    np.testing.assert_array_equal(
        loaded.predict(data.Xs, mask=data.mask), model.labels_
    )
    np.testing.assert_array_equal(
        loaded.transform([None, data.Xs[1]]), model.transform([None, data.Xs[1]])
    )
    public = {k for k in vars(model) if k.endswith("_")}
    assert public == {k for k in vars(loaded) if k.endswith("_")}
    assert loaded.view_names_ == model.view_names_
    assert loaded.n_features_in_ == model.n_features_in_


def test_arrays_keep_their_layout_and_so_the_last_bit_of_products(data, tmp_path):
    model = AnchorBridge(3, random_state=0).fit(data.Xs, mask=data.mask)
    model.save(tmp_path / "model.imvc")
    loaded = AnchorBridge.load(tmp_path / "model.imvc")
    transfers = [
        [P for bridge in m._learnt[0].joint.bridges for P in bridge.transfer.values()]
        for m in (model, loaded)
    ]
    assert any(not P.flags.c_contiguous for P in transfers[0])
    for P, back in zip(*transfers):
        np.testing.assert_array_equal(back, P)
        assert back.strides == P.strides


@pytest.mark.parametrize(
    "options",
    [
        dict(scale="standard"),
        dict(completion="first-order"),
        dict(init="identity"),
        dict(embedding_dim=5),
        dict(random_state=np.random.RandomState(0)),
        dict(callback=print),
    ],
    ids=lambda o: next(iter(o)),
)
def test_every_variant_survives_the_file(options, data, tmp_path):
    model = RISE(3, n_anchors=12, **({"random_state": 0} | options))
    model.fit(data.Xs, mask=data.mask)
    model.save(tmp_path / "m.imvc")
    loaded = RISE.load(tmp_path / "m.imvc")
    np.testing.assert_array_equal(
        loaded.predict(data.Xs, mask=data.mask), model.predict(data.Xs, mask=data.mask)
    )


def test_given_anchors_and_ids_survive_the_file(data, tmp_path):
    pd = pytest.importorskip("pandas")
    frames = [pd.DataFrame(X, index=[f"s{i}" for i in range(80)]) for X in data.Xs]
    frames = [frame.add_prefix("f") for frame in frames]
    anchors = [X[:9] for X in data.Xs]
    model = RISE(3, anchors=anchors, scale=None, random_state=0).fit(frames)
    model.save(tmp_path / "m.imvc")
    loaded = RISE.load(tmp_path / "m.imvc")
    np.testing.assert_array_equal(loaded.anchors[1], anchors[1])
    assert list(loaded.sample_ids_) == list(model.sample_ids_)
    with pytest.raises(ValueError, match="feature"):
        loaded.predict([frames[0].add_prefix("x"), None])


def test_saving_before_fitting_says_so(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        RISE(3).save(tmp_path / "m.imvc")


def test_a_missing_folder_is_named_and_nothing_is_written(saved, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        saved[0].save(tmp_path / "nowhere" / "m.imvc")
    with pytest.raises(FileNotFoundError, match="no model file"):
        RISE.load(tmp_path / "nothing.imvc")


def test_a_failed_save_keeps_the_old_file(saved, tmp_path, monkeypatch):
    path = tmp_path / "m.imvc"
    saved[0].save(path)
    before = path.read_bytes()
    monkeypatch.setattr(zipfile.ZipFile, "writestr", lambda *a: 1 / 0)
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        saved[0].save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_truncated_file_is_refused(saved, tmp_path):
    data = saved[1].read_bytes()
    for length in (0, 10, len(data) // 2, len(data) - 1):
        path = tmp_path / "short.imvc"
        path.write_bytes(data[:length])
        with pytest.raises(ValueError, match="not an imvc model, or it is truncated"):
            RISE.load(path)


@given(st.data())
def test_no_altered_byte_goes_unnoticed_or_crashes(saved, tmp_path_factory, data):
    """Whatever byte is changed: the same model, or a ValueError."""
    content = bytearray(saved[1].read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.mktemp("altered") / "m.imvc"
    path.write_bytes(content)
    try:
        loaded = RISE.load(path)
    except ValueError:
        return
    np.testing.assert_array_equal(loaded.labels_, saved[0].labels_)
    np.testing.assert_array_equal(loaded.embedding_, saved[0].embedding_)


def rewrite(source, target, change):
    """Copy a model file with its header changed and its checksum left as it was."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, change(name, content))


def test_an_altered_header_is_refused(saved, tmp_path):
    path = tmp_path / "m.imvc"
    rewrite(
        saved[1],
        path,
        lambda n, c: c.replace(b"100.0", b"999.0") if n == "header.json" else c,
    )
    with pytest.raises(ValueError, match="header was altered"):
        RISE.load(path)


def test_an_altered_array_is_refused(saved, tmp_path):
    path = tmp_path / "m.imvc"
    rewrite(saved[1], path, lambda n, c: c[:-1] + b"\x01" if "labels_" in n else c)
    with pytest.raises(ValueError, match="array 'attribute/labels_' was altered"):
        RISE.load(path)


def with_header(source, target, **changes):
    import hashlib

    with zipfile.ZipFile(source) as old:
        header = json.loads(old.read("header.json"))
    text = json.dumps(header | changes).encode()

    def change(name, content):
        if name == "header.json":
            return text
        return hashlib.sha256(text).hexdigest() if name == "header.sha256" else content

    rewrite(source, target, change)


def test_a_file_of_a_newer_version_is_refused(saved, tmp_path):
    with_header(saved[1], tmp_path / "m.imvc", format_version=99)
    with pytest.raises(ValueError, match=r"format version 99, newer .* upgrade imvc"):
        RISE.load(tmp_path / "m.imvc")


def test_a_file_of_another_class_is_refused(saved, tmp_path):
    with_header(saved[1], tmp_path / "m.imvc", **{"class": "Other"})
    with pytest.raises(ValueError, match="holds a Other; load it with Other"):
        RISE.load(tmp_path / "m.imvc")


def test_a_foreign_zip_is_refused(tmp_path):
    np.savez(tmp_path / "foreign.npz", a=np.ones(3))
    with pytest.raises(ValueError, match="not an imvc model"):
        RISE.load(tmp_path / "foreign.npz")


def test_a_pickle_inside_is_refused(saved, tmp_path):
    """An object array needs pickle to read; np.load would be asked to allow it."""
    import hashlib
    import io

    buffer = io.BytesIO()
    np.save(buffer, np.array([print], dtype=object), allow_pickle=True)
    evil = buffer.getvalue()
    with zipfile.ZipFile(saved[1]) as old:
        header = json.loads(old.read("header.json"))
    header["arrays"]["attribute/labels_"] = hashlib.sha256(evil).hexdigest()
    path = tmp_path / "m.imvc"
    with_header(saved[1], path, arrays=header["arrays"])
    final = tmp_path / "evil.imvc"
    rewrite(path, final, lambda n, c: evil if "labels_" in n else c)
    with pytest.raises(ValueError, match="labels_' is of type object, not of numbers"):
        RISE.load(final)


def test_damaged_contents_with_right_checksums_are_refused(saved, tmp_path):
    with_header(saved[1], tmp_path / "m.imvc", params={"n_clusters": {}})
    with pytest.raises(ValueError, match="its 'n_clusters' is kept in an unknown way"):
        RISE.load(tmp_path / "m.imvc")


@pytest.mark.parametrize("estimator", [RISE, AnchorBridge, ImputeKMeans])
def test_load_model_finds_the_class_in_the_file(estimator, data, tmp_path):
    model = estimator(3, random_state=0).fit(data.Xs, mask=data.mask)
    model.save(tmp_path / "m.imvc")
    loaded = load_model(str(tmp_path / "m.imvc"))
    assert type(loaded) is estimator
    np.testing.assert_array_equal(
        loaded.predict(data.Xs, mask=data.mask), model.predict(data.Xs, mask=data.mask)
    )


@pytest.mark.parametrize("name", ["Other", "UEAF", "object", ""])
def test_load_model_refuses_a_class_that_is_no_method_for_files(saved, tmp_path, name):
    with_header(saved[1], tmp_path / "m.imvc", **{"class": name})
    with pytest.raises(ValueError, match=r"'m.imvc' holds a .*Anchor.*RISE") as error:
        load_model(tmp_path / "m.imvc")
    assert repr(name) in str(error.value)


def test_load_model_names_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no model file at .*nothing\.imvc"):
        load_model(tmp_path / "nothing.imvc")


def test_load_model_refuses_what_lacks_its_state(saved, tmp_path):
    with_header(saved[1], tmp_path / "m.imvc", values={})
    with pytest.raises(
        ValueError, match=r"'m\.imvc' cannot be read: its names of features"
    ):
        load_model(tmp_path / "m.imvc")


@given(st.data())
def test_load_model_gives_the_model_or_a_value_error(saved, tmp_path_factory, data):
    """Whatever stretch of bytes is overwritten, cut out or inserted."""
    content = bytearray(saved[1].read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    length = data.draw(st.integers(0, 40))
    content[at : at + length] = data.draw(st.binary(max_size=40))
    path = tmp_path_factory.mktemp("mutated") / "m.imvc"
    path.write_bytes(content)
    try:
        loaded = load_model(path)
    except ValueError:
        return
    np.testing.assert_array_equal(loaded.labels_, saved[0].labels_)


def test_what_a_program_adds_to_a_model_comes_back(saved, tmp_path):
    loaded = load_model(saved[1])
    loaded.preparation_ = {"views": ["a"], "means": {"a": [1.5, 2.0]}, "log1p": False}
    loaded.save(tmp_path / "m.imvc")
    assert load_model(tmp_path / "m.imvc").preparation_ == loaded.preparation_
