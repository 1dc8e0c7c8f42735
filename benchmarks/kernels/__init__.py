"""The kernels: a folder per family, in it the cases and a file per language."""
