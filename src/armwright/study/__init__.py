"""Studies with armwright: operation counts, timings, precision, and the results of papers."""
