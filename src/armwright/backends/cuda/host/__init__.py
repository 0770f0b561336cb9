"""What runs beside the card: the device, its arrays, and the launchers of kernels."""
