"""The same robot in other programs, which are our oracles and rulers. Each module needs its own package installed."""
