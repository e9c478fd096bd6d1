"""Steps 1 to 6 of AnchorBridge on dense n-row matrices: slow, obvious, the twin of
the pattern computation."""

import numpy as np


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


def agreement(Zs, h, c):
    """Step 3: a_uv of one variant; Zs[v] has the rows h[v]."""
    V = len(Zs)
    E = [left_vectors(normalised(Z), c)[0] for Z in Zs]
    a = np.eye(V)
    for u in range(V):
        for v in range(V):
            O = np.intersect1d(h[u], h[v])
            if u == v:
                continue
            a[u, v] = 0.01
            if len(O) > 2 * c + 2:
                r = correlation(E[u][np.isin(h[u], O)], E[v][np.isin(h[v], O)], c)
                a[u, v] = max(beyond_chance(r, c, len(O)), 0.01)
    return a, E


def view_weights(a, E, h, c):
    """Weights of both variants, with the gate for junk views."""
    V = len(h)
    if V == 1:
        return [np.ones(1)] * 2
    surplus = [
        [
            a_g[u, v] - 3 * np.sqrt(2) / (len(np.intersect1d(h[u], h[v])) - 1)
            for u in range(V)
            for v in range(V)
            if u != v and len(np.intersect1d(h[u], h[v])) > 2 * c + 2
        ]
        for a_g in a
    ]
    best = [max(s, default=-1) for s in surplus]
    best = max(best) if V == 2 else min(best)
    gamma = 2 * np.clip((0.03 - best) / 0.02, 0, 1)
    rep = [
        max(beyond_chance(correlation(E[0][v], E[1][v], c), c, len(h[v])), 0.01)
        for v in range(V)
    ]
    result = []
    for a_g in a:
        w = np.ones(V) if V == 2 else a_g.sum(axis=1) - 1
        w = w * np.array(rep) ** gamma
        result.append(w / w.sum())
    return result


def completed(Zs, h, a, n):
    """Step 4: Z~_v of every view, with routing; each (n, m_v)."""
    V = len(Zs)
    full = [np.zeros((n, Z.shape[1])) for Z in Zs]
    for v in range(V):
        full[v][h[v]] = Zs[v]
    P = {}
    for u in range(V):
        for v in range(V):
            O = np.intersect1d(h[u], h[v])
            C = full[u][O].T @ full[v][O] + 1e-6 * full[v].sum(axis=0) / n
            P[u, v] = C / C.sum(axis=1, keepdims=True)
    old, a, P_old = a, a.copy(), dict(P)
    for u in range(V):
        for v in range(V):
            others = [x for x in range(V) if x not in (u, v)]
            if u == v or old[u, v] > 0.01 or not others:
                continue
            mixed = old[u, v] * P_old[u, v]
            for x in others:
                mixed = mixed + old[u, x] * old[x, v] * P_old[u, x] @ P_old[x, v]
                a[u, v] = max(a[u, v], old[u, x] * old[x, v])
            P[u, v] = mixed / mixed.sum(axis=1, keepdims=True)
    result = [Z.copy() for Z in full]
    for i in range(n):
        seen = [u for u in range(V) if i in h[u]]
        for v in range(V):
            if v not in seen:
                total = sum(a[u, v] for u in seen)
                result[v][i] = sum(a[u, v] * full[u][i] @ P[u, v] for u in seen) / total
    return result


def bridge(Xs, mask, c, graphs, n_components=100, omega=0.0):
    """Steps 1 to 6 with given anchors: ``graphs[variant][v] = (anchors, k)``.

    Returns
    -------
    U, s : singular vectors without the constant one, and their values
    Y : unit rows of step 6
    a, w : agreement and view weights per variant
    """
    n, V = mask.shape
    h = [np.flatnonzero(mask[:, v]) for v in range(V)]
    Zs = [
        [
            weights(features(Xs[v][h[v]], rooted, n_components), *graphs[rooted][v])
            for v in range(V)
        ]
        for rooted in (False, True)
    ]
    a, E = zip(*[agreement(Z, h, c) for Z in Zs])
    w = view_weights(a, E, h, c)
    B = []
    for Z, a_g, w_g in zip(Zs, a, w):
        R = np.hstack([x * z for x, z in zip(w_g, completed(Z, h, a_g, n))])
        B.append(np.sqrt((1 - omega) / 2) * normalised(R))
    if omega:
        B.append(np.sqrt(omega) * normalised(np.hstack([mask, ~mask]) / V))
    U, s = left_vectors(np.hstack(B), 4 * c)
    d_eff = (c - 1) + min(1.5 * (c - 1), 3 * np.sqrt(c - 1))
    low, high = 0.0, 100.0
    if len(s) <= d_eff:
        high = 0.0
    for _ in range(200):
        t = (low + high) / 2
        large = (s ** (2 * t)).sum() ** 2 / (s ** (4 * t)).sum() > d_eff
        low, high = (t, high) if large else (low, t)
    Y = np.hstack([np.full((n, 1), n**-0.5 / (c - 1)), U * s**t])
    return U, s, unit(Y), np.array(a), np.array(w)
