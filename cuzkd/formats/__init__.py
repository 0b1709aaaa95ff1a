"""Readers and writers of the file formats; what they need of arithmetic is in `cuzkd.kernels`."""
