"""Masks against the protocol: how many, how often, nested, and never an empty row."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn.decomposition import PCA

from imvc.datasets import (
    block_mask,
    class_dependent_mask,
    list_protocols,
    make_views,
    missing_shares,
    nested_masks,
    one_missing_mask,
    paired_mask,
    per_view_mask,
    protocol_mask,
    random_mask,
    value_dependent_mask,
)
from imvc.datasets._draw import draw_patterns

DOCS = Path(__file__).parents[2] / "docs"
RATIOS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]


def class_dependent(n_samples, n_views, ratio, seed):
    return class_dependent_mask(np.arange(n_samples) % 4, n_views, ratio, seed)


def strictly_class_dependent(n_samples, n_views, ratio, seed):
    y = np.arange(n_samples) % 4
    return class_dependent_mask(y, n_views, ratio, seed, strength=1.0)


def value_dependent(n_samples, n_views, ratio, seed):
    Xs = np.random.RandomState(0).standard_normal((n_views, n_samples, 3))
    return value_dependent_mask(list(Xs), ratio, seed)


def driven_by_the_last_view(n_samples, n_views, ratio, seed):
    Xs = np.random.RandomState(0).standard_normal((n_views, n_samples, 3))
    return value_dependent_mask(
        list(Xs), ratio, seed, strength=1.0, mechanism="mar", driver=n_views - 1
    )


GENERATORS = [
    random_mask,
    paired_mask,
    one_missing_mask,
    block_mask,
    class_dependent,
    strictly_class_dependent,
    value_dependent,
    driven_by_the_last_view,
]


@pytest.mark.parametrize("generate", GENERATORS)
@given(
    n=st.integers(1, 40),
    n_views=st.integers(2, 5),
    ratio=st.floats(0, 1),
    seed=st.integers(0, 1000),
)
def test_the_share_of_incomplete_samples_is_exact(generate, n, n_views, ratio, seed):
    mask = generate(n, n_views, ratio, seed)
    assert mask.shape == (n, n_views)
    assert mask.dtype == bool
    assert mask.any(axis=1).all()
    assert (~mask.all(axis=1)).sum() == int(np.floor(ratio * n + 1e-9))


@given(
    n=st.integers(1, 40),
    n_views=st.integers(2, 5),
    ratio=st.floats(0, 1),
    seed=st.integers(0, 1000),
)
def test_every_view_loses_its_rate_but_for_what_samples_without_any_keep(
    n, n_views, ratio, seed
):
    mask = per_view_mask(n, n_views, ratio, seed)
    count = int(np.floor(ratio * n + 1e-9))
    lost = (~mask).sum(axis=0)
    given_back = n_views * count - lost.sum()
    assert mask.any(axis=1).all()
    assert (lost <= count).all()
    # Only samples that keep a single view can have got it back.
    assert given_back <= (mask.sum(axis=1) == 1).sum()


def test_per_view_losses_are_independent_of_each_other():
    mask = per_view_mask(20_000, 3, 0.3, random_state=0)
    gone = ~mask
    together = (gone[:, 0] & gone[:, 1] & mask[:, 2]).mean()
    # All three gone is given back: it lands on each pair with a third of its chance.
    assert together == pytest.approx(0.3**2 * 0.7 + 0.3**3 / 3, abs=0.01)


def test_the_view_that_is_lost_alone_is_any_of_them():
    mask = one_missing_mask(3000, 3, 1.0, random_state=0)
    assert ((~mask).sum(axis=1) == 1).all()
    assert (~mask).mean(axis=0) == pytest.approx([1 / 3] * 3, abs=0.04)


@pytest.mark.parametrize("protocol", list_protocols(), ids=lambda p: p.name)
def test_a_protocol_draws_valid_masks_and_is_defined_in_the_docs(protocol):
    data = make_views(200, (4, 5, 6), 3, random_state=0)
    mask = protocol_mask(data, protocol.name, 0.5, random_state=1)
    again = protocol_mask(data, protocol.name, 0.5, random_state=1)
    assert np.array_equal(mask, again)
    assert mask.any(axis=1).all()
    assert not mask.all()
    page = " ".join((DOCS / "experiments.md").read_text().split())
    assert f"| `{protocol.name}` | {protocol.definition} |" in page


def test_an_unknown_protocol_is_told_the_known_ones():
    data = make_views(20, (4, 5), 2, random_state=0)
    with pytest.raises(ValueError, match=r"protocol='half' is unknown; .*single-view"):
        protocol_mask(data, "half", 0.5)


def test_what_a_protocol_cannot_be_drawn_for_is_told():
    data = make_views(20, (4, 5), 2, incomplete=0.5, random_state=0)
    with pytest.raises(ValueError, match="is incomplete already"):
        protocol_mask(data, "paired-share", 0.5)
    with pytest.raises(ValueError, match="rate=2 must be a number from 0 to 1"):
        protocol_mask(data, "paired-share", 2)
    with pytest.raises(TypeError, match="must be a MultiViewDataset, got list"):
        protocol_mask(data.Xs, "paired-share", 0.5)
    with pytest.raises(ValueError, match=r"mask of shape \(3,\) must be a table"):
        missing_shares(np.ones(3, dtype=bool))


def test_shares_are_counted_on_the_mask():
    mask = np.array([[1, 1, 1], [1, 0, 1], [0, 0, 1], [1, 1, 1]], dtype=bool)
    assert missing_shares(mask) == (0.25, 0.5)


@pytest.mark.parametrize("generate", GENERATORS)
def test_one_seed_gives_one_mask_whatever_the_global_seed(generate):
    np.random.seed(0)  # noqa: NPY002
    first = generate(50, 3, 0.5, 7)
    np.random.seed(1)  # noqa: NPY002
    assert np.array_equal(first, generate(50, 3, 0.5, 7))
    assert not np.array_equal(first, generate(50, 3, 0.5, 8))


@pytest.mark.parametrize(
    "make_state", [np.random.RandomState, np.random.default_rng], ids=["old", "new"]
)
def test_generators_of_either_kind_are_used_up(make_state):
    state = make_state(0)
    first, second = (random_mask(50, 3, 0.5, state) for _ in range(2))
    assert np.array_equal(first, random_mask(50, 3, 0.5, make_state(0)))
    assert not np.array_equal(first, second)


def test_a_seed_keeps_its_mask_over_releases():
    # Stored results name a seed: a change of the stream would make them untrue.
    mask = random_mask(8, 3, 0.5, random_state=0)
    assert (mask @ [4, 2, 1]).tolist() == [5, 7, 7, 6, 6, 7, 3, 7]


def test_floating_point_does_not_lose_a_sample():
    # 0.29 * 100 = 28.999999999999996; the authors' Prokaryotic mask has floor(55.1).
    assert (~random_mask(100, 3, 0.29, 0).all(axis=1)).sum() == 29
    assert (~random_mask(551, 3, 0.1, 0).all(axis=1)).sum() == 55


@pytest.mark.parametrize("seed", range(3))
def test_masks_of_one_draw_are_nested_with_equal_patterns(seed):
    masks = nested_masks(200, 4, RATIOS, seed)
    assert list(masks) == RATIOS
    for small, large in pairwise(RATIOS):
        incomplete = ~masks[small].all(axis=1)
        assert np.array_equal(masks[small][incomplete], masks[large][incomplete])
        assert (masks[large] <= masks[small]).all()
    for ratio in RATIOS:
        assert np.array_equal(masks[ratio], random_mask(200, 4, ratio, seed))


@pytest.mark.parametrize("n_views", [2, 3, 4])
def test_patterns_are_uniform_over_the_proper_ones(n_views):
    mask = random_mask(20000, n_views, 0.8, random_state=0)
    patterns = mask[~mask.all(axis=1)] @ (1 << np.arange(n_views))
    counts = np.bincount(patterns, minlength=2**n_views)
    assert counts[0] == counts[-1] == 0
    # Fixed seed; a uniform draw would fail once in a thousand seeds.
    assert stats.chisquare(counts[1:-1]).pvalue > 1e-3


def test_incomplete_samples_are_spread_over_the_rows():
    mask = random_mask(20000, 3, 0.5, random_state=0)
    counts = (~mask.all(axis=1)).reshape(20, -1).sum(axis=1)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_more_views_than_bits_in_an_integer():
    mask = random_mask(2000, 70, 1.0, random_state=0)
    assert not mask.all(axis=1).any()
    # Binomial, 70 views: standard error 0.5 / sqrt(2000 * 70) = 0.0013.
    assert mask.mean() == pytest.approx(0.5, abs=0.006)


@pytest.mark.parametrize("generate", [random_mask, paired_mask, block_mask])
def test_one_view_can_only_be_complete(generate):
    assert generate(5, 1, 0.0, 0).all()
    with pytest.raises(ValueError, match=r"ratio=0.4 with n_views=1 would leave 2"):
        generate(5, 1, 0.4, 0)


def test_the_draw_follows_the_conditional_law():
    absence = np.array([0.9, 0.2, 0.4])
    _, observed = draw_patterns(np.tile(absence, (40000, 1)), np.random.RandomState(0))
    codes = np.arange(1, 7)
    bits = (codes[:, None] >> np.arange(3)) & 1
    law = np.prod(np.where(bits == 1, 1 - absence, absence), axis=1)
    counts = np.bincount(observed @ [1, 2, 4], minlength=8)
    assert counts[0] == counts[7] == 0
    assert stats.chisquare(counts[1:7], law / law.sum() * 40000).pvalue > 1e-3


@pytest.mark.parametrize("n_views", [2, 3, 5])
def test_paired_samples_are_seen_in_one_view_and_dealt_evenly(n_views):
    mask = paired_mask(103, n_views, 0.7, random_state=0)
    lone = mask[~mask.all(axis=1)]
    assert (lone.sum(axis=1) == 1).all()
    assert np.ptp(lone.sum(axis=0)) <= 1


@pytest.mark.parametrize("seed", range(5))
def test_blocks_are_contiguous_equal_and_disjoint(seed):
    mask = block_mask(100, 3, 0.5, random_state=seed)
    sizes = (~mask).sum(axis=0)
    assert np.ptp(sizes) <= 1
    assert (mask.sum(axis=1) >= 2).all()
    for missing in (~mask).T:
        rows = np.flatnonzero(missing)
        assert np.ptp(rows) == len(rows) - 1


@pytest.mark.parametrize("seed", range(3))
def test_a_view_is_missing_mostly_in_its_own_class(seed):
    y = np.repeat(np.arange(4), 500)
    mask = class_dependent_mask(y, 3, 0.5, seed, strength=0.8)
    rate = np.array([(~mask[y == k]).mean(axis=0) for k in range(4)])
    target = rate.argmax(axis=0)
    assert len(set(target)) == 3
    others = np.sort(rate, axis=0)[:-1]
    assert (rate.max(axis=0) > 4 * others.max(axis=0)).all()


def test_without_strength_the_class_plays_no_part():
    y = np.repeat(np.arange(4), 2000)
    mask = class_dependent_mask(y, 3, 0.5, 0, strength=0.0)
    patterns = mask @ [1, 2, 4]
    table = np.array([np.bincount(patterns[y == k], minlength=8) for k in range(4)])
    assert stats.chi2_contingency(table[:, 1:]).pvalue > 1e-3


def test_more_views_than_classes_share_classes():
    mask = class_dependent_mask(["a", "b"] * 50, 5, 0.5, 0, strength=1.0)
    assert (~mask.all(axis=1)).sum() == 50


def score(X):
    return PCA(1, svd_solver="full").fit_transform(X)[:, 0]


def test_mnar_takes_the_high_scores_out_of_their_own_view():
    data = make_views(2000, (5, 6, 7), random_state=0)
    mask = value_dependent_mask(data.Xs, 0.5, 0, strength=0.9)
    for X, observed in zip(data.Xs, mask.T):
        s = score(X)
        high = s > np.median(s)
        assert (~observed[high]).mean() > 3 * (~observed[~high]).mean()


def test_mar_keeps_the_driver_and_follows_its_score_only():
    rng = np.random.RandomState(0)
    Xs = [rng.standard_normal((4000, 4)) * [3, 1, 1, 1] for _ in range(3)]
    mask = value_dependent_mask(Xs, 0.5, 0, strength=0.9, mechanism="mar", driver=1)
    assert mask[:, 1].all()
    for v in (0, 2):
        missing = ~mask[:, v]
        own, driver = (abs(np.corrcoef(score(Xs[u]), missing)[0, 1]) for u in (v, 1))
        # Independent: standard error 1 / sqrt(4000) = 0.016.
        assert own < 0.06
        assert driver > 0.2


@pytest.mark.parametrize("mechanism", ["mnar", "mar"])
def test_sparse_views_and_small_dtypes_give_the_mask_of_their_dense_doubles(mechanism):
    rng = np.random.RandomState(0)
    dense = [rng.poisson(1.0, size=(60, d)) * np.arange(1, d + 1) for d in (4, 6)]
    expected = value_dependent_mask(dense, 0.5, 0, mechanism=mechanism)
    views = [sparse.csr_array(dense[0].astype(float)), dense[1].astype(np.uint8)]
    mask = value_dependent_mask(views, 0.5, 0, mechanism=mechanism)
    assert np.array_equal(mask, expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 3, 0.1), "n_samples=0 must be a whole number of at least 1"),
        ((10, 0, 0.1), "n_views=0 must be"),
        ((10.5, 3, 0.1), "n_samples=10.5 must be a whole number"),
        ((10, 3, 30), "ratio=30 must be a number from 0 to 1"),
        ((10, 3, np.nan), "ratio=nan must be a number from 0 to 1"),
        ((10, 3, "0.1"), "ratio='0.1' must be a number"),
    ],
)
@pytest.mark.parametrize("generate", [random_mask, paired_mask, block_mask])
def test_bad_sizes_and_ratios_are_named(generate, arguments, message):
    with pytest.raises(ValueError, match=message):
        generate(*arguments)


def test_bad_arguments_of_the_dependent_masks_are_named():
    X = np.ones((4, 2))
    with pytest.raises(ValueError, match=r"y must be one-dimensional.*\(0,\)"):
        class_dependent_mask([], 2, 0.5)
    with pytest.raises(ValueError, match="strength=2 must be a number from 0 to 1"):
        class_dependent_mask([0, 1], 2, 0.5, strength=2)
    with pytest.raises(ValueError, match="mechanism='mcar' is unknown"):
        value_dependent_mask([X, X], 0.5, mechanism="mcar")
    with pytest.raises(ValueError, match=r"driver=2 is no view.*0 to 1"):
        value_dependent_mask([X, X], 0.5, mechanism="mar", driver=2)
    with pytest.raises(ValueError, match="view 1 of Xs has NaN"):
        value_dependent_mask([X, X * np.nan], 0.5)
    with pytest.raises(ValueError, match=r"shapes \(4, 2\), \(3, 2\)"):
        value_dependent_mask([X, X[:3]], 0.5)
    with pytest.raises(ValueError, match="Xs is empty"):
        value_dependent_mask([], 0.5)
