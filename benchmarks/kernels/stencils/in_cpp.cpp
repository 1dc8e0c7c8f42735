// Stencils with time steps in C++ with OpenMP.
#include "cpp_entry.h"

void jacobi_1d(double *__restrict a, double *__restrict b, int64_t steps, int64_t n) {
    for (int64_t t = 0; t < steps; t++) {
#pragma omp parallel for
        for (int64_t i = 1; i < n - 1; i++) b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1]);
#pragma omp parallel for
        for (int64_t i = 1; i < n - 1; i++) a[i] = 0.33333 * (b[i - 1] + b[i] + b[i + 1]);
    }
}

void jacobi_2d(double *__restrict a, double *__restrict b, int64_t steps, int64_t n, int64_t m) {
    for (int64_t t = 0; t < steps; t++) {
#pragma omp parallel for
        for (int64_t i = 1; i < n - 1; i++)
            for (int64_t j = 1; j < m - 1; j++)
                b[i * m + j] = 0.2 * (a[i * m + j] + a[i * m + j - 1] + a[i * m + j + 1] + a[(i + 1) * m + j] + a[(i - 1) * m + j]);
#pragma omp parallel for
        for (int64_t i = 1; i < n - 1; i++)
            for (int64_t j = 1; j < m - 1; j++)
                a[i * m + j] = 0.2 * (b[i * m + j] + b[i * m + j - 1] + b[i * m + j + 1] + b[(i + 1) * m + j] + b[(i - 1) * m + j]);
    }
}

static void heat_step(const double *__restrict a, double *__restrict b, int64_t n, int64_t m, int64_t p) {
    int64_t row = p, plane = m * p;
#pragma omp parallel for
    for (int64_t i = 1; i < n - 1; i++)
        for (int64_t j = 1; j < m - 1; j++)
            for (int64_t k = 1; k < p - 1; k++) {
                int64_t at = i * plane + j * row + k;
                b[at] = 0.125 * (a[at + plane] - 2.0 * a[at] + a[at - plane]) + 0.125 * (a[at + row] - 2.0 * a[at] + a[at - row]) +
                        0.125 * (a[at + 1] - 2.0 * a[at] + a[at - 1]) + a[at];
            }
}

void heat_3d(double *__restrict a, double *__restrict b, int64_t steps, int64_t n, int64_t m, int64_t p) {
    for (int64_t t = 0; t < steps; t++) {
        heat_step(a, b, n, m, p);
        heat_step(b, a, n, m, p);
    }
}

void fdtd_2d(double *__restrict ex, double *__restrict ey, double *__restrict hz, const double *__restrict fict, int64_t n,
             int64_t m, int64_t steps) {
    for (int64_t t = 0; t < steps; t++) {
#pragma omp parallel for
        for (int64_t j = 0; j < m; j++) ey[j] = fict[t];
#pragma omp parallel for
        for (int64_t i = 1; i < n; i++)
            for (int64_t j = 0; j < m; j++) ey[i * m + j] = ey[i * m + j] - 0.5 * (hz[i * m + j] - hz[(i - 1) * m + j]);
#pragma omp parallel for
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 1; j < m; j++) ex[i * m + j] = ex[i * m + j] - 0.5 * (hz[i * m + j] - hz[i * m + j - 1]);
#pragma omp parallel for
        for (int64_t i = 0; i < n - 1; i++)
            for (int64_t j = 0; j < m - 1; j++)
                hz[i * m + j] =
                    hz[i * m + j] - 0.7 * (ex[i * m + j + 1] - ex[i * m + j] + ey[(i + 1) * m + j] - ey[i * m + j]);
    }
}

BENCHMARK(jacobi_1d)
BENCHMARK(jacobi_2d)
BENCHMARK(heat_3d)
BENCHMARK(fdtd_2d)
