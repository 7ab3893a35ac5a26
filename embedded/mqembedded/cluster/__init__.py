"""A queue manager's place in a cluster: the repository, the choice of an instance, the resolution of names."""
