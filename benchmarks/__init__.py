"""lend beside NumPy, C with OpenMP, and Numba, on the same arrays in the same run. `python -m benchmarks` prints the table."""
