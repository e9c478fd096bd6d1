"""The protocol of blocks: sequences, iterables, generators."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sources_common import assert_pickles, assert_same, small_views

from imvc.scale import BlockError
from imvc.scale._given_blocks import Blocks
from imvc.scale._open import open_source
from imvc.views import as_views


def cut(Xs, cuts, mask=None):
    """Blocks of the views, None where no sample of a block has a view."""
    edges = [0, *cuts, len(Xs[0])]
    blocks = []
    for start, stop in pairwise(edges):
        parts = [X[start:stop] for X in Xs]
        empty = [np.isnan(part).all() for part in parts]
        block = [None if e else part for e, part in zip(empty, parts)]
        blocks.append(block if mask is None else (block, mask[start:stop]))
    return blocks


class Loader:
    """Something with a length that makes blocks when asked."""

    def __init__(self, blocks):
        self.blocks = blocks

    def __len__(self):
        return len(self.blocks)

    def __getitem__(self, i):
        return self.blocks[i]


@settings(max_examples=25)
@given(
    seed=st.integers(0, 1000),
    cuts=st.lists(st.integers(0, 40), max_size=6).map(sorted),
    kind=st.sampled_from(["list", "loader", "generator"]),
    masked=st.booleans(),
)
def test_any_blocks_hold_what_the_whole_holds(seed, cuts, kind, masked):
    Xs, mask = small_views(40, (3, 2), seed)
    blocks = cut(Xs, cuts, mask if masked else None)
    given_blocks = {
        "list": Blocks(blocks),
        "loader": Loader(blocks),
        "generator": (block for block in blocks),
    }[kind]
    source = open_source(given_blocks)
    assert source.starts.tolist() == [0, *cuts, 40]
    assert_same(source, as_views(Xs))


@pytest.mark.parametrize("kind", [Blocks, iter])
def test_a_source_of_blocks_can_travel(kind):
    Xs, _ = small_views()
    source = open_source(kind(cut(Xs, [10, 30])))
    assert_pickles(source, as_views(Xs))


def test_a_generator_is_asked_once():
    Xs, _ = small_views()
    asked = []

    def blocks():
        for j, block in enumerate(cut(Xs, [10, 30])):
            asked.append(j)
            yield block

    source = open_source(blocks())
    for i in range(source.n_blocks):
        source.block(i)
        source.block(i)
    assert asked == [0, 1, 2]


def test_blocks_by_name_may_lack_views():
    a, b = np.ones((4, 2)), np.full((6, 3), 2.0)
    blocks = [{"a": a}, {"b": b[:3]}, {"b": b[3:], "a": np.zeros((3, 2))}]
    for source in (open_source(Blocks(blocks)), open_source(iter(blocks))):
        assert source.names == ("a", "b")
        np.testing.assert_array_equal(source.mask(1), [[False, True]] * 3)
        np.testing.assert_array_equal(source.block(2).observed(1), b[3:])


def test_sparse_blocks_stay_sparse_on_disk():
    X = sp.csr_array(sp.random(30, 8, 0.3, "csr", None, 0))
    source = open_source(iter([[X[:13]], [X[13:]]]))
    assert sp.issparse(source.block(1).observed(0))
    assert_pickles(source, as_views([X]))


@pytest.mark.parametrize("kind", [Blocks, iter])
def test_a_sparse_view_is_sparse_even_where_no_sample_has_it(kind):
    X = sp.csr_array(sp.random(5, 8, 0.3, "csr", None, 0))
    source = open_source(kind([[X, np.ones((5, 2))], [None, np.ones((3, 2))]]))
    assert sp.issparse(source.block(1).observed(0))
    assert sp.issparse(source.rows(1, 0, np.arange(0)))


def test_large_blocks_of_an_iterable_are_cut_to_the_budget(monkeypatch):
    monkeypatch.setattr("imvc.scale._block_plan._MOST_ROWS", 7)
    Xs, _ = small_views()
    source = open_source(iter(cut(Xs, [5, 5, 25])))
    assert source.starts.tolist() == [0, 5, 5, 12, 19, 25, 32, 39, 46, 53]
    assert_same(source, as_views(Xs))


def test_the_same_blocks_have_the_same_fingerprint(tmp_path):
    Xs, _ = small_views()
    prints = [
        open_source(iter(cut(Ys, [20])), work_dir=tmp_path / "w").fingerprint
        for Ys in (Xs, Xs, [X * 2 for X in Xs])
    ]
    assert prints[0] == json.loads(json.dumps(prints[1]))
    assert prints[0] != prints[2]


def test_new_blocks_may_lack_views_of_the_model():
    Xs, _ = small_views()
    schema = as_views(Xs).schema
    new = np.ones((5, 3), np.float32)
    for blocks in ([{"view1": new}], [[None, new, None]]):
        for kind in (Blocks, iter):
            source = open_source(kind(blocks), like=schema)
            assert_same(source, as_views([None, new, None], like=schema))


def test_a_view_unknown_to_the_model_is_refused():
    schema = as_views([np.ones((2, 2))]).schema
    with pytest.raises(BlockError, match="view 'x', block 0: is unknown to the model"):
        open_source(Blocks([{"x": np.ones((2, 2))}]), like=schema)


@pytest.mark.parametrize("kind", [Blocks, iter])
@pytest.mark.parametrize(("value", "what"), [(np.nan, "partly NaN"), (-np.inf, "inf")])
def test_a_bad_row_is_named_by_block_and_row_over_all(kind, value, what):
    Xs, mask = small_views()
    row = int(np.flatnonzero(mask[:, 0])[-1])
    Xs[0][row, 1] = value
    with pytest.raises(BlockError, match=rf"^view 'view0', block 2, row {row}: {what}"):
        open_source(kind(cut(Xs, [10, 30]))).block(2)


@pytest.mark.parametrize("kind", [Blocks, iter])
def test_a_sample_without_any_view_is_named(kind):
    Xs, _ = small_views()
    for X in Xs:
        X[33] = np.nan
    with pytest.raises(BlockError, match="block 2, row 33: observed in no view"):
        open_source(kind(cut(Xs, [10, 30]))).block(2)


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([[np.ones((3, 2))], [np.ones((3, 4))]], "'view0', block 1: has 4 features"),
        ([[np.ones((3, 2)), np.ones((2, 2))]], "block 0: .*different numbers of rows"),
        ([[np.ones((3, 2))], [None, None]], "block 1: has 2 views instead of 1"),
        ([[np.ones(3)]], "block 0: view 'view0' is 1-D"),
        ([np.ones((3, 2))], "block 0: is a ndarray; give a list or dict"),
        ([([np.ones((3, 2))], np.ones((2, 1)))], r"mask has shape \(2, 1\)"),
        ([[pd.DataFrame({"x": [1.0]})]], "is a table with an index"),
        ([[np.array([["a"]])]], "is dtype <U1; give blocks as arrays"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(blocks, message):
    with pytest.raises(BlockError, match=message):
        open_source(Blocks(blocks))


def test_blocks_read_once_must_have_one_dtype():
    blocks = [[np.ones((3, 2), "f4")], [np.ones((3, 2))]]
    with pytest.raises(BlockError, match="block 1: has dtype float64, earlier"):
        open_source(iter(blocks))


@pytest.mark.parametrize("kind", [Blocks, iter])
def test_no_blocks_at_all_are_refused(kind):
    with pytest.raises(ValueError, match="Xs has no blocks"):
        open_source(kind([]))


def test_a_view_that_is_none_in_every_block_is_refused():
    with pytest.raises(ValueError, match=r"views \['view1'\] are None in every block"):
        open_source(Blocks([[np.ones((3, 2)), None]]))


def test_a_mask_beside_blocks_is_refused():
    with pytest.raises(ValueError, match="mask was given with blocks"):
        open_source(iter([[np.ones((3, 2))]]), np.ones((3, 1)))
