"""Studies that use the rest of armwright: operation counts, and what the papers published."""
