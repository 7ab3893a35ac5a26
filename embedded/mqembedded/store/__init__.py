"""The disk: one SQLite database for each queue manager, and the files around it."""
