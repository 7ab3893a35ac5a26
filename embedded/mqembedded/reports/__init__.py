"""Report messages, and the delivery of messages that the queue manager itself puts."""
