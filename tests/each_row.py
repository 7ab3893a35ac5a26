"""A table is one case: a test that is run with each row, and whose failure has every row that failed.

    @each_row(("text", "said"), [("", "nothing"), ("a", "one")])
    def test_a_text_is_counted(text, said): ...

For functions that are called without a queue manager. Fixtures are those of the case, so rows that change something need cases
of their own (``pytest.mark.parametrize``).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any

import pytest


def each_row(
    names: str | tuple[str, ...], rows: Collection[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that calls a test with the values of each row by these names."""
    keys = (names,) if isinstance(names, str) else names

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def case(**fixtures: Any) -> None:
            failed: list[BaseException] = []
            for row in rows:
                values = dict(zip(keys, (row,) if isinstance(names, str) else row, strict=True))
                try:
                    test(**values, **fixtures)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"row: {row!r}")
                    failed.append(error)
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(rows)} rows failed", failed)

        signature = inspect.signature(test)
        fixtures = [each for name, each in signature.parameters.items() if name not in keys]
        case.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]  # as inspect reads it
        return case

    return decorated
