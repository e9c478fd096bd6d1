"""Data in another order: with ids and names the same clusters, whoever draws."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from imvc import DAIMC, HCLSCGL, IMVCCBG, RISE, SIMVCSA, AnchorBridge, ImputeKMeans
from imvc.datasets import make_views
from imvc.io import read_views
from imvc.methods import get_method
from imvc.methods._registry import METHODS
from imvc.scale import ParquetRows
from imvc.views import as_views, id_keys, name_order

N, NAMES = 120, ("rna", "dna", "protein")
DATA = make_views(N, (5, 6, 7), 3, incomplete=0.5, separation=2.0, random_state=0)
IDS = np.array([f"patient {i}" for i in range(N)], object)


def frames(order=range(N), views=(0, 1, 2), ids=IDS):
    """Tables of the observed rows; the ids of a view in the order asked for."""
    order = np.asarray(order)
    return {
        NAMES[v]: pd.DataFrame(
            DATA.Xs[v][order][DATA.mask[order, v]],
            index=ids[order][DATA.mask[order, v]],
        )
        for v in views
    }


def shuffled(seed):
    return np.random.RandomState(seed).permutation(N)


def by_id(model, values, ids=IDS):
    """Values of the samples in the order of ``ids``."""
    where = {name: i for i, name in enumerate(model.sample_ids_.tolist())}
    return values[[where[name] for name in ids.tolist()]]


def small(name):
    return get_method(name)(n_clusters=3, random_state=0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", METHODS)
class TestEveryMethod:
    def test_rows_in_another_order_give_the_same_labels(self, name):
        one, other = small(name).fit(frames()), small(name).fit(frames(shuffled(1)))
        labels = by_id(other, other.labels_)
        np.testing.assert_array_equal(labels, by_id(one, one.labels_))
        if name != "rise":  # whose sums over blocks differ by rounding
            np.testing.assert_array_equal(
                by_id(other, other.embedding_), by_id(one, one.embedding_)
            )

    def test_named_views_in_another_order_give_the_same_labels(self, name):
        one, other = small(name).fit(frames()), small(name).fit(frames(views=(2, 0, 1)))
        labels = by_id(other, other.labels_)
        np.testing.assert_array_equal(labels, by_id(one, one.labels_))

    def test_numbered_rows_and_views_go_by_their_places(self, name):
        """Row numbers that a reader made up are no ids: as with plain arrays."""
        views = as_views(list(DATA.Xs), DATA.mask)
        numbers = np.arange(N).astype(str).astype(object)
        made_up = replace(views, sample_ids=numbers, numbered=True)
        plain = small(name).fit(views)
        np.testing.assert_array_equal(small(name).fit(made_up).labels_, plain.labels_)


@settings(max_examples=20, deadline=None)
@given(
    order=st.permutations(range(N)),
    views=st.permutations(range(3)),
    kind=st.sampled_from(["text", "integers", "mixed"]),
)
def test_any_order_gives_the_same_labels(order, views, kind):
    ids = {
        "text": IDS,
        "integers": np.arange(N)[::-1] * 7,
        "mixed": np.array([i // 2 if i % 2 else str(i // 2) for i in range(N)], object),
    }[kind]
    models = [RISE(3, random_state=0), IMVCCBG(3, random_state=0)]
    for model in models:
        expected = by_id(model.fit(frames(ids=ids)), model.labels_, ids)
        model.fit(frames(order, views, ids))
        np.testing.assert_array_equal(by_id(model, model.labels_, ids), expected)


def test_without_ids_the_order_of_rows_does_count():
    """So the tests above show something: these data leave something to chance."""
    model, order = IMVCCBG(3, random_state=0), shuffled(1)
    one = model.fit_predict(DATA.Xs, mask=DATA.mask)
    other = model.fit_predict([X[order] for X in DATA.Xs], mask=DATA.mask[order])
    assert (one[order] != other).any()


class TestWhatIsKept:
    """Everything per sample and per view comes back in the order that was given."""

    def both(self, model):
        again = type(model)(**model.get_params())
        return model.fit(frames()), again.fit(frames(shuffled(2), (1, 2, 0)))

    def test_graphs_and_seeds_of_samples(self):
        one, other = self.both(IMVCCBG(3, random_state=0))
        np.testing.assert_array_equal(
            by_id(other, other.graph_), by_id(one, one.graph_)
        )
        seeds = [model.sample_ids_[model.seeds_].tolist() for model in (one, other)]
        assert seeds[0] == seeds[1]

    def test_both_axes_of_a_graph_of_samples(self):
        one, other = self.both(HCLSCGL(3, random_state=0))
        S = by_id(other, by_id(other, other.graph_.toarray()).T).T
        np.testing.assert_array_equal(
            S, by_id(one, by_id(one, one.graph_.toarray()).T).T
        )

    def test_the_consensus_of_samples(self):
        one, other = self.both(SIMVCSA(3, random_state=0))
        np.testing.assert_array_equal(
            by_id(other, other.consensus_), by_id(one, one.consensus_)
        )

    @pytest.mark.parametrize("method", [HCLSCGL, IMVCCBG, SIMVCSA])
    def test_weights_of_views(self, method):
        one, other = self.both(method(3, random_state=0))
        weights = dict(zip(other.view_names_, other.view_weights_))
        assert weights == dict(zip(one.view_names_, one.view_weights_))

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_bases_of_views(self):
        one, other = self.both(DAIMC(3, random_state=0))
        where = [one.view_names_.index(name) for name in other.view_names_]
        for v, u in enumerate(where):
            np.testing.assert_array_equal(other.bases_[v], one.bases_[u])
            np.testing.assert_array_equal(
                other.feature_weights_[v], one.feature_weights_[u]
            )

    def test_a_model_places_new_samples_as_those_of_the_fit(self):
        for model in self.both(ImputeKMeans(3, random_state=0)):
            views = frames(shuffled(3), (0, 1, 2))
            found = pd.Series(model.predict(views), as_views(views).sample_ids)
            np.testing.assert_array_equal(found[model.sample_ids_], model.labels_)

    def test_seeds_that_are_given_are_numbers_of_samples(self):
        model = IMVCCBG(3, seeds=[5, 50, 100], random_state=0).fit(frames())
        np.testing.assert_array_equal(model.seeds_, [5, 50, 100])


def write(folder, order, views):
    paths = {}
    for name, frame in frames(order, views).items():
        paths[name] = folder / f"{name}.parquet"
        frame.columns = [f"{name}{j}" for j in range(frame.shape[1])]
        frame.rename_axis("id").reset_index().to_parquet(paths[name], index=False)
    return paths


@pytest.mark.parametrize("options", [{}, {"learn_sample": 60}], ids=["all", "sample"])
@pytest.mark.parametrize("method", [RISE, AnchorBridge])
def test_files_in_another_order_give_the_labels_of_memory(tmp_path, method, options):
    model = method(3, random_state=0, memory_budget="1MiB", **options)
    in_memory = method(3, random_state=0, **options).fit(frames())
    paths = write(tmp_path, shuffled(4), (2, 1, 0))
    views = {name: ParquetRows(path, id_column="id") for name, path in paths.items()}
    order = as_views(frames(shuffled(4), (2, 1, 0))).sample_ids
    model.fit(views)
    model.sample_ids_ = order
    expected = by_id(in_memory, in_memory.labels_)
    np.testing.assert_array_equal(by_id(model, np.asarray(model.labels_)), expected)


@pytest.mark.parametrize("method", [RISE, AnchorBridge])
def test_updates_go_by_ids_too_also_from_a_file(tmp_path, method):
    first, second = np.arange(80), np.arange(80, N)
    mixed = [np.random.RandomState(5).permutation(own) for own in (first, second)]
    one = method(3, random_state=0).fit(frames(first)).update(frames(second))
    method(3, random_state=0).fit(frames(mixed[0])).save(
        tmp_path / "model.imvc", updatable=True
    )
    other = method.load(tmp_path / "model.imvc").update(frames(mixed[1]))
    np.testing.assert_array_equal(by_id(other, other.labels_), by_id(one, one.labels_))


def test_rows_without_ids_go_by_their_places_when_they_are_read(tmp_path):
    for v, X in enumerate(DATA.Xs):
        np.save(tmp_path / f"{NAMES[v]}.npy", X)
    views = read_views([tmp_path / f"{name}.npy" for name in NAMES]).views
    assert views.numbered
    assert views.sample_keys is None


def test_keys_come_from_the_text_of_an_id_alone():
    ids = np.array(["a", "b", "patient 17", "a" * 1000, ""], object)
    keys = id_keys(ids)
    assert len(set(keys.tolist())) == len(ids)
    for own, key in zip(ids, keys):  # whatever stands beside it
        assert id_keys(np.array([own, "z" * 30], object))[0] == key
    numbers = np.arange(5)
    np.testing.assert_array_equal(id_keys(numbers), id_keys(numbers.astype(str)))
    np.testing.assert_array_equal(  # the same on every machine and in every version
        id_keys(np.array(["a", "12"], object)),
        [5718913436695043505, 4524729951733830260],
    )


def test_a_number_and_its_text_have_keys_of_their_own_in_one_array():
    keys = id_keys(np.array([1, "1", 1.0, (1, "a"), None], object))
    assert len(set(keys.tolist())) == 5


def test_made_up_names_of_views_keep_their_order():
    assert name_order([f"view{v}" for v in range(12)]) == list(range(12))
    assert name_order(["rna", "dna", "protein"]) == [1, 0, 2]
