"""The mask protocols of the field, by name.

"50 % missing" means different things in different papers: from one per cent to a half
of the samples are complete. A protocol names what the rate is the rate of.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from imvc.datasets._dataset import MultiViewDataset
from imvc.datasets._dependent_masks import class_dependent_mask, value_dependent_mask
from imvc.datasets._draw import RandomStateLike, check_share
from imvc.datasets._masks import (
    one_missing_mask,
    paired_mask,
    per_view_mask,
    random_mask,
)

Draw = Callable[[MultiViewDataset, float, RandomStateLike], NDArray[np.bool_]]


@dataclass(frozen=True)
class Protocol:
    """How views are taken away.

    Attributes
    ----------
    name : str
    definition : str
        What the rate is the rate of, in one sentence.
    draw : callable
        ``draw(data, rate, random_state)`` gives the mask.
    """

    name: str
    definition: str
    draw: Draw


def _of_shape(mask: Callable[..., NDArray[np.bool_]]) -> Draw:
    """A draw that looks at nothing but the numbers of samples and views."""
    return lambda data, rate, seed: mask(data.n_samples, data.n_views, rate, seed)


_ALL = (
    Protocol(
        "paired-share",
        "The rate is the share of incomplete samples; each loses a random set of views "
        "and keeps at least one (the RISE paper and its predecessors).",
        _of_shape(random_mask),
    ),
    Protocol(
        "per-view-rate",
        "The rate is the share of samples that every view loses, independently of the "
        "other views; a sample that would lose all keeps one.",
        _of_shape(per_view_mask),
    ),
    Protocol(
        "at-most-one",
        "The rate is the share of incomplete samples; each lacks exactly one view.",
        _of_shape(one_missing_mask),
    ),
    Protocol(
        "single-view",
        "The rate is the share of incomplete samples; each keeps exactly one view.",
        _of_shape(paired_mask),
    ),
    Protocol(
        "by-value",
        "The rate is the share of incomplete samples; a view is lost mostly where its "
        "own first principal score is high (not at random).",
        lambda data, rate, seed: value_dependent_mask(data.Xs, rate, seed),
    ),
    Protocol(
        "by-class",
        "The rate is the share of incomplete samples; each view is lost mostly in one "
        "class, a different one per view (not at random).",
        lambda data, rate, seed: class_dependent_mask(data.y, data.n_views, rate, seed),
    ),
)
PROTOCOLS = {protocol.name: protocol for protocol in _ALL}


def list_protocols() -> tuple[Protocol, ...]:
    """The mask protocols, with their definitions.

    Examples
    --------
    >>> from imvc.datasets import list_protocols
    >>> [protocol.name for protocol in list_protocols()][:3]
    ['paired-share', 'per-view-rate', 'at-most-one']
    """
    return _ALL


def protocol_mask(
    data: MultiViewDataset,
    protocol: str,
    rate: float,
    random_state: RandomStateLike = None,
) -> NDArray[np.bool_]:
    """Draw the mask of a protocol for a complete dataset.

    Parameters
    ----------
    data : MultiViewDataset
        Complete. Only ``"by-value"`` looks at the views, only ``"by-class"`` at the
        classes.
    protocol : str
        One of `list_protocols`.
    rate : float
        From 0 to 1; what it is the rate of depends on the protocol.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the draw.

    Returns
    -------
    ndarray of bool, shape (n_samples, n_views)
        True where a sample is observed; every row has at least one True. How much is
        missing differs between protocols of one rate: see `missing_shares`.

    Examples
    --------
    >>> from imvc.datasets import make_views, missing_shares, protocol_mask
    >>> data = make_views(1000, (5, 5, 5), random_state=0)
    >>> for protocol in ("paired-share", "per-view-rate", "at-most-one", "single-view"):
    ...     mask = protocol_mask(data, protocol, 0.5, random_state=0)
    ...     print(protocol, *(round(share, 2) for share in missing_shares(mask)))
    paired-share 0.25 0.5
    per-view-rate 0.46 0.13
    at-most-one 0.17 0.5
    single-view 0.33 0.5
    """
    if protocol not in PROTOCOLS:
        known = ", ".join(PROTOCOLS)
        raise ValueError(f"protocol={protocol!r} is unknown; there are: {known}.")
    check_share(rate, "rate")
    if not isinstance(data, MultiViewDataset):
        raise TypeError(
            f"data must be a MultiViewDataset, got {type(data).__name__}; for arrays "
            "there are random_mask, per_view_mask and the other masks."
        )
    if not data.mask.all():
        raise ValueError(
            f"dataset {data.name!r} is incomplete already; a protocol takes views from "
            "complete samples."
        )
    return PROTOCOLS[protocol].draw(data, rate, random_state)


def missing_shares(mask: NDArray[np.bool_]) -> tuple[float, float]:
    """What a mask really takes away, whatever its nominal rate.

    Parameters
    ----------
    mask : ndarray of bool, shape (n_samples, n_views)

    Returns
    -------
    missing : float
        Share of the (sample, view) cells that are missing.
    complete : float
        Share of the samples that have all views.

    Examples
    --------
    >>> import numpy as np
    >>> from imvc.datasets import missing_shares
    >>> missing_shares(np.array([[True, True], [True, False]]))
    (0.25, 0.5)
    """
    observed = np.asarray(mask, dtype=bool)
    if observed.ndim != 2 or observed.size == 0:
        raise ValueError(
            f"mask of shape {observed.shape} must be a table of samples x views with "
            "at least one of each."
        )
    return float(1 - observed.mean()), float(observed.all(axis=1).mean())
