"""Programs as LLVM IR, compiled for this CPU."""
