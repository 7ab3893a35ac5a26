"""Explore the protocol and print the number of states; or print what goes wrong without one of its safeties."""

from __future__ import annotations

import argparse
import sys
import time

from tests.ownership.explorer import Explorer, written
from tests.ownership.scenarios import BREAKS, HOLDS, LARGE, LARGER


def main() -> int:
    """Return 1 if something does not hold that should."""
    parser = argparse.ArgumentParser(prog="python -m tests.ownership", description=__doc__)
    parser.add_argument("--large", action="store_true", help="larger bounds: some minutes, and 4 GB of memory")
    parser.add_argument("--without", choices=sorted(BREAKS), metavar="SAFETY", help=f"one of: {', '.join(BREAKS)}")
    arguments = parser.parse_args()
    if arguments.without:
        breaks = BREAKS[arguments.without]
        explored = Explorer(breaks.scenario, breaks.protocol, breaks.reading).explore()
        print(f"{written(explored.trace)}\n\n{explored.broken} ({breaks.scenario.name}; {explored.states} states)")
        return 0
    failed = False
    for holds in (*HOLDS, *LARGER, *(LARGE if arguments.large else ())):
        began_s = time.monotonic()
        explored = Explorer(holds.scenario, holds.protocol, holds.reading).explore()
        print(f"{explored.states:>9,} states {time.monotonic() - began_s:6.1f} s   {holds}", flush=True)
        if explored.broken:
            failed = True
            print(f"{written(explored.trace)}\n\n{explored.broken}\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
