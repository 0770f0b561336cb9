"""What several formulations are made of."""
