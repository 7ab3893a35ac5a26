"""Partners that are not mqgroups: what they put, and what every receiver of the library makes of it."""
