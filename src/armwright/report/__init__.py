"""Pages a browser shows without anything else: they take what they draw and know nothing of how it was made."""
