"""Pages a browser shows without anything else: curves, tables, and a run with its moving picture.

A page takes plain numbers, or a record that has them under the names it reads, and knows nothing of how they were made:
the room needs the algebra and the errors and no other, so any room may hand it what it has.
"""
