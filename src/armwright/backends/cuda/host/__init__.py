"""The host: the device, arrays in its memory, and the launchers of kernels."""
