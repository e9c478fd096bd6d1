import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imvc.kernels._tensor import (
    fit_tensor_ring,
    multiply_slices,
    random_ring_cores,
    shrink_frequencies,
    shrinking_cores,
    slice_grams,
)


def shrink_tensor_svd(T, tau, *, axis, repeat_last=False):
    """Both ways of the kernels for (V, p, q): DFT along rows (1) or columns (2)."""
    if axis == 1:
        stacked = np.swapaxes(T, 0, 1)
        return shrink_frequencies(stacked, tau, repeat_last=repeat_last).swapaxes(0, 1)
    F, n = np.fft.rfft(T), T.shape[2]
    parts = [slice(0, T.shape[1] // 2), slice(T.shape[1] // 2, None)]
    grams = sum(slice_grams(F[:, part]) for part in parts)
    cores = shrinking_cores(F, grams, tau, n, repeat_last=repeat_last)
    return np.fft.irfft(multiply_slices(cores, F), n)


def slow_tensor_shrink(T, tau, axis, repeat_last=False):
    """All frequencies of the full DFT, one SVD each."""
    Y = np.moveaxis(np.fft.fft(T, axis=axis), axis, 0)
    n = len(Y)
    for f in range(n):
        U, s, Vt = np.linalg.svd(Y[f], full_matrices=False)
        last = repeat_last and n % 2 and f in (n // 2, (n - n // 2) % n)
        for _ in range(2 if last else 1):
            s = np.maximum(s - tau, 0)
        Y[f] = U * s @ Vt
    return np.fft.ifft(np.moveaxis(Y, 0, axis), axis=axis).real


def tensor_nuclear_norm(T, axis):
    Y = np.moveaxis(np.fft.fft(T, axis=axis), axis, 0)
    return np.linalg.svd(Y, compute_uv=False).sum() / len(Y)


@given(
    st.tuples(st.integers(1, 6), st.integers(1, 9), st.integers(1, 9)),
    st.sampled_from([0.0, 1e-8, 0.1, 1.0, 3.0, 100.0]),
    st.sampled_from([1, 2]),
    st.booleans(),
    st.integers(0, 99),
)
def test_half_spectrum_equals_a_full_dft_with_svds(shape, tau, axis, repeat, seed):
    T = np.random.default_rng(seed).standard_normal(shape)
    found = shrink_tensor_svd(T, tau, axis=axis, repeat_last=repeat)
    expected = slow_tensor_shrink(T, tau, axis, repeat)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("axis", [1, 2])
def test_tensor_shrinkage_minimises_its_objective(axis, rng):
    T = rng.standard_normal((3, 7, 8))
    P = shrink_tensor_svd(T, 1.5, axis=axis)

    def objective(Q):
        return np.linalg.norm(Q - T) ** 2 / 2 + 1.5 * tensor_nuclear_norm(Q, axis)

    for size in 10.0 ** rng.uniform(-4, 0, 20):
        assert objective(P + size * rng.standard_normal(P.shape)) >= objective(P)


def test_single_precision_stays_and_the_argument_too(rng):
    T = rng.standard_normal((3, 40, 41))
    kept, small = T.copy(), T.astype(np.float32)
    found = shrink_tensor_svd(small, 2.0, axis=1)
    assert found.dtype == np.float32
    expected = shrink_tensor_svd(T, 2.0, axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_array_equal(T, kept)


@pytest.mark.parametrize("n", [8, 9])
def test_the_scale_is_that_of_the_result(n, rng):
    T = rng.standard_normal((n, 3, 6))
    expected = 0.3 * shrink_frequencies(T, 1.5, repeat_last=True)
    found = shrink_frequencies(T, 1.5, scale=0.3, repeat_last=True)
    np.testing.assert_allclose(found, expected, atol=1e-14)


@pytest.mark.parametrize("width", [8, 9])
def test_frequencies_are_shrunk_in_place_where_the_width_is_even(width, rng):
    T = rng.standard_normal((7, 3, width))
    expected = shrink_tensor_svd(T.transpose(1, 0, 2), 1.5, axis=1).transpose(1, 0, 2)
    kept = T.copy()
    np.testing.assert_allclose(shrink_frequencies(T, 1.5), expected, atol=1e-14)
    np.testing.assert_array_equal(T, kept)
    found = shrink_frequencies(T, 1.5, overwrite=True)
    np.testing.assert_allclose(found, expected, atol=1e-14)
    assert np.shares_memory(found, T) == (width == 8)


def ring(cores):
    return np.einsum("aib,bjc,ckd,dla->ijkl", *cores)


def slow_ring_fit(T, cores, n_updates):
    """The design matrix of every update, column by column, and lstsq."""
    cores = [Q.copy() for Q in cores]
    for update in range(n_updates):
        k = update % 4
        columns = []
        for e in range(cores[k].size):
            probe = [Q.copy() for Q in cores]
            probe[k] = np.eye(cores[k].size)[e].reshape(cores[k].shape)
            columns.append(ring(probe).ravel())
        a = np.linalg.lstsq(np.array(columns).T, T.ravel(), rcond=1e-12)[0]
        cores[k] = a.reshape(cores[k].shape)
        fit = ring(cores)
        cores[k] /= np.linalg.norm(cores[k])
    return fit, cores


@given(
    st.tuples(*[st.integers(1, 4)] * 4),
    st.integers(1, 2),
    st.integers(1, 6),
    st.integers(0, 99),
)
def test_ring_fit_equals_plain_least_squares(shape, rank, n_updates, seed):
    rng = np.random.default_rng(seed)
    T = rng.standard_normal(shape)
    cores = random_ring_cores(shape, rank, rng)
    fit, found = fit_tensor_ring(T, cores, n_updates)
    expected, expected_cores = slow_ring_fit(T, cores, n_updates)
    np.testing.assert_allclose(fit, expected, atol=1e-6)
    for Q, P in zip(found, expected_cores):
        np.testing.assert_allclose(Q, P, atol=1e-5)


@pytest.mark.parametrize("shape", [(3, 1, 60, 2), (70, 2, 1, 3)])
@pytest.mark.parametrize("n_updates", [1, 2, 3, 8])
def test_a_mode_longer_than_all_that_meets_it_is_fitted_the_same(shape, n_updates, rng):
    T, cores = rng.standard_normal(shape), random_ring_cores(shape, 2, rng)
    fit, found = fit_tensor_ring(T, cores, n_updates)
    expected, expected_cores = slow_ring_fit(T, cores, n_updates)
    np.testing.assert_allclose(fit, expected, atol=1e-9)
    for Q, P in zip(found, expected_cores):
        np.testing.assert_allclose(Q, P, atol=1e-8)


def test_residual_of_the_ring_never_rises(rng):
    T = rng.standard_normal((5, 6, 7, 3))
    cores, errors = random_ring_cores(T.shape, 3, rng), []
    for n_updates in range(1, 12):
        fit, _ = fit_tensor_ring(T, cores, n_updates)
        errors.append(np.linalg.norm(T - fit))
    assert (np.diff(errors) <= 1e-9).all()


def test_a_ring_is_found_again_from_near_its_cores(rng):
    cores = random_ring_cores((5, 6, 7, 3), 2, rng)
    start = [Q + 0.01 * rng.standard_normal(Q.shape) for Q in cores]
    fit, _ = fit_tensor_ring(ring(cores), start, 80)
    error = np.linalg.norm(fit - ring(cores)) / np.linalg.norm(ring(cores))
    assert error < 1e-3


def test_more_unknowns_than_equations_fit_exactly(rng):
    T = rng.standard_normal((3, 2, 2, 1))
    fit, _ = fit_tensor_ring(T, random_ring_cores(T.shape, 4, rng), 8)
    np.testing.assert_allclose(fit, T, atol=1e-8)


def test_a_zero_tensor_gives_zeros(rng):
    fit, _ = fit_tensor_ring(
        np.zeros((2, 3, 2, 2)), random_ring_cores((2, 3, 2, 2), 2, rng), 8
    )
    np.testing.assert_array_equal(fit, 0)
