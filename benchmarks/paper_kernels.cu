// The loops of paper_kernels.py in C++, by which device_quality.py measures what lend's code takes of a processor.
//
// Compiled by nvcc and, as HIP, by clang without AMD's headers; ELEMENTS neighbours for each thread, which are read and written by
// accesses of 16 bytes wherever their place in the row allows it, and one by one at the ends of rows. Nothing here is launched.

#ifdef __HIP__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __forceinline__ __attribute__((always_inline)) inline
#define THREADS __attribute__((amdgpu_flat_work_group_size(256, 256)))
#define BLOCK(d) (long long)__builtin_amdgcn_workgroup_id_##d()
#define THREAD(d) (long long)__builtin_amdgcn_workitem_id_##d()
#define sqrt __builtin_sqrt
#define fabs __builtin_fabs
#else
#define THREADS __launch_bounds__(256)
#define BLOCK(d) (long long)blockIdx.d
#define THREAD(d) (long long)threadIdx.d
#endif
#define R __restrict__

typedef long long i64;
typedef const double *R in;
typedef double *R out;

constexpr int E = ELEMENTS;

// L doubles in a row. Whoever reads or writes them at once knows that they begin at a multiple of 16 bytes, or of their size.
template <int L> struct alignas(L == 1 ? 8 : 16) Row {
    double v[L];
};
template <int L> __device__ __forceinline__ Row<L> get(in a, i64 i) { return *reinterpret_cast<const Row<L> *>(a + i); }
template <int L> __device__ __forceinline__ void put(out a, i64 i, Row<L> r) { *reinterpret_cast<Row<L> *>(a + i) = r; }
#define ROLLED _Pragma("unroll 1")
#define EACH _Pragma("unroll") for (int e = 0; e < L; ++e)

// A kernel over a row: whole packs, and the rest one by one.
#define LIST(...) __VA_ARGS__
#define ALONG(name, parameters, arguments)                                                                             \
    extern "C" __global__ THREADS void name(parameters, i64 n) {                                                       \
        i64 i = E * (BLOCK(x) * 256 + THREAD(x));                                                                      \
        if (i + E <= n) name##_of<E>(arguments, i);                                                                    \
        else ROLLED for (; i < n; ++i) name##_of<1>(arguments, i);                                                     \
    }
// Over the elements [lo, hi) of rows of a field; `outer` holds where the thread's row is one of its own.
#define WITHIN(name, parameters, arguments, rows, lo, hi, outer)                                                       \
    extern "C" __global__ THREADS void name(parameters, i64 h, i64 w, i64 m) {                                         \
        i64 i = E * (BLOCK(x) * 64 + THREAD(x)), j = BLOCK(y) * 4 + THREAD(y), k = BLOCK(z);                           \
        rows;                                                                                                          \
        if (!(outer) || i >= (hi)) return;                                                                             \
        if (i >= (lo) && i + E <= (hi)) name##_of<E>(arguments, i);                                                    \
        else ROLLED for (i64 c = i < (lo) ? (lo) : i; c < i + E && c < (hi); ++c) name##_of<1>(arguments, c);          \
    }

template <int L> __device__ __forceinline__ void energy_1_of(out e_new, in e_old, in delvc, in p_old, in q_old, in work, i64 i) {
    Row<L> a = get<L>(e_old, i), b = get<L>(delvc, i), c = get<L>(p_old, i), d = get<L>(q_old, i), f = get<L>(work, i), r;
    EACH r.v[e] = a.v[e] - 0.5 * b.v[e] * (c.v[e] + d.v[e]) + 0.5 * f.v[e];
    put<L>(e_new, i, r);
}
ALONG(energy_1, LIST(out a, in b, in c, in d, in e, in f), LIST(a, b, c, d, e, f))

__device__ __forceinline__ double sound(double e, double factor, double bvc, double p, double pbvc, double rho0) {
    double s = (pbvc * e + factor * factor * bvc * p) / rho0;
    return s <= 0.1111111e-36 ? 0.3333333e-18 : sqrt(s);
}

template <int L> __device__ __forceinline__ void energy_2_of(out q_new, in delvc, in half_step, in pbvc, in e_new, in bvc,
                                                             in p_half, in ql_old, in qq_old, double rho0, i64 i) {
    Row<L> d = get<L>(delvc, i), r;
    EACH if (d.v[e] > 0.0) r.v[e] = 0.0;
    else {
        i64 k = i + e;
        double vh = 1.0 / (1.0 + half_step[k]);
        r.v[e] = sound(e_new[k], vh, bvc[k], p_half[k], pbvc[k], rho0) * ql_old[k] + qq_old[k];
    }
    put<L>(q_new, i, r);
}
ALONG(energy_2, LIST(out a, in b, in c, in d, in e, in f, in g, in h, in k, double rho0), LIST(a, b, c, d, e, f, g, h, k, rho0))

template <int L> __device__ __forceinline__ void energy_3_of(out e_new, in delvc, in p_old, in q_old, in p_half, in q_new, i64 i) {
    Row<L> r = get<L>(e_new, i), d = get<L>(delvc, i), a = get<L>(p_old, i), b = get<L>(q_old, i);
    Row<L> f = get<L>(p_half, i), g = get<L>(q_new, i);
    EACH r.v[e] = r.v[e] + 0.5 * d.v[e] * (3.0 * (a.v[e] + b.v[e]) - 4.0 * (f.v[e] + g.v[e]));
    put<L>(e_new, i, r);
}
ALONG(energy_3, LIST(out a, in b, in c, in d, in e, in f), LIST(a, b, c, d, e, f))

template <int L> __device__ __forceinline__ void energy_4_of(out e_new, in work, double e_cut, double emin, i64 i) {
    Row<L> r = get<L>(e_new, i), f = get<L>(work, i);
    EACH {
        double x = r.v[e] + 0.5 * f.v[e];
        if (fabs(x) < e_cut) x = 0.0;
        if (x < emin) x = emin;
        r.v[e] = x;
    }
    put<L>(e_new, i, r);
}
ALONG(energy_4, LIST(out a, in b, double e_cut, double emin), LIST(a, b, e_cut, emin))

template <int L> __device__ __forceinline__ void energy_5_of(out e_new, in delvc, in pbvc, in vnewc, in bvc, in p_new, in ql_old,
                                                             in qq_old, in p_old, in q_old, in p_half, in q_new, double rho0,
                                                             double e_cut, double emin, i64 i) {
    Row<L> r = get<L>(e_new, i), d = get<L>(delvc, i), p = get<L>(p_new, i), a = get<L>(p_old, i), b = get<L>(q_old, i);
    Row<L> f = get<L>(p_half, i), g = get<L>(q_new, i);
    EACH {
        i64 k = i + e;
        double q = 0.0;
        if (d.v[e] <= 0.0) q = sound(r.v[e], vnewc[k], bvc[k], p.v[e], pbvc[k], rho0) * ql_old[k] + qq_old[k];
        double change = 7.0 * (a.v[e] + b.v[e]) - 8.0 * (f.v[e] + g.v[e]) + (p.v[e] + q);
        double x = r.v[e] - change * d.v[e] * (1.0 / 6.0);
        if (fabs(x) < e_cut) x = 0.0;
        if (x < emin) x = emin;
        r.v[e] = x;
    }
    put<L>(e_new, i, r);
}
ALONG(energy_5, LIST(out a, in b, in c, in d, in e, in f, in g, in h, in k, in l, in m, in o, double rho0, double e_cut, double emin),
      LIST(a, b, c, d, e, f, g, h, k, l, m, o, rho0, e_cut, emin))

template <int L> __device__ __forceinline__ void energy_6_of(out q_new, in delvc, in pbvc, in e_new, in vnewc, in bvc, in p_new,
                                                             in ql_old, in qq_old, double rho0, double q_cut, i64 i) {
    Row<L> d = get<L>(delvc, i);
    EACH if (d.v[e] <= 0.0) {
        i64 k = i + e;
        double q = sound(e_new[k], vnewc[k], bvc[k], p_new[k], pbvc[k], rho0) * ql_old[k] + qq_old[k];
        if (fabs(q) < q_cut) q = 0.0;
        q_new[k] = q;
    }
}
ALONG(energy_6, LIST(out a, in b, in c, in d, in e, in f, in g, in h, in k, double rho0, double q_cut),
      LIST(a, b, c, d, e, f, g, h, k, rho0, q_cut))

template <int L> __device__ __forceinline__ void fir_of(in signal, out result, i64 i) {
    constexpr double taps[16] = {3, -1, -1, -1, -1, 3, -1, -1, -1, -1, 3, -1, -1, -1, -1, 3};
    Row<L> r;
    EACH r.v[e] = 0.0;
    _Pragma("unroll") for (int j = 0; j < 16; ++j) EACH r.v[e] += taps[j] * signal[i + j + e];
    put<L>(result, i, r);
}
ALONG(fir, LIST(in a, out b), LIST(a, b))

template <int L> __device__ __forceinline__ void pressure_1_of(out bvc, in compression, double cls, i64 i) {
    Row<L> r = get<L>(compression, i);
    EACH r.v[e] = cls * (r.v[e] + 1.0);
    put<L>(bvc, i, r);
}
ALONG(pressure_1, LIST(out a, in b, double cls), LIST(a, b, cls))

template <int L> __device__ __forceinline__ void pressure_2_of(out p_new, in bvc, in e_old, in vnewc, double p_cut, double eosvmax,
                                                               double pmin, i64 i) {
    Row<L> a = get<L>(bvc, i), b = get<L>(e_old, i), c = get<L>(vnewc, i), r;
    EACH {
        double p = a.v[e] * b.v[e];
        if (fabs(p) < p_cut) p = 0.0;
        if (c.v[e] >= eosvmax) p = 0.0;
        if (p < pmin) p = pmin;
        r.v[e] = p;
    }
    put<L>(p_new, i, r);
}
ALONG(pressure_2, LIST(out a, in b, in c, in d, double p_cut, double eosvmax, double pmin), LIST(a, b, c, d, p_cut, eosvmax, pmin))

template <int L> __device__ __forceinline__ void del_dot_vec_2d_of(in x, in y, in xdot, in ydot, out div, double ptiny, double half,
                                                                   i64 o, i64 w, i64 c) {
    Row<L> r;
    i64 i = o + c;
    EACH {
        i64 a = i + e, b = a + 1, f = b + w, d = a + w;
        double xi = half * (x[a] + x[b] - x[f] - x[d]), xj = half * (x[b] + x[f] - x[d] - x[a]);
        double yi = half * (y[a] + y[b] - y[f] - y[d]), yj = half * (y[b] + y[f] - y[d] - y[a]);
        double fxi = half * (xdot[a] + xdot[b] - xdot[f] - xdot[d]), fxj = half * (xdot[b] + xdot[f] - xdot[d] - xdot[a]);
        double fyi = half * (ydot[a] + ydot[b] - ydot[f] - ydot[d]), fyj = half * (ydot[b] + ydot[f] - ydot[d] - ydot[a]);
        double ra = 1.0 / (xi * yj - xj * yi + ptiny);
        double affine = (ydot[a] + ydot[b] + ydot[f] + ydot[d]) / (y[a] + y[b] + y[f] + y[d]);
        r.v[e] = ra * (fxi * yj - fxj * yi) + ra * (fyj * xi - fyi * xj) + affine;
    }
    put<L>(div, i, r);
}
WITHIN(del_dot_vec_2d, LIST(in x, in y, in u, in v, out div, double ptiny, double half), LIST(x, y, u, v, div, ptiny, half, o, w),
       i64 o = (k * h + j) * w, 0, w - 1, j < h - 1)

template <int L> __device__ __forceinline__ void ltimes_of(out phi, in ell, in psi, i64 o, i64 s, i64 directions, i64 c) {
    Row<L> r = get<L>(phi, o + c);
    for (i64 d = 0; d < directions; ++d) EACH r.v[e] += ell[(c + e) * directions + d] * psi[s + d];
    put<L>(phi, o + c, r);
}
WITHIN(ltimes, LIST(out phi, in ell, in psi, i64 directions), LIST(phi, ell, psi, o, s, directions),
       LIST(i64 o = (k * h + j) * w; i64 s = (k * h + j) * directions), 0, w, j < h)

struct Diagonals {
    in at[27];
};
template <int L> __device__ __forceinline__ void matvec_3d_stencil_of(out b, in x, const Diagonals &diagonals, i64 o, i64 h, i64 w,
                                                                      i64 c) {
    Row<L> r;
    i64 i = o + c;
    EACH r.v[e] = 0.0;
    _Pragma("unroll") for (int n = 0; n < 27; ++n) {
        i64 k = i + ((n / 9 - 1) * h + (n / 3 % 3 - 1)) * w + n % 3 - 1;
        Row<L> d = get<L>(diagonals.at[n], i);
        EACH r.v[e] += d.v[e] * x[k + e];
    }
    put<L>(b, i, r);
}
WITHIN(matvec_3d_stencil, LIST(out b, in x, Diagonals diagonals), LIST(b, x, diagonals, o, h, w),
       LIST(++j; ++k; i64 o = (k * h + j) * w), 1, w - 1, j < h - 1)

__device__ __forceinline__ double triple(double ax, double ay, double az, double px, double py, double pz, double qx, double qy,
                                         double qz) {
    return ax * (py * qz - pz * qy) + ay * (pz * qx - px * qz) + az * (px * qy - py * qx);
}

template <int L> __device__ __forceinline__ void vol3d_of(in x, in y, in z, out vol, double vnormq, i64 o, i64 h, i64 w, i64 c) {
    Row<L> r;
    i64 i = o + c, p = h * w;
    EACH {
        i64 n0 = i + e, n1 = n0 + 1, n2 = n0 + w, n3 = n2 + 1, n4 = n0 + p, n5 = n4 + 1, n6 = n4 + w, n7 = n6 + 1;
        double x71 = x[n7] - x[n1], x72 = x[n7] - x[n2], x74 = x[n7] - x[n4];
        double x30 = x[n3] - x[n0], x50 = x[n5] - x[n0], x60 = x[n6] - x[n0];
        double y71 = y[n7] - y[n1], y72 = y[n7] - y[n2], y74 = y[n7] - y[n4];
        double y30 = y[n3] - y[n0], y50 = y[n5] - y[n0], y60 = y[n6] - y[n0];
        double z71 = z[n7] - z[n1], z72 = z[n7] - z[n2], z74 = z[n7] - z[n4];
        double z30 = z[n3] - z[n0], z50 = z[n5] - z[n0], z60 = z[n6] - z[n0];
        double v = triple(x71 + x60, y71 + y60, z71 + z60, x72, y72, z72, x30, y30, z30);
        v += triple(x72 + x50, y72 + y50, z72 + z50, x74, y74, z74, x60, y60, z60);
        v += triple(x74 + x30, y74 + y30, z74 + z30, x71, y71, z71, x50, y50, z50);
        r.v[e] = v * vnormq;
    }
    put<L>(vol, i, r);
}
WITHIN(vol3d, LIST(in x, in y, in z, out vol, double vnormq), LIST(x, y, z, vol, vnormq, o, h, w), i64 o = (k * h + j) * w, 0, w - 1,
       j < h - 1)
