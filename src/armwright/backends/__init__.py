"""A graph made to run: each backend takes a `Program` and knows nothing of robots."""
