"""CUDA text from programs: expressions, schedules, parts, sweeps along chains, rollouts and searches."""
