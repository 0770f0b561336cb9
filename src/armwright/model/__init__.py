"""From a description a person writes to the canonical chain, and back."""
