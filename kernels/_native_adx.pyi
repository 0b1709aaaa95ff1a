from cuzkd.kernels._native import *  # noqa: F403 - the same module in another build
