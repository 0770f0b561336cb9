"""Programs as source text: C and Python."""
