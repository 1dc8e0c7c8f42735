// STREAM in C++ with OpenMP.
#include "cpp_entry.h"

void copy(const double *__restrict a, double *__restrict c, int64_t n) {
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) c[i] = a[i];
}

void mul(const double *__restrict c, double *__restrict b, double alpha, int64_t n) {
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) b[i] = alpha * c[i];
}

void add(const double *__restrict a, const double *__restrict b, double *__restrict c, int64_t n) {
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) c[i] = a[i] + b[i];
}

void triad(const double *__restrict b, const double *__restrict c, double *__restrict a, double alpha, int64_t n) {
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) a[i] = b[i] + alpha * c[i];
}

double dot(const double *__restrict a, const double *__restrict b, int64_t n) {
    double s = 0.0;
#pragma omp parallel for simd reduction(+ : s)
    for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

BENCHMARK(copy)
BENCHMARK(mul)
BENCHMARK(add)
BENCHMARK(triad)
BENCHMARK(dot)
