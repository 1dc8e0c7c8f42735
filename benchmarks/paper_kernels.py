"""The kernels of the paper "GPU Offload in Rust: Portable, Safe, and Fast" (arXiv 2608.13759), in lend.

Does: write the thirteen loops of seven kernels of the RAJA Performance Suite (release 2024.07; LLNL) that the paper measures.
Does not: measure (`device_quality.py` compares what they take of a processor).
Invariants: each loop of the suite is one parallel loop here, one element for each thread; the formulas are the suite's. Fields
over a mesh are arrays of as many dimensions as the mesh, instead of rows with offsets.
"""

from __future__ import annotations

import math

import lend
from lend import Mut, Out, Ref, f64
from lend.dims import H, M, N, W


class Groups(lend.Dim): ...


class Moments(lend.Dim): ...


class Directions(lend.Dim): ...


class Zones(lend.Dim): ...


class Taps(lend.Dim):
    equals = N + 15


@lend.kernel
def del_dot_vec_2d(
    x: Ref[f64, H, W], y: Ref[f64, H, W], xdot: Ref[f64, H, W], ydot: Ref[f64, H, W], div: Mut[f64, H, W], ptiny: f64, half: f64
):
    """The divergence of a velocity over quadrilateral zones."""
    for j, i in lend.grid(H - 1, W - 1):
        x1, x2, x3, x4 = x[j, i], x[j, i + 1], x[j + 1, i + 1], x[j + 1, i]
        y1, y2, y3, y4 = y[j, i], y[j, i + 1], y[j + 1, i + 1], y[j + 1, i]
        fx1, fx2, fx3, fx4 = xdot[j, i], xdot[j, i + 1], xdot[j + 1, i + 1], xdot[j + 1, i]
        fy1, fy2, fy3, fy4 = ydot[j, i], ydot[j, i + 1], ydot[j + 1, i + 1], ydot[j + 1, i]
        xi, xj = half * (x1 + x2 - x3 - x4), half * (x2 + x3 - x4 - x1)
        yi, yj = half * (y1 + y2 - y3 - y4), half * (y2 + y3 - y4 - y1)
        fxi, fxj = half * (fx1 + fx2 - fx3 - fx4), half * (fx2 + fx3 - fx4 - fx1)
        fyi, fyj = half * (fy1 + fy2 - fy3 - fy4), half * (fy2 + fy3 - fy4 - fy1)
        ra = 1.0 / (xi * yj - xj * yi + ptiny)
        affine = (fy1 + fy2 + fy3 + fy4) / (y1 + y2 + y3 + y4)
        div[j, i] = ra * (fxi * yj - fxj * yi) + ra * (fyj * xi - fyi * xj) + affine


@lend.kernel
def energy_1(
    e_new: Out[f64, N], e_old: Ref[f64, N], delvc: Ref[f64, N], p_old: Ref[f64, N], q_old: Ref[f64, N], work: Ref[f64, N]
):
    """ENERGY, first loop."""
    for i in lend.grid(N):
        e_new[i] = e_old[i] - 0.5 * delvc[i] * (p_old[i] + q_old[i]) + 0.5 * work[i]


@lend.function
def sound(e: float, factor: float, bvc: float, p: float, pbvc: float, rho0: float) -> float:
    """The square root that ENERGY takes, kept from very small numbers."""
    s = (pbvc * e + factor * factor * bvc * p) / rho0
    return 0.3333333e-18 if s <= 0.1111111e-36 else math.sqrt(s)


@lend.kernel
def energy_2(
    q_new: Out[f64, N], delvc: Ref[f64, N], half_step: Ref[f64, N], pbvc: Ref[f64, N], e_new: Ref[f64, N], bvc: Ref[f64, N],
    p_half: Ref[f64, N], ql_old: Ref[f64, N], qq_old: Ref[f64, N], rho0: f64,
):  # fmt: skip
    """ENERGY, second loop."""
    for i in lend.grid(N):
        if delvc[i] > 0.0:
            q_new[i] = 0.0
        else:
            vh = 1.0 / (1.0 + half_step[i])
            q_new[i] = sound(e_new[i], vh, bvc[i], p_half[i], pbvc[i], rho0) * ql_old[i] + qq_old[i]


@lend.kernel
def energy_3(
    e_new: Mut[f64, N], delvc: Ref[f64, N], p_old: Ref[f64, N], q_old: Ref[f64, N], p_half: Ref[f64, N], q_new: Ref[f64, N]
):
    """ENERGY, third loop."""
    for i in lend.grid(N):
        e_new[i] = e_new[i] + 0.5 * delvc[i] * (3.0 * (p_old[i] + q_old[i]) - 4.0 * (p_half[i] + q_new[i]))


@lend.kernel
def energy_4(e_new: Mut[f64, N], work: Ref[f64, N], e_cut: f64, emin: f64):
    """ENERGY, fourth loop."""
    for i in lend.grid(N):
        e = e_new[i] + 0.5 * work[i]
        if abs(e) < e_cut:
            e = 0.0
        if e < emin:
            e = emin
        e_new[i] = e


@lend.kernel
def energy_5(
    e_new: Mut[f64, N], delvc: Ref[f64, N], pbvc: Ref[f64, N], vnewc: Ref[f64, N], bvc: Ref[f64, N], p_new: Ref[f64, N],
    ql_old: Ref[f64, N], qq_old: Ref[f64, N], p_old: Ref[f64, N], q_old: Ref[f64, N], p_half: Ref[f64, N], q_new: Ref[f64, N],
    rho0: f64, e_cut: f64, emin: f64,
):  # fmt: skip
    """ENERGY, fifth loop."""
    for i in lend.grid(N):
        q = 0.0
        if delvc[i] <= 0.0:
            q = sound(e_new[i], vnewc[i], bvc[i], p_new[i], pbvc[i], rho0) * ql_old[i] + qq_old[i]
        change = 7.0 * (p_old[i] + q_old[i]) - 8.0 * (p_half[i] + q_new[i]) + (p_new[i] + q)
        e = e_new[i] - change * delvc[i] * (1.0 / 6.0)
        if abs(e) < e_cut:
            e = 0.0
        if e < emin:
            e = emin
        e_new[i] = e


@lend.kernel
def energy_6(
    q_new: Mut[f64, N], delvc: Ref[f64, N], pbvc: Ref[f64, N], e_new: Ref[f64, N], vnewc: Ref[f64, N], bvc: Ref[f64, N],
    p_new: Ref[f64, N], ql_old: Ref[f64, N], qq_old: Ref[f64, N], rho0: f64, q_cut: f64,
):  # fmt: skip
    """ENERGY, sixth loop."""
    for i in lend.grid(N):
        if delvc[i] <= 0.0:
            q = sound(e_new[i], vnewc[i], bvc[i], p_new[i], pbvc[i], rho0) * ql_old[i] + qq_old[i]
            if abs(q) < q_cut:
                q = 0.0
            q_new[i] = q


COEFFICIENTS = (3.0, -1.0, -1.0, -1.0, -1.0, 3.0, -1.0, -1.0, -1.0, -1.0, 3.0, -1.0, -1.0, -1.0, -1.0, 3.0)


@lend.kernel
def fir(signal: Ref[f64, Taps], out: Out[f64, N]):
    """A filter of sixteen known coefficients."""
    for i in lend.grid(N):
        s = 0.0
        for j, c in enumerate(COEFFICIENTS):
            s += c * signal[i + j]
        out[i] = s


@lend.kernel
def ltimes(phi: Mut[f64, Zones, Groups, Moments], ell: Ref[f64, Moments, Directions], psi: Ref[f64, Zones, Groups, Directions]):
    """Moments of a discrete-ordinates flux."""
    for z, g, m in lend.grid(Zones, Groups, Moments):
        for d in range(Directions):
            phi[z, g, m] += ell[m, d] * psi[z, g, d]


Diagonals = tuple[Ref[f64, M, H, W], ...]


@lend.kernel
def matvec_3d_stencil(b: Mut[f64, M, H, W], x: Ref[f64, M, H, W], diagonals: Diagonals):
    """A matrix of 27 diagonals over a mesh, times a vector."""
    for k, j, i in lend.grid((1, M - 1), (1, H - 1), (1, W - 1)):
        s = 0.0
        for n, diagonal in enumerate(diagonals):
            s += diagonal[k, j, i] * x[k - 1 + n // 9, j - 1 + n // 3 % 3, i - 1 + n % 3]
        b[k, j, i] = s


@lend.kernel
def pressure_1(bvc: Out[f64, N], compression: Ref[f64, N], cls: f64):
    """PRESSURE, first loop."""
    for i in lend.grid(N):
        bvc[i] = cls * (compression[i] + 1.0)


@lend.kernel
def pressure_2(p_new: Out[f64, N], bvc: Ref[f64, N], e_old: Ref[f64, N], vnewc: Ref[f64, N], p_cut: f64, eosvmax: f64, pmin: f64):
    """PRESSURE, second loop."""
    for i in lend.grid(N):
        p = bvc[i] * e_old[i]
        if abs(p) < p_cut:
            p = 0.0
        if vnewc[i] >= eosvmax:
            p = 0.0
        if p < pmin:
            p = pmin
        p_new[i] = p


@lend.function
def triple(ax: float, ay: float, az: float, px: float, py: float, pz: float, qx: float, qy: float, qz: float) -> float:
    """`a . (p x q)`."""
    return ax * (py * qz - pz * qy) + ay * (pz * qx - px * qz) + az * (px * qy - py * qx)


@lend.kernel
def vol3d(x: Ref[f64, M, H, W], y: Ref[f64, M, H, W], z: Ref[f64, M, H, W], vol: Mut[f64, M, H, W], vnormq: f64):
    """Volumes of hexahedral zones."""
    for k, j, i in lend.grid(M - 1, H - 1, W - 1):
        x0, x1, x2, x3 = x[k, j, i], x[k, j, i + 1], x[k, j + 1, i], x[k, j + 1, i + 1]
        x4, x5, x6, x7 = x[k + 1, j, i], x[k + 1, j, i + 1], x[k + 1, j + 1, i], x[k + 1, j + 1, i + 1]
        y0, y1, y2, y3 = y[k, j, i], y[k, j, i + 1], y[k, j + 1, i], y[k, j + 1, i + 1]
        y4, y5, y6, y7 = y[k + 1, j, i], y[k + 1, j, i + 1], y[k + 1, j + 1, i], y[k + 1, j + 1, i + 1]
        z0, z1, z2, z3 = z[k, j, i], z[k, j, i + 1], z[k, j + 1, i], z[k, j + 1, i + 1]
        z4, z5, z6, z7 = z[k + 1, j, i], z[k + 1, j, i + 1], z[k + 1, j + 1, i], z[k + 1, j + 1, i + 1]
        x71, x72, x74, x30, x50, x60 = x7 - x1, x7 - x2, x7 - x4, x3 - x0, x5 - x0, x6 - x0
        y71, y72, y74, y30, y50, y60 = y7 - y1, y7 - y2, y7 - y4, y3 - y0, y5 - y0, y6 - y0
        z71, z72, z74, z30, z50, z60 = z7 - z1, z7 - z2, z7 - z4, z3 - z0, z5 - z0, z6 - z0
        v = triple(x71 + x60, y71 + y60, z71 + z60, x72, y72, z72, x30, y30, z30)
        v += triple(x72 + x50, y72 + y50, z72 + z50, x74, y74, z74, x60, y60, z60)
        v += triple(x74 + x30, y74 + y30, z74 + z30, x71, y71, z71, x50, y50, z50)
        vol[k, j, i] = v * vnormq
