"""Report messages, and where the messages go that the queue manager itself puts."""
