import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from imvc.kernels import _distances
from imvc.kernels._distances import SLAB_ROWS, row_products

DTYPES = [np.float32, np.float64]
SHAPES = st.tuples(st.integers(1, 70), st.integers(1, 120))


@pytest.fixture(autouse=True, scope="module")
def _one_blas_thread():
    """As the runners have it."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture(params=["slabs", "tiles"])
def way(request, monkeypatch):
    """Both ways of a float32 product, whichever BLAS is there."""
    if request.param == "tiles":
        monkeypatch.setattr(_distances, "_TRIED", set())
        monkeypatch.setattr(_distances, "_rows_alike", lambda *arrays: False)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, SLAB_ROWS, 4 * SLAB_ROWS + 1])
@pytest.mark.usefixtures("way")
def test_products_equal_those_of_numpy(n, dtype, rng):
    X = rng.standard_normal((n, 7)).astype(dtype)
    B = rng.standard_normal((7, 5)).astype(dtype)
    products = row_products(X, B)
    np.testing.assert_allclose(products, X @ B, atol=100 * np.finfo(dtype).eps)
    assert products.dtype == dtype


@pytest.mark.parametrize("dtype", DTYPES)
@given(SHAPES, st.integers(0, 99))
def test_equal_rows_have_equal_products_wherever_they_stand(dtype, shape, seed):
    rng = np.random.default_rng(seed)
    p, m = shape
    X = np.tile(rng.standard_normal(p).astype(dtype), (1300, 1))
    products = row_products(X, rng.standard_normal((p, m)).astype(dtype))
    np.testing.assert_array_equal(products, np.broadcast_to(products[0], (1300, m)))


def test_a_product_that_treats_rows_differently_is_found_out(monkeypatch, rng):
    B_T = rng.standard_normal((9, 4)).astype(np.float32)
    tile = np.empty((1, SLAB_ROWS + 16, 4), np.float32)
    products = np.empty((1, 9, SLAB_ROWS + 16), np.float32)

    def even(left, right, out):
        out[:] = np.einsum("ij,sjk->sik", left, right)

    def uneven(left, right, out):
        even(left, right, out)
        out[:, :, 100] = np.nextafter(out[:, :, 100], np.float32(np.inf))

    monkeypatch.setattr(_distances.np, "matmul", even)
    assert _distances._rows_alike(B_T, tile, products)
    monkeypatch.setattr(_distances.np, "matmul", uneven)
    assert not _distances._rows_alike(B_T, tile, products)


@pytest.mark.usefixtures("way")
def test_wide_rows_need_no_more_than_one_slab(rng):
    X = rng.standard_normal((600, 3000)).astype(np.float32)
    B = rng.standard_normal((3000, 3)).astype(np.float32)
    np.testing.assert_allclose(row_products(X, B), X @ B, atol=1e-3)
