"""A queue manager's place in a cluster: who hosts which queue, which instance a message goes to, and the way there."""
