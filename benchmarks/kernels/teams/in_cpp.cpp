// The tiled product as C++ programmers write it for a processor: blocks in parallel, the threads of a block as loops between barriers.

template <int T>
static void matmul(const float *a, const float *b, float *c, long m, long k, long n) {
    const long rows = (m + T - 1) / T, columns = (n + T - 1) / T;
#pragma omp parallel for collapse(2) schedule(static)
    for (long bi = 0; bi < rows; bi++)
        for (long bj = 0; bj < columns; bj++) {
            float ta[T][T], tb[T][T], acc[T][T];
            for (int ti = 0; ti < T; ti++)
                for (int tj = 0; tj < T; tj++) acc[ti][tj] = 0;
            for (long k0 = 0; k0 < k; k0 += T) {
                for (int ti = 0; ti < T; ti++)
                    for (int tj = 0; tj < T; tj++) {
                        const long i = bi * T + ti, j = bj * T + tj;
                        ta[ti][tj] = i < m && k0 + tj < k ? a[i * k + k0 + tj] : 0;
                        tb[ti][tj] = k0 + ti < k && j < n ? b[(k0 + ti) * n + j] : 0;
                    }
                for (int ti = 0; ti < T; ti++)
                    for (int tj = 0; tj < T; tj++) {
                        float sum = acc[ti][tj];
                        for (int q = 0; q < T; q++) sum += ta[ti][q] * tb[q][tj];
                        acc[ti][tj] = sum;
                    }
            }
            for (int ti = 0; ti < T; ti++)
                for (int tj = 0; tj < T; tj++) {
                    const long i = bi * T + ti, j = bj * T + tj;
                    if (i < m && j < n) c[i * n + j] = acc[ti][tj];
                }
        }
}

extern "C" {
void matmul_8(const float *a, const float *b, float *c, long m, long k, long n) { matmul<8>(a, b, c, m, k, n); }
void matmul_16(const float *a, const float *b, float *c, long m, long k, long n) { matmul<16>(a, b, c, m, k, n); }
void matmul_32(const float *a, const float *b, float *c, long m, long k, long n) { matmul<32>(a, b, c, m, k, n); }
}
