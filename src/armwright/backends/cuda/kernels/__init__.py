"""CUDA kernels around generated code: how threads read states, launch and write results."""
