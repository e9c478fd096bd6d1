"""The paper's iteration on n-row matrices: slow, obvious, the twin of the solver."""

import numpy as np


def leading_left(M, d):
    """d leading left singular vectors by a plain SVD; zero columns past the rank."""
    U, s, _ = np.linalg.svd(M, full_matrices=False)
    kept = s[:d] ** 2 > 1e-12 * s[0] ** 2
    result = np.zeros((len(M), d))
    result[:, : len(kept)][:, kept] = U[:, :d][:, kept]
    return result


def scatter(F, h, n):
    d = F[0].shape[1]
    M = np.zeros((n, len(F) * d))
    for v, rows in enumerate(h):
        M[rows, v * d : (v + 1) * d] = F[v]
    return M


def objective(Y, F, B, h, beta):
    """Eq. (6) by its definition, with n x n Gram matrices."""
    value = 0.0
    for v, rows in enumerate(h):
        QF = np.zeros_like(Y)
        QF[rows] = F[v]
        value += np.square(Y @ Y.T - QF @ QF.T).sum()
        value -= beta * np.trace(F[v].T @ B[v] @ B[v].T @ F[v])
    return value


def rise(B, h, n, d, beta, n_iter, F=None, value=objective):
    """``n_iter`` iterations of Algorithm 1: (Y, F, objective after each)."""
    F = [leading_left(B_v, d) for B_v in B] if F is None else F
    values = []
    for _ in range(n_iter):
        Y = leading_left(scatter(F, h, n), d)
        F = [
            leading_left(np.hstack([np.sqrt(2) * Y[r], np.sqrt(beta) * B_v]), d)
            for B_v, r in zip(B, h)
        ]
        values.append(value(Y, F, B, h, beta))
    return Y, F, values


def rise_first_order(F, B, h, n, beta, n_iter, steps=50, tol=1e-6):
    """The first-order ablation on n-row matrices: (Y, objective after each)."""
    F = list(F)
    Y = mean_rows(F, h, n)
    values = []
    for _ in range(n_iter):
        for v, rows in enumerate(h):
            for _ in range(steps):
                K = B[v].T @ F[v]
                U, _, Vt = np.linalg.svd(beta * B[v] @ K + Y[rows], full_matrices=False)
                F[v] = U @ Vt
                K_new = B[v].T @ F[v]
                if np.linalg.norm(K_new - K) <= tol * np.linalg.norm(K_new):
                    break
        Y = mean_rows(F, h, n)
        values.append(
            sum(
                np.square(F_v - Y[r]).sum() - beta * np.square(B_v.T @ F_v).sum()
                for F_v, B_v, r in zip(F, B, h)
            )
        )
    return Y, values


def mean_rows(F, h, n):
    total, count = np.zeros((n, F[0].shape[1])), np.zeros((n, 1))
    for F_v, rows in zip(F, h):
        total[rows] += F_v
        count[rows] += 1
    return total / count


def smallest_cosine(Y, Z):
    """Smallest cosine of the principal angles between two column spaces."""
    Q, R = np.linalg.qr(Y)[0], np.linalg.qr(Z)[0]
    return np.linalg.svd(Q.T @ R, compute_uv=False).min()
