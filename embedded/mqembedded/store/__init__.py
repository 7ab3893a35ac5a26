"""The store: an SQLite database for each queue manager, and the files around it."""
