// Dense linear algebra and its like in C++ with OpenMP, in the loop shapes of RAJAPerf's OpenMP variants.
#include "cpp_entry.h"

void matvec(const double *__restrict a, const double *__restrict x, double *__restrict y, int64_t n, int64_t m) {
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        double s = 0.0;
        for (int64_t j = 0; j < m; j++) s += a[i * m + j] * x[j];
        y[i] = s;
    }
}

void matvec_transposed(const double *__restrict a, const double *__restrict x, double *__restrict y, int64_t n, int64_t m) {
#pragma omp parallel for
    for (int64_t j = 0; j < m; j++) {
        double s = 0.0;
        for (int64_t i = 0; i < n; i++) s += a[i * m + j] * x[i];
        y[j] = s;
    }
}

void gemm(const double *__restrict a, const double *__restrict b, double *__restrict c, int64_t n, int64_t m, int64_t p) {
#pragma omp parallel for collapse(2)
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            double s = 0.0;
            for (int64_t k = 0; k < p; k++) s += a[i * p + k] * b[k * m + j];
            c[i * m + j] = s;
        }
}

void two_mm(const double *__restrict a, const double *__restrict b, const double *__restrict c, double *__restrict tmp,
            double *__restrict d, double alpha, double beta, int64_t n, int64_t m, int64_t p, int64_t q) {
#pragma omp parallel for collapse(2)
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            double s = 0.0;
            for (int64_t k = 0; k < p; k++) s += alpha * a[i * p + k] * b[k * m + j];
            tmp[i * m + j] = s;
        }
#pragma omp parallel for collapse(2)
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < q; j++) {
            double s = beta;
            for (int64_t k = 0; k < m; k++) s += tmp[i * m + k] * c[k * q + j];
            d[i * q + j] = s;
        }
}

void floyd_warshall(const double *__restrict pin, double *__restrict pout, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
#pragma omp parallel for collapse(2)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                double through = pin[i * n + k] + pin[k * n + j];
                pout[i * n + j] = pin[i * n + j] < through ? pin[i * n + j] : through;
            }
    }
}

void ltimes(double *__restrict phi, const double *__restrict ell, const double *__restrict psi, int64_t zones, int64_t groups,
            int64_t moments, int64_t directions) {
#pragma omp parallel for
    for (int64_t z = 0; z < zones; z++)
        for (int64_t g = 0; g < groups; g++)
            for (int64_t m = 0; m < moments; m++)
                for (int64_t d = 0; d < directions; d++)
                    phi[(z * groups + g) * moments + m] += ell[m * directions + d] * psi[(z * groups + g) * directions + d];
}

BENCHMARK(matvec)
BENCHMARK(matvec_transposed)
BENCHMARK(gemm)
BENCHMARK(two_mm)
BENCHMARK(floyd_warshall)
BENCHMARK(ltimes)
