"""Learning from a sample of the samples, and placing all of them in one pass."""

import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imvc import RISE
from imvc.datasets import make_views
from imvc.io._npy import NpyReader
from imvc.metrics import adjusted_rand, pattern_leakage
from imvc.scale import (
    AnchorGraphs,
    Blocks,
    RunFolder,
    ThreadRunner,
    ViewsSource,
    open_source,
)
from imvc.scale._draw import pattern_quotas
from imvc.views import as_views

N = 3000


@pytest.fixture(scope="module")
def data():
    """Planted clusters; the third view alone is all that the last samples have."""
    made = make_views(N, (8, 6, 5), 3, incomplete=0.5, random_state=0)
    mask = made.mask.copy()
    mask[(mask == [False, False, True]).all(axis=1)] = True
    mask[-12:] = [False, False, True]
    Xs = [np.where(own[:, None], X, np.nan) for X, own in zip(made.Xs, mask.T)]
    return Xs, mask, made.y


@pytest.fixture
def files(data, tmp_path):
    Xs, mask, _ = data
    for v, X in enumerate(Xs):
        np.save(tmp_path / f"view{v}.npy", X)
    np.save(tmp_path / "mask.npy", mask)
    return [str(tmp_path / f"view{v}.npy") for v in range(3)], str(
        tmp_path / "mask.npy"
    )


class Cut:
    """Blocks that end at given samples."""

    def __init__(self, Xs, ends):
        self.Xs, self.ends = Xs, [0, *ends, N]

    def __len__(self):
        return len(self.ends) - 1

    def __getitem__(self, i):
        return [X[self.ends[i] : self.ends[i + 1]] for X in self.Xs]


def surveyed(source):
    runner = ThreadRunner(source, map)
    runner.survey()
    return runner


def rise(**options):
    return RISE(**{"n_clusters": 3, "learn_sample": 700, "random_state": 0} | options)


@given(
    counts=st.lists(st.integers(1, 5000), min_size=1, max_size=60),
    share=st.floats(0.001, 1),
)
def test_quotas_add_up_and_rare_patterns_get_their_part(counts, share):
    counts = np.array(counts)
    size = max(1, int(share * counts.sum()))
    quotas = pattern_quotas(counts, size)
    assert quotas.sum() == size
    assert (quotas <= counts).all()
    even = int(0.1 * size / len(counts))
    assert (quotas >= np.minimum(counts, even) - 1).all()
    by_size = 0.9 * size * counts / counts.sum()
    assert (quotas >= np.minimum(by_size, counts) * 0.9 - 1).all()


@pytest.mark.parametrize("ends", [[1500], [0, 7, 1000, 1001], list(range(50, N, 50))])
def test_the_same_samples_are_drawn_of_any_blocks(data, ends):
    Xs = data[0]
    one = surveyed(ViewsSource(as_views(Xs))).sample(500, 3)
    two = surveyed(open_source(Blocks(Cut(Xs, ends)))).sample(500, 3)
    assert len(one) == len(two) == 500
    np.testing.assert_array_equal(one.mask, two.mask)
    for v in range(3):
        np.testing.assert_array_equal(one.observed(v), two.observed(v))
    alone = (one.mask == [False, False, True]).all(axis=1)
    assert alone.sum() >= 7  # 2 by their share of the samples


def test_other_seeds_draw_other_samples_and_no_size_draws_all(data):
    runner = surveyed(ViewsSource(as_views(data[0])))
    one, two = (runner.sample(500, seed).observed(2) for seed in (0, 1))
    assert one.shape != two.shape or not np.array_equal(one, two)
    assert runner.sample(None, 0).n_samples == runner.sample(N, 0).n_samples == N


def test_only_the_rows_drawn_are_read(files, monkeypatch):
    runner = surveyed(open_source(files[0], files[1], memory_budget="1MiB"))
    whole = NpyReader.read

    def read(reader, start, stop):
        assert reader.shape[1] == 3, "a whole block of a view was read"
        return whole(reader, start, stop)

    monkeypatch.setattr(NpyReader, "read", read)
    assert runner.sample(200, 0).n_samples == 200


def test_files_and_blocks_give_what_memory_gives(data, files):
    Xs, mask, _ = data
    whole = rise().fit(Xs, mask=mask)
    for found in (
        rise(memory_budget="1MiB").fit(files[0], mask=files[1]),
        rise().fit(Blocks(Cut(Xs, [40, 40, 2001]))),
    ):
        np.testing.assert_array_equal(found.labels_, whole.labels_)
        np.testing.assert_array_equal(found.embedding_, whole.embedding_)
        assert found.inertia_ == pytest.approx(whole.inertia_)
    np.testing.assert_array_equal(whole.predict(Xs), whole.labels_)
    np.testing.assert_array_equal(whole.transform(Xs), whole.embedding_)
    assert whole.pattern_leakage_ == pytest.approx(pattern_leakage(whole.labels_, mask))
    Y = whole._clustering_space(whole.embedding_)
    inertia = np.square(Y - whole.cluster_centers_[whole.labels_]).sum()
    assert whole.inertia_ == pytest.approx(inertia)
    exact = rise(learn_sample=None).fit(Xs, mask=mask)
    assert adjusted_rand(exact.labels_, whole.labels_) > 0.97
    np.testing.assert_allclose(
        whole.anchor_distance_, exact.anchor_distance_, rtol=0.15
    )


def test_a_large_enough_sample_changes_nothing(data):
    exact = rise(learn_sample=None).fit(data[0])
    found = rise(learn_sample=N).fit(data[0])
    np.testing.assert_array_equal(found.embedding_, exact.embedding_)


def test_a_sample_has_two_hundred_samples_for_each_cluster(data):
    model = rise(learn_sample=10, n_clusters=4).fit(data[0])
    assert model._samples.starts[-1] == 800
    assert len(model.labels_) == N


def test_a_beta_path_learns_from_a_sample_too(data):
    found = rise().beta_path(data[0], [1.0, 100.0])
    for model in found:
        alone = rise(beta=model.beta).fit(data[0])
        np.testing.assert_array_equal(model.labels_, alone.labels_)
        assert model._samples.stand_for == N


def test_a_view_that_one_in_a_thousand_has_is_placed_well():
    n = 20_000
    made = make_views(n, (8, 6, 5), 3, random_state=1)
    mask = np.ones((n, 3), bool)
    mask[:, 2] = np.arange(n) % 1000 == 0
    mask[mask[:, 2], :2] = np.arange(20)[:, None] % 2 == [0, 0]
    model = rise(learn_sample=2000).fit(made.Xs, mask=mask)
    drawn = [model._samples.rows[i].mask[:, 2].sum() for i in range(1)]
    assert drawn == [20]
    rare = mask[:, 2] & mask[:, 0]
    most = [np.bincount(model.labels_[made.y == j]).argmax() for j in range(3)]
    assert np.mean(model.labels_ == np.take(most, made.y)) > 0.97
    assert (model.labels_[rare] == np.take(most, made.y[rare])).all()


def test_what_needs_all_rows_may_have_those_of_the_sample(files):
    model = rise(anchors="das", anchor_sample=None).fit(files[0])
    assert len(model.labels_) == N
    with pytest.raises(ValueError, match=r"learn_sample=700 needs graph='bipartite'"):
        rise(graph="full").fit(files[0])


class TestWorkFolder:
    def test_a_pass_goes_on_where_it_stopped(self, data, tmp_path, monkeypatch):
        monkeypatch.setattr("imvc.scale._folder._SAVE_SECONDS", 0)
        source = ViewsSource(as_views(data[0]), 100)
        visited = []

        def function(views, i):
            visited.append(i)
            if i == 20 and visited.count(20) == 1:
                raise OSError("no more power")
            return views.mask[:, :2], views.mask[:, 2], (i, views.mask.sum())

        def visit():
            runner = ThreadRunner(source, map, RunFolder(tmp_path, {}))
            found, total = runner.several_rows(
                "visit",
                function,
                runner.blocks,
                range(30),
                outputs={"two": (2, bool), "one": (None, np.int8)},
            )
            return [runner.array(rows) for rows in found], total

        with pytest.raises(OSError, match="power"):
            visit()
        assert not (tmp_path / "two.npy").exists()
        (two, one), total = visit()
        assert visited == [*range(21), *range(20, 30)]
        assert total == (sum(range(30)), data[1].sum())
        np.testing.assert_array_equal(two, data[1][:, :2])
        np.testing.assert_array_equal(one, data[1][:, 2])
        assert not list(tmp_path.glob("*.reached"))
        assert visit()[1] == total
        assert len(visited) == 31

    def test_a_killed_fit_goes_on(self, files, tmp_path, monkeypatch):
        """SIGKILL in the middle of the pass, then the same fit again."""
        script = textwrap.dedent(
            """
            import os, signal, sys
            import imvc.scale._folder
            from imvc import RISE
            from imvc.scale import AnchorGraphs

            imvc.scale._folder._SAVE_SECONDS = 0

            def die(graphs, views, count=[0], whole=AnchorGraphs.by_pattern):
                count[0] += 1
                if count[0] == 3:
                    os.kill(os.getpid(), signal.SIGKILL)
                return whole(graphs, views)

            AnchorGraphs.by_pattern = die
            RISE(3, random_state=0, learn_sample=700, work_dir=sys.argv[1],
                 memory_budget=500_000, n_jobs=1).fit(sys.argv[3:], mask=sys.argv[2])
            """
        )
        work = tmp_path / "work"
        done = subprocess.run(
            [sys.executable, "-c", script, str(work), files[1], *files[0]], check=False
        )
        assert done.returncode == -signal.SIGKILL
        assert (work / "placing.reached").exists()
        placed = count_placed(monkeypatch)
        options = dict(memory_budget=500_000, n_jobs=1)
        model = rise(work_dir=work, **options).fit(files[0], mask=files[1])
        again = len(placed)
        fresh = rise(**options).fit(files[0], mask=files[1])
        # The two blocks that were placed before the end are not placed again.
        assert again == len(placed) - again - 2
        np.testing.assert_array_equal(model.labels_, fresh.labels_)
        np.testing.assert_array_equal(model.embedding_, fresh.embedding_)
        assert model.inertia_ == fresh.inertia_
        assert model.pattern_leakage_ == fresh.pattern_leakage_


def count_placed(monkeypatch):
    """A list that grows with every block that is placed."""
    placed, place = [], AnchorGraphs.by_pattern

    def counted(graphs, views):
        placed.append(views)
        return place(graphs, views)

    monkeypatch.setattr(AnchorGraphs, "by_pattern", counted)
    return placed


class TestUpdate:
    def halves(self, data, at=2000):
        return [X[:at] for X in data[0]], [X[at:] for X in data[0]]

    def updated(self, model, Xs):
        with pytest.warns(UserWarning, match="labels_ and embedding_ are now those of"):
            return model.update(Xs)

    def test_labels_are_those_of_the_new_samples(self, data):
        old, new = self.halves(data)
        model = self.updated(rise().fit(old), new)
        assert len(model.labels_) == N - 2000
        np.testing.assert_array_equal(model.predict(new), model.labels_)
        labels = np.concatenate([model.predict(old), model.labels_])
        assert adjusted_rand(labels, data[2]) > 0.95

    def test_new_samples_join_by_their_share(self, data):
        old, new = self.halves(data)
        model = self.updated(rise().fit(old), new)
        assert model._samples.starts[-1] == 700 + 350
        assert model._samples.stand_for == N
        self.updated(model, new)
        assert model._samples.starts[-1] == 700 + 350 + 350

    def test_a_saved_model_goes_on_where_it_was(self, data, tmp_path):
        old, new = self.halves(data)
        model = rise().fit(old)
        model.save(tmp_path / "m.imvc", updatable=True)
        loaded = RISE.load(tmp_path / "m.imvc")
        for one in (model, loaded):
            self.updated(one, new)
        np.testing.assert_array_equal(model.labels_, loaded.labels_)
        assert loaded._samples.stand_for == N

    def test_files_are_updated_by_files(self, data, files):
        model = self.updated(rise().fit(files[0], mask=files[1]), files[0])
        whole = self.updated(rise().fit(data[0]), data[0])
        np.testing.assert_array_equal(model.labels_, whole.labels_)
        assert isinstance(model.embedding_, np.memmap)

    def test_a_model_that_learnt_from_all_labels_all(self, data):
        old, new = self.halves(data)
        model = rise(learn_sample=2000).fit(old).update(new)
        assert len(model.labels_) == N
        assert model._samples.stand_for is None
