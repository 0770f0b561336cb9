"""Robots for those who learn: environments, and dynamics that PyTorch and JAX differentiate."""
