"""The same numbers from every runner, however the samples are cut into blocks."""

import os
import signal
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from imvc import RISE, AnchorBridge
from imvc.datasets import make_views
from imvc.methods.bridge.graphs import BridgeGraphs
from imvc.scale import BlockError, Blocks, GraphRows, ThreadRunner, ViewsSource
from imvc.views import as_views

METHODS = {
    "rise": lambda **options: RISE(3, random_state=0, **options),
    "rise, the authors' way": lambda **options: RISE(
        3,
        random_state=0,
        init="identity",
        metric="euclidean",
        scale="standard",
        **options,
    ),
    "bridge": lambda **options: AnchorBridge(3, random_state=0, **options),
    "bridge, guarded": lambda **options: AnchorBridge(
        3, partition="guarded", mask_as_view=True, random_state=0, **options
    ),
}


def planted(n=400, dtype=np.float64):
    """Planted clusters in an order that puts one pattern into one place only.

    View 0 is absent from samples 100 to 199, and the last ten have view 2 alone.
    """
    data = make_views(n, (8, 6, 5), 3, incomplete=0.5, random_state=0)
    mask = data.mask.copy()
    mask[100:200, 0], mask[100:200, 1] = False, True
    mask[(mask == [False, False, True]).all(axis=1)] = True
    mask[-10:] = [False, False, True]
    Xs = [np.where(seen[:, None], X, np.nan) for X, seen in zip(data.Xs, mask.T)]
    return [X.astype(dtype) for X in Xs], mask


XS, MASK = planted()


def quiet(model, *data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(*data, **options)


@pytest.fixture(scope="module")
def whole():
    return {name: quiet(make(), XS) for name, make in METHODS.items()}


class Cut:
    """Blocks between given samples; a view that nobody has in a block is None."""

    def __init__(self, cuts, Xs=XS, mask=MASK):
        self.ends = [0, *sorted(cuts), len(mask)]
        self.Xs, self.mask = Xs, mask

    def __len__(self):
        return len(self.ends) - 1

    def __getitem__(self, i):
        part = slice(self.ends[i], self.ends[i + 1])
        seen = self.mask[part].any(axis=0)
        return [X[part] if own else None for X, own in zip(self.Xs, seen)]


def statistics(model):
    found = model._samples.statistics
    return {p: found.grams.groups[p] for p in found.grams.patterns}, found


def assert_same(one, other):
    (groups, found), (groups_, found_) = statistics(one), statistics(other)
    assert groups.keys() == groups_.keys()
    for p, group in groups.items():
        assert group.count == groups_[p].count
        scale = np.abs(group.dense()).max()
        np.testing.assert_allclose(
            group.dense(), groups_[p].dense(), atol=1e-10 * scale
        )
        np.testing.assert_allclose(
            group.column_sums, groups_[p].column_sums, rtol=1e-10, atol=1e-12
        )
    for near, near_ in zip(found.nearest, found_.nearest):
        np.testing.assert_array_equal(near[:, 0], near_[:, 0])
        np.testing.assert_allclose(near[:, 1], near_[:, 1], rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.pattern_leakage_, other.pattern_leakage_, atol=1e-12)
    np.testing.assert_allclose(one.inertia_, other.inertia_, rtol=1e-6)


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=6)
@given(cuts=st.lists(st.integers(0, len(MASK)), max_size=9))
def test_any_cutting_into_blocks_gives_the_same(name, whole, cuts):
    found = quiet(METHODS[name](), Blocks(Cut(cuts)))
    assert_same(whole[name], found)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    "cuts",
    [[100, 200], [0, 0, 390], [7, 8, 9, 201, 400], list(range(13, 400, 13))],
    ids=["a view absent from a block", "empty blocks", "odd sizes", "many"],
)
def test_hard_cuttings_give_the_same(name, whole, cuts):
    assert_same(whole[name], quiet(METHODS[name](), Blocks(Cut(cuts))))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("block_rows", [37, 150, 1000])
def test_memory_in_blocks_of_any_size_gives_the_same(
    name, whole, block_rows, monkeypatch
):
    def small(views, rows=None):
        return ViewsSource(views, rows or block_rows)

    monkeypatch.setattr("imvc.scale._runner.ViewsSource", small)
    found = quiet(METHODS[name](), XS)
    assert_same(whole[name], found)
    np.testing.assert_array_equal(found.predict(XS), whole[name].labels_)


@pytest.mark.parametrize("name", METHODS)
def test_graph_rows_are_equal_bit_for_bit_in_single_precision(name):
    Xs, mask = planted(dtype=np.float32)
    one = quiet(METHODS[name](), Xs)
    other = quiet(METHODS[name](), Blocks(Cut([3, 77, 78, 205], Xs, mask)))
    parts = len(other._samples.starts) - 1  # AnchorBridge learns from one block
    assert parts == (1 if "bridge" in name else 5)
    rows = [other._samples.rows[i] for i in range(parts)]
    (whole,) = [one._samples.rows[i] for i in range(1)]
    for v, (indices, weights) in enumerate(whole.graphs):
        np.testing.assert_array_equal(
            indices, np.concatenate([r.graphs[v][0] for r in rows])
        )
        np.testing.assert_array_equal(
            weights, np.concatenate([r.graphs[v][1] for r in rows])
        )
    assert_same(one, other)


@pytest.fixture
def files(tmp_path):
    paths = []
    for v, X in enumerate(XS):
        np.save(tmp_path / f"view{v}.npy", X)
        paths.append(str(tmp_path / f"view{v}.npy"))
    np.save(tmp_path / "mask.npy", MASK)
    return paths, str(tmp_path / "mask.npy")


@pytest.mark.parametrize("name", METHODS)
def test_files_give_what_memory_gives(name, whole, files):
    paths, mask = files
    found = quiet(METHODS[name](memory_budget="1MiB"), paths, mask=mask)
    assert_same(whole[name], found)
    assert isinstance(found.embedding_, np.memmap)
    np.testing.assert_array_equal(found.predict(paths, mask=mask), found.labels_)
    if "authors" not in name:  # their start is of the training samples only
        np.testing.assert_array_equal(found.transform(paths), found.embedding_)


def test_memory_maps_are_read_by_blocks(whole, files):
    maps = [np.load(path, mmap_mode="r") for path in files[0]]
    assert_same(whole["rise"], quiet(METHODS["rise"](), maps))


def test_sparse_blocks_stay_sparse(monkeypatch):
    data = make_views(300, (30, 20), 3, random_state=0)
    Xs = [sp.csr_array(np.where(np.abs(X) > 0.8, X, 0)) for X in data.Xs]
    seen = []
    join = BridgeGraphs.__call__

    def spy(graphs, views, *options):
        seen.append([sp.issparse(X) for X in views.arrays])
        return join(graphs, views, *options)

    monkeypatch.setattr(BridgeGraphs, "__call__", spy)
    quiet(
        AnchorBridge(3, random_state=0),
        Blocks([[X[:150] for X in Xs], [X[150:] for X in Xs]]),
    )
    assert len(seen) == 2
    assert np.all(seen)


@pytest.mark.parametrize(
    "options", [dict(graph="full"), dict(anchors="das"), dict(anchor_sample=None)]
)
def test_what_needs_all_rows_is_refused_by_name(files, options):
    (name,) = options
    with pytest.raises(ValueError, match=f"{name}=.*needs all rows in memory"):
        RISE(3, **options).fit(files[0])


def test_a_view_that_nobody_has_is_named(files):
    mask = MASK.copy()
    mask[:, 1], mask[:, 2] = False, True
    data = [np.nan_to_num(X) for X in XS]
    with pytest.raises(ValueError, match="views \\['view1'\\] have no observed"):
        RISE(3).fit(Blocks([(data, mask)]))


def test_views_that_share_no_samples_are_clustered_apart_in_blocks(files):
    mask = np.zeros((400, 3), bool)
    mask[:200, :2], mask[200:, 2] = True, True
    data = make_views(400, (8, 6, 5), 3, random_state=0)
    whole = quiet(AnchorBridge(3, random_state=0), data.Xs, mask=mask)
    Xs = [np.where(seen[:, None], X, np.nan) for X, seen in zip(data.Xs, mask.T)]
    cut = quiet(
        AnchorBridge(3, random_state=0), Blocks(Cut([50, 199, 201, 300], Xs, mask))
    )
    assert len(whole.component_views_) == 2
    np.testing.assert_array_equal(whole.labels_, cut.labels_)
    with pytest.raises(ValueError, match="groups of views apart"):
        cut.update(data.Xs, mask=mask)


def test_a_number_of_clusters_is_suggested_alike(files):
    one = quiet(AnchorBridge([2, 3, 4], random_state=0), XS)
    two = quiet(AnchorBridge([2, 3, 4], random_state=0), files[0])
    np.testing.assert_allclose(one.stability_curve_, two.stability_curve_, atol=1e-12)
    np.testing.assert_array_equal(one.labels_, two.labels_)


def test_stability_is_the_same_from_files(files):
    one, two = (
        quiet(AnchorBridge(3, stability=True, random_state=0), data)
        for data in (XS, files[0])
    )
    assert one.stability_ == pytest.approx(two.stability_, abs=1e-12)


class TestWorkFolder:
    def fit(self, files, folder, **options):
        model = RISE(3, random_state=0, work_dir=folder, memory_budget="1MiB")
        return model.set_params(**options).fit(files[0], mask=files[1])

    def test_results_stand_in_it(self, files, tmp_path):
        model = self.fit(files, tmp_path / "work")
        labels = np.load(tmp_path / "work" / "labels.npy")
        np.testing.assert_array_equal(labels, model.labels_)
        assert np.load(tmp_path / "work" / "embedding.npy").shape == (400, 3)

    def test_finished_stages_are_not_done_again(self, files, tmp_path, monkeypatch):
        first = self.fit(files, tmp_path / "work")
        for name in ("labels", "kmeans", "embedding"):
            (tmp_path / "work" / f"{name}.state").unlink()
        monkeypatch.setattr("imvc.methods.anchor_model.choose_anchors", refuse)
        monkeypatch.setattr("imvc.scale._source.graph_rows", refuse)
        again = self.fit(files, tmp_path / "work")
        np.testing.assert_array_equal(first.labels_, again.labels_)

    def test_without_a_seed_it_goes_on_with_the_seed_it_had(self, files, tmp_path):
        options = dict(random_state=None, n_init=1)
        first = self.fit(files, tmp_path / "work", **options)
        (tmp_path / "work" / "labels.state").unlink()
        again = self.fit(files, tmp_path / "work", **options)
        np.testing.assert_array_equal(first.labels_, again.labels_)

    def test_another_run_is_refused(self, files, tmp_path):
        self.fit(files, tmp_path / "work")
        with pytest.raises(ValueError, match=r"differs in beta; give an empty folder"):
            self.fit(files, tmp_path / "work", beta=3.0)

    def test_changed_data_are_refused(self, files, tmp_path):
        self.fit(files, tmp_path / "work")
        X = np.load(files[0][0])
        np.save(files[0][0], np.vstack([X, X])[:400] * 2)
        os.utime(files[0][0], (1, 1))
        text = r"begun with another .*view0\.npy \(its content is another; .* 1970"
        with pytest.raises(ValueError, match=text):
            self.fit(files, tmp_path / "work")

    @pytest.mark.parametrize("wrap", [list, lambda Xs: Blocks(Cut([150], Xs))])
    def test_changed_data_in_memory_are_refused(self, wrap, tmp_path):
        model = RISE(3, random_state=0, work_dir=tmp_path / "work")
        model.fit(wrap(XS))
        np.testing.assert_array_equal(model.labels_, model.fit(wrap(XS)).labels_)
        with pytest.raises(ValueError, match="differs in data"):
            model.fit(wrap([XS[0] + 1, *XS[1:]]))

    def test_what_unobserved_rows_hold_is_not_part_of_the_data(self, tmp_path):
        model = RISE(3, random_state=0, work_dir=tmp_path / "work")
        model.fit([np.nan_to_num(X) for X in XS], mask=MASK)
        other = [np.nan_to_num(X, nan=7.0) for X in XS]
        model.fit(other, mask=MASK)
        assert len(model.labels_) == len(MASK)

    def test_a_folder_with_other_files_is_refused(self, files, tmp_path):
        (tmp_path / "notes.txt").write_text("mine")
        with pytest.raises(ValueError, match=r"not empty .*'.*' is in it"):
            self.fit(files, tmp_path)
        assert (tmp_path / "notes.txt").read_text() == "mine"

    def test_a_folder_in_use_is_refused(self, files, tmp_path):
        pytest.importorskip("fcntl")
        seen = []

        def second(iteration, objective):
            if not seen:
                seen.append(1)
                with pytest.raises(ValueError, match="in use by another run"):
                    self.fit(files, tmp_path / "work")

        self.fit(files, tmp_path / "work", callback=second)
        assert seen

    def test_a_killed_run_goes_on(self, files, tmp_path):
        """SIGKILL in the middle of the graph stage, then the same fit again."""
        script = textwrap.dedent(
            """
            import os, signal, sys
            from imvc import RISE
            from imvc.scale import AnchorGraphs

            def die(graphs, views, count=[0], whole=AnchorGraphs.__call__):
                count[0] += 1
                if count[0] == 4:
                    os.kill(os.getpid(), signal.SIGKILL)
                return whole(graphs, views)

            AnchorGraphs.__call__ = die
            RISE(3, random_state=0, work_dir=sys.argv[1], memory_budget=500_000,
                 n_jobs=1).fit(sys.argv[3:], mask=sys.argv[2])
            """
        )
        for path, X in zip([*files[0], files[1]], [*XS, MASK]):
            np.save(path, np.tile(X, (10, 1)))
        work = tmp_path / "work"
        done = subprocess.run(
            [sys.executable, "-c", script, str(work), files[1], *files[0]], check=False
        )
        assert done.returncode == -signal.SIGKILL
        assert (work / "anchors.state").exists()
        assert not (work / "statistics.state").exists()
        blocks = {p.name: p.stat().st_mtime_ns for p in (work / "graph").iterdir()}
        assert blocks
        options = dict(memory_budget=500_000, n_jobs=1)
        model = self.fit(files, work, **options)
        kept = {p.name: p.stat().st_mtime_ns for p in (work / "graph").iterdir()}
        assert blocks.items() <= kept.items()
        fresh = self.fit(files, tmp_path / "fresh", **options)
        np.testing.assert_array_equal(model.labels_, fresh.labels_)

    def test_bad_rows_in_a_late_block_keep_the_finished_stages(self, files, tmp_path):
        X = np.load(files[0][1])
        row = int(np.flatnonzero(MASK[:, 1])[-1])
        X[row, 2] = np.nan
        np.save(files[0][1], X)
        anchors = [np.nan_to_num(X[:20]) for X in XS]
        with pytest.raises(BlockError, match=rf"view1\.npy.*block.*row {row}"):
            self.fit(files, tmp_path / "work", anchors=anchors)
        assert (tmp_path / "work" / "survey.state").exists()


def refuse(*args, **options):
    raise AssertionError("this stage was finished already")


class TestUpdate:
    @pytest.mark.parametrize("name", ["rise", "rise, the authors' way"])
    def test_rise_equals_a_fit_on_all_with_the_same_anchors(self, name):
        model = METHODS[name]().fit([X[:250] for X in XS])
        deviations = model._graphs.deviations
        model.update([X[250:] for X in XS])
        whole = METHODS[name](anchors=model.anchors_)
        if deviations[0] is None:
            whole.fit(XS)
            np.testing.assert_array_equal(model.labels_, whole.labels_)
            np.testing.assert_allclose(model.embedding_, whole.embedding_, atol=1e-10)
        assert len(model.labels_) == len(MASK)

    def test_bridge_solves_anew_from_the_graph_rows_of_all(self):
        model = AnchorBridge(3, random_state=0).fit([X[:250] for X in XS])
        (old,), kept = model._learnt, model._samples.rows[0]
        model.update([X[250:] for X in XS])
        (new,), V = model._learnt, len(XS)
        assert new.graphs is old.graphs
        # Old samples are left out of their own predictions, new ones need not be.
        views = as_views([X[250:] for X in XS])
        rows = GraphRows.stack([kept.select(range(3 * V)), old.graphs(views)])
        learner = model._learner(3, map, silent=True)
        passes = learner.solve(rows, old.graphs.sizes, old.r_squared)
        np.testing.assert_allclose(
            new.spectrum.values, passes.second.spectrum.values, atol=1e-10
        )
        np.testing.assert_array_equal(model.predict(XS), model.labels_)
        np.testing.assert_array_equal(model.overlap_, MASK.T.astype(int) @ MASK)

    @pytest.mark.parametrize("method", [RISE, AnchorBridge])
    def test_several_updates_equal_one(self, method):
        parts = [[X[a:b] for X in XS] for a, b in ((0, 200), (200, 300), (300, 400))]
        step = method(3, random_state=0).fit(parts[0]).update(parts[1])
        step.update(parts[2])
        once = method(3, random_state=0).fit(parts[0])
        once.update([X[200:] for X in XS])
        np.testing.assert_array_equal(step.labels_, once.labels_)

    @pytest.mark.parametrize("method", [RISE, AnchorBridge])
    def test_a_saved_model_goes_on_where_it_was(self, method, tmp_path):
        model = method(3, random_state=0).fit([X[:250] for X in XS])
        model.save(tmp_path / "m.imvc", updatable=True)
        loaded = method.load(tmp_path / "m.imvc")
        for one in (model, loaded):
            one.update([X[250:] for X in XS])
        np.testing.assert_array_equal(model.labels_, loaded.labels_)
        np.testing.assert_allclose(loaded.embedding_, model.embedding_, atol=1e-12)

    @pytest.mark.parametrize("method", [RISE, AnchorBridge])
    def test_a_model_without_rows_says_why(self, method, tmp_path):
        model = method(3, random_state=0).fit(XS)
        model.save(tmp_path / "m.imvc")
        with pytest.raises(ValueError, match="updatable=True"):
            method.load(tmp_path / "m.imvc").update(XS)

    def test_files_are_updated_by_files(self, files, whole):
        model = METHODS["rise"]().fit(files[0], mask=files[1])
        model.update(files[0], mask=files[1])
        twice = METHODS["rise"](anchors=model.anchors_).fit(
            [np.vstack([X, X]) for X in XS]
        )
        np.testing.assert_array_equal(model.labels_, twice.labels_)
        assert isinstance(model.embedding_, np.memmap)

    def test_stability_is_unknown_after_an_update(self):
        model = AnchorBridge(3, stability=True, random_state=0)
        quiet(model, [X[:250] for X in XS])
        assert model.stability_ > 0
        assert np.isnan(model.update([X[250:] for X in XS]).stability_)

    def test_ids_are_joined(self):
        pd = pytest.importorskip("pandas")
        frames = [pd.DataFrame(X).add_prefix("f").dropna() for X in XS[:2]]
        both = [f.loc[f.index < 250] for f in frames]
        rest = [f.loc[f.index >= 250] for f in frames]
        model = RISE(3, random_state=0).fit(both).update(rest)
        assert len(model.sample_ids_) == len(model.labels_)
        assert set(model.sample_ids_) == set(frames[0].index) | set(frames[1].index)

    @pytest.mark.parametrize("method", [RISE, AnchorBridge])
    def test_drift_is_near_one_on_the_same_data_and_high_on_others(self, method):
        data = make_views(2000, (8, 6), 3, random_state=0)
        model = method(3, n_anchors=40, random_state=0).fit(data.Xs)
        np.testing.assert_array_equal(model.drift_, 1)
        model.update(data.Xs)
        np.testing.assert_allclose(model.drift_, 1, rtol=0.05)
        far = [np.abs(X) + 30 for X in data.Xs]
        with pytest.warns(UserWarning, match="drift_"):
            model.update(far)
        assert model.drift_.max() > 1.4

    def test_drift_of_a_view_that_no_new_sample_has_is_unknown(self):
        model = RISE(3, n_anchors=10, random_state=0).fit(XS)
        model.update([XS[0][:100][MASK[:100, 0]], None, None])
        assert np.isnan(model.drift_[1:]).all()
        assert model.drift_[0] > 0

    def test_drift_is_unknown_with_few_samples_per_anchor(self):
        model = RISE(3, n_anchors=100, random_state=0).fit([X[:250] for X in XS])
        model.update([X[250:] for X in XS])
        assert np.isnan(model.drift_).all()


def test_a_sample_of_observed_rows_comes_in_order():
    runner = ThreadRunner(ViewsSource(as_views(XS), 61), map)
    runner.survey()
    rows = np.flatnonzero(MASK[:, 1])
    ranks = np.array([0, 5, 60, 61, len(rows) - 1])
    np.testing.assert_array_equal(runner.observed_rows(1, ranks), XS[1][rows[ranks]])
    np.testing.assert_array_equal(runner.observed_samples(1, 70), rows[:70])
    overlap = MASK.astype(int).T @ MASK
    np.testing.assert_array_equal(runner.surveyed.overlap, overlap)
