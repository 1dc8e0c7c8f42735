// What `gpu.py` compares lend with: the same loops in CUDA C++, one element for each thread, blocks of 256.
// Each function launches `times` times after one that does not count, and gives the milliseconds of one launch by events.
#include <cuda_runtime.h>

#define FOR_ALL(i, n) const long i = blockIdx.x * 256L + threadIdx.x; if (i < n)

template <class Launch>
static double timed(int times, Launch launch) {
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    launch();
    cudaEventRecord(begin);
    for (int k = 0; k < times; ++k) launch();
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return cudaGetLastError() == cudaSuccess ? ms / times : -1;
}

static double* filled(long n) {
    double* p = nullptr;
    if (cudaMalloc(&p, n * sizeof(double)) != cudaSuccess) return nullptr;
    cudaMemset(p, 0x3f, n * sizeof(double));
    return p;
}

__global__ void daxpy(double a, const double* __restrict__ x, double* __restrict__ y, long n) {
    FOR_ALL(i, n) y[i] += a * x[i];
}

__global__ void pressure_2(double* __restrict__ p_new, const double* __restrict__ bvc, const double* __restrict__ e_old,
                           const double* __restrict__ vnewc, double p_cut, double eosvmax, double pmin, long n) {
    FOR_ALL(i, n) {
        double p = bvc[i] * e_old[i];
        if (fabs(p) < p_cut) p = 0;
        if (vnewc[i] >= eosvmax) p = 0;
        if (p < pmin) p = pmin;
        p_new[i] = p;
    }
}

__global__ void energy_3(double* __restrict__ e_new, const double* __restrict__ delvc, const double* __restrict__ p_old,
                         const double* __restrict__ q_old, const double* __restrict__ p_half, const double* __restrict__ q_new,
                         long n) {
    FOR_ALL(i, n) e_new[i] += 0.5 * delvc[i] * (3.0 * (p_old[i] + q_old[i]) - 4.0 * (p_half[i] + q_new[i]));
}

__global__ void five_points(const double* __restrict__ u, double* __restrict__ v, long h, long w) {
    const long j = blockIdx.x * 64L + threadIdx.x, i = blockIdx.y * 4L + threadIdx.y;
    if (i >= 1 && i < h - 1 && j >= 1 && j < w - 1)
        v[i * w + j] = 0.25 * (u[(i - 1) * w + j] + u[(i + 1) * w + j] + u[i * w + j - 1] + u[i * w + j + 1]);
}

__global__ void ltimes(double* __restrict__ phi, const double* __restrict__ ell, const double* __restrict__ psi, long zones,
                       long groups, long moments, long directions) {
    const long m = blockIdx.x * 64L + threadIdx.x, g = blockIdx.y * 4L + threadIdx.y, z = blockIdx.z;
    if (m >= moments || g >= groups || z >= zones) return;
    double s = phi[(z * groups + g) * moments + m];
    for (long d = 0; d < directions; ++d) s += ell[m * directions + d] * psi[(z * groups + g) * directions + d];
    phi[(z * groups + g) * moments + m] = s;
}

template <int T>
__global__ void matmul(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int k, int n) {
    __shared__ float ta[T][T], tb[T][T];
    const int ti = threadIdx.y, tj = threadIdx.x, i = blockIdx.y * T + ti, j = blockIdx.x * T + tj;
    float acc = 0;
    for (int k0 = 0; k0 < k; k0 += T) {
        ta[ti][tj] = i < m && k0 + tj < k ? a[i * (long)k + k0 + tj] : 0;
        tb[ti][tj] = k0 + ti < k && j < n ? b[(k0 + ti) * (long)n + j] : 0;
        __syncthreads();
        for (int l = 0; l < T; ++l) acc += ta[ti][l] * tb[l][tj];
        __syncthreads();
    }
    if (i < m && j < n) c[i * (long)n + j] = acc;
}

static unsigned blocks(long n, long size) { return (unsigned)((n + size - 1) / size); }

extern "C" double time_daxpy(long n, int times) {
    double *x = filled(n), *y = filled(n);
    const double ms = timed(times, [&] { daxpy<<<blocks(n, 256), 256>>>(2.0, x, y, n); });
    cudaFree(x), cudaFree(y);
    return ms;
}

extern "C" double time_pressure_2(long n, int times) {
    double *p = filled(n), *b = filled(n), *e = filled(n), *v = filled(n);
    const double ms = timed(times, [&] { pressure_2<<<blocks(n, 256), 256>>>(p, b, e, v, 0.2, 0.2, 0.1, n); });
    cudaFree(p), cudaFree(b), cudaFree(e), cudaFree(v);
    return ms;
}

extern "C" double time_energy_3(long n, int times) {
    double* a[6];
    for (double*& each : a) each = filled(n);
    const double ms = timed(times, [&] { energy_3<<<blocks(n, 256), 256>>>(a[0], a[1], a[2], a[3], a[4], a[5], n); });
    for (double* each : a) cudaFree(each);
    return ms;
}

extern "C" double time_five_points(long h, int times) {
    double *u = filled(h * h), *v = filled(h * h);
    const dim3 grid(blocks(h, 64), blocks(h, 4)), block(64, 4);
    const double ms = timed(times, [&] { five_points<<<grid, block>>>(u, v, h, h); });
    cudaFree(u), cudaFree(v);
    return ms;
}

extern "C" double time_ltimes(long zones, int times) {
    const long g = 32, m = 25, d = 64;
    double *phi = filled(zones * g * m), *ell = filled(m * d), *psi = filled(zones * g * d);
    const dim3 grid(blocks(m, 64), blocks(g, 4), (unsigned)zones), block(64, 4);
    const double ms = timed(times, [&] { ltimes<<<grid, block>>>(phi, ell, psi, zones, g, m, d); });
    cudaFree(phi), cudaFree(ell), cudaFree(psi);
    return ms;
}

extern "C" double time_matmul(long n, int times) {
    float *a = (float*)filled(n * n / 2), *b = (float*)filled(n * n / 2), *c = (float*)filled(n * n / 2);
    const dim3 grid(blocks(n, 16), blocks(n, 16)), block(16, 16);
    const double ms = timed(times, [&] { matmul<16><<<grid, block>>>(a, b, c, (int)n, (int)n, (int)n); });
    cudaFree(a), cudaFree(b), cudaFree(c);
    return ms;
}

// Seconds to copy so many bytes of the host's memory there and back.
extern "C" double time_copies(void* host, long bytes, int times, double* back) {
    void* device = nullptr;
    if (cudaMalloc(&device, bytes) != cudaSuccess) return -1;
    const double to = timed(times, [&] { cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice); });
    *back = timed(times, [&] { cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost); }) * 1e-3;
    cudaFree(device);
    return to * 1e-3;
}
