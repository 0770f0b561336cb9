"""Programs as CUDA: one state, or one rollout, for each thread, its numbers in registers."""
