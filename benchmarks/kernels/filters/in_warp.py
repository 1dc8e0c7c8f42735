"""Filters in Warp."""

import warp as wp

Row = wp.array(dtype=wp.float64)
Plane = wp.array2d(dtype=wp.float32)


@wp.kernel
def fir_kernel(x: Row, y: Row):
    i = wp.tid()
    s = wp.float64(0.0)
    for j in range(16):  # unrolled
        if j % 5 == 0:
            s += wp.float64(3.0) * x[i + j]
        else:
            s += wp.float64(-1.0) * x[i + j]
    y[i] = s


@wp.kernel
def bilateral_kernel(image: Plane, out: Plane, distance: wp.float32, contrast: wp.float32):
    p, q = wp.tid()
    i = p + 2
    j = q + 2
    near = -0.5 / (distance * distance)
    like = -0.5 / (contrast * contrast)
    total = wp.float32(0.0)
    weights = wp.float32(0.0)
    for y in range(i - 2, i + 3):
        for x in range(j - 2, j + 3):
            d = image[y, x] - image[i, j]
            weight = wp.exp(near * float((y - i) * (y - i) + (x - j) * (x - j)) + like * d * d)
            total += weight * image[y, x]
            weights += weight
    out[i, j] = total / weights


def fir(x, y):
    wp.launch(fir_kernel, dim=y.size, inputs=[x, y])


def bilateral(image, out, distance, contrast):
    wp.launch(bilateral_kernel, dim=(image.shape[0] - 4, image.shape[1] - 4), inputs=[image, out, distance, contrast])
