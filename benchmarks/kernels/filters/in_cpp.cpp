// Filters in C++ with OpenMP.
#include <cmath>

#include "cpp_entry.h"

void fir(const double *__restrict x, double *__restrict y, int64_t n) {
    const double taps[16] = {3.0, -1.0, -1.0, -1.0, -1.0, 3.0, -1.0, -1.0, -1.0, -1.0, 3.0, -1.0, -1.0, -1.0, -1.0, 3.0};
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        double s = 0.0;
        for (int64_t j = 0; j < 16; j++) s += taps[j] * x[i + j];
        y[i] = s;
    }
}

void bilateral(const float *__restrict image, float *__restrict out, float distance, float contrast, int64_t h, int64_t w) {
    float near = -0.5f / (distance * distance), like = -0.5f / (contrast * contrast);
#pragma omp parallel for
    for (int64_t i = 2; i < h - 2; i++)
        for (int64_t j = 2; j < w - 2; j++) {
            float total = 0.0f, weights = 0.0f, centre = image[i * w + j];
            for (int64_t y = i - 2; y <= i + 2; y++)
                for (int64_t x = j - 2; x <= j + 2; x++) {
                    float d = image[y * w + x] - centre;
                    float weight = std::exp(near * (float)((y - i) * (y - i) + (x - j) * (x - j)) + like * d * d);
                    total += weight * image[y * w + x];
                    weights += weight;
                }
            out[i * w + j] = total / weights;
        }
}

BENCHMARK(fir)
BENCHMARK(bilateral)
