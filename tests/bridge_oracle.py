"""AnchorBridge on dense n-row matrices: slow, obvious, the twin of the real method.

Anchors and the labels that an ascent starts from are given, since both are drawn:

    first = pass_one(Xs, mask, c, graphs[:2])           graphs[kind][v] = (anchors, k)
    maps = learn(first, Y)
    second = pass_two(first, maps, graphs[2])
    labels, switched = guard(first, second, starts)
    Y = placed(second, maps, graphs[2])

Kinds of features are 0 plain, 1 rooted, 2 learnt. The rows of everything that belongs
to a view are the samples seen in it, ``h[v]``.
"""

from dataclasses import dataclass

import numpy as np

FLOOR = 0.01
SHARPNESS_POWER = 8
SHARES = (1 / 6, 1 / 6, 2 / 3)
RIDGES = 10.0 ** np.arange(-4, 3.5, 0.5)
KAPPA = 1 / 10


@dataclass
class Kind:
    """Steps 2 to 4 for one kind of features."""

    F: list  # features (n_v, p_v) of every view
    Z: list  # graphs (n_v, m_v)
    E: list  # leading left singular vectors of the graphs, (n_v, c)
    sharpness: np.ndarray
    agreement: np.ndarray
    routed: np.ndarray  # agreement that the bridges go by
    P: dict  # (u, v) -> transition matrix (m_u, m_v)


@dataclass
class Pass:
    """Steps 2 to 6 on the kinds of one pass."""

    mask: np.ndarray
    c: int
    kinds: list
    gate: np.ndarray  # factor of the view weights where no pair of views agrees
    w: np.ndarray  # view weights (kinds, V)
    mask_share: float
    B: np.ndarray
    U: np.ndarray  # left singular vectors of B without the constant one
    s: np.ndarray
    t: float
    Y: np.ndarray  # unit rows of step 6, constant column first


@dataclass
class Map:
    """What one view says of the consensus: a ridge regression."""

    X: np.ndarray  # regressors, centred
    W: np.ndarray
    left_out: np.ndarray  # leave-one-out predictions, centred
    shift: np.ndarray  # their mean before
    ridge: float  # as a multiple of the mean eigenvalue
    R2: float


def pass_one(Xs, mask, c, graphs, n_components=100, mask_share=0.0):
    """Steps 1 to 6 with plain and rooted features."""
    h = seen_rows(mask)
    kinds = []
    for rooted in (False, True):
        F = [features(Xs[v][h[v]], rooted, n_components) for v in range(len(h))]
        kinds.append(build_kind(F, mask, c, graphs[rooted]))
    gate = junk_gate(kinds, h, c)
    w = np.array([view_weights(kind, gate) for kind in kinds])
    return embed(mask, c, kinds, (1 / 2, 1 / 2), gate, w, mask_share)


def learn(first, Y=None):
    """The learnt kind: a Map of every view, from its coordinates to the rows of Y.

    ``Y`` replaces ``first.Y``: anchors found elsewhere belong to the signs, and the
    rotations among equal singular values, of the rows that they were learnt from.
    """
    Y = first.Y if Y is None else Y
    h, share = seen_rows(first.mask), first.mask @ first.w.mean(axis=0)
    plain, rooted = first.kinds
    return [
        ridge(np.hstack([plain.F[v], rooted.F[v]]), Y[h[v]], share[h[v]])
        for v in range(len(h))
    ]


def pass_two(first, maps, graphs):
    """Steps 2 to 6 with the learnt kind beside the two of the first pass."""
    kind = build_kind([m.left_out for m in maps], first.mask, first.c, graphs)
    doubt = np.clip([m.R2 / 0.01 for m in maps], 0.01, 1)
    w = np.vstack([first.w, view_weights(kind, first.gate * doubt)])
    kinds = [*first.kinds, kind]
    return embed(first.mask, first.c, kinds, SHARES, first.gate, w, first.mask_share)


def placed(second, maps, graphs):
    """Unit rows of the training samples, placed like new ones: by W'x."""
    Z = [kind.Z for kind in second.kinds]
    Z[2] = [weights(m.X @ m.W - m.shift, *g) for m, g in zip(maps, graphs)]
    B = joint_rows(second.mask, second.kinds, SHARES, second.w, second.mask_share, Z)
    U = B @ second.B.T @ second.U / second.s**2
    return unit_rows(U, second.s, second.t, second.c)


def seen_rows(mask):
    return [np.flatnonzero(seen) for seen in mask.T]


def features(X, rooted, n_components):
    """Step 1 on the observed rows of a view, by a full SVD."""
    if rooted:
        X = unit(np.sign(X) * np.sqrt(np.abs(X)))
    F = unit(X - X.mean(axis=0))
    if X.shape[1] > n_components:
        axes = np.linalg.svd(F, full_matrices=False)[2][:n_components]
        largest = np.abs(axes).argmax(axis=1)
        F = F @ (axes * np.sign(axes[range(len(axes)), largest])[:, None]).T
    return F


def unit(X):
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return np.divide(X, norms, out=np.zeros_like(X), where=norms > 0)


def build_kind(F, mask, c, graphs):
    h = seen_rows(mask)
    Z = [weights(F_v, *graph) for F_v, graph in zip(F, graphs)]
    spectra = [left_vectors(normalised(Z_v), c) for Z_v in Z]
    E = [U for U, _ in spectra]
    a = agreement(E, h, c)
    q = max(c - 1, 1)
    sharpness = np.array([np.square(s[:q]).sum() / q for _, s in spectra])
    return Kind(F, Z, E, sharpness, a, *bridges(Z, mask, a))


def weights(F, anchors, k):
    """Step 2: closed-form weights of the k nearest anchors, one row at a time."""
    Z = np.zeros((len(F), len(anchors)))
    if len(anchors) == 1:
        return Z + 1
    for i, f in enumerate(F):
        d = np.square(f - anchors).sum(axis=1)
        order = np.argsort(d, kind="stable")[: k + 1]
        gaps = d[order[k]] - d[order[:k]]
        even = gaps.sum() <= 64 * np.finfo(float).eps * k * d[order[k]]
        Z[i, order[:k]] = 1 / k if even else gaps / gaps.sum()
    return Z


def left_vectors(B, count):
    """Leading left singular vectors past the constant one, and their values."""
    B = B - B.mean(axis=0)
    U, s, _ = np.linalg.svd(B, full_matrices=False)
    kept = s > 1e-6
    return U[:, kept][:, :count], s[kept][:count]


def normalised(Z):
    total = Z.sum(axis=0)
    return Z[:, total > 0] / np.sqrt(total[total > 0])


def agreement(E, h, c):
    """Step 3: a_uv, at least 0.01."""
    V = len(E)
    a = np.eye(V)
    for u in range(V):
        for v in range(V):
            if u == v:
                continue
            a[u, v] = FLOOR
            O = np.intersect1d(h[u], h[v])
            if len(O) > 2 * c + 2:
                r = correlation(E[u][np.isin(h[u], O)], E[v][np.isin(h[v], O)], c)
                a[u, v] = max(beyond_chance(r, c, len(O)), FLOOR)
    return a


def correlation(E, G, c):
    """Mean squared canonical correlation after clipping; rows are shared samples."""

    def basis(E):
        E = E - E.mean(axis=0)
        limit = 2.5 * np.sqrt(np.square(E).mean(axis=0))
        E = np.clip(E, -limit, limit)
        E = E - E.mean(axis=0)
        U, s, _ = np.linalg.svd(E, full_matrices=False)
        return U[:, s > 1e-6 * s.max(initial=0)]

    return np.square(basis(E).T @ basis(G)).sum() / c


def beyond_chance(r, c, q):
    return (r - c / (q - 1)) / (1 - c / (q - 1)) if q - 1 > c else 0.0


def junk_gate(kinds, h, c):
    """rep_v^gamma: how alike both kinds see a view, where no pair of views agrees."""
    V = len(h)
    best = []
    for kind in kinds:
        surplus = [-1.0]
        for u in range(V):
            for v in range(V):
                q = len(np.intersect1d(h[u], h[v]))
                if u != v and q > 2 * c + 2:
                    surplus.append(kind.agreement[u, v] - 3 * np.sqrt(2) / (q - 1))
        best.append(max(surplus))
    best = max(best) if V == 2 else min(best)
    gamma = 2 * np.clip((0.03 - best) / 0.02, 0, 1)
    plain, rooted = kinds
    r = [correlation(plain.E[v], rooted.E[v], c) for v in range(V)]
    rep = [max(beyond_chance(r[v], c, len(h[v])), FLOOR) for v in range(V)]
    return np.array(rep) ** gamma


def view_weights(kind, factor):
    """Agreement times sharpness^8 times ``factor``, sum one."""
    a, sharp = kind.agreement, kind.sharpness
    support = a.sum(axis=1) - 1 if len(a) > 2 else np.ones(len(a))
    w = support * factor * (sharp / sharp.max()) ** SHARPNESS_POWER
    return w / w.sum()


def bridges(Z, mask, a):
    """Step 4: agreement and transition matrices, with routing."""
    V, full = len(Z), spread(Z, mask)
    direct = {}
    for u in range(V):
        for v in range(V):
            O = mask[:, u] & mask[:, v]
            C = full[u][O].T @ full[v][O] + 1e-6 * full[v].mean(axis=0)
            direct[u, v] = C / C.sum(axis=1, keepdims=True)
    routed, P = a.copy(), dict(direct)
    for u, v in direct:
        others = [x for x in range(V) if x not in (u, v)]
        if u == v or a[u, v] > FLOOR or not others:
            continue
        mixed = a[u, v] * direct[u, v]
        for x in others:
            mixed = mixed + a[u, x] * a[x, v] * direct[u, x] @ direct[x, v]
            routed[u, v] = max(routed[u, v], a[u, x] * a[x, v])
        P[u, v] = mixed / mixed.sum(axis=1, keepdims=True)
    return routed, P


def spread(Z, mask):
    """The graphs with a row of zeros for every sample that a view lacks."""
    full = [np.zeros((len(mask), Z_v.shape[1])) for Z_v in Z]
    for v, rows in enumerate(seen_rows(mask)):
        full[v][rows] = Z[v]
    return full


def completed(Z, mask, a, P):
    """Z~_v of every view, each (n, m_v): one sample at a time."""
    full = spread(Z, mask)
    result = [Z_v.copy() for Z_v in full]
    for i, seen in enumerate(mask):
        for v in np.flatnonzero(~seen):
            total = sum(a[u, v] for u in np.flatnonzero(seen))
            for u in np.flatnonzero(seen):
                result[v][i] += a[u, v] / total * full[u][i] @ P[u, v]
    return result


def joint_rows(mask, kinds, shares, w, mask_share, Z=None):
    """B, or the rows that other graphs ``Z`` of the same anchors would have in it."""
    blocks = []
    for g, kind in enumerate(kinds):
        R = weighted(completed(kind.Z, mask, kind.routed, kind.P), w[g])
        degrees = R.sum(axis=0)
        if Z is not None:
            R = weighted(completed(Z[g], mask, kind.routed, kind.P), w[g])
        R = R[:, degrees > 0] / np.sqrt(degrees[degrees > 0])
        blocks.append(np.sqrt((1 - mask_share) * shares[g]) * R)
    if mask_share:
        M = np.hstack([mask, ~mask]) / mask.shape[1]
        blocks.append(np.sqrt(mask_share) * normalised(M))
    return np.hstack(blocks)


def weighted(Z, w):
    return np.hstack([w_v * Z_v for w_v, Z_v in zip(w, Z)])


def embed(mask, c, kinds, shares, gate, w, mask_share):
    B = joint_rows(mask, kinds, shares, w, mask_share)
    U, s = left_vectors(B, 4 * c)
    share = (min(len(B) - 1, 4 * c) - (c - 1)) / (4 * c - (c - 1))  # beyond c - 1
    t = diffusion_time(s, (c - 1) + share * min(1.5 * (c - 1), 3 * np.sqrt(c - 1)))
    Y = unit_rows(U, s, t, c)
    return Pass(mask, c, kinds, gate, w, mask_share, B, U, s, t, Y)


def diffusion_time(s, d_eff):
    if len(s) <= d_eff:
        return 0.0
    low, high = 0.0, 100.0
    for _ in range(200):
        t = (low + high) / 2
        large = (s ** (2 * t)).sum() ** 2 / (s ** (4 * t)).sum() > d_eff
        low, high = (t, high) if large else (low, t)
    return t


def unit_rows(U, s, t, c):
    constant = np.full((len(U), 1), len(U) ** -0.5 / (c - 1))
    return unit(np.hstack([constant, U * s**t]))


def ridge(X, Y, share):
    """A view's Map; ``share`` is how much of the evidence on a sample was seen."""
    om = share / share.mean()
    X, Y = (A - np.average(A, axis=0, weights=om) for A in (X, Y))
    G = X.T @ (om[:, None] * X)
    total = (om * np.square(Y).sum(axis=1)).sum()
    best = None
    for factor in RIDGES:
        # pinv: a view whose rows are all the same has nothing to say.
        K = np.linalg.pinv(
            G + factor * np.trace(G) / len(G) * np.eye(len(G)), hermitian=True
        )
        W = K @ X.T @ (om[:, None] * Y)
        left_out = np.empty_like(Y)
        for i, (x, y) in enumerate(zip(X, Y)):
            leverage = min(om[i] * x @ K @ x, 0.999)
            left_out[i] = y - (y - W.T @ x) / (1 - leverage)
        loss = (om * np.square(Y - left_out).sum(axis=1)).sum()
        if best is None or loss < best[0]:
            best = loss, factor, W, left_out
    loss, factor, W, left_out = best
    shift = left_out.mean(axis=0)
    return Map(X, W, left_out - shift, shift, factor, 1 - loss / total)


def guard(first, second, starts):
    """Labels by ascent from the unit or from the plain start of the second pass.

    Parameters
    ----------
    starts : ``starts[pass] = (labels by unit rows, labels by U[:, :c - 1])``

    Returns
    -------
    labels, whether they are those of the plain start
    """
    skew = (first.c - 2) / (first.c - 1)
    found = []
    for part, pair in zip((first, second), starts):
        X = part.Y[:, 1:]
        u, r = (ascend(X, labels, part.c, 1 - 0.2 * skew) for labels in pair)
        F = [tolerant(X, y, part.c, 1 - 0.4 * skew) for y in (u, r)]
        J = [block_likelihood(part, y) for y in (u, r)]
        H = [entropy(y, part.c) for y in (u, r)]
        found.append((F, J, H, u, r))
    (F1, J1, *_), (_, J2, H2, u, r) = found
    dJ1, dJ2 = J1[1] - J1[0], J2[1] - J2[0]
    switched = (
        F1[1] - F1[0] > -0.005 * F1[0]
        and dJ1 > 1e-6
        and dJ1 + dJ2 > 0
        and H2[1] < H2[0] - 0.1
    )
    return (r if switched else u), switched


def tolerant(X, labels, c, a):
    """F_a = sum_k |S_k|^2 / n_k^a."""
    return sum(
        worth(X[labels == k].sum(axis=0), (labels == k).sum(), a) for k in range(c)
    )


def worth(S, n, a):
    return S @ S / n**a if n else 0.0


def join(X, trained, labels, c, a):
    """The cluster where each row of ``X`` adds most to F_a: for samples old and new."""
    S = [trained[labels == k].sum(axis=0) for k in range(c)]
    n = np.bincount(labels, minlength=c)
    gains = [
        [worth(S[k] + x, n[k] + 1, a) - worth(S[k], n[k], a) for k in range(c)]
        for x in X
    ]
    return np.argmax(gains, axis=1)


def ascend(X, labels, c, a, rounds=60, patience=5):
    """Batch moves by exact single-move gains; the best partition on the way."""
    best, best_value, idle = labels, -np.inf, 0
    for _ in range(rounds):
        value = tolerant(X, labels, c, a)
        idle = 0 if value > best_value else idle + 1
        if value > best_value:
            best, best_value = labels, value
        S = [X[labels == k].sum(axis=0) for k in range(c)]
        n = np.bincount(labels, minlength=c)
        moved = labels.copy()
        for i, x in enumerate(X):
            gains = [
                worth(S[k] + x, n[k] + 1, a) - worth(S[k], n[k], a) for k in range(c)
            ]
            own = labels[i]
            gains[own] = worth(S[own], n[own], a) - worth(S[own] - x, n[own] - 1, a)
            moved[i] = own if n[own] == 1 else np.argmax(gains)
        if idle >= patience or (moved == labels).all():
            break
        labels = moved
    return best


def block_likelihood(part, labels):
    """J = sum M log(M / E) + kappa sum pi log pi."""
    n = len(labels)
    H = (labels[:, None] == np.unique(labels)).astype(float)
    share = H.mean(axis=0)
    U = np.hstack([np.full((n, 1), n**-0.5), part.U])
    s = np.append(1, part.s)
    M = np.maximum(H.T @ U @ np.diag(s**2) @ U.T @ H / n, 1e-12)
    expected = np.outer(share, share)
    return (M * np.log(M / expected)).sum() + KAPPA * (share * np.log(share)).sum()


def entropy(labels, c):
    share = np.bincount(labels, minlength=c) / len(labels)
    return -sum(p * np.log(p) for p in share if p > 0)
