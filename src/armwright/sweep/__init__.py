"""Studies: one motion with numbers that vary, cut into chunks that are computed anywhere and kept in a folder."""
