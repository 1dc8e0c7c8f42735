// Loops without neighbours in C++ with OpenMP.
#include <cmath>

#include "cpp_entry.h"

void daxpy(double a, const double *__restrict x, double *__restrict y, int64_t n) {
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) y[i] += a * x[i];
}

void if_quad(const double *__restrict a, const double *__restrict b, const double *__restrict c, double *__restrict x1,
             double *__restrict x2, int64_t n) {
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        double s = b[i] * b[i] - 4.0 * a[i] * c[i];
        if (s >= 0.0) {
            s = std::sqrt(s);
            x2[i] = (-b[i] + s) / (2.0 * a[i]);
            x1[i] = (-b[i] - s) / (2.0 * a[i]);
        } else {
            x2[i] = 0.0;
            x1[i] = 0.0;
        }
    }
}

void eos(const double *__restrict y, const double *__restrict z, const double *__restrict u, double *__restrict x, double q,
         double r, double t, int64_t n) {
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++)
        x[i] = u[i] + r * (z[i] + r * y[i]) +
               t * (u[i + 3] + r * (u[i + 2] + r * u[i + 1]) + t * (u[i + 6] + q * (u[i + 5] + q * u[i + 4])));
}

void planckian(const double *__restrict x, const double *__restrict u, const double *__restrict v, double *__restrict y,
               double *__restrict w, int64_t n) {
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        y[i] = u[i] / v[i];
        w[i] = x[i] / (std::exp(y[i]) - 1.0);
    }
}

BENCHMARK(daxpy)
BENCHMARK(if_quad)
BENCHMARK(eos)
BENCHMARK(planckian)
