"""Benchmarks: ratios measured in one run, never asserted. ``make bench`` runs them."""
