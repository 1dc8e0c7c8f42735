// Reductions in C++ with OpenMP. Their order is free, as in lend, so that the sums may be taken in vectors.
#include "cpp_entry.h"

double sum(const double *__restrict x, int64_t n) {
    double s = 0.0;
#pragma omp parallel for simd reduction(+ : s)
    for (int64_t i = 0; i < n; i++) s += x[i];
    return s;
}

float sum32(const float *__restrict x, int64_t n) {
    float s = 0.0f;
#pragma omp parallel for simd reduction(+ : s)
    for (int64_t i = 0; i < n; i++) s += x[i];
    return s;
}

struct Smallest {
    double value;
    int64_t place;
};

#pragma omp declare reduction(first : Smallest : omp_out = (omp_in.value < omp_out.value ||                                      \
        (omp_in.value == omp_out.value && omp_in.place < omp_out.place)) ? omp_in : omp_out) initializer(omp_priv = omp_orig)

Smallest min_location(const double *__restrict x, int64_t n) {
    Smallest best = {x[0], 0};
#pragma omp parallel for reduction(first : best)
    for (int64_t i = 0; i < n; i++)
        if (x[i] < best.value) best = {x[i], i};
    return best;
}

BENCHMARK(sum)
BENCHMARK(sum32)
BENCHMARK(min_location)
