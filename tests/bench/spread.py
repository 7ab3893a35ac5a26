"""Are groups spread evenly over the instances of a cluster queue? Pearson's chi-square test; numbers in, numbers out.

The workload algorithm takes instances in turn, so counts lie closer together than chance would have them, and p near 1 is what
is expected. A small p tells a bias.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def chi_square(counts: Sequence[int]) -> float:
    """Return the sum of (found - even)² / even over all instances; 0 if they have the same.

    Raises:
        ValueError: there is nothing that could be spread.
    """
    even = sum(counts) / len(counts) if counts else 0
    if not even:
        raise ValueError(f"{list(counts)} are no counts of anything")
    return sum((count - even) ** 2 for count in counts) / even


def p_value(statistic: float, degrees_of_freedom: int) -> float:
    """Return the probability that chance alone gives a chi-square of this size or a larger one.

    With no degree of freedom, which is one instance, there is nothing but 0, and p is 1. Otherwise this is the upper incomplete
    gamma function Q(a, x) at a = degrees of freedom / 2, x = statistic / 2, by Q(a + 1, x) = Q(a, x) + x^a e^-x / Γ(a + 1) from
    Q(1/2, x) = erfc(√x) or Q(1, x) = e^-x on (NIST Digital Library of Mathematical Functions, 8.8.6, 8.4.6, 8.4.8).
    """
    if degrees_of_freedom == 0 or statistic == 0:
        return 1.0
    x = statistic / 2
    a, found = (0.5, math.erfc(math.sqrt(x))) if degrees_of_freedom % 2 else (1.0, math.exp(-x))
    while a < degrees_of_freedom / 2:
        found += math.exp(a * math.log(x) - x - math.lgamma(a + 1))
        a += 1
    return found
