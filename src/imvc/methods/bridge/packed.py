"""What AnchorBridge learnt as JSON and arrays, and back, if that is what it is."""

from dataclasses import fields, is_dataclass
from itertools import permutations
from typing import get_type_hints

import numpy as np

from imvc._plain import fits
from imvc.methods._model_schema import Sizes


def pack(value, arrays):
    """What is learnt in JSON's types; arrays go to ``arrays`` under a number."""
    if isinstance(value, np.ndarray):
        arrays[f"learnt{len(arrays)}"] = value
        return {"array": f"learnt{len(arrays) - 1}"}
    if is_dataclass(value):
        kept = [f.name for f in fields(value) if f.init]
        own = {name: pack(getattr(value, name), arrays) for name in kept}
        return {"type": type(value).__name__, "fields": own}
    if isinstance(value, dict):
        return {"items": [pack(item, arrays) for item in value.items()]}
    if isinstance(value, list | tuple):
        return [pack(item, arrays) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def unpack(tree, arrays, types):
    """The inverse of `pack`; lists become tuples, ``types`` are by name.

    A ValueError for fields of other types than their class declares.
    """
    if isinstance(tree, list):
        return tuple(unpack(item, arrays, types) for item in tree)
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return arrays[tree["array"]]
    if "items" in tree:
        return dict(unpack(tree["items"], arrays, types))
    cls = types[tree["type"]]
    own = {name: unpack(part, arrays, types) for name, part in tree["fields"].items()}
    hints = get_type_hints(cls)
    for name, value in own.items():
        kind = tuple if hints.get(name) is list else hints.get(name)
        if not fits(value, kind):
            raise ValueError(f"its {cls.__name__} has a {name} of another type.")
    return cls(**own)


def check_component(component, widths):
    """Refuse a ComponentModel whose parts do not fit views of these widths."""
    graphs, joint, V = component.graphs.views, component.joint, len(widths)
    sizes = Sizes(V=V, c=component.c)
    _same(len(graphs), V, "views with graphs")
    for v, (own, p) in enumerate(zip(graphs, widths)):
        _check_view(own, p, f"of view {v}")
    kinds = list(zip(*(own.anchors for own in graphs), strict=True))
    _same(len(joint.bridges), len(kinds), "bridges")
    _same(len(joint.shares), len(kinds), "shares of graphs")
    for bridge, anchors in zip(joint.bridges, kinds):
        _check_bridge(bridge, tuple(len(own) for own in anchors), sizes)
    if component.n_learnt < 1 or not 0 <= joint.mask_share < 1:
        raise ValueError("its samples or the share of its mask cannot be.")
    sizes.check("spectrum", component.spectrum.values, "float K")
    K = sizes["K"]
    M = int(joint.width)
    sizes.check("singular vectors", component.spectrum.W, "float M K", M=M)
    sizes.check("centres", component.centers, "float c D", D=1 + K)
    sizes.check("explained consensus", component.r_squared, "any V")
    if component.guard is not None:
        sizes.check("sums of clusters", component.guard.sums, "float c K")
        sizes.check("counts of clusters", component.guard.counts, "float c")


def _same(found, wanted, what):
    if found != wanted:
        raise ValueError(f"it has {found} {what} instead of {wanted}.")


def _check_view(own, width, where):
    """Features and anchors of one view, kind by kind."""
    features = []
    for coordinates in own.coordinates:
        sizes = Sizes(p=width)
        sizes.check(f"mean {where}", coordinates.mean, "float p")
        if coordinates.axes is not None:
            sizes.check(f"axes {where}", coordinates.axes, "float p r")
        features.append(width if coordinates.axes is None else sizes["r"])
    _same(len(features), 2, f"kinds of coordinates {where}")
    if own.map is not None:
        sizes = Sizes(r=sum(features))
        sizes.check(f"weights {where}", own.map.weights, "float r D")
        sizes.check(f"offset {where}", own.map.offset, "float D")
        features.append(sizes["D"])
    _same(len(own.anchors), len(features), f"kinds of anchors {where}")
    for anchors, r in zip(own.anchors, features):
        Sizes(r=r).check(f"anchors {where}", anchors.points, "float * r")
        if not 1 <= anchors.n_neighbors <= max(1, len(anchors) - 1):
            raise ValueError(f"it has {anchors.n_neighbors} neighbours {where}.")


def _check_bridge(bridge, anchors, sizes):
    """Weights of views, and the maps between their anchors."""
    if bridge.sizes != anchors:
        raise ValueError("its bridges do not fit its anchors.")
    sizes.check("weights of views", bridge.weights, "float V")
    sizes.check("agreement of views", bridge.agreement, "float V V")
    pairs = set(permutations(range(len(anchors)), 2))
    _same(set(bridge.transfer), pairs, "pairs of views")
    for (u, v), P in bridge.transfer.items():
        sizes.check("transfer", P, "float x y", x=anchors[u], y=anchors[v])
