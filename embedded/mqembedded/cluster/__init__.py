"""A cluster as a queue manager sees it: the repository, the choice of an instance, and the resolution of names."""
