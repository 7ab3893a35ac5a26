"""The first example of the pytest plugin's page, in the empty project that is the current directory (tools/release_check.sh)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Write the example's two files as the page has them, and run pytest."""
    conftest, tests = re.findall("```python\n(.*?)```", Path(sys.argv[1]).read_text(), re.DOTALL)[:2]
    Path("conftest.py").write_text(conftest)
    Path("test_orders.py").write_text(tests)
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode or "3 passed" not in done.stdout:
        raise SystemExit(f"the first example of the pytest plugin's page fails:\n{done.stdout}")


if __name__ == "__main__":
    main()
