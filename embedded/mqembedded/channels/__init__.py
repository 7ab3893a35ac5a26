"""Both ends of a message channel between two queue managers."""
