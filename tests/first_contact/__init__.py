"""The first run on a queue manager that nobody here has seen: ``python -m tests.first_contact``, ``make first-contact``."""
