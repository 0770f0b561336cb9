"""Machine learning with robots: Gymnasium environments, and dynamics that PyTorch and JAX differentiate."""

__all__: list[str] = []
