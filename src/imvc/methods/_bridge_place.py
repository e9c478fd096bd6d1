"""Where AnchorBridge puts the samples of a block: embedding and cluster."""

import numpy as np

from imvc.kernels._anchor_graph import unit_rows

__all__ = ["embed_parts", "place_part", "place_parts", "side_by_side"]


def embed_parts(views, parts, components, columns, dtype):
    """Y of a block of samples, every component in columns of its own."""
    found = []
    for i, part in enumerate(parts):
        own = components.select(views, i)
        found.append(part.embed(part.graphs(own), dtype))
    return side_by_side(views.mask, *found, components=components, columns=columns)[0]


def side_by_side(mask, *found, components, columns):
    """One embedding from those of all components, without a summary."""
    if len(found) == 1:
        return found[0], 0
    result = np.zeros((len(mask), columns[-1].stop), found[0].dtype)
    for i, (Y, own) in enumerate(zip(found, columns)):
        result[components.owned(mask, i), own] = Y
    return result, 0


def place_part(Y, part):
    """Labels of rows of one component, without a summary."""
    return part.place(unit_rows(Y)), 0


def place_parts(Y, mask, parts, components, columns):
    """``(labels, inertia)`` of rows of Y; components are numbered one by one."""
    labels, inertia, first = np.zeros(len(Y), np.int64), 0.0, 0
    for i, (part, own) in enumerate(zip(parts, columns)):
        rows = components.owned(mask, i)
        X = unit_rows(Y[rows, own] if len(parts) > 1 else Y)
        found = part.place(X)
        labels[rows] = first + found
        inertia += float(np.square(X - part.centers[found]).sum(dtype=np.float64))
        first += part.c
    return labels, inertia
