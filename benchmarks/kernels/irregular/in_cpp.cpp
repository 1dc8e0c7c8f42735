// Data-dependent accesses in C++ with OpenMP.
#include "cpp_entry.h"

void histogram(const int32_t *__restrict bins, int64_t *__restrict counts, int64_t n, int64_t size) {
    for (int64_t b = 0; b < size; b++) counts[b] = 0;
#pragma omp parallel for reduction(+ : counts[:size])
    for (int64_t k = 0; k < n; k++) counts[bins[k]]++;
}

void csr(const int64_t *__restrict rows, const int32_t *__restrict columns, const double *__restrict values,
         const double *__restrict x, double *__restrict y, int64_t n) {
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        double total = 0.0;
        for (int64_t k = rows[i]; k < rows[i + 1]; k++) total += values[k] * x[columns[k]];
        y[i] = total;
    }
}

BENCHMARK(histogram)
BENCHMARK(csr)
