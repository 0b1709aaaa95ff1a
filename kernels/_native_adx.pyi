from cuzkd.kernels._native import *
