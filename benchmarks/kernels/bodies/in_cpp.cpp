// Loops that compute much and move little, in C++ with OpenMP.
#include <cmath>

#include "cpp_entry.h"

void mandelbrot(int32_t *__restrict counts, int32_t limit, int64_t h, int64_t w) {
#pragma omp parallel for schedule(dynamic, 4)
    for (int64_t i = 0; i < h; i++)
        for (int64_t j = 0; j < w; j++) {
            double cr = -2.0 + 3.0 * (double)j / (double)w, ci = -1.5 + 3.0 * (double)i / (double)h, zr = 0.0, zi = 0.0;
            int32_t n = 0;
            while (n < limit && zr * zr + zi * zi <= 4.0) {
                double t = zr * zr - zi * zi + cr;
                zi = 2.0 * zr * zi + ci;
                zr = t;
                n++;
            }
            counts[i * w + j] = n;
        }
}

void nbody(const float *__restrict x, const float *__restrict y, const float *__restrict z, float *__restrict ax,
           float *__restrict ay, float *__restrict az, int64_t n) {
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        float sx = 0.0f, sy = 0.0f, sz = 0.0f;
        for (int64_t k = 0; k < n; k++) {
            float dx = x[k] - x[i], dy = y[k] - y[i], dz = z[k] - z[i];
            float r2 = dx * dx + dy * dy + dz * dz + 0.01f;
            float w = 1.0f / (r2 * std::sqrt(r2));
            sx += w * dx;
            sy += w * dy;
            sz += w * dz;
        }
        ax[i] = sx;
        ay[i] = sy;
        az[i] = sz;
    }
}

BENCHMARK(mandelbrot)
BENCHMARK(nbody)
