"""Scikit-learn's handwritten digits, seen in five ways."""

from math import factorial

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from imvc.datasets._dataset import MultiViewDataset
from imvc.datasets._draw import RandomStateLike
from imvc.datasets._masks import random_mask

Images = NDArray[np.float64]
Features = NDArray[np.float64]


def load_digits_views(
    *, incomplete: float = 0.0, random_state: RandomStateLike = None
) -> MultiViewDataset:
    """Five real views of the 1797 handwritten digits that scikit-learn brings along.

    ========= ==== =============================================================
    view      dims features
    ========= ==== =============================================================
    pixels      64 grey values of the 8 x 8 image
    fourier     33 magnitudes of the two-dimensional Fourier transform
    zernike     25 magnitudes of the Zernike moments up to order 8
    profiles    48 sums over rows and columns, and the ink's distance from each edge
    gradients   72 histograms of gradient directions, 8 bins in 3 x 3 cells
    ========= ==== =============================================================

    The features are deterministic and neither centred nor scaled: views differ in
    scale as real ones do. Needs no download.

    Parameters
    ----------
    incomplete : float, default=0.0
        Share of incomplete samples, drawn as by `random_mask`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the mask; the views do not depend on it.

    Returns
    -------
    MultiViewDataset

    Examples
    --------
    >>> from imvc.datasets import load_digits_views
    >>> data = load_digits_views(incomplete=0.5, random_state=0)
    >>> data.n_samples, data.n_clusters, data.names[:2]
    (1797, 10, ('pixels', 'fourier'))
    """
    digits = load_digits()
    images = digits.images / 16.0
    views = {
        "pixels": images.reshape(len(images), -1),
        "fourier": fourier_magnitudes(images),
        "zernike": zernike_magnitudes(images),
        "profiles": profiles(images),
        "gradients": gradient_histograms(images),
    }
    return MultiViewDataset(
        Xs=list(views.values()),
        y=digits.target.astype(np.int64),
        mask=random_mask(len(images), len(views), incomplete, random_state),
        names=tuple(views),
        name="digits",
        description="UCI optical recognition of handwritten digits (test part), "
        "five views computed from the images",
    )


def fourier_magnitudes(images: Images) -> Features:
    """Magnitudes of the 2-D Fourier transform: blind to shifts of the image.

    The mean and the coefficients that the symmetry of a real signal repeats are left
    out.
    """
    magnitude = np.abs(np.fft.rfft2(images, axes=(1, 2)))
    keep = np.ones(magnitude.shape[1:], dtype=bool)
    keep[0, 0] = False
    keep[images.shape[1] // 2 + 1 :, [0, -1]] = False
    return magnitude[:, keep]


def zernike_magnitudes(images: Images, order: int = 8) -> Features:
    """Magnitudes of the Zernike moments about the centre of the ink.

    Blind to rotations, so they cannot tell a six from a nine.
    """
    rho, theta = _polar_about_centroid(images)
    inside = np.where(rho <= 1, images, 0.0)
    inside /= inside.sum(axis=(1, 2), keepdims=True)
    moments = []
    for n in range(order + 1):
        for m in range(n % 2, n + 1, 2):
            kernel = _zernike_radial(n, m, rho) * np.exp(-1j * m * theta)
            moments.append((n + 1) / np.pi * np.abs((inside * kernel).sum(axis=(1, 2))))
    return np.column_stack(moments)


def profiles(images: Images) -> Features:
    """Sums over rows and columns, and how far the ink lies from each of four edges."""
    size = images.shape[1]
    ink = images > 0.25
    distances = []
    for axis in (1, 2):
        for side in (ink, np.flip(ink, axis=axis)):
            first = np.where(side.any(axis=axis), side.argmax(axis=axis), size)
            distances.append(first / size)
    sums = [images.sum(axis=axis) for axis in (1, 2)]
    return np.hstack(sums + distances)


def gradient_histograms(images: Images, cells: int = 3, bins: int = 8) -> Features:
    """Histograms of gradient directions in a grid of overlapping cells.

    Each pixel's gradient magnitude is shared between its two nearest direction bins
    and, by linear weights, between the cells around it.
    """
    dy, dx = np.gradient(images, axis=(1, 2))
    angle = np.arctan2(dy, dx) / (2 * np.pi) * bins
    gap = np.abs(angle[..., None] - np.arange(bins)) % bins
    share = np.maximum(1 - np.minimum(gap, bins - gap), 0)
    votes = np.hypot(dx, dy)[..., None] * share
    position = np.linspace(0, cells - 1, images.shape[1])
    hat = np.maximum(1 - np.abs(position[:, None] - np.arange(cells)), 0)
    histograms = np.einsum("nijb,ip,jq->npqb", votes, hat, hat, optimize=True)
    return histograms.reshape(len(images), -1)


def _polar_about_centroid(images: Images) -> tuple[Images, Images]:
    """Polar coordinates (rho, theta) of every pixel about the image's centre of mass.

    The unit radius is half the image's diagonal, for all images alike.
    """
    size = images.shape[1]
    grid = np.arange(size)
    mass = images.sum(axis=(1, 2))
    row = (images.sum(axis=2) @ grid / mass)[:, None, None]
    col = (images.sum(axis=1) @ grid / mass)[:, None, None]
    dy, dx = grid[:, None] - row, grid - col
    return np.hypot(dx, dy) / (size / np.sqrt(2)), np.arctan2(dy, dx)


def _zernike_radial(n: int, m: int, rho: Images) -> Images:
    """R_nm(rho), a polynomial of degree n."""
    total = np.zeros_like(rho)
    for s in range((n - m) // 2 + 1):
        denominator = (
            factorial(s) * factorial((n + m) // 2 - s) * factorial((n - m) // 2 - s)
        )
        total += (-1) ** s * factorial(n - s) / denominator * rho ** (n - 2 * s)
    return total
