/* The benchmark kernels in C, as one writes them with OpenMP. */
#include <math.h>
#include <stdint.h>

void saxpy(float a, const float *restrict x, float *restrict y, int64_t n) {
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) y[i] += a * x[i];
}

void stencil(const float *restrict u, float *restrict v, int64_t h, int64_t w) {
#pragma omp parallel for
    for (int64_t i = 1; i < h - 1; i++)
        for (int64_t j = 1; j < w - 1; j++)
            v[i * w + j] = 0.25f * (u[(i - 1) * w + j] + u[(i + 1) * w + j] + u[i * w + j - 1] + u[i * w + j + 1]);
}

float total(const float *restrict x, int64_t n) {
    float s = 0.0f;
#pragma omp parallel for simd reduction(+ : s)
    for (int64_t i = 0; i < n; i++) s += x[i];
    return s;
}

void mandelbrot(int32_t *restrict counts, int32_t limit, int64_t h, int64_t w) {
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

void bilateral(const float *restrict image, float *restrict out, float distance, float contrast, int64_t h, int64_t w) {
    float near = -0.5f / (distance * distance), like = -0.5f / (contrast * contrast);
#pragma omp parallel for
    for (int64_t i = 2; i < h - 2; i++)
        for (int64_t j = 2; j < w - 2; j++) {
            float total = 0.0f, weights = 0.0f, centre = image[i * w + j];
            for (int64_t y = i - 2; y <= i + 2; y++)
                for (int64_t x = j - 2; x <= j + 2; x++) {
                    float d = image[y * w + x] - centre;
                    float weight = expf(near * (float)((y - i) * (y - i) + (x - j) * (x - j)) + like * d * d);
                    total += weight * image[y * w + x];
                    weights += weight;
                }
            out[i * w + j] = total / weights;
        }
}

void nbody(const float *restrict x, const float *restrict y, const float *restrict z, float *restrict ax, float *restrict ay,
           float *restrict az, int64_t n) {
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        float sx = 0.0f, sy = 0.0f, sz = 0.0f;
        for (int64_t k = 0; k < n; k++) {
            float dx = x[k] - x[i], dy = y[k] - y[i], dz = z[k] - z[i];
            float r2 = dx * dx + dy * dy + dz * dz + 0.01f;
            float w = 1.0f / (r2 * sqrtf(r2));
            sx += w * dx;
            sy += w * dy;
            sz += w * dz;
        }
        ax[i] = sx;
        ay[i] = sy;
        az[i] = sz;
    }
}

/* For vectorised_map.py: a map without division or calls, which every vectoriser takes. */
void polynomial(const float *restrict x, float *restrict y, int64_t n) {
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) y[i] = ((0.5f * x[i] - 1.25f) * x[i] + 2.0f) * x[i] + 0.75f;
}
